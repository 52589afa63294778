"""The public embedding API: workers, their owners and the server, in somebody's own process.

``pyflare.py`` is the object itself; beside it: ``configurations.py`` reads what it is given, ``loaded.py`` is who is
there, ``definitions.py`` what a worker is made of and what its ``env`` may reach, ``background.py`` the services,
``serving.py`` which worker answers what, ``hosting.py`` the ASGI side.
"""

from __future__ import annotations

from .configurations import Config, Configs
from .places import DEFAULT, MEMORY
from .pyflare import Pyflare

__all__ = ["DEFAULT", "MEMORY", "Config", "Configs", "Pyflare"]
