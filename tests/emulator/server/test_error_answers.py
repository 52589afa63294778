"""What a client gets when a worker raised: a page, JSON or text; and what never leaks into it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pyflare.js.error import Error
from pyflare.js.response import Response
from pyflare.server.error_page import error_page
from pyflare.server.error_response import preferred_format

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "agent", "expected"),
    [
        (BROWSER, "Mozilla/5.0", "html"),
        ("*/*", "Mozilla/5.0", "html"),
        ("text/*", "Mozilla/5.0", "html"),
        ("*/*", "curl/8.5.0", "text"),
        ("text/html", "curl/8.5.0", "text"),
        ("application/json", "Mozilla/5.0", "json"),
        ("application/json", "curl/8.5.0", "json"),
        ("application/json, text/plain, */*", "axios", "json"),
        ("text/html, application/json", "Mozilla/5.0", "html"),
        ("text/html;q=0.5, application/json", "Mozilla/5.0", "json"),
        ("text/html, application/json;q=0.9", "Mozilla/5.0", "html"),
        ("text/html;q=0", "Mozilla/5.0", "text"),
        ("image/png", "Mozilla/5.0", "text"),
        ("text/html;q=nonsense", "Mozilla/5.0", "html"),
        ("", "Mozilla/5.0", "text"),
    ],
)
def test_format_follows_what_the_client_accepts(accept: str, agent: str, expected: str) -> None:
    assert preferred_format(accept, agent) == expected


def failing(serving: Any, handler: Any, **headers: str) -> tuple[Any, str]:
    """Answer and error output of one request to a handler that raises."""

    async def go() -> tuple[Any, str]:
        async with serving(handler) as client:
            answer = await client.get("/boom?q=<b>", **headers)
            client.log.flush()
            return answer, client.err.getvalue()

    return asyncio.run(go())


def raising(error: BaseException) -> Any:
    def handler(_: Any) -> Response:
        raise error

    return handler


def test_exception_gives_500_and_the_traceback_as_text(serving: Any) -> None:
    answer, _ = failing(serving, raising(ValueError("boom")))
    assert answer.status == 500
    assert answer.get("content-type") == "text/plain;charset=utf-8"
    assert answer.text.startswith("Traceback (most recent call last):\n")
    assert "ValueError: boom\n" in answer.text


def test_traceback_begins_in_the_users_file(serving: Any) -> None:
    answer, _ = failing(serving, raising(ValueError("boom")))
    first_frame = answer.text.split("\n")[1]
    assert "conftest.py" in first_frame
    assert "application.py" not in answer.text


def test_browser_gets_a_page(serving: Any) -> None:
    answer, _ = failing(serving, raising(ValueError("boom")), accept=BROWSER)
    assert answer.get("content-type") == "text/html;charset=utf-8"
    assert "<title>An error has occurred</title>" in answer.text
    assert "ValueError: boom" in answer.text
    assert "raise error" in answer.text


def test_page_escapes_what_comes_from_outside(serving: Any) -> None:
    answer, _ = failing(
        serving,
        raising(ValueError("<script>alert(1)</script>")),
        accept=BROWSER,
        x_evil="<img src=x>",
    )
    assert "<script>" not in answer.text
    assert "<img" not in answer.text
    assert "&lt;script&gt;" in answer.text


@pytest.mark.parametrize(
    "name", ["authorization", "cookie", "x-api-key", "x-auth-token", "cf-access-client-secret"]
)
def test_page_hides_headers_that_hold_secrets(serving: Any, name: str) -> None:
    answer, _ = failing(serving, raising(ValueError("x")), accept=BROWSER, **{name: "s3cr3t"})
    assert name in answer.text
    assert "s3cr3t" not in answer.text


def test_json_names_the_error(serving: Any) -> None:
    answer, _ = failing(serving, raising(ValueError("boom")), accept="application/json")
    assert answer.get("content-type") == "application/json"
    error = json.loads(answer.text)["error"]
    assert (error["name"], error["message"]) == ("ValueError", "boom")
    assert error["stack"].startswith("Traceback")


def test_platform_error_goes_by_its_javascript_name(serving: Any) -> None:
    answer, errors = failing(
        serving,
        raising(Error("Handler does not export a fetch() function.")),
        accept="application/json",
    )
    error = json.loads(answer.text)["error"]
    assert (error["name"], error["message"]) == (
        "Error",
        "Handler does not export a fetch() function.",
    )
    assert "✘ [ERROR] Uncaught Error: Handler does not export a fetch() function." in errors


def test_exception_is_logged_and_so_is_the_request(serving: Any) -> None:
    async def go() -> tuple[str, str]:
        async with serving(raising(ValueError("boom"))) as client:
            await client.get("/x")
            client.log.flush()
            return client.out.getvalue(), client.err.getvalue()

    out, err = asyncio.run(go())
    assert "[wrangler:info] GET /x 500 Internal Server Error (" in out
    assert err.startswith("✘ [ERROR] Uncaught ValueError: boom\n")
    assert "  Traceback (most recent call last):\n" in err


@pytest.mark.parametrize("error", [SystemExit(3), RecursionError("deep"), AssertionError()])
def test_no_exception_ends_the_server(serving: Any, error: BaseException) -> None:
    def handler(request: Any) -> Response:
        if request.url.endswith("/bad"):
            raise error
        return Response.new("fine")

    async def go() -> tuple[int, str]:
        async with serving(handler) as client:
            bad = await client.get("/bad")
            return bad.status, (await client.get("/good")).text

    assert asyncio.run(go()) == (500, "fine")


def test_handler_that_cancels_itself_is_an_error_of_the_worker(serving: Any) -> None:
    async def handler(_: Any) -> Response:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    answer, _ = failing(serving, handler)
    assert answer.status == 500


def test_head_of_a_failed_request_has_no_body(serving: Any) -> None:
    async def go() -> Any:
        async with serving(raising(ValueError("boom"))) as client:
            return await client.get(method="HEAD")

    answer = asyncio.run(go())
    assert (answer.status, answer.body) == (500, b"")


def test_plain_errors_can_be_asked_for(serving: Any) -> None:
    async def go() -> Any:
        async with serving(raising(ValueError("boom")), pretty_errors=False) as client:
            return await client.get(accept=BROWSER)

    assert asyncio.run(go()).get("content-type") == "text/plain;charset=utf-8"


def test_text_that_cannot_be_encoded_is_escaped(serving: Any) -> None:
    answer, _ = failing(serving, raising(ValueError("\ud800")))
    assert "\\ud800" in answer.text


def test_page_shows_the_source_around_the_line(tmp_path: Path) -> None:
    module = tmp_path / "entry.py"
    module.write_text("def handler():\n    before = 1\n    raise KeyError('k')\n    after = 2\n")
    namespace: dict[str, Any] = {}
    exec(compile(module.read_text(), str(module), "exec"), namespace)
    try:
        namespace["handler"]()
    except KeyError as error:
        page = error_page(error, {"method": "GET", "headers": []}, "http://localhost/")
    assert f"{module}:3 in handler" in page
    assert "before = 1" in page
    assert "<span class=ran>    3      raise KeyError(&#x27;k&#x27;)</span>" in page
    assert "after = 2" in page
