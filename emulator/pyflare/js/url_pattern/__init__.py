"""``URLPattern``: matches addresses against patterns such as ``/books/:id``.

* :mod:`.tokens` splits a pattern, :mod:`.parts` reads it and writes the expression it stands for
* :mod:`.constructor_string` cuts a whole address into the patterns of its components
* :mod:`.canonical` brings the fixed texts of a component into the form that addresses have
* :mod:`.pattern` puts the components together and matches, :mod:`.api` is the class that workers use
"""

from .api import URLPattern

__all__ = ["URLPattern"]
