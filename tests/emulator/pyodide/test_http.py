"""``pyodide.http``: responses with Python's names, and ``pyfetch`` through any fetcher."""

from __future__ import annotations

import asyncio
import pickle
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.js import fetch as js_fetch
from pyflare.js.abort import AbortController
from pyflare.js.buffer import ArrayBuffer, Uint8Array
from pyflare.js.error import DOMException, JsException, TypeError_
from pyflare.js.promise import rejected, resolved
from pyflare.js.request import Request
from pyflare.js.response import Response
from pyflare.js.semantics import PYODIDE_314, semantics
from pyflare.pyodide import suspension
from pyflare.pyodide.http import (
    AbortError,
    BodyUsedError,
    FetchResponse,
    HttpStatusError,
    open_url,
    pyfetch,
)


def response(body: Any = "hello", **options: Any) -> FetchResponse:
    return FetchResponse("http://asked/", Response.new(body, **options))


def test_attributes_carry_pythons_names() -> None:
    made = response(status=201, headers={"X-A": "b"}.items())
    assert (made.status, made.ok, made.status_text, made.type) == (201, True, "", "default")
    assert (made.headers["x-a"], made.redirected, made.body_used) == ("b", False, False)


def test_the_url_is_what_was_asked_for_when_the_response_has_none() -> None:
    assert response().url == "http://asked/"
    assert FetchResponse("", Response.new("x")).url == ""


READERS: list[tuple[Callable[[FetchResponse], Awaitable[Any]], Any]] = [
    (lambda made: made.text(), "[1]"),
    (lambda made: made.string(), "[1]"),
    (lambda made: made.json(), [1]),
    (lambda made: made.json(parse_int=str), ["1"]),
    (lambda made: made.bytes(), b"[1]"),
    (lambda made: made.memoryview(), b"[1]"),
]


@pytest.mark.parametrize(("read", "expected"), READERS)
def test_readers(read: Callable[[FetchResponse], Awaitable[Any]], expected: Any) -> None:
    async def main() -> Any:
        return await read(response("[1]"))

    assert asyncio.run(main()) == expected


def test_buffer_gives_a_javascript_buffer() -> None:
    async def main() -> Any:
        return await response("ab").buffer()

    assert isinstance(asyncio.run(main()), ArrayBuffer)


def test_a_body_is_read_once() -> None:
    async def main() -> None:
        made = response()
        await made.text()
        assert made.body_used
        with pytest.raises(OSError, match="Response body is already used") as caught:
            await made.text()
        assert type(caught.value) is OSError

    asyncio.run(main())


def test_from_runtime_0_29_on_a_used_body_has_an_error_of_its_own() -> None:
    async def main() -> None:
        made = response()
        await made.text()
        semantics.set(PYODIDE_314)
        with pytest.raises(BodyUsedError, match="Response body is already used"):
            made.clone()

    asyncio.run(main())


def test_a_clone_can_be_read_besides_the_original() -> None:
    async def main() -> list[str]:
        made = response("x")
        copy = made.clone()
        return [await made.text(), await copy.text()]

    assert asyncio.run(main()) == ["x", "x"]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (404, "404 Client Error: Sorry for url: http://asked/"),
        (503, "503 Server Error: Sorry for url: http://asked/"),
    ],
)
def test_raise_for_status(status: int, text: str) -> None:
    with pytest.raises(HttpStatusError) as caught:
        response(status=status, statusText="Sorry").raise_for_status()
    assert str(caught.value) == text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_a_good_status_raises_nothing() -> None:
    response(status=302).raise_for_status()


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("content")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "in"))
    packed = archive.read_bytes()

    async def main() -> None:
        made = FetchResponse(
            "http://asked/packed.zip?x", Response.new(Uint8Array.from_bytes(packed))
        )
        await made.unpack_archive(extract_dir=str(tmp_path / "out"))

    asyncio.run(main())
    assert (tmp_path / "out" / "a.txt").read_text() == "content"


def test_an_archive_of_unknown_format_is_refused() -> None:
    async def main() -> None:
        await response().unpack_archive()

    with pytest.raises(ValueError, match="Unknown archive format"):
        asyncio.run(main())


def test_abort_without_a_controller_is_refused() -> None:
    with pytest.raises(ValueError, match="abort_controller is not set"):
        response().abort()


def fetched(
    fetcher: Callable[..., Any], request: Any = "http://x/", **options: Any
) -> FetchResponse:
    async def main() -> FetchResponse:
        return await pyfetch(request, fetcher=fetcher, **options)

    return asyncio.run(main())


def test_pyfetch_hands_its_options_over_as_a_javascript_object() -> None:
    seen: list[Any] = []

    def fetcher(request: Any, options: Any) -> Any:
        seen.extend((request, options))
        return resolved(Response.new("ok"))

    made = fetched(fetcher, method="POST", headers={"a": "b"}, body=b"raw")
    request, options = seen
    assert (request, options.method, options.headers.a, options.body.to_bytes()) == (
        "http://x/",
        "POST",
        "b",
        b"raw",
    )
    assert made.status == 200


def test_pyfetch_can_abort_what_it_started() -> None:
    signals: list[Any] = []

    def fetcher(request: Any, options: Any) -> Any:
        signals.append(options.signal)
        return resolved(Response.new("ok"))

    async def main() -> None:
        made = await pyfetch("http://x/", fetcher=fetcher)
        made.abort("enough")
        assert signals[0].aborted
        with pytest.raises(AbortError, match="enough"):
            await made.text()

    asyncio.run(main())


def test_pyfetch_listens_to_the_given_signal() -> None:
    signals: list[Any] = []

    def fetcher(request: Any, options: Any) -> Any:
        signals.append(options.signal)
        return resolved(Response.new("ok"))

    async def main() -> None:
        controller = AbortController.new()
        await pyfetch("http://x/", fetcher=fetcher, signal=controller.signal)
        controller.abort()
        assert signals[0].aborted

    asyncio.run(main())


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (lambda: TypeError_.new("no network"), OSError, "no network"),
        (
            lambda: DOMException.new("The operation was aborted", "AbortError"),
            AbortError,
            "AbortError: The operation was aborted",
        ),
    ],
)
def test_failures_arrive_as_os_errors(
    error: Callable[[], JsException], kind: type[OSError], text: str
) -> None:
    with pytest.raises(OSError) as caught:
        fetched(lambda *_: rejected(error()))
    assert (type(caught.value), str(caught.value)) == (kind, text)


async def _echo(request: Any) -> Any:
    return Response.new(f"{request.method} {request.url}")


@pytest.mark.parametrize(
    "request_of", [lambda: "http://x/path", lambda: Request.new("http://x/path")]
)
def test_without_a_fetcher_the_global_fetch_is_used(request_of: Callable[[], Any]) -> None:
    async def main() -> str:
        js_fetch.outbound.set(_echo)
        return await (await pyfetch(request_of())).text()

    assert asyncio.run(main()) == "GET http://x/path"


@pytest.fixture
def waiting() -> Iterator[None]:
    """``run_sync`` that waits on a loop of its own, as this test has none."""
    before = suspension._run, suspension._can_run
    suspension.install(lambda awaitable: asyncio.run(awaitable), lambda: True)
    yield
    suspension.install(*before)


@pytest.mark.usefixtures("waiting")
def test_open_url_waits_for_the_text() -> None:
    token = js_fetch.outbound.set(_echo)
    try:
        assert open_url("http://x/").read() == "GET http://x/"
    finally:
        js_fetch.outbound.reset(token)
