"""The pytest plugin: a fresh emulator for every test that asks for one, on whatever loop the test runs on.

It is installed with pyflare and costs nothing while no test uses a fixture: the emulator is imported by the first.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from .imports import WorkerImports
from .settings import MARKER, base_options, marked_options

if TYPE_CHECKING:
    from .beside import Values
    from .log import RecordingLog
    from .outside import Outside

#: `--pyflare-scope` and `pyflare_scope`: how long the emulator of `pyflare_shared` lives.
Scope = Literal["session", "package", "module", "class", "function"]

_ASYNCIO_PLUGIN = "asyncio"

#: The logs of the emulators that a test uses.
_LOGS = pytest.StashKey[list[Any]]()

#: What is set on the loop of anyio's plugin, by the fixture that sets it.
_ON_ANYIO = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pyflare")
    group.addoption(
        "--pyflare-config",
        dest="pyflare_config",
        action="append",
        default=[],
        metavar="FILE",
        help="wrangler configuration of the Workers under test; repeat it for several",
    )
    group.addoption(
        "--pyflare-keep-state",
        dest="pyflare_keep_state",
        action="store_true",
        help="keep the state of each test in pytest's temporary directory",
    )
    parser.addini(
        "pyflare_config",
        "wrangler configurations of the Workers under test, relative to the root directory",
        type="linelist",
        default=[],
    )
    parser.addini("pyflare_env", "name of the environment in the configurations", default="")
    parser.addini(
        "pyflare_scope", "how long the emulator of pyflare_shared lives", default="module"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    WorkerImports.of(early_config)


def pytest_configure(config: pytest.Config) -> None:
    WorkerImports.of(config)
    config.addinivalue_line(
        "markers",
        f"{MARKER}(vars=..., bindings=..., configs=..., ...): arguments of Pyflare for this test",
    )
    if config.pluginmanager.hasplugin(_ASYNCIO_PLUGIN):
        from . import on_asyncio

        config.pluginmanager.register(on_asyncio, "pyflare-on-asyncio")
        if len(base_options(config, {}).get("configs", ())) > 1:
            from . import asyncio_loops

            config.pluginmanager.register(asyncio_loops, "pyflare-asyncio-loops")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """What keeps the Workers from starting is shown without a traceback."""
    try:
        return (yield)
    except Exception as error:
        if _is_cut(item):
            from .traceback_cut import is_told_without_one, without_machinery

            if is_told_without_one(error):
                raise pytest.fail.Exception(str(error), pytrace=False) from None
            without_machinery(error)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A failure shows the test and the worker, not what lies between."""
    try:
        return (yield)
    except Exception as error:
        if _is_cut(item):
            from .traceback_cut import without_machinery

            without_machinery(error)
        raise
    finally:
        for log in item.stash.get(_LOGS, ()):
            # Lines are written once in a turn of the loop, which may stand still now.
            log.flush()


def _is_cut(item: pytest.Item) -> bool:
    """Whether tracebacks are to be cut: by default those of tests that use a fixture from here."""
    used = any(name.startswith("pyflare") for name in getattr(item, "fixturenames", ()))
    return used and not item.config.getoption("fulltrace")


@pytest.fixture(scope="session")
def pyflare_options() -> dict[str, Any]:
    """Arguments of :class:`pyflare.Pyflare` for all tests; to be overridden in a ``conftest.py``."""
    return {}


@pytest.fixture
def pyflare(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The Workers under test, started: a :class:`pyflare.Pyflare` in an async test, else a ``BlockingPyflare``.

    Its state is this test's own and is gone afterwards. Background work is waited for at the end; what failed in it
    fails the test.
    """
    found = _noted(request, _home(request, shared=False))
    with _beside(request, _flare_of(found)):
        yield found


def _shared_scope(fixture_name: str, config: pytest.Config) -> Scope:
    scope: Any = config.getini("pyflare_scope")
    if scope not in ("session", "package", "module", "class", "function"):
        raise pytest.UsageError(f"pyflare_scope is a scope of pytest's fixtures, not {scope!r}")
    return scope  # type: ignore[no-any-return]


@pytest.fixture
def pyflare_shared(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The same with one state for all tests of a module, or of the scope that ``pyflare_scope`` names."""
    found = _noted(request, _home(request, shared=True))
    flare = _flare_of(found)
    with ExitStack() as stack:
        if "pyflare_outbound" in request.fixturenames:
            outside = request.getfixturevalue("pyflare_outbound")
            stack.enter_context(flare._outbound.answered_by(outside))
        if "pyflare" not in request.fixturenames:
            stack.enter_context(_beside(request, flare))
        yield found


@pytest.fixture
def pyflare_env(request: pytest.FixtureRequest) -> Any:
    """``env`` of the primary worker."""
    return _emulator(request).env()


@pytest.fixture
def pyflare_worker(request: pytest.FixtureRequest) -> Any:
    """The primary worker: ``fetch``, ``scheduled``, ``queue``, ``email`` and its own methods."""
    return _emulator(request).worker()


@pytest.fixture
def pyflare_clock(request: pytest.FixtureRequest) -> Any:
    """The time of the workers; ``advance`` puts it forward and runs what falls due."""
    return _emulator(request).clock


@pytest.fixture
def pyflare_logs(request: pytest.FixtureRequest) -> RecordingLog:
    """What workers wrote to the console, the requests, the uncaught exceptions."""
    log: RecordingLog = _emulator(request).log
    return log


@pytest.fixture
def pyflare_outbox(request: pytest.FixtureRequest) -> Any:
    """The messages that workers have sent: ``messages()``, ``clear()``."""
    from .pyflare_in_test import outbox_of

    return outbox_of(_emulator(request))


@pytest.fixture
def pyflare_outbound(request: pytest.FixtureRequest) -> Iterator[Outside]:
    """Answers the workers' own requests: ``pyflare_outbound.get("https://api.test/", json={})``.

    A test that asks for it has no network; a request that nothing was prepared for fails, be it a Worker's or one of a
    function that the test calls itself.
    """
    from .beside import of_outside
    from .outside import Outside

    outside = Outside()
    with _set(request, of_outside(outside), "_pyflare_anyio_outbound"):
        yield outside


@pytest.fixture
def _pyflare_arguments(
    request: pytest.FixtureRequest, pyflare_options: dict[str, Any]
) -> dict[str, Any]:
    config = request.config
    options = marked_options(request.node, base_options(config, pyflare_options))
    if "pyflare_outbound" in request.fixturenames:
        options["outbound"] = request.getfixturevalue("pyflare_outbound")
    if config.getoption("pyflare_keep_state"):
        kept: Path = request.getfixturevalue("tmp_path")
        options["persist_to"] = kept / "state"
    return options


@pytest.fixture
def _pyflare_blocking(_pyflare_arguments: dict[str, Any]) -> Iterator[Any]:
    from .pyflare_in_test import running_blocked

    with running_blocked(_pyflare_arguments) as flare:
        yield flare


@pytest.fixture(scope=_shared_scope)
def _pyflare_blocking_shared(
    request: pytest.FixtureRequest, pyflare_options: dict[str, Any]
) -> Iterator[Any]:
    from .pyflare_in_test import running_blocked

    with running_blocked(base_options(request.config, pyflare_options)) as flare:
        yield flare


@pytest.fixture
async def _pyflare_anyio(
    anyio_backend_name: str, _pyflare_arguments: dict[str, Any]
) -> AsyncIterator[Any]:
    from .pyflare_in_test import running

    _refuse_trio(anyio_backend_name)
    async with running(_pyflare_arguments) as flare:
        yield flare


@pytest.fixture(scope=_shared_scope)
async def _pyflare_anyio_shared(
    anyio_backend: Any, request: pytest.FixtureRequest, pyflare_options: dict[str, Any]
) -> AsyncIterator[Any]:
    from .pyflare_in_test import running

    # The fixture with its name alone lives no longer than a test.
    _refuse_trio(anyio_backend if isinstance(anyio_backend, str) else anyio_backend[0])
    async with running(base_options(request.config, pyflare_options)) as flare:
        yield flare


@contextmanager
def _beside(request: pytest.FixtureRequest, flare: Any) -> Iterator[None]:
    """Let the test's own code run beside the Workers of ``flare``."""
    from .beside import of_pyflare

    with _set(request, of_pyflare(flare), "_pyflare_anyio_beside"):
        yield


@contextmanager
def _set(request: pytest.FixtureRequest, values: Values, on_anyio: str) -> Iterator[None]:
    """Set context variables for the test and its other fixtures.

    They get pytest's own context, but for those on anyio's plugin, whose runner has one: the fixture ``on_anyio`` sets
    them there.
    """
    from .beside import within

    if _is_anyio(request):
        request.node.stash.setdefault(_ON_ANYIO, {})[on_anyio] = values
        request.getfixturevalue(on_anyio)
    with within(values):
        yield


def _setting_on_anyio(name: str) -> Any:
    @pytest.fixture(name=name)
    async def setting(anyio_backend_name: str, request: pytest.FixtureRequest) -> Any:
        from .beside import within

        with within(request.node.stash[_ON_ANYIO].pop(name)):
            yield

    return setting


_anyio_beside = _setting_on_anyio("_pyflare_anyio_beside")
_anyio_outbound = _setting_on_anyio("_pyflare_anyio_outbound")


def _refuse_trio(backend: str) -> None:
    if backend != "asyncio":
        pytest.skip(f"pyflare runs on asyncio, not on {backend}")


def _noted(request: pytest.FixtureRequest, home: str) -> Any:
    found = request.getfixturevalue(home)
    request.node.stash.setdefault(_LOGS, []).append(found.log)
    return found


def _flare_of(found: Any) -> Any:
    """The Pyflare behind a BlockingPyflare, or itself."""
    return getattr(found, "flare", found)


def _is_anyio(request: pytest.FixtureRequest) -> bool:
    is_async = inspect.iscoroutinefunction(request.function)
    return is_async and "anyio_backend" in request.fixturenames


def _emulator(request: pytest.FixtureRequest) -> Any:
    shared = "pyflare_shared" in request.fixturenames and "pyflare" not in request.fixturenames
    return request.getfixturevalue("pyflare_shared" if shared else "pyflare")


def _home(request: pytest.FixtureRequest, *, shared: bool) -> str:
    """The fixture that starts the emulator where the test runs."""
    end = "_shared" if shared else ""
    if not inspect.iscoroutinefunction(request.function):
        return f"_pyflare_blocking{end}"
    if _is_anyio(request):
        return f"_pyflare_anyio{end}"
    if request.config.pluginmanager.hasplugin(_ASYNCIO_PLUGIN):
        from .on_asyncio import loop_scope

        return f"_pyflare_asyncio_{loop_scope(request.node)}{end}"
    pytest.fail(
        f"{request.node.nodeid} is async; install pytest-asyncio, or mark it for anyio's plugin.",
        pytrace=False,
    )
