"""Requests that are under way when the server stops or starts again: time to end, else an answer that says why."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from pyflare.cli import serving
from pyflare.cli.serving import RESTARTED, STOPPED, HttpServer
from pyflare.server.outbound import send_text

from .conftest import SECONDS
from .test_joining import session  # noqa: F401

SLOW = """
import asyncio
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        print("begun", request.url.rsplit("/", 1)[1])
        body = await request.text()
        if "slow" in request.url:
            await asyncio.sleep(float(request.url.rsplit("-", 1)[1]))
        return Response(body + "from alpha")
"""


class Asked(threading.Thread):
    """A request in a thread of its own."""

    def __init__(self, method: str, url: str, content: Any = None) -> None:
        super().__init__()
        self.answer: httpx.Response | httpx.TransportError | None = None
        self._request = (method, url, content)
        self.start()

    def run(self) -> None:
        method, url, content = self._request
        try:
            self.answer = httpx.request(
                method, url, content=content, trust_env=False, timeout=SECONDS
            )
        except httpx.TransportError as error:
            self.answer = error

    @property
    def text(self) -> str:
        self.join(SECONDS)
        assert isinstance(self.answer, httpx.Response), self.answer
        return f"{self.answer.status_code} {self.answer.text}"


def slowly() -> Any:
    for _ in range(8):
        time.sleep(0.4)
        yield b"x"


def test_a_session_that_joins_cuts_no_request_of_the_first(session: Any) -> None:  # noqa: F811
    alpha = session("alpha", SLOW).ready()
    url = f"http://127.0.0.1:{alpha.port}"
    asked = [Asked("GET", f"{url}/slow-3.5"), Asked("PUT", f"{url}/upload", slowly())]
    alpha.until(lambda: "begun slow-3.5" in alpha.out and "begun upload" in alpha.out)
    beta = session("beta").ready()

    assert [each.text for each in asked] == ["200 from alpha", "200 xxxxxxxxfrom alpha"]
    assert beta.get() == (200, "beta version one")
    assert alpha.get() == (200, "from alpha")
    assert "Cut while" not in alpha.err


def test_what_is_cut_by_a_stop_is_told_so_and_logged(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "alpha", SLOW)
    alpha = dev(tmp_path / "alpha").ready()
    asked = Asked("GET", f"http://127.0.0.1:{alpha.port}/slow-60")
    alpha.until(lambda: "begun slow-60" in alpha.out)

    assert alpha.stop(signal.SIGINT) == 0
    assert asked.text == f"503 {STOPPED}"
    assert "Cut while under way: GET /slow-60." in alpha.out


async def exchange(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("path", "hurry", "cut", "ends"),
    [
        # A stream may be endless, so it is not waited for.
        ("/stream", False, 0.05, b"1\r\n.\r\n"),
        ("/late", True, 0.05, RESTARTED.encode()),
        ("/late", False, 0.3, RESTARTED.encode()),
        ("/stubborn", True, 0.05, RESTARTED.encode()),
    ],
)
def test_requests_get_their_time_and_then_an_answer(
    monkeypatch: pytest.MonkeyPatch, path: str, hurry: bool, cut: float, ends: bytes
) -> None:
    monkeypatch.setattr(serving, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(serving, "PATIENCE_SECONDS", 0.3)

    async def program() -> tuple[bytes, list[str], float]:
        begun = asyncio.Event()

        async def app(scope: Any, _receive: Any, send: Any) -> None:
            if path == "/stream":
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b".", "more_body": True})
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                if path == "/stubborn":
                    await send_text(send, 200, "too late")

        sock = serving.socket.create_server(("127.0.0.1", 0))
        server = HttpServer(app, None, [sock])
        await server.start()
        asked = asyncio.create_task(exchange(sock.getsockname()[1], path))
        await begun.wait()
        before = time.monotonic()
        gone = await server.stop(RESTARTED, lambda: hurry)
        return await asked, gone, time.monotonic() - before

    answer, gone, seconds = asyncio.run(program())
    assert answer.endswith(ends)
    assert answer.startswith(b"HTTP/1.1 200" if path == "/stream" else b"HTTP/1.1 503")
    assert (b"retry-after: 0" in answer) == (path != "/stream")
    assert gone == [f"GET {path}"]
    assert seconds >= cut


def test_a_stop_with_nothing_under_way_cuts_nothing() -> None:
    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError

    async def program() -> list[str]:
        sock = serving.socket.create_server(("127.0.0.1", 0))
        server = HttpServer(app, None, [sock])
        await server.start()
        return await server.stop()

    assert asyncio.run(program()) == []
