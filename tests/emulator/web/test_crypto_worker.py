"""A Worker that signs, checks and encrypts, written the way the platform's examples are."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

SOURCE = """
    from urllib.parse import parse_qs, urlsplit

    from js import Object, TextEncoder, Uint8Array, crypto
    from pyodide.ffi import JsException, run_sync
    from pyodide.ffi import to_js as _to_js
    from workers import Response, WorkerEntrypoint

    encoder = TextEncoder.new()


    def to_js(value):
        return _to_js(value, dict_converter=Object.fromEntries)


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return await getattr(self, urlsplit(request.url).path[1:])(request)

        async def sign(self, request):
            key = await crypto.subtle.importKey(
                "raw",
                encoder.encode(self.env.SECRET),
                to_js({"name": "HMAC", "hash": "SHA-256"}),
                False,
                ["sign", "verify"],
            )
            mac = await crypto.subtle.sign("HMAC", key, encoder.encode(await request.text()))
            return Response(mac.to_bytes().hex())

        async def compare(self, request):
            query = parse_qs(urlsplit(request.url).query)
            given = encoder.encode(query["token"][0])
            secret = encoder.encode(self.env.SECRET)
            if given.byteLength != secret.byteLength:
                return Response("different length", status=401)
            same = crypto.subtle.timingSafeEqual(given, secret)
            return Response("welcome" if same else "unauthorized", status=200 if same else 401)

        async def pair(self, request):
            algorithm = to_js({
                "name": "RSA-OAEP",
                "hash": "SHA-256",
                "modulusLength": 1024,
                "publicExponent": Uint8Array.new([1, 0, 1]),
            })
            # The search for primes goes on elsewhere; synchronous code waits for it, too.
            keys = run_sync(crypto.subtle.generateKey(algorithm, True, ["encrypt", "decrypt"]))
            sealed = await crypto.subtle.encrypt(
                "RSA-OAEP", keys.publicKey, encoder.encode(await request.text())
            )
            opened = await crypto.subtle.decrypt("RSA-OAEP", keys.privateKey, sealed)
            return Response(opened.to_bytes())

        async def checksum(self, request):
            stream = crypto.DigestStream.new("SHA-256")
            await request.body.pipeTo(stream)
            return Response((await stream.digest).to_bytes().hex())

        async def wrong(self, request):
            try:
                await crypto.subtle.digest("SHA-3", encoder.encode(""))
            except JsException as error:
                return Response(f"{error.name}|{error.message}")
"""


def test_a_worker_uses_crypto(run: Runner, tmp_path: Path) -> None:
    config = write_worker(tmp_path, SOURCE, vars={"SECRET": "top-secret"})

    async def program(flare: Pyflare) -> None:
        async def ask(path: str, body: bytes = b"") -> tuple[int, str]:
            answer = await request(flare, path, method="POST", body=body)
            return answer.status, answer.text

        expected = hmac.new(b"top-secret", b"message", "sha256").hexdigest()
        assert await ask("/sign", b"message") == (200, expected)
        assert await ask("/compare?token=top-secret") == (200, "welcome")
        assert await ask("/compare?token=top-sekret") == (401, "unauthorized")
        assert await ask("/compare?token=no") == (401, "different length")
        assert await ask("/pair", b"for your eyes") == (200, "for your eyes")
        assert await ask("/checksum", b"x" * 1000) == (200, hashlib.sha256(b"x" * 1000).hexdigest())
        assert await ask("/wrong") == (
            200,
            "NotSupportedError|Unrecognized or unimplemented digest algorithm requested.",
        )

    run(program, config)
