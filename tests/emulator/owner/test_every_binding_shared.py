"""The bindings of a Worker give the same, call for call, in the process that owns the state and in others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pyflare import Pyflare, platform_proxy
from tests.emulator.conftest import write_worker

from .conftest import Owner

SETTINGS: dict[str, Any] = {
    "d1_databases": [{"binding": "DB", "database_id": "db"}],
    "kv_namespaces": [{"binding": "KV", "id": "kv"}],
    "r2_buckets": [{"binding": "R2", "bucket_name": "bucket"}],
    "queues": {"producers": [{"binding": "QUEUE", "queue": "jobs"}]},
}
EMPTY = "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint): pass\n"
PART = 5 * 1024 * 1024


def js(name: str) -> Any:
    import js

    return getattr(js, name)


async def text_of(body: Any) -> str:
    return str(await js("Response").new(body).text())


async def object_of(found: Any) -> Any:
    if found is None or not hasattr(found, "body"):
        return found
    return [found, await text_of(found.body), found.bodyUsed]


async def bytes_of(R2: Any) -> Any:
    found = await R2.get("k")
    return bytes(await found.arrayBuffer())


async def blob_of(R2: Any) -> Any:
    return (await (await R2.get("k")).blob()).size


async def headers_of(R2: Any) -> Any:
    headers = js("Headers").new()
    (await R2.get("k")).writeHttpMetadata(headers)
    return dict(headers)


async def in_parts(R2: Any, end: str) -> Any:
    upload = await R2.createMultipartUpload("parts")
    parts = [await upload.uploadPart(1, b"x" * PART), await upload.uploadPart(2, "end")]
    upload = R2.resumeMultipartUpload("parts", upload.uploadId)
    match end:
        case "abort":
            return await upload.abort()
        case "wrong":
            return await upload.complete(parts[:1] * 2)
    return await upload.complete(parts)


async def large(R2: Any) -> Any:
    await R2.put("large", bytes(3_000_000))
    found = await R2.get("large")
    return len(await found.arrayBuffer())


async def session(DB: Any) -> Any:
    some = DB.withSession("first-primary")
    return await some.prepare("SELECT count(*) AS n FROM t").first(), some.getBookmark() is None


def stream(text: str) -> Any:
    return js("Response").new(text).body


#: By binding, its methods in the order in which they are called on one state.
CALLS: dict[str, list[Callable[[Any], Awaitable[Any]]]] = {
    "KV": [
        lambda KV: KV.put("a", "1"),
        lambda KV: KV.put("b", b"\x00\xff"),
        lambda KV: KV.put("c", "x", metadata={"m": 1}, expirationTtl=3600),
        lambda KV: KV.put("s", stream("streamed")),
        lambda KV: KV.put("bad", "x", expirationTtl=1),
        lambda KV: KV.put("", "x"),
        lambda KV: KV.put("k" * 513, "x"),
        lambda KV: KV.put("large", "x" * (26 * 1024 * 1024)),
        lambda KV: KV.get("a"),
        lambda KV: KV.get("none"),
        lambda KV: KV.get("a", "json"),
        lambda KV: KV.get("c", "json"),
        lambda KV: KV.get("b", "arrayBuffer"),
        lambda KV: KV.get("b", "bogus"),
        lambda KV: KV.getWithMetadata("c"),
        lambda KV: KV.getWithMetadata("none"),
        lambda KV: KV.get(["a", "none"]),
        lambda KV: KV.getWithMetadata(["a", "c"]),
        lambda KV: KV.list(limit=2),
        lambda KV: KV.list(prefix="c"),
        lambda KV: KV.list(cursor="bad"),
        lambda KV: KV.delete("a"),
        lambda KV: KV.get("a"),
    ],
    "DB": [
        lambda DB: DB.exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB, c REAL, d TEXT)"),
        lambda DB: DB.prepare("INSERT INTO t VALUES (?, ?, ?, ?)").bind(1, b"\x01", 1.5, "ü").run(),
        lambda DB: DB.prepare("SELECT * FROM t").all(),
        lambda DB: DB.prepare("SELECT * FROM t").raw(),
        lambda DB: DB.prepare("SELECT * FROM t").raw(columnNames=True),
        lambda DB: DB.prepare("SELECT * FROM t").first(),
        lambda DB: DB.prepare("SELECT * FROM t").first("c"),
        lambda DB: DB.prepare("SELECT * FROM t").first("none"),
        lambda DB: DB.prepare("SELECT bad").all(),
        lambda DB: DB.prepare("SELECT ?").bind(1, 2).first(),
        lambda DB: DB.prepare("INSERT INTO t (a) VALUES (1)").run(),
        lambda DB: DB.batch(
            [DB.prepare("INSERT INTO t (a) VALUES (2)"), DB.prepare("SELECT a FROM t")]
        ),
        lambda DB: DB.batch(
            [DB.prepare("INSERT INTO t (a) VALUES (3)"), DB.prepare("INSERT INTO t (a) VALUES (1)")]
        ),
        session,
        lambda DB: DB.dump(),
    ],
    "R2": [
        lambda R2: R2.put(
            "k", "hello", httpMetadata={"contentType": "a/b"}, customMetadata={"a": "b"}
        ),
        lambda R2: R2.put("s", stream("streamed")),
        lambda R2: R2.put("k", "again", onlyIf={"etagMatches": "other"}),
        lambda R2: R2.put("k", "again", md5="0" * 32),
        lambda R2: R2.put("", "x"),
        lambda R2: R2.head("k"),
        lambda R2: R2.head("none"),
        lambda R2: then(R2.get("k"), object_of),
        lambda R2: then(R2.get("none"), object_of),
        lambda R2: then(R2.get("k", range={"offset": 1, "length": 2}), object_of),
        lambda R2: then(R2.get("k", range={"suffix": 2}), object_of),
        lambda R2: then(R2.get("k", range={"offset": 100}), object_of),
        lambda R2: then(R2.get("k", onlyIf={"etagMatches": "other"}), object_of),
        bytes_of,
        blob_of,
        headers_of,
        large,
        lambda R2: R2.list(include=["customMetadata", "httpMetadata"]),
        lambda R2: R2.list(limit=1, prefix="k"),
        lambda R2: R2.list(cursor="bad"),
        lambda R2: in_parts(R2, "complete"),
        lambda R2: in_parts(R2, "abort"),
        lambda R2: in_parts(R2, "wrong"),
        lambda R2: then(R2.get("parts", range={"suffix": 3}), object_of),
        lambda R2: R2.resumeMultipartUpload("parts", "none").abort(),
        lambda R2: R2.delete(["k", "parts"]),
        lambda R2: R2.list(),
    ],
    "QUEUE": [
        lambda QUEUE: QUEUE.send({"a": 1}),
        lambda QUEUE: QUEUE.send("text", contentType="text", delaySeconds=5),
        lambda QUEUE: QUEUE.send(b"ab", contentType="bytes"),
        lambda QUEUE: QUEUE.sendBatch([{"body": 1}, {"body": "x", "delaySeconds": 3}]),
        lambda QUEUE: QUEUE.send("x" * 200_000),
        lambda QUEUE: QUEUE.send("x", delaySeconds=10**6),
        lambda QUEUE: QUEUE.metrics(),
    ],
}


async def then(first: Awaitable[Any], second: Callable[[Any], Awaitable[Any]]) -> Any:
    return await second(await first)


#: What no two runs have in common: times, and names by chance.
_CHANCE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{32,64}|\b[A-Za-z0-9+/_-]{60,}\b|\b\d{10,13}\b")
_FIELDS = (
    *("key", "size", "etag", "httpEtag", "range", "httpMetadata", "customMetadata", "storageClass"),
    *("bodyUsed", "partNumber", "objects", "truncated", "delimitedPrefixes", "results", "success"),
)
_TIMED = ("duration", "sql_duration_ms", "expiration", "version", "uploadId")


def shown(value: Any) -> Any:
    """A value as plain data that can be compared."""
    if isinstance(value, datetime):
        return "a time"
    if isinstance(value, (bytes, memoryview)):
        return bytes(value)
    if isinstance(value, dict):
        return {key: "*" if key in _TIMED else shown(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if value is None or isinstance(value, (str, int, float)):
        return _CHANCE.sub("*", value) if isinstance(value, str) else value
    if type(value).__name__ == "_BindingWrapper" or hasattr(value, "httpEtag"):
        fields = {name: getattr(value, name) for name in _FIELDS if hasattr(value, name)}
        return {name: shown(each) for name, each in fields.items() if not callable(each)}
    plain = value.to_py()
    return str(plain) if plain is value else shown(plain)


async def outcomes(env: Any, binding: str) -> list[Any]:
    found = []
    for call in CALLS[binding]:
        try:
            result = await call(getattr(env, binding))
        except Exception as error:
            found.append(f"{type(error).__name__}: {_CHANCE.sub('*', str(error))}")
        else:
            found.append(shown(result))
    return found


@cache
def as_owner(binding: str) -> list[Any]:
    """What the calls give where the state is the process's own."""

    async def program() -> list[Any]:
        with TemporaryDirectory() as folder:
            config = write_worker(Path(folder) / "worker", EMPTY, **SETTINGS)
            async with platform_proxy(config, persist_to=None) as platform:
                return await outcomes(platform.env, binding)

    return asyncio.run(program())


async def by_proxy(config: Path, root: Path, binding: str) -> list[Any]:
    async with platform_proxy(config, persist_to=root) as platform:
        return await outcomes(platform.env, binding)


async def by_instance(config: Path, root: Path, binding: str) -> list[Any]:
    async with Pyflare(config, persist_to=root) as flare:
        return await outcomes(flare.env(), binding)


@pytest.mark.parametrize("use", [by_proxy, by_instance])
@pytest.mark.parametrize("binding", CALLS)
def test_a_binding_gives_what_it_gives_in_the_owner(
    owner: Owner, tmp_path: Path, binding: str, use: Callable[..., Any]
) -> None:
    config = write_worker(tmp_path / "worker", EMPTY, **SETTINGS)

    found = asyncio.run(use(config, owner.root, binding))

    expected = as_owner(binding)
    assert list(enumerate(found)) == list(enumerate(expected))
    assert len({str(each) for each in expected}) > len(expected) / 2
