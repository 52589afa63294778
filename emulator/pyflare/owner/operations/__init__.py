"""What can be done to a state directory from outside a worker: the work behind the data commands.

An operation runs in the process that owns the directory, on its event loop. Arguments and answers are plain JSON
values; bytes travel as streams beside them, or as base64 where there are many small ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from pyflare_bindings.registry import BindingRegistry

__all__ = ["OPERATIONS", "Answer", "Body", "Operation", "Refusal", "has_begun", "nothing", "run"]


#: Pieces of a body, in order.
Body: TypeAlias = AsyncIterator[bytes | memoryview]


class Answer(NamedTuple):
    """What an operation gives: a JSON value, and bytes where it has some."""

    value: Any = None
    body: Body | None = None


class Refusal(Exception):
    """The operation was refused or failed; ``str()`` tells a person why.

    ``statement`` is the place, from 0, of the SQL statement at fault where one is.
    """

    def __init__(self, text: str, statement: int | None = None) -> None:
        super().__init__(text)
        self.statement = statement


def has_begun(registry: BindingRegistry, kind: str, id: str) -> bool:
    """Whether there is anything of a resource. One that is only looked at does not begin by that."""
    return registry.layout.database(kind, id).exists()


Operation: TypeAlias = "Callable[[BindingRegistry, dict[str, Any], Body], Awaitable[Answer]]"

#: The name of an operation: (module in this package, function).
OPERATIONS: Final[dict[str, tuple[str, str]]] = {
    "d1.query": ("d1", "query"),
    "d1.export": ("d1", "export"),
    "d1.info": ("d1", "info"),
    "kv.get": ("kv", "get"),
    "kv.put": ("kv", "put"),
    "kv.delete": ("kv", "delete"),
    "kv.list": ("kv", "list_keys"),
    "kv.put_many": ("kv", "put_many"),
    "kv.delete_many": ("kv", "delete_many"),
    "r2.get": ("r2", "get"),
    "r2.put": ("r2", "put"),
    "r2.delete": ("r2", "delete"),
    "r2.list": ("r2", "list_objects"),
    "queues.send": ("queues", "send"),
    "queues.list": ("queues", "list_queues"),
    "queues.messages": ("queues", "messages"),
    "queues.purge": ("queues", "purge"),
    "do.list": ("objects", "list_objects"),
    "do.sql": ("objects", "sql"),
    "do.alarms": ("objects", "alarms"),
    "owner.call": ("owners", "call"),
}


async def run(
    name: str, registry: BindingRegistry, arguments: dict[str, Any], body: Body
) -> Answer:
    """Run an operation by name.

    Raises :class:`Refusal` for what a person can be told: a request that the platform refuses, files that cannot be
    used, an operation or an argument that does not exist.
    """
    from pyflare_bindings.storage.errors import ClosedError, SqlError, StateError

    found = OPERATIONS.get(name)
    if found is None:
        raise Refusal(f"There is no operation {name!r}.")
    operation = cast(Operation, getattr(import_module(f"{__name__}.{found[0]}"), found[1]))
    try:
        return await operation(registry, arguments, body)
    except (SqlError, StateError, ClosedError) as error:
        raise Refusal(str(error), getattr(error, "statement_index", None)) from error
    except KeyError as error:
        raise Refusal(f"The operation {name!r} needs the argument {error}.") from error


async def nothing() -> AsyncIterator[bytes]:
    """A body without content."""
    return
    yield b""
