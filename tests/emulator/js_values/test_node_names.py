"""``Buffer`` and ``process``, which Workers have with ``nodejs_compat``."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.buffer import Uint8Array
from pyflare.js.error import JsException
from pyflare.js.json import stringify
from pyflare.js.node_buffer import Buffer
from pyflare.js.node_process import process

TEXTS = ["", "a", "héllo", "😀x", "zz", "616", "aGk", "aG=k", "-_+/", "a\nb c"]
ENCODINGS = ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le", "binary", "ucs2"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_texts_become_bytes_as_in_node(encoding: str, node: Any) -> None:
    ours = [list(Buffer.from_(text, encoding).to_bytes()) for text in TEXTS]
    assert ours == node(f"[...Buffer.from(x, '{encoding}')]", TEXTS)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bytes_become_texts_as_in_node(encoding: str, node: Any) -> None:
    samples: list[list[int]] = [[], [97], [200, 201], [0xE2, 0x82, 0xAC, 33], [255, 254, 253]]
    ours = [Buffer.from_(sample).toString(encoding) for sample in samples]
    assert ours == node(f"Buffer.from(x).toString('{encoding}')", samples)


CALLS = [
    ("Buffer.alloc(3, 'ab').toString()", lambda: Buffer.alloc(3, "ab").toString()),
    ("Buffer.alloc(2, 7)[1]", lambda: Buffer.alloc(2, 7)[1]),
    ("Buffer.byteLength('é')", lambda: Buffer.byteLength("é")),
    ("Buffer.from('é').byteLength", lambda: Buffer.from_("é").byteLength),
    ("Buffer.isBuffer(new Uint8Array(1))", lambda: Buffer.isBuffer(Uint8Array.new(1))),
    ("Buffer.isEncoding('UTF-8')", lambda: Buffer.isEncoding("UTF-8")),
    ("Buffer.compare(Buffer.from('a'), Buffer.from('b'))",
     lambda: Buffer.compare(Buffer.from_("a"), Buffer.from_("b"))),
    ("Buffer.concat([Buffer.from('ab'), Buffer.from('c')], 4).toString()",
     lambda: Buffer.concat([Buffer.from_("ab"), Buffer.from_("c")], 4).toString()),
    ("JSON.stringify(Buffer.from('a'))", lambda: stringify(Buffer.from_("a"))),
    ("Buffer.from(JSON.parse(JSON.stringify(Buffer.from('a')))).toString()",
     lambda: Buffer.from_({"type": "Buffer", "data": [97]}).toString()),
    ("Buffer.from('abcabc').indexOf('c', 3)", lambda: Buffer.from_("abcabc").indexOf("c", 3)),
    ("Buffer.from('abcabc').lastIndexOf('b')", lambda: Buffer.from_("abcabc").lastIndexOf("b")),
    ("Buffer.from('abc').includes(98)", lambda: Buffer.from_("abc").includes(98)),
    ("Buffer.from('abc').equals(Buffer.from('abc'))",
     lambda: Buffer.from_("abc").equals(Buffer.from_("abc"))),
    ("Buffer.from('abc').slice(1, 2).toString('utf8')",
     lambda: Buffer.from_("abc").slice(1, 2).toString("utf8")),
    ("Buffer.alloc(4).write('abc', 2)", lambda: Buffer.alloc(4).write("abc", 2)),
    ("Buffer.from(new Uint8Array([1, 2]).buffer, 1).length",
     lambda: Buffer.from_(ArrayBuffer.adopt(b"\1\2"), 1).length),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "call"), CALLS, ids=[text for text, _ in CALLS])
def test_a_call_gives_what_it_gives_in_node(expression: str, call: Any, node: Any) -> None:
    assert [call()] == node(expression, [None])


def test_a_slice_shares_the_memory() -> None:
    whole = Buffer.from_("abc")
    whole.slice(1)[0] = 120
    assert whole.toString() == "axc"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Buffer.from_(5), "The first argument must be of type string"),
        (lambda: Buffer.from_("a", "nope"), "Unknown encoding: nope"),
        (lambda: Buffer.alloc(-1), 'The value of "size" is out of range'),
        (lambda: Buffer.from_("a").equals("a"), "must be an instance of Buffer or Uint8Array"),
    ],
)
def test_bad_arguments_are_refused(call: Any, text: str) -> None:
    with pytest.raises(JsException, match=text):
        call()


def test_the_process_tells_node_s_version_and_the_environment(monkeypatch: Any) -> None:
    monkeypatch.setenv("PYFLARE_SAMPLE", "1")
    assert process.version == f"v{process.versions.node}"
    assert process.env.PYFLARE_SAMPLE == "1"
    process.env.PYFLARE_SAMPLE = 2
    assert os.environ["PYFLARE_SAMPLE"] == "2"
    del process.env.PYFLARE_SAMPLE
    assert not hasattr(process.env, "PYFLARE_SAMPLE")
    assert process.cwd() == "/bundle"
    assert process.uptime() >= 0
    assert process.hrtime(process.hrtime())[0] == 0


def test_the_next_tick_comes_after_the_running_code() -> None:
    async def main() -> list[int]:
        seen: list[int] = []
        process.nextTick(seen.append, 2)
        seen.append(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return seen

    assert asyncio.run(main()) == [1, 2]
