"""What travels over the network for a Worker's fetch: lengths of bodies, connections, and nothing of other requests."""

from __future__ import annotations

import asyncio
import gc
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pyflare.js.buffer import Uint8Array
from pyflare.js.error import JsException
from pyflare.js.fetch import fetch, outbound
from pyflare.js.http_transport import HttpTransport
from pyflare.js.readable import ReadableStream
from pyflare.js.request import Request
from pyflare.js.transform import FixedLengthStream
from pyflare.js.value import jsnull
from tests.emulator.conftest import Runner, write_worker

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
BIG = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1_000_000


@dataclass
class Server:
    """An HTTP/1.1 server that keeps connections and notes what it gets."""

    answer: Callable[[bytes], bytes | None] = lambda head: OK
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                self.heads.append(head)
                length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.bodies.append(await reader.readexactly(int(length or 0)))
                answer = self.answer(head)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.closed += 1
        writer.close()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    transport = HttpTransport()
    outbound.set(transport.send)
    try:
        yield server
    finally:
        await transport.aclose()
        listening.close()
        while server.closed < server.connections:
            await asyncio.sleep(0.001)


def run(test: Callable[[Server], Awaitable[None]], **options: Any) -> Server:
    server = Server(**options)

    async def main() -> None:
        async with serving(server):
            await test(server)

    asyncio.run(main())
    return server


def fixed(data: bytes) -> ReadableStream:
    stream = FixedLengthStream.new(len(data))
    writer = stream.writable.getWriter()
    writer.write(Uint8Array.from_bytes(data))
    writer.close()
    return stream.readable  # type: ignore[no-any-return]


class Source:
    """A body that comes from a connection."""

    def __init__(self, data: bytes, length: int | None) -> None:
        self.length = length
        self._left = [data, b""]

    async def read(self) -> bytes:
        return self._left.pop(0)


def incoming(length: int | None) -> Request:
    return Request.from_http("POST", "http://here/", [], Source(b"hello", length), lambda: None)


@pytest.mark.parametrize(
    "send",
    [
        pytest.param(lambda url: fetch(url, method="POST", body=fixed(b"hello")), id="fixed"),
        pytest.param(lambda url: fetch(url, method="POST", body=incoming(5).body), id="body"),
        pytest.param(lambda url: fetch(url, incoming(5)), id="request"),
        pytest.param(
            lambda url: fetch(url, method="POST", body=Uint8Array.from_bytes(b"hello")), id="bytes"
        ),
        pytest.param(lambda url: fetch(url, method="POST", body="hello"), id="text"),
    ],
)
def test_a_body_of_known_length_has_that_as_its_content_length(send: Any) -> None:
    async def test(server: Server) -> None:
        assert await (await send(server.url)).text() == "ok"

    server = run(test)
    assert b"\r\ncontent-length: 5\r\n" in server.heads[0]
    assert b"transfer-encoding" not in server.heads[0]
    assert server.bodies == [b"hello"]


def test_a_body_of_unknown_length_goes_in_chunks() -> None:
    async def test(server: Server) -> None:
        with pytest.raises(JsException):
            await fetch(server.url, method="POST", body=incoming(None).body)

    server = run(test, answer=lambda head: None)
    assert b"\r\ntransfer-encoding: chunked\r\n" in server.heads[0]


def test_a_user_and_password_of_the_url_are_not_sent() -> None:
    async def test(server: Server) -> None:
        url = server.url.replace("://", "://user:p%40w@") + "at@sign?x=y@z"
        response = await fetch(url)
        assert response.url == url

    server = run(test)
    assert server.heads[0].startswith(b"get /at@sign?x=y@z http/1.1")
    assert b"authorization" not in server.heads[0]
    assert b"host: 127.0.0.1:" in server.heads[0]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_no_body_is_a_length_of_zero(method: str) -> None:
    async def test(server: Server) -> None:
        await fetch(server.url, method=method)

    assert run(test).heads[0].count(b"\r\ncontent-length: 0\r\n") == 1


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_that_has_never_a_body_tells_no_length(method: str) -> None:
    async def test(server: Server) -> None:
        await fetch(server.url, method=method)

    server = run(test, answer=lambda head: b"HTTP/1.1 204 No Content\r\n\r\n")
    assert b"content-length" not in server.heads[0]


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("HEAD", b"200 OK\r\ncontent-length: 7"),
        ("GET", b"204 No Content"),
        ("GET", b"304 Not Modified"),
    ],
)
@pytest.mark.parametrize("pooled", [True, False])
def test_an_answer_without_a_body_has_null_for_it(method: str, head: bytes, pooled: bool) -> None:
    async def test(server: Server) -> None:
        if not pooled:
            outbound.set(None)
        response = await fetch(server.url, method=method)
        assert response.body is jsnull
        assert await response.text() == ""
        assert response.headers.get("content-length") in ("7", jsnull)

    run(test, answer=lambda _: b"HTTP/1.1 " + head + b"\r\n\r\n")


def test_the_address_of_a_client_is_not_told_to_other_servers() -> None:
    pairs = [(b"cf-connecting-ip", b"1.2.3.4"), (b"x-own", b"1")]
    passed_on = Request.from_http("GET", "http://here/", pairs, None, lambda: None)

    async def test(server: Server) -> None:
        assert await (await fetch(server.url, passed_on)).text() == "ok"

    server = run(test)
    assert b"\r\nx-own: 1\r\n" in server.heads[0]
    assert b"cf-connecting-ip" not in server.heads[0]


def test_requests_after_each_other_share_a_connection() -> None:
    async def test(server: Server) -> None:
        for _ in range(5):
            assert await (await fetch(server.url)).text() == "ok"

    assert run(test).connections == 1


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 1234\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 1234\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    ],
)
def test_an_answer_without_a_body_gives_its_connection_back_unread(
    method: str, answer: bytes
) -> None:
    async def test(server: Server) -> None:
        for _ in range(3):
            await fetch(server.url, method=method)

    assert run(test, answer=lambda head: answer).connections == 1


def test_requests_beside_each_other_have_connections_of_their_own() -> None:
    async def test(server: Server) -> None:
        responses = [await fetch(server.url) for _ in range(120)]
        assert [await each.text() for each in responses[:2]] == ["x" * 1_000_000] * 2
        for each in responses[2:]:
            await each.body.cancel()

    assert run(test, answer=lambda head: BIG).connections == 120


def test_an_answer_that_nobody_keeps_gives_its_connection_up() -> None:
    async def test(server: Server) -> None:
        await fetch(server.url)
        gc.collect()
        while server.closed == 0:
            await asyncio.sleep(0.001)

    run(test, answer=lambda head: BIG)


def test_cookies_of_a_server_are_not_sent_back() -> None:
    cookie = OK.replace(b"\r\n\r\n", b"\r\nset-cookie: a=b; path=/\r\n\r\n")

    async def test(server: Server) -> None:
        assert (await fetch(server.url)).headers.getSetCookie()[0] == "a=b; path=/"
        await fetch(server.url)

    assert not any(b"\r\ncookie:" in head for head in run(test, answer=lambda head: cookie).heads)


class ClosesOnSecond:
    """Answers the first request of a connection and closes with the second, as a server whose patience is over."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, head: bytes) -> bytes | None:
        self.requests += 1
        return None if self.requests == 2 else OK


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_kept_connection_that_turns_out_closed_is_replaced(method: str) -> None:
    async def test(server: Server) -> None:
        await (await fetch(server.url)).text()
        assert (await fetch(server.url, method=method)).status == 200

    assert run(test, answer=ClosesOnSecond()).connections == 2


@pytest.mark.parametrize("body", [b"x", None])
def test_what_changes_something_is_never_sent_twice(body: bytes | None) -> None:
    async def test(server: Server) -> None:
        await (await fetch(server.url)).text()
        with pytest.raises(JsException, match="Network connection lost"):
            await fetch(server.url, method="POST", body=body)

    assert len(run(test, answer=ClosesOnSecond()).heads) == 2


def test_a_new_connection_that_fails_is_not_tried_again() -> None:
    async def test(server: Server) -> None:
        with pytest.raises(JsException, match="Network connection lost"):
            await fetch(server.url)

    assert len(run(test, answer=lambda head: None).heads) == 1


def test_a_closed_transport_serves_again_on_another_loop() -> None:
    transport = HttpTransport()

    async def main() -> None:
        async with serving(Server()) as server:
            outbound.set(transport.send)
            assert await (await fetch(server.url)).text() == "ok"
            await transport.aclose()

    asyncio.run(main())
    asyncio.run(main())


SHARING = """
from workers import Response, WorkerEntrypoint, fetch

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        answer = await fetch(request.headers["x-url"])
        return answer if request.url.endswith("/pass") else Response(await answer.text())
"""


def passing(run: Runner, tmp_path: Path, path: str, server: Server, *, times: int = 1) -> Any:
    async def program(flare: Any) -> Any:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        try:
            for _ in range(times):
                answer = await flare.fetch(path, headers={"x-url": url}, stream=True)
                body = b"".join([chunk async for chunk in answer.aiter_raw()])
                await answer.aclose()
        finally:
            listening.close()
        return answer, body

    return run(program, write_worker(tmp_path, SHARING))


def test_workers_of_one_emulator_share_connections(run: Runner, tmp_path: Path) -> None:
    server = Server()

    _, body = passing(run, tmp_path, "/read", server, times=4)

    assert (body, server.connections) == (b"ok", 1)


@pytest.mark.parametrize("sent", [b"no gzip", gzip.compress(b"packed")], ids=["not", "really"])
def test_an_encoded_answer_that_is_passed_on_unread_is_not_looked_into(
    run: Runner, tmp_path: Path, sent: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(sent)
    server = Server(answer=lambda _: head + sent)

    answer, body = passing(run, tmp_path, "/pass", server)

    assert answer.headers["content-encoding"] == "gzip"
    assert body == sent


def test_an_encoded_answer_that_is_read_is_decoded(run: Runner, tmp_path: Path) -> None:
    sent = gzip.compress(b"packed")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(sent)

    _, body = passing(run, tmp_path, "/read", Server(answer=lambda _: head + sent))

    assert body == b"packed"


@pytest.mark.parametrize(
    "names", [("httpx",), ("anyio", "certifi", "httpcore", "sniffio"), ("h2", "idna")]
)
def test_files_of_the_worker_named_like_pyflares_own_packages_do_not_break_fetch(
    run: Runner, tmp_path: Path, names: tuple[str, ...]
) -> None:
    server = Server()
    files = {f"src/{name}.py": f"mine = '{name}'" for name in names}
    source = SHARING + "\n".join(f"import {name}\nassert {name}.mine == '{name}'" for name in names)

    async def program(flare: Any) -> str:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        answer = await flare.fetch("/read", headers={"x-url": url})
        listening.close()
        return answer.text  # type: ignore[no-any-return]

    assert run(program, write_worker(tmp_path, {"src/entry.py": source, **files})) == "ok"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from ipaddress import ip_address

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(made.public_bytes(encoding))
    (folder / "key.pem").write_bytes(
        key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


def test_a_server_that_speaks_http_2_is_asked_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("h2")
    cert, key = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    versions: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import RequestReceived

        versions.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                if isinstance(event, RequestReceived):
                    connection.send_headers(event.stream_id, [(":status", "200")])
                    connection.send_data(event.stream_id, b"over two", end_stream=True)
            writer.write(connection.data_to_send())
        writer.close()

    async def main() -> None:
        listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        transport = HttpTransport()
        outbound.set(transport.send)
        url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        for _ in range(2):
            response = await fetch(url, headers={"x-a": "1"}.items())
            assert await response.text() == "over two"
        await transport.aclose()
        listening.close()
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert versions == ["h2"]
