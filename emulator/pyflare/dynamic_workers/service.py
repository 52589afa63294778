"""The dynamic Workers of one Pyflare."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.callbacks import supervise
from pyflare.js.error import Error
from pyflare.js.promise import settle
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.workers.isolation import IsolationError, Space
from pyflare.workers.worker import WorkerDefinition
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.sqlite import make_private_directory

from .code import DynamicCode, Inherited, read_code
from .worker import DynamicWorker

if TYPE_CHECKING:
    from pyflare.js.fetch import Send
    from pyflare.js.fetcher import Channel
    from pyflare.workers.event import FailureReport
    from pyflare.workers.runtime import Runtime
    from pyflare.workers.tracing import TraceItem
    from pyflare.workers.worker import Worker

__all__ = ["DynamicWorkers"]

#: Loaded ones that are kept; the one that was not used for longest is put away for the next.
MAX_LOADED: Final = 50

_NO_INTERNET: Final = (
    "This worker is not permitted to access the internet via global functions like fetch(). It must use "
    "capabilities (such as bindings in 'env') to talk to the outside world."
)


class DynamicWorkers:
    """A background service that loads them, keeps those in use, and puts the others away.

    In: `define` makes a definition of the parts that dynamic Workers do not differ in; `report` and `console` are
    given to the runtime. Their modules are files in a folder of the state directory that lives as long as they do.
    """

    def __init__(
        self,
        runtime: Runtime,
        registry: BindingRegistry,
        define: Callable[..., WorkerDefinition],
        report: Callable[[str], FailureReport],
        console: Callable[[str], Callable[[str, str], None]],
    ) -> None:
        self._runtime = runtime
        self._clock = registry.clock
        self._folder = registry.layout.directory("dynamic-workers")
        self._define = define
        self._report = report
        self._console = console
        self._by_id: OrderedDict[tuple[str, str, str], DynamicWorker] = OrderedDict()
        self._loaded: OrderedDict[DynamicWorker, None] = OrderedDict()
        self._putting_away: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()

    async def start(self) -> None:
        """Remove what a process that was killed left."""
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def reload(self) -> None:
        """A Worker has been loaded again: what it gives for an id may be other code now."""
        self._by_id.clear()
        for dynamic in [each for each in self._loaded if each.users == 0]:
            await self._remove(self._take(dynamic), 0)

    async def close(self, grace: float) -> None:
        """End all of them."""
        for task in list(self._putting_away):
            await asyncio.wait([task])
        for dynamic in list(self._loaded):
            await self._remove(self._take(dynamic), grace)
        await self.start()

    def get(
        self, parent: Worker, binding: str, id: str | None, get_code: Callable[[], Any]
    ) -> DynamicWorker:
        """The one with this id, which `get_code` gives the code of when it is not loaded; without an id a new one."""
        if id is None:
            return self._make(_anonymous(parent), parent, get_code)
        key = (parent.name, binding, id)
        dynamic = self._by_id.get(key)
        if dynamic is None:
            dynamic = self._make(f"{parent.name}/{id}", parent, get_code)
            self._by_id[key] = dynamic
            if len(self._by_id) > 20 * MAX_LOADED:
                self._by_id.popitem(last=False)
        return dynamic

    def load_code(self, parent: Worker, given: Any) -> DynamicWorker:
        """A new one with this code. Raises: TypeError and Error for code that is none."""
        code = read_code(given)

        async def get_code() -> DynamicCode:
            return code

        return DynamicWorker(self, _anonymous(parent), parent, get_code)

    def _make(self, name: str, parent: Worker, given: Callable[[], Any]) -> DynamicWorker:
        async def get_code() -> DynamicCode:
            return read_code(await settle(given()))

        return DynamicWorker(self, name, parent, get_code)

    # What a `DynamicWorker` needs

    def used(self, dynamic: DynamicWorker) -> None:
        """Note that it is about to be called."""
        self._loaded[dynamic] = None
        self._loaded.move_to_end(dynamic)
        too_many = len(self._loaded) - MAX_LOADED
        if too_many <= 0:
            return
        idle = [each for each in self._loaded if each.users == 0]
        for each in idle[:too_many]:
            task = asyncio.get_running_loop().create_task(
                self._remove(self._take(each), 0), context=Context()
            )
            self._putting_away.add(task)
            task.add_done_callback(self._putting_away.discard)

    def failed(self, dynamic: DynamicWorker) -> None:
        """Forget one that could not be loaded: whoever asks for its id next may give other code."""
        self._loaded.pop(dynamic, None)
        for key in [key for key, each in self._by_id.items() if each is dynamic]:
            del self._by_id[key]

    def _take(self, dynamic: DynamicWorker) -> Worker | None:
        self._loaded.pop(dynamic, None)
        worker, dynamic.worker = dynamic.worker, None
        return worker

    async def load(self, name: str, parent: Worker, code: DynamicCode) -> Worker:
        """Write the modules and load them. Raises: what loading them raises, IsolationError as Error."""
        folder = self._folder / secrets.token_hex(16)
        main = PurePosixPath(code.main_module)
        await asyncio.to_thread(_write, folder, code.modules)
        vendored = folder / "python_modules"
        space = Space(folder / main.parent, extra_path=[vendored] if vendored.is_dir() else [])
        definition = self._define(
            name=name,
            main_module=main.stem,
            space=space,
            flags=code.flags,
            environment=code.environment,
            outbound=_send(parent, code),
        )
        async with self._changing:
            try:
                (worker,) = await self._runtime.add(
                    [definition], report=self._report, console=self._console
                )
            except IsolationError as error:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                raise Error(f"The dynamic Worker {name!r} could not be loaded: {error}") from None
        if worker.failure is not None:
            failure = worker.failure
            await self._remove(worker, 0)
            raise failure
        if code.tails:
            worker.tracer = _ToTails(self._clock, code.tails)
        return worker

    async def _remove(self, worker: Worker | None, grace: float) -> None:
        if worker is None:
            return
        root = worker.definition.space.root
        assert root is not None
        async with self._changing:
            await self._runtime.remove(worker, grace)
        whole = self._folder.resolve()
        folder = whole / root.relative_to(whole).parts[0]
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _anonymous(parent: Worker) -> str:
    return f"{parent.name}/{secrets.token_hex(4)}"


def _write(folder: Path, modules: dict[str, bytes]) -> None:
    make_private_directory(folder)
    for name, content in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _send(parent: Worker, code: DynamicCode) -> Send | None:
    outbound = code.outbound
    if isinstance(outbound, Inherited):
        return parent.definition.outbound
    return _refuse if outbound is None else partial(_through, outbound)


async def _refuse(_: Request) -> Response:
    raise Error(_NO_INTERNET)


async def _through(channel: Channel, request: Request) -> Response:
    from pyflare.js.fetch_through import fetch_through

    request.redirect = "manual"
    return await fetch_through(channel, request)


class _ToTails:
    """The tracer of a dynamic Worker with `tails`."""

    def __init__(self, clock: Any, tails: tuple[Channel, ...]) -> None:
        self._tails = tails
        self.now: Callable[[], float] = clock.now
        self.monotonic: Callable[[], float] = clock.monotonic

    def finished(self, item: TraceItem) -> None:
        for channel in self._tails:
            supervise(_tell(channel, item))


def _tell(channel: Channel, item: TraceItem) -> Awaitable[Any]:
    from pyflare.js.array import JsArray

    # It crosses as a remote call's argument does, as a copy.
    return channel.call(("tail",), (JsArray.adopt([item.plain()]), None, None))
