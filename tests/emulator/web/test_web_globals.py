"""The table of the js module's names, and the small globals."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from contextvars import copy_context

import pytest

from pyflare.js.buffer import Float32Array, Uint8Array
from pyflare.js.callbacks import console_sink
from pyflare.js.crypto_random import crypto
from pyflare.js.error import Error, JsException
from pyflare.js.globals import GlobalScope, current_scope, global_scope, names, resolve
from pyflare.js.navigator import navigator
from pyflare.js.performance import performance
from pyflare.js.semantics import PYODIDE_0_26, PYODIDE_0_28, Semantics, semantics
from pyflare.js.value import jsnull


@pytest.mark.parametrize("name", names())
def test_every_listed_name_resolves(name: str) -> None:
    value = resolve(name)
    if name not in ("undefined", "NaN", "Infinity"):
        assert value is not None


@pytest.mark.parametrize(
    "name",
    [
        "Env",
        "KVNamespace",
        "DurableObjectState",
        "window",
        "document",
        "localStorage",
        "XMLHttpRequest",
        "alert",
    ],
)
def test_what_the_runtime_does_not_have_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        resolve(name)
    assert str(caught.value) == name


@pytest.mark.parametrize(
    "name", ["Request", "Response", "Headers", "URL", "FormData", "Map", "Error", "Promise"]
)
def test_classes_are_known_by_the_name_they_are_found_under(name: str) -> None:
    assert resolve(name).name == name
    assert resolve(name).typeof == "function"


def test_nothing_heavy_is_imported_by_looking_at_requests_and_responses() -> None:
    program = (
        "import sys\nfrom pyflare.js.globals import resolve\n"
        "for name in ('Request', 'Response', 'Headers', 'URL', 'console', 'fetch', 'setTimeout'):\n    resolve(name)\n"
        "resolve('URL').new('http://localhost/a?b')\n"
        "print([name for name in ('httpx', 'ada_url', 'uuid') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_global_this_gives_every_global_and_keeps_what_is_set() -> None:
    def check() -> None:
        global_scope.set(GlobalScope._make())
        scope = current_scope()
        assert scope.Headers is resolve("Headers")
        scope.answer = 42
        assert current_scope().answer == 42
        assert "Headers" in dir(scope)
        with pytest.raises(AttributeError):
            scope.window  # noqa: B018

    copy_context().run(check)
    assert not hasattr(current_scope(), "answer")


def test_reported_errors_are_logged() -> None:
    lines: list[tuple[str, str]] = []

    def check() -> None:
        console_sink.set(lambda level, text: lines.append((level, text)))
        resolve("reportError")(Error("odd"))

    copy_context().run(check)
    assert lines == [("error", "Uncaught Error: odd")]


def test_random_bytes_are_filled_in_place() -> None:
    view = Uint8Array.new(64)
    assert crypto.getRandomValues(view) is view
    assert view.to_bytes() != bytes(64)


def test_random_values_need_an_integer_view_of_a_bounded_size() -> None:
    with pytest.raises(JsException) as caught:
        crypto.getRandomValues(Float32Array.new(1))
    assert str(caught.value) == (
        "TypeMismatchError: ArrayBufferView argument to getRandomValues() must be an integer-typed view."
    )
    with pytest.raises(JsException) as caught:
        crypto.getRandomValues(Uint8Array.new(65537))
    assert str(caught.value) == (
        "QuotaExceededError: getRandomValues() only accepts buffers of size <= 64K but provided 65537 bytes."
    )
    with pytest.raises(JsException, match="takes an integer-typed view"):
        crypto.getRandomValues("x")


def test_random_identifiers() -> None:
    pattern = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(pattern, crypto.randomUUID())
    assert crypto.randomUUID() != crypto.randomUUID()


def test_navigator_and_performance() -> None:
    assert navigator.userAgent == "Cloudflare-Workers"
    assert list(navigator.languages) == ["en"]
    assert performance.timeOrigin == 0
    assert performance.now() > 1.6e12


def test_promises_of_bodies_are_futures() -> None:
    async def main() -> None:
        promise = resolve("Response").new("x").text()
        assert isinstance(promise, asyncio.Future)
        assert await promise.then(lambda text: text + "!") == "x!"

    asyncio.run(main())


@pytest.mark.parametrize(("version", "expected"), [(PYODIDE_0_26, None), (PYODIDE_0_28, jsnull)])
def test_null_arrives_as_the_runtime_version_has_it(version: Semantics, expected: object) -> None:
    def check() -> None:
        semantics.set(version)
        assert resolve("Headers").new().get("x") is expected
        assert resolve("FormData").new().get("x") is expected
        assert resolve("URLSearchParams").new().get("x") is expected
        assert resolve("URL").parse("nonsense") is expected
        assert resolve("Response").new(None).body is expected
        assert resolve("Response").new(None).webSocket is expected
        assert resolve("Headers").new()["x"] is expected

    copy_context().run(check)
