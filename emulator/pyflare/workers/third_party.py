"""Installed packages that are adapted when a worker imports them; the emulator itself imports none.

Those that hand work to threads run it inline: the runtime has no threads, and on a thread neither
bindings nor `run_sync` work. The SDK's ASGI adapter and its conversion of arguments get faster ways.
"""

from __future__ import annotations

import contextvars
import sys
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

from pyflare.workers.borrowed_loop import worker_loop
from pyflare.workers.patches import Patches

#: Formats of memory whose elements are numbers.
_NUMBERS: Final = frozenset("bBhHiIlLqQfd")


class ThirdPartyFinder:
    """Patches a package right after its import, or at once if it is loaded already."""

    def __init__(self) -> None:
        self._patches = Patches()

    def install(self) -> None:
        sys.meta_path.insert(0, self)
        for name, patch in _PATCHES.items():
            module = sys.modules.get(name)
            if module is not None:
                patch(self._patches, module)

    def uninstall(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._patches.undo()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        patch = _PATCHES.get(fullname)
        if patch is None:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                patch(self._patches, module)

        loader.exec_module = execute_and_patch
        return spec


def _patch_anyio(patches: Patches, module: ModuleType) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        async def run_sync(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
            if worker_loop() is None:
                return await original(function, *args, **options)
            return contextvars.copy_context().run(function, *args)

        return run_sync

    patches.replace(module, "run_sync", make)


def _patch_asgiref(patches: Patches, module: ModuleType) -> None:
    patches.replace(module.SyncToAsync, "single_thread_executor", InlineExecutor)
    # Django's handler has an executor for every request.
    patches.replace(module, "ThreadPoolExecutor", _inline_executors)


def _inline_executors(original: Callable[..., Executor]) -> Callable[..., Executor]:
    def make(*args: Any, **kwargs: Any) -> Executor:
        executor = original(*args, **kwargs)
        return executor if worker_loop() is None else InlineExecutor(executor)

    return make


def _patch_sdk_asgi(patches: Patches, module: ModuleType) -> None:
    from .asgi_adapter import NEEDED, make_fetch

    if all(hasattr(module, name) for name in NEEDED):
        patches.replace(module, "fetch", make_fetch(module))


def _patch_sdk_rpc(patches: Patches, module: ModuleType) -> None:
    if hasattr(module, "_is_iterable"):
        patches.replace(module, "_is_iterable", _holding_more_than_numbers)


def _holding_more_than_numbers(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Spares the SDK the search for what cannot be sent in buffers, which takes a second for a megabyte."""
    from pyflare.js.typed_array import TypedArray

    def is_iterable(value: Any) -> bool:
        if isinstance(value, TypedArray | array):
            return False
        if type(value) is memoryview and value.ndim == 1 and value.format in _NUMBERS:
            return False
        return original(value)

    return is_iterable


class InlineExecutor(Executor):
    """Runs a worker's functions at once on the calling thread, everybody else's on `original`.

    It is false while `original` has had nothing to do: asgiref then has nothing to end, for which it starts a thread.
    """

    def __init__(self, original: Executor) -> None:
        self._original = original
        self._used = False

    def __bool__(self) -> bool:
        return self._used

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if worker_loop() is None:
            self._used = True
            return self._original.submit(fn, *args, **kwargs)
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._original.shutdown(wait, cancel_futures=cancel_futures)


_PATCHES: dict[str, Callable[[Patches, ModuleType], None]] = {
    "anyio.to_thread": _patch_anyio,
    "asgiref.sync": _patch_asgiref,
    "workers.asgi": _patch_sdk_asgi,
    "workers.rpc": _patch_sdk_rpc,
}
