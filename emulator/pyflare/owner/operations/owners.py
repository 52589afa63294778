"""Calls of owners' methods by an embedded Pyflare in another process."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Any, Final

from pyflare.owner.values import STREAM, dump, load, pack_error
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body, Refusal

#: The kinds whose owners work with values alone, and their methods.
SHARED: Final[dict[str, frozenset[str]]] = {
    "d1": frozenset({"query"}),
    "kv": frozenset({"get", "get_many", "put", "delete", "list"}),
    "r2": frozenset(
        {
            "head", "get", "put", "delete", "list",
            "uploads.create", "uploads.upload_part", "uploads.complete", "uploads.abort",
        }
    ),
    "queue": frozenset({"send", "send_batch", "metrics"}),
}  # fmt: skip


async def call(registry: BindingRegistry, arguments: dict[str, Any], body: Body) -> Answer:
    """Call a method. Arguments: ``kind``, ``id``, ``method``. The body begins with the dumped (positional, keyword)
    arguments, in which a stream is marked; the stream follows. The answer's body: (whether it went well, the result or
    the packed error, the name of the content that the result has), then that content."""
    kind, method = arguments["kind"], arguments["method"]
    if method not in SHARED.get(kind, ()):
        raise Refusal(f"{kind}.{method} cannot be called from another process.")
    owner: Any = getattr(registry, kind)(arguments["id"])
    for name in method.split("."):
        owner = getattr(owner, name)
    positional, keyword = load(bytes(await anext(body)))
    try:
        result = await owner(
            *(body if each == STREAM else each for each in positional),
            **{name: body if each == STREAM else each for name, each in keyword.items()},
        )
    except Exception as error:
        return Answer(None, _answer(False, pack_error(error), "", None))
    return Answer(None, _answer(True, *_apart(await _whole(result))))


def _apart(result: Any) -> tuple[Any, str, AsyncIterator[bytes | memoryview] | None]:
    """A result without what is read from files, where that belongs, and that."""
    for name in ("content", "body"):
        content = getattr(result, name, None)
        if (
            content is not None
            and not isinstance(content, bytes)
            and dataclasses.is_dataclass(result)
        ):
            plain: Any = dataclasses.replace(result, **{name: None})  # type: ignore[type-var]
            return plain, name, content.chunks()
    return result, "", None


async def _whole(result: Any) -> Any:
    """The values of many keys, each in memory: together they may have 25 MiB."""
    if isinstance(result, dict):
        for entry in result.values():
            if entry is not None and not isinstance(entry.content, bytes):
                entry.content = await entry.read()
    return result


async def _answer(
    good: bool, result: Any, name: str, content: AsyncIterator[bytes | memoryview] | None
) -> AsyncIterator[bytes | memoryview]:
    yield dump((good, result, name))
    if content is not None:
        async for piece in content:
            yield piece
