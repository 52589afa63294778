"""The dispatch of a call on an instance of a worker's class.

Source of the behaviour: workerd ``src/pyodide/python-entrypoint-helper.ts`` (every name is a method, arguments and
results are converted, missing ones are found when called) and ``src/workerd/api/worker-rpc.c++`` (reserved names).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from inspect import isawaitable
from types import CoroutineType
from typing import Any, Literal, TypeAlias

from pyflare.js.error import TypeError_
from pyflare.js.rpc.errors import RESERVED, no_method, reserved
from pyflare.js.rpc.exports import Export
from pyflare.js.rpc.host import current_host
from pyflare.js.rpc.python_values import result_to_wire, wire_to_python
from pyflare.js.rpc.stub import JsRpcStub
from pyflare.js.rpc.values import Arguments

__all__ = ["Kind", "invoke"]

#: What the instance is of: a WorkerEntrypoint or a DurableObject. The same names are reserved in both.
Kind: TypeAlias = Literal["entrypoint", "object"]


async def invoke(
    instance: Any, path: tuple[str, ...], arguments: Sequence[Any] | None, kind: Kind
) -> Any:
    """Call a method of an instance, or read it as a property; to be run in the code of its worker.

    Args: ``arguments`` are the receiver's own, None reads the property: a stub of the method.
    Gives a copy of the result for the caller. Raises: the method's own exception; TypeError for a reserved name, for
    one that is no method, and for a path into a method.
    """
    try:
        if type(arguments) is Arguments and arguments.streams:
            current_host().receive(arguments.streams)
        name = path[0] if path else ""
        if name in RESERVED:
            raise reserved(name)
        if len(path) > 1:
            # Methods are all there is, and a method has no members.
            raise no_method(path[1])
        if arguments is None:
            return JsRpcStub._make(Export.here(_method(instance, name)))
        method = None if name[:2] == "__" else getattr(instance, name, None)
        if not callable(method):
            raise TypeError_(f"Method {name} does not exist")
        result = method(*[wire_to_python(item) for item in arguments])
        if type(result) is CoroutineType or isawaitable(result):
            result = await result
        return result_to_wire(result)
    finally:
        if type(arguments) is Arguments:
            arguments.dispose()


def _method(instance: Any, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A method as a value: found when it is called."""

    async def method(*arguments: Any) -> Any:
        return await invoke(instance, (name,), arguments, "entrypoint")

    return method
