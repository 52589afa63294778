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
from .operations import Answer, Body, Refusal, nothing, run

__all__ = ["LocalAccess"]


class LocalAccess:
    """Opens the files of a state directory until it is closed.

    Raises :class:`pyflare_bindings.lease.LeaseHeld` when another process has them, OSError when the directory cannot
    be used. Where calls are refused they raise OwnerRefused.
    """

    def __init__(self, root: Path) -> None:
        self._state = StateDirectory(root, private_parent=root.parent.name == ".pyflare")
        self._state.open()
        self._runner = asyncio.Runner()
        self._registry = BindingRegistry(root)

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
        given = nothing() if body is None else _pieces(body)
        try:
            answer = self._runner.run(run(operation, self._registry, arguments, given))
        except Refusal as error:
            raise OwnerRefused(str(error), error.statement) from error
        return answer.value, self._body(answer)

    def _body(self, answer: Answer) -> Iterator[bytes]:
        if answer.body is None:
            return
        while True:
            try:
                piece = self._runner.run(_next(answer.body))
            except StateError as error:
                raise OwnerRefused(str(error)) from error
            if piece is None:
                return
            yield bytes(piece)

    def close(self) -> None:
        """Close every file and give the directory back."""
        try:
            self._runner.run(self._registry.close())
        finally:
            self._runner.close()
            self._state.close()


async def _pieces(body: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in body:
        yield piece
        await asyncio.sleep(0)


async def _next(body: Body) -> bytes | memoryview | None:
    return await anext(body, None)
