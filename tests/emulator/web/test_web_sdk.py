"""The SDK's own classes, unmodified, on top of the Web APIs. Each test is a program in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = """
import asyncio
from pyflare.workers.runtime import Runtime

Runtime().install()
import js
import workers
from pyodide.ffi import JsException, jsnull, to_js
from workers import Blob, File, FormData, Request, Response

class Chunks:
    length = None
    def __init__(self, *chunks):
        self.chunks = list(chunks)
    async def read(self):
        return self.chunks.pop(0) if self.chunks else b""

def incoming(method="GET", url="http://localhost/", headers=(), *chunks):
    body = Chunks(*chunks) if chunks else None
    return js.Request.from_http(method, url, list(headers), body, None)

async def sent(response):
    status, phrase, headers, body = response.js_object.take_payload()
    if body is None or isinstance(body, bytes | memoryview):
        return status, headers, bytes(body or b"")
    return status, headers, b"".join([bytes(chunk) async for chunk in body])

async def main():
{body}

asyncio.new_event_loop().run_until_complete(main())
print("done")
"""


def run(body: str) -> None:
    program = PROGRAM.format(body=textwrap.indent(textwrap.dedent(body), "    "))
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert result.stdout.strip() == "done", result.stderr


def test_responses() -> None:
    run(
        """
        assert await sent(Response("hi")) == (200, [(b"content-type", b"text/plain;charset=UTF-8")], b"hi")
        assert await sent(Response(b"raw", status=201)) == (201, [], b"raw")
        status, headers, body = await sent(Response.json({"a": [1, None]}))
        assert (headers, body) == ([(b"content-type", b"application/json")], b'{"a": [1, null]}')
        response = Response("x", headers={"Set-Cookie": "a=1", "X-A": "b"}, status=404)
        assert response.headers["set-cookie"] == "a=1"
        assert response.headers["x-a"] == "b"
        assert response.status == 404 and not response.ok
        assert await response.text() == "x"
        try:
            await response.text()
        except OSError:
            pass
        else:
            raise AssertionError("a body was read twice")
        assert (await sent(Response.redirect("https://a.b", 301) and Response("x")))[0] == 200
        assert Response.redirect("https://a.b", 301).headers.get("location") == "https://a.b/"
        try:
            Response.redirect("https://a.b", 200)
        except ValueError as error:
            assert "is not a redirect status code" in str(error)
        else:
            raise AssertionError
        assert await Response("y").replace_body("z").text() == "z"
        """
    )


def test_an_unsupported_body_is_refused_by_the_sdk() -> None:
    run(
        """
        for value, name in [(5, "int"), ({}, "dict"), (js.Map.new(), "Map")]:
            try:
                Response(value)
            except TypeError as error:
                assert str(error) == f"Unsupported type in Response: {name}", error
            else:
                raise AssertionError(name)
        """
    )


def test_requests() -> None:
    run(
        """
        headers = [(b"x-a", b"1"), (b"cookie", b"c")]
        request = Request(incoming("POST", "http://localhost/a?b", headers, b'{"a":', b"1}"))
        assert request.method == "POST" and request.url == "http://localhost/a?b"
        assert request.headers["X-A"] == "1" and request.cf is None
        assert await request.json() == {"a": 1}
        request = Request("http://h/", method="PUT", body=b"raw", headers={"a": "b"})
        assert await request.bytes() == b"raw"
        copy = Request(Request("http://h/", method="POST", body="x"))
        assert await copy.text() == "x"
        assert (await Request("http://h/", method="POST", body="x").buffer()).to_bytes() == b"x"
        """
    )


def test_forms_and_blobs() -> None:
    run(
        """
        form = FormData({"a": "1"})
        form.append("f", File([b"\\x00", "text"], "n.bin", content_type="a/b"), "renamed")
        form.append("b", Blob(b"bytes", content_type="c/d"))
        response = Response(form)
        again = await response.form_data()
        assert list(again.keys()) == ["a", "f", "b"]
        file = again["f"]
        assert isinstance(file, File) and (file.name, file.content_type) == ("renamed", "a/b")
        assert await file.bytes() == b"\\x00text"
        assert await again["b"].text() == "bytes"
        blob = Blob(["a", b"b", Blob("c")], content_type="x/y")
        assert (blob.size, await blob.text(), await blob.slice(1).text()) == (3, "abc", "bc")
        try:
            await Response("x").form_data()
        except TypeError as error:
            assert "Unrecognized Content-Type" in str(error)
        else:
            raise AssertionError
        """
    )


def test_streams_from_python_callbacks() -> None:
    run(
        """
        from pyodide.ffi import create_proxy

        async def pull(controller):
            pull.count += 1
            if pull.count == 4:
                controller.close()
            else:
                controller.enqueue(to_js(b"%d" % pull.count))
        pull.count = 0
        stream = js.ReadableStream.new(to_js({"pull": create_proxy(pull)}))
        assert await sent(Response(stream)) == (200, [], b"123")
        """
    )


ASGI = """
    import asgi

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body = b""
        while True:
            message = await receive()
            body += message["body"]
            if not message["more_body"]:
                break
        headers = [(b"set-cookie", b"a"), (b"set-cookie", b"b"), (b"x-path", scope["path"].encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in PARTS:
            await send({"type": "http.response.body", "body": part(body), "more_body": True})
            progress.append(None)
        await send({"type": "http.response.body", "body": b"" if PARTS else body})

    progress = []
    workers.wait_until = lambda promise: asyncio.ensure_future(promise)
"""


def test_the_asgi_adapter_answers_whole() -> None:
    run(
        ASGI
        + """
    PARTS = []
    request = incoming("POST", "http://localhost/a%20b?c", [(b"x", b"y")], b"to", b"be")
    response = await asgi.fetch(app, request, {})
    status, _, headers, body = response.take_payload()
    assert (status, body) == (200, b"tobe")
    assert headers == [(b"x-path", b"/a b"), (b"set-cookie", b"a"), (b"set-cookie", b"b")]
    """
    )


def test_the_asgi_adapter_streams_at_the_clients_pace() -> None:
    run(
        ASGI
        + """
    PARTS = [lambda body, n=n: b"%d" % n * 1000 for n in range(5)]
    response = await asgi.fetch(app, incoming("GET", "http://localhost/"), {})
    body = response.take_payload()[3]
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(progress) == 0
    chunks = []
    async for chunk in body:
        chunks.append(bytes(chunk))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(progress) <= len(chunks) + 1
    assert b"".join(chunks) == b"".join(b"%d" % n * 1000 for n in range(5))
    for _ in range(20):
        await asyncio.sleep(0)
    """
    )
