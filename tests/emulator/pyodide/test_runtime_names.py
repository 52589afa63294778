"""``pyodide``, ``pyodide.webloop``, ``pyodide.ffi.wrappers`` and registered modules."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare import pyodide
from pyflare.js.events import Event, EventTarget
from pyflare.js.promise import JsPromise
from pyflare.js.semantics import PYODIDE_0_26, semantics
from pyflare.js.value import JsObject
from pyflare.pyodide.ffi import register_js_module, unregister_js_module, wrappers
from pyflare.pyodide.webloop import PyodideFuture, PyodideTask, WebLoop


def test_the_version_is_the_running_workers() -> None:
    assert pyodide.__version__ == "0.28.2"

    def old_worker() -> str:
        semantics.set(PYODIDE_0_26)
        return pyodide.__version__

    assert contextvars.copy_context().run(old_worker) == "0.26.0a2"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pyodide' has no attribute 'loadPackage'"):
        pyodide.loadPackage  # noqa: B018


def test_promises_are_pyodide_futures() -> None:
    assert PyodideFuture is JsPromise
    assert issubclass(WebLoop, asyncio.AbstractEventLoop)


def test_a_pyodide_task_can_be_chained() -> None:
    async def work() -> int:
        return 1

    async def main() -> list[Any]:
        task = PyodideTask(work())
        seen: list[Any] = []
        doubled = await task.then(lambda value: value * 2)
        await task.finally_(lambda: seen.append("finally"))

        async def fail() -> None:
            raise ValueError("bad")

        caught = await PyodideTask(fail()).catch(str)
        return [doubled, caught, *seen]

    assert asyncio.run(main()) == [2, "bad", "finally"]


def test_event_listeners_come_and_go() -> None:
    target = EventTarget.new()
    seen: list[str] = []

    def listener(event: Any) -> None:
        seen.append(event.type)

    async def main() -> None:
        wrappers.add_event_listener(target, "ping", listener)
        target.dispatchEvent(Event.new("ping"))
        wrappers.remove_event_listener(target, "ping", listener)
        target.dispatchEvent(Event.new("ping"))

    asyncio.run(main())
    assert seen == ["ping"]


def test_timers_fire_and_can_be_cleared() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        ticks = asyncio.Event()

        def tick() -> None:
            seen.append("tick")
            ticks.set()

        cleared = wrappers.set_timeout(lambda: seen.append("cleared"), 0)
        wrappers.clear_timeout(cleared)
        interval = wrappers.set_interval(tick, 0)
        await asyncio.wait_for(ticks.wait(), 5)
        wrappers.clear_interval(interval)
        return seen

    assert asyncio.run(main())[0] == "tick"


@pytest.fixture
def registered() -> Iterator[str]:
    name = "pyflare_test_module"
    register_js_module(name, JsObject.adopt({"a": 1, "inner": JsObject.adopt({"b": 2})}))
    yield name
    unregister_js_module(name)


def test_a_registered_object_is_a_module(registered: str) -> None:
    module = importlib.import_module(registered)
    assert module.a == 1
    assert "inner" in dir(module)
    assert importlib.import_module(f"{registered}.inner").b == 2


def test_an_absent_property_of_a_registered_module_is_an_attribute_error(registered: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        importlib.import_module(registered).missing  # noqa: B018


def test_a_property_that_is_no_object_is_no_module(registered: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{registered}.a")


def test_registering_again_replaces(registered: str) -> None:
    importlib.import_module(registered)
    register_js_module(registered, {"a": 5})
    assert importlib.import_module(registered).a == 5


def test_an_unregistered_module_is_gone() -> None:
    register_js_module("pyflare_gone", JsObject.adopt({}))
    importlib.import_module("pyflare_gone")
    unregister_js_module("pyflare_gone")
    assert "pyflare_gone" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pyflare_gone")


def test_bad_registrations_are_refused() -> None:
    with pytest.raises(TypeError, match="Argument 'name' must be a str, not 'int'"):
        register_js_module(1, JsObject.adopt({}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Argument 'jsproxy' must be a JsProxy, not 'int'"):
        register_js_module("x", 1)
    with pytest.raises(ValueError, match="Cannot unregister 'never'"):
        unregister_js_module("never")


@pytest.mark.parametrize("name", ["code", "ffi", "webloop"])
def test_the_package_brings_its_modules(name: str) -> None:
    fresh = f"import pyflare.pyodide as pyodide; print(pyodide.{name}.__name__)"
    ran = subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == f"pyflare.pyodide.{name}"
