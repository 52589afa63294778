"""What the SDK finds in ``_pyodide_entrypoint_helper``: the doors through which it reaches the runtime.

Source: workerd ``src/pyodide/python-entrypoint-helper.ts`` and the SDK's stub ``_pyodide_entrypoint_helper.pyi``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyflare.js.error import Error
from pyflare.js.promise import JsPromise, rejected, resolved
from pyflare.js.value import JsInstance, own_items

from .cloudflare_modules import NOT_EMULATED, PLAIN_MODULES
from .current import current, current_event

__all__ = ["GLOBAL_SCOPE_ERROR", "namespace"]

#: Production's refusal of I/O while a worker is being imported.
GLOBAL_SCOPE_ERROR = (
    "Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or connect()), "
    "setting a timeout, and generating random values are not allowed within global scope. To fix this "
    "error, perform this operation within a handler. "
    "https://developers.cloudflare.com/workers/runtime-apis/handlers/"
)


_NOT_REPLACED: Final = (
    "{}() of cloudflare:workers is not emulated; use patch_env() of the package workers."
)
#: What ``cloudflare:workers`` exports.
_NAMES: Final = (
    "DurableObject",
    "RpcPromise",
    "RpcProperty",
    "RpcStub",
    "RpcTarget",
    "ServiceStub",
    "WorkerEntrypoint",
    "WorkflowEntrypoint",
    "env",
    "exports",
    "tracing",
    "waitUntil",
    "withEnv",
    "withEnvAndExports",
    "withExports",
)


class _JavaScriptWorkerEntrypoint(JsInstance, js_name="WorkerEntrypoint"):
    """JavaScript's own base class, which Python classes cannot extend: theirs is in the package ``workers``."""


class _JavaScriptDurableObject(JsInstance, js_name="DurableObject"):
    """The same for objects."""


class _JavaScriptWorkflowEntrypoint(JsInstance, js_name="WorkflowEntrypoint"):
    """The same for workflows."""


class CloudflareWorkersModule(JsInstance, js_name="Module"):
    """``cloudflare:workers``, seen from whichever worker asks."""

    @property
    def env(self) -> Any:
        scope = current.get(None)
        return _env_of_whoever_runs() if scope is None else scope.data["env"]

    @property
    def exports(self) -> Any:
        scope = current.get(None)
        return None if scope is None else scope.data.get("exports")

    @property
    def RpcTarget(self) -> Any:
        from pyflare.js.rpc.names import RpcTarget

        return RpcTarget

    @property
    def RpcStub(self) -> Any:
        from pyflare.js.rpc.stub import JsRpcStub

        return JsRpcStub

    @property
    def RpcPromise(self) -> Any:
        from pyflare.js.rpc.stub import JsRpcPromise

        return JsRpcPromise

    @property
    def RpcProperty(self) -> Any:
        from pyflare.js.rpc.stub import JsRpcProperty

        return JsRpcProperty

    @property
    def ServiceStub(self) -> Any:
        from pyflare.js.fetcher import Fetcher

        return Fetcher

    @property
    def WorkerEntrypoint(self) -> Any:
        return _JavaScriptWorkerEntrypoint

    @property
    def DurableObject(self) -> Any:
        return _JavaScriptDurableObject

    @property
    def WorkflowEntrypoint(self) -> Any:
        return _JavaScriptWorkflowEntrypoint

    @property
    def tracing(self) -> Any:
        from .spans import TRACING

        return TRACING

    def withEnv(self, *_: Any) -> None:
        """Refused: what a module has imported as ``env`` is the worker's own."""
        raise Error(_NOT_REPLACED.format("withEnv"))

    def withExports(self, *_: Any) -> None:
        """Refused, as :meth:`withEnv`."""
        raise Error(_NOT_REPLACED.format("withExports"))

    def withEnvAndExports(self, *_: Any) -> None:
        """Refused, as :meth:`withEnv`."""
        raise Error(_NOT_REPLACED.format("withEnvAndExports"))

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        for name in _NAMES:
            yield name, getattr(self, name)

    def waitUntil(self, promise: Any = None, *_: Any) -> None:
        event = current_event.get(None)
        if event is None:
            raise Error(GLOBAL_SCOPE_ERROR)
        if hasattr(promise, "__await__"):
            event.waitUntil(promise)


class CloudflareSocketsModule(JsInstance, js_name="Module"):
    """``cloudflare:sockets``. Python's own sockets work natively, so this only refuses, and says so."""

    def connect(self, *_: Any, **__: Any) -> None:
        raise Error(
            "cloudflare:sockets connect() is not emulated; use Python's asyncio.open_connection() locally."
        )


def _env_of_whoever_runs() -> Any:
    """What a module that is imported outside a worker keeps as ``env``: always that of the worker that runs."""
    from workers.rpc import _EnvWrapper

    class Environment(_EnvWrapper):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            scope = current.get(None)
            if scope is None:
                raise AttributeError(
                    f"env.{name} was asked for outside a Worker, which has no env. Code that is called directly, as by "
                    "a test, needs to be handed one."
                )
            return getattr(_EnvWrapper(scope.data["env"]), name)

    return Environment(None)


WORKERS_MODULE = CloudflareWorkersModule._make()
SOCKETS_MODULE = CloudflareSocketsModule._make()


def do_an_import(name: str) -> JsPromise:
    """Import a JavaScript module by name. Rejects for everything that needs a JavaScript engine."""
    match name:
        case "cloudflare:workers":
            return resolved(WORKERS_MODULE)
        case "cloudflare:sockets":
            return resolved(SOCKETS_MODULE)
        case "cloudflare:email":
            from pyflare.js.email_message import EmailModule

            return resolved(EmailModule._make())
    make = PLAIN_MODULES.get(name)
    if make is not None:
        return resolved(make())
    if name in NOT_EMULATED:
        return rejected(Error(f'The module "{name}" is not emulated.'))
    return rejected(Error(f'No such module "{name}".'))


def patch_wait_until(_context: Any) -> None:
    """Nothing to patch: the context's own ``waitUntil`` takes Python awaitables."""


def patch_env_helper(values: Any) -> Iterator[None]:
    """Overlay the current worker's environment until the generator goes on (the SDK's ``patch_env``)."""
    scope = current.get(None)
    if scope is None:
        raise Error("patch_env() works inside a worker only.")
    properties = scope.data["env"].__dict__
    before = dict(properties)
    entries = values.items() if hasattr(values, "items") else own_items(values)
    properties.update(entries)
    try:
        yield
    finally:
        properties.clear()
        properties.update(before)


def namespace() -> dict[str, Any]:
    """The module's names."""
    return {
        "cloudflareWorkersModule": WORKERS_MODULE,
        "cloudflareSocketsModule": SOCKETS_MODULE,
        "doAnImport": do_an_import,
        "patchWaitUntil": patch_wait_until,
        "patch_env_helper": patch_env_helper,
        "workerEntrypoint": None,
    }
