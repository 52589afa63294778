"""Operations done by this process, which owns the state directory meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyflare.state_directory import StateDirectory
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import StateError

from .client import OwnerRefused
from .operations import Body, Refusal, nothing, run

__all__ = ["LocalAccess"]


class LocalAccess:
    """Opens the files of a state directory until it is closed.

    Raises :class:`pyflare_bindings.lease.LeaseHeld` when another process has them, OSError when the directory cannot
    be used. Where calls are refused they raise OwnerRefused.
    """

    def __init__(self, root: Path) -> None:
        self._state = StateDirectory(root, private_parent=root.parent.name == ".pyflare", busy=True)
        self._state.open()
        self._runner = asyncio.Runner()
        self._registry = BindingRegistry(root)
        self._open_body: Body | None = None

    def call(self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any) -> Any:
        """Do an operation and give its value."""
        value, pieces = self.fetch(operation, body, **arguments)
        for _ in pieces:
            pass
        return value

    def fetch(
        self, operation: str, /, body: Iterable[bytes] | None = None, **arguments: Any
    ) -> tuple[Any, Iterator[bytes]]:
        """Do an operation and give its value and the pieces of its body."""
        given = nothing() if body is None else _sent(body)
        try:
            answer = self._runner.run(run(operation, self._registry, arguments, given))
        except Refusal as error:
            raise OwnerRefused(str(error), error.statement) from error
        self._open_body = answer.body
        return answer.value, self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        body = self._open_body
        while body is not None:
            try:
                piece = self._runner.run(_next(body))
            except StateError as error:
                raise OwnerRefused(str(error)) from error
            if piece is None:
                return
            yield bytes(piece)

    def close(self) -> None:
        """Close every file and give the directory back."""
        try:
            self._runner.run(self._end())
        finally:
            self._runner.close()
            self._state.close()

    async def _end(self) -> None:
        close = getattr(self._open_body, "aclose", None)
        if close is not None:
            await close()
        await self._registry.close()


async def _sent(body: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in body:
        yield piece
        await asyncio.sleep(0)


async def _next(body: Body) -> bytes | memoryview | None:
    return await anext(body, None)
