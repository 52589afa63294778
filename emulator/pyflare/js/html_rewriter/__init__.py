"""``HTMLRewriter``: edits HTML while it streams through.

* :mod:`.api` the class that workers use; :mod:`.content_tokens` what its handlers receive
* :mod:`.selector_syntax` reads selectors, :mod:`.matcher` finds the elements that they mean
* :mod:`.scanner` splits bytes into markup, :mod:`.tree_context` knows where markup is text
* :mod:`.rewriter` calls the handlers and puts the output together, :mod:`.units` hold what they change

The markup that no handler touches leaves as the bytes it came in. No tree is built: elements that HTML closes without
an end tag stay open until an end tag closes them or one around them, as in the rewriter of the runtime.
"""

from .api import HTMLRewriter

__all__ = ["HTMLRewriter"]
