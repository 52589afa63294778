"""Durable Objects for a program that runs none of the code of their classes: ids, but nobody to talk to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyflare.js.error import Error
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare_bindings.objects.ids import ObjectId, ObjectIds

__all__ = ["ObjectsWithoutCode"]


class ObjectsWithoutCode:
    """What a namespace binding stands on where the code of ``script`` is not run."""

    __slots__ = ("_text", "ids")

    def __init__(self, script: str, class_name: str) -> None:
        self.ids = ObjectIds(f"{script}-{class_name}")
        self._text = (
            f'The Durable Object class "{class_name}" is code of the Worker "{script}", and no code of Workers is run '
            "here. Ask a process that runs the Worker, such as `pyflare dev`, over HTTP, or load it with "
            "pyflare.Pyflare."
        )

    def channel(self, id: ObjectId) -> _Nobody:
        """The way to an object, at whose end nobody is."""
        return _Nobody(self._text)


class _Nobody:
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    async def fetch(self, request: Request) -> Response:
        """Raises Error."""
        raise Error._make(self._text)

    async def call(self, path: tuple[str, ...], arguments: Sequence[Any] | None) -> Any:
        """Raises Error."""
        raise Error._make(self._text)
