"""However a body is cut into chunks, a Worker sees the same; and so does the client of what a Worker sends in pieces.

Everything goes through the ASGI application, in process: bodies, forms and header values cut at every byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyflare import Pyflare
from pyflare.server.log import LogSink
from tests.emulator.conftest import Answer, Lines, write_worker

WORKER = """
    import js
    from pyodide.ffi import create_proxy, to_js
    from workers import File, Response, WorkerEntrypoint


    async def send(writable, data, cuts):
        writer = writable.getWriter()
        last = 0
        for cut in [*cuts, len(data)]:
            await writer.write(to_js(data[last:cut]))
            last = cut
        await writer.close()


    def streamed(pieces, **options):
        pieces = iter(pieces)

        async def pull(controller):
            piece = next(pieces, None)
            if piece is None:
                controller.close()
            else:
                controller.enqueue(to_js(piece))

        return js.ReadableStream.new(pull=create_proxy(pull), **options)


    async def fields(form):
        found = []
        for name in dict.fromkeys(form.keys()):
            for value in form.get_all(name):
                if isinstance(value, File):
                    found.append([name, value.name, value.content_type, (await value.bytes()).hex()])
                else:
                    found.append([name, value])
        return found


    async def collected(stream):
        return b"".join([chunk.to_bytes() async for chunk in stream])


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            kind = request.url.rsplit("/", 1)[1]
            return await getattr(self, kind)(request)

        async def text(self, request):
            return Response(await request.text())

        async def bytes(self, request):
            return Response(await request.bytes())

        async def json(self, request):
            return Response.json(await request.json())

        async def form(self, request):
            return Response.json(await fields(await request.form_data()))

        async def echo(self, request):
            return Response(request.body)

        async def tee(self, request):
            left, right = request.body.tee()
            first = await js.Response.new(left).bytes()
            return Response((await collected(right)) + first.to_bytes())

        async def decoded(self, request):
            text = request.body.pipeThrough(js.TextDecoderStream.new())
            return Response(text.pipeThrough(js.TextEncoderStream.new()))

        async def decoder(self, request):
            decoder = js.TextDecoder.new("utf-8")
            parts = [decoder.decode(chunk, stream=True) async for chunk in request.body]
            return Response("".join(parts) + decoder.decode())

        async def squeezed(self, request):
            squeezed = request.body.pipeThrough(js.CompressionStream.new("deflate"))
            return Response(squeezed.pipeThrough(js.DecompressionStream.new("deflate")))

        async def filled(self, request):
            reader = request.body.getReader(mode="byob")
            found = b""
            while True:
                step = await reader.read(js.Uint8Array.new(7))
                if step.done:
                    return Response(found)
                found += step.value.to_bytes()

        async def written(self, request):
            data = await request.bytes()
            cuts = [int(each) for each in request.headers["x-cuts"].split(",")]
            stream = js.TransformStream.new()
            self.ctx.waitUntil(create_proxy(send(stream.writable, data, cuts)))
            return Response(stream.readable)

        async def pulled(self, request):
            data = await request.bytes()
            ends = [0, *(int(each) for each in request.headers["x-cuts"].split(",")), len(data)]
            return Response(streamed(data[a:b] for a, b in zip(ends, ends[1:])))

        async def reformed(self, request):
            data = await request.bytes()
            ends = [0, *(int(each) for each in request.headers["x-cuts"].split(",")), len(data)]
            pieces = (data[a:b] for a, b in zip(ends, ends[1:]))
            response = js.Response.new(
                streamed(pieces), headers=js.Headers.new({"content-type": request.headers["content-type"]}.items())
            )
            from workers import FormData

            return Response.json(await fields(FormData(await response.formData())))

        async def headers(self, request):
            response = Response("x")
            for name, value in request.headers.items():
                if name.startswith("x-"):
                    response.js_object.headers.append(name, value)
            return response
"""

TEXT = 'a\u00e9\u20ac\U0001f600\n"\\\\'.encode() * 2 + b"\xff\xc3(\xe2\x82 end\xf0\x9f"
DOCUMENT = json.dumps({"k\u00e9": ["\u20ac", 1.5, None, {"\U0001f600": "\n"}]}, ensure_ascii=False)
BOUNDARY = "----b0und"
PARTS = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="t\u00e9xt"\r\n\r\nv\u00e4lue\r\n--\r\n'
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="\u00e9.bin"\r\n'
    "Content-Type: image/x\r\n\r\n"
).encode()
MULTIPART = PARTS + b"\x00\r\n--\xff\r\n" + f"\r\n--{BOUNDARY}--\r\n".encode()
MULTIPART_TYPE = f"multipart/form-data; boundary={BOUNDARY}"
URLENCODED = b"a=1&b=%C3%A9+x&a=%E2%82%AC&%F0%9F%98%80=&c"
URLENCODED_TYPE = "application/x-www-form-urlencoded"


Headers = Sequence[tuple[str, str | bytes]]


async def send(
    flare: Pyflare,
    path: str,
    pieces: Sequence[bytes],
    headers: Headers = (),
    *,
    sized: bool = False,
) -> Answer:
    """One POST whose body arrives in these pieces, of known length or chunked."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        # Each piece comes in a turn of the loop of its own, as from a socket.
        await asyncio.sleep(0)
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def take(message: Any) -> None:
        sent.append(message)

    length = str(sum(map(len, pieces))).encode()
    framing = (b"content-length", length) if sized else (b"transfer-encoding", b"chunked")
    given = [
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/{path}",
        "raw_path": f"/{path}".encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), framing, *given],
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8787),
    }
    await flare(scope, receive, take)
    return Answer(
        sent[0]["status"],
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent[0]["headers"]],
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


Work = Callable[[Pyflare], Awaitable[None]]


def with_worker(folder: Path, work: Work) -> None:
    """Runs `work` against the started Worker."""
    path = folder / "wrangler.json"
    if not path.exists():
        write_worker(folder, WORKER)
    lines = Lines()
    log = LogSink(stdout=lines, stderr=lines)  # type: ignore[arg-type]

    async def main() -> None:
        async with Pyflare(path, persist_to=None, log=log) as flare:
            await work(flare)

    asyncio.run(main())


def in_two(data: bytes, at: int) -> list[bytes]:
    return [piece for piece in (data[:at], data[at:]) if piece]


BODIES = [
    ("text", "", TEXT),
    ("bytes", "", TEXT),
    ("json", "application/json", DOCUMENT.encode()),
    ("form", MULTIPART_TYPE, MULTIPART),
    ("form", URLENCODED_TYPE, URLENCODED),
    ("echo", "", TEXT),
    ("tee", "", TEXT),
    ("decoded", "", TEXT),
    ("decoder", "", TEXT),
    ("squeezed", "", TEXT),
    ("filled", "", TEXT),
]


@pytest.mark.parametrize("sized", [False, True], ids=["chunked", "of known length"])
@pytest.mark.parametrize(("path", "kind", "body"), BODIES, ids=lambda each: str(each)[:12])
def test_a_request_body_cut_at_every_byte(
    tmp_path: Path, path: str, kind: str, body: bytes, sized: bool
) -> None:
    headers = [("content-type", kind)] if kind else []

    async def work(flare: Pyflare) -> None:
        whole = await send(flare, path, [body], headers, sized=sized)
        assert whole.status == 200, whole.text
        for at in range(len(body) + 1):
            cut = await send(flare, path, in_two(body, at), headers, sized=sized)
            assert (at, cut) == (at, whole)

    with_worker(tmp_path, work)


@pytest.mark.parametrize(("path", "kind", "body"), BODIES, ids=lambda each: str(each)[:12])
def test_a_request_body_byte_by_byte(tmp_path: Path, path: str, kind: str, body: bytes) -> None:
    headers = [("content-type", kind)] if kind else []

    async def work(flare: Pyflare) -> None:
        pieces = [bytes([byte]) for byte in body]
        assert await send(flare, path, pieces, headers) == await send(flare, path, [body], headers)

    with_worker(tmp_path, work)


def test_what_each_way_of_reading_makes_of_the_body(tmp_path: Path) -> None:
    decoded = TEXT.decode("utf-8", "replace").encode()

    async def work(flare: Pyflare) -> None:
        expected = {
            "text": decoded,
            "bytes": TEXT,
            "echo": TEXT,
            "tee": TEXT + TEXT,
            "decoded": decoded,
            "decoder": decoded,
            "squeezed": TEXT,
            "filled": TEXT,
        }
        found = {path: (await send(flare, path, [TEXT])).body for path in expected}
        assert found == expected

    with_worker(tmp_path, work)


def test_the_fields_of_both_kinds_of_form(tmp_path: Path) -> None:
    async def work(flare: Pyflare) -> None:
        multipart = await send(flare, "form", [MULTIPART], [("content-type", MULTIPART_TYPE)])
        urlencoded = await send(flare, "form", [URLENCODED], [("content-type", URLENCODED_TYPE)])

        assert multipart.json == [
            ["t\u00e9xt", "v\u00e4lue\r\n--"],
            ["file", "\u00e9.bin", "image/x", b"\x00\r\n--\xff\r\n".hex()],
        ]
        assert urlencoded.json == [
            ["a", "1"],
            ["a", "\u20ac"],
            ["b", "\u00e9 x"],
            ["\U0001f600", ""],
            ["c", ""],
        ]

    with_worker(tmp_path, work)


@pytest.mark.parametrize("path", ["written", "pulled"])
def test_a_response_body_cut_at_every_byte(tmp_path: Path, path: str) -> None:
    async def work(flare: Pyflare) -> None:
        for at in range(1, len(TEXT)):
            answer = await send(flare, path, [TEXT], [("x-cuts", str(at))])
            assert (at, answer.status, answer.body) == (at, 200, TEXT)

    with_worker(tmp_path, work)


@pytest.mark.parametrize(
    ("kind", "body"), [(MULTIPART_TYPE, MULTIPART), (URLENCODED_TYPE, URLENCODED)]
)
def test_a_form_that_arrives_through_a_stream_of_the_worker(
    tmp_path: Path, kind: str, body: bytes
) -> None:
    async def work(flare: Pyflare) -> None:
        headers = [("content-type", kind)]
        whole = await send(flare, "form", [body], headers)
        for at in range(1, len(body)):
            cut = await send(flare, "reformed", [body], [*headers, ("x-cuts", str(at))])
            assert (at, cut.json) == (at, whole.json)

    with_worker(tmp_path, work)


drawn = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@drawn
@given(
    body=st.binary(max_size=300),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=20),
    path=st.sampled_from(["bytes", "echo", "squeezed", "filled", "pulled", "written"]),
)
def test_any_body_in_chunks_of_any_sizes(
    tmp_path: Path, body: bytes, sizes: list[int], path: str
) -> None:
    pieces, cuts, at = [], [], 0
    while at < len(body):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(body[at : at + size])
        at += size
        cuts.append(min(at, len(body)))

    async def work(flare: Pyflare) -> None:
        headers = [("x-cuts", ",".join(map(str, cuts or [0])))]
        assert (await send(flare, path, pieces, headers)).body == body

    with_worker(tmp_path, work)


VISIBLE = bytes(range(0x21, 0x7F))


class TestHeaderValues:
    def test_a_value_cut_at_every_byte_into_two_lines_is_joined(self, tmp_path: Path) -> None:
        async def work(flare: Pyflare) -> None:
            for at in range(1, len(VISIBLE)):
                lines = [("x-value", VISIBLE[:at]), ("x-value", VISIBLE[at:])]
                answer = await send(flare, "headers", [], lines)
                joined = (VISIBLE[:at] + b", " + VISIBLE[at:]).decode()
                assert dict(answer.headers)["x-value"] == joined

        with_worker(tmp_path, work)

    def test_every_byte_that_a_value_may_hold_comes_back(self, tmp_path: Path) -> None:
        async def work(flare: Pyflare) -> None:
            for byte in (0x09, *range(0x20, 0x7F)):
                value = b"<" + bytes([byte]) + b">"
                answer = await send(flare, "headers", [], [("x-value", value)])
                assert (byte, dict(answer.headers).get("x-value")) == (byte, value.decode())

        with_worker(tmp_path, work)

    @drawn
    @given(
        values=st.lists(
            st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30),
            min_size=1,
            max_size=5,
        )
    )
    def test_any_text_comes_back_as_utf_8_without_the_spaces_around_it(
        self, tmp_path: Path, values: list[str]
    ) -> None:
        async def work(flare: Pyflare) -> None:
            lines = [(f"x-{number}", value) for number, value in enumerate(values)]
            answer = await send(flare, "headers", [], lines)
            found = dict(answer.headers)
            assert [found[f"x-{number}"] for number in range(len(values))] == [
                value.strip().encode().decode("latin-1") for value in values
            ]

        with_worker(tmp_path, work)
