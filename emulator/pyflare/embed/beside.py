"""Two applications in one: the workers below a path, another application everywhere else."""

from __future__ import annotations

from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send

__all__ = ["Beside"]


class Beside:
    """ASGI 3. Raises ValueError for a ``path`` that is none."""

    def __init__(self, path: str, below: ASGIApplication, beside: ASGIApplication) -> None:
        if not path.startswith("/") or path.endswith("/"):
            raise ValueError(f'a path to mount at begins with a slash and ends without: "{path}"')
        self._path = path
        self._below = below
        self._beside = beside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._below(scope, receive, send)
            return
        root: str = scope.get("root_path", "")
        mount = root + self._path
        path: str = scope["path"]
        if path == mount or path.startswith(f"{mount}/"):
            await self._below({**scope, "root_path": mount}, receive, send)
        else:
            await self._beside(scope, receive, send)
