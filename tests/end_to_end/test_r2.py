"""R2 through the real command: Workers that share a bucket, bodies that stream, trouble on the disk."""

import hashlib
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import write_project

MIB = 1024 * 1024
ROUNDS = 50
BUCKET = [{"binding": "BUCKET", "bucket_name": "shared"}]

#: An object store over HTTP: the path is the key.
STORE = """
    import js
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            bucket, key = self.env.BUCKET, request.url.split("/", 3)[3]
            try:
                match request.method:
                    case "PUT":
                        made = await bucket.put(key, request.js_object.body)
                        return Response(made.etag)
                    case "GET":
                        found = await bucket.get(key, range=request.js_object.headers)
                        if found is None:
                            return Response("none", status=404)
                        part = found.range
                        end = part.offset + part.length
                        headers = {
                            "etag": found.httpEtag,
                            "content-range": f"bytes {part.offset}-{end - 1}/{found.size}",
                        }
                        status = 206 if part.length < found.size else 200
                        return Response(found.body, status=status, headers=headers)
                    case "DELETE":
                        await bucket.delete(key)
                        return Response("")
                    case _:
                        listed = await bucket.list(prefix=key)
                        return Response.json([each.key for each in listed.objects])
            except Exception as error:
                return Response(str(error), status=500)
"""

WRITES_MANY = """
    import asyncio
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            number = request.url.rpartition("=")[2]
            errors = []

            async def put(index):
                try:
                    await self.env.BUCKET.put(f"small/{index:03}", f"{number}-{index} " * 100)
                except Exception as error:
                    errors.append(str(error))

            await asyncio.gather(*(put(index) for index in range(100)))
            return Response.json(errors)
"""

WRITES_LARGE = """
    import asyncio
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            number = int(request.url.rpartition("=")[2])
            errors = []

            async def put(index):
                try:
                    content = bytes([number % 256, index]) * (512 * 1024)
                    await self.env.BUCKET.put(f"large/{index}", content)
                except Exception as error:
                    errors.append(str(error))

            await asyncio.gather(*(put(index) for index in range(4)))
            return Response.json(errors)
"""

READS_AND_DELETES = """
    import asyncio
    from workers import Response, WorkerEntrypoint


    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            bucket, errors = self.env.BUCKET, []

            async def check_large(index):
                found = await bucket.get(f"large/{index}", range={"offset": 1000, "length": 5000})
                if found is None:
                    return
                data = bytes(await found.arrayBuffer())
                if len(data) != 5000 or len(set(data[::2])) != 1 or set(data[1::2]) != {index}:
                    errors.append(f"large/{index}: a mixture")

            async def check_small(key):
                found = await bucket.get(key)
                if found is None:
                    errors.append(f"{key}: gone")
                elif len(set((await found.text()).split())) != 1:
                    errors.append(f"{key}: a mixture")

            async def own(index):
                await bucket.put(f"own/{index}", "x" * 40_000)
                await bucket.put(f"own/{index}", "y")
                await bucket.delete(f"own/{index}")
                if await bucket.head(f"own/{index}") is not None:
                    errors.append(f"own/{index}: not deleted")

            try:
                page = await bucket.list(prefix="small/")
                keys = [each.key for each in page.objects]
                if keys != sorted(keys):
                    errors.append("not in order")
                await asyncio.gather(
                    *(check_small(key) for key in keys[:30]),
                    *(check_large(index) for index in range(4)),
                    *(own(index) for index in range(10)),
                )
            except Exception as error:
                errors.append(str(error))
            return Response.json(errors)
"""


def test_fifty_rounds_of_three_workers_on_one_bucket_lose_and_mix_nothing(
    serve: Serve, tmp_path: Path
) -> None:
    sources = {"many": WRITES_MANY, "large": WRITES_LARGE, "reader": READS_AND_DELETES}
    server = serve(
        *(
            write_project(tmp_path / name, source, name=name, r2_buckets=BUCKET)
            for name, source in sources.items()
        )
    )

    def ask(worker: str, number: int) -> list[str]:
        answer = server.get(f"/?round={number}", headers={"host": f"{worker}.localhost"})
        assert answer.status_code == 200, answer.text
        errors: list[str] = answer.json()
        return errors

    with ThreadPoolExecutor(3) as clients:
        for number in range(ROUNDS):
            asked = [clients.submit(ask, worker, number) for worker in sources]
            assert [each.result() for each in asked] == [[], [], []]


@pytest.fixture
def store(serve: Serve, tmp_path: Path) -> DevServer:
    return serve(write_project(tmp_path / "store", STORE, r2_buckets=BUCKET))


def blobs(tmp_path: Path) -> list[str]:
    return [path.name for path in tmp_path.glob("state/**/*.blobs/*")]


@pytest.mark.parametrize("size", [0, 10, 100_000, 20 * MIB])
def test_a_request_body_becomes_an_object_and_comes_back(store: DevServer, size: int) -> None:
    content = os.urandom(size)
    etag = store.client.put("/k", content=content).text
    assert etag == hashlib.md5(content).hexdigest()
    answer = store.get("/k")
    assert answer.content == content
    assert answer.headers["content-length"] == str(size)


def test_a_part_is_served_with_its_place(store: DevServer) -> None:
    store.client.put("/k", content=b"0123456789")
    answer = store.get("/k", headers={"range": "bytes=-4"})
    assert (answer.status_code, answer.text) == (206, "6789")
    assert answer.headers["content-range"] == "bytes 6-9/10"


def test_a_chunked_body_has_no_known_length_and_is_refused(
    store: DevServer, tmp_path: Path
) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"x"

    answer = store.client.put("/k", content=chunks())
    assert answer.status_code == 500
    assert "Provided readable stream must have a known length" in answer.text
    assert store.get("/k").status_code == 404
    assert blobs(tmp_path) == []


def test_a_client_that_goes_away_in_the_middle_leaves_the_old_object_and_no_file(
    store: DevServer, tmp_path: Path
) -> None:
    old = os.urandom(100_000)
    store.client.put("/k", content=old)
    (kept,) = blobs(tmp_path)
    connection: socket.socket = store.connect()
    connection.sendall(b"PUT /k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n")
    connection.sendall(b"x" * 5_000_000)
    eventually(lambda: len(blobs(tmp_path)) == 2, "the upload on the disk")
    connection.close()
    eventually(lambda: blobs(tmp_path) == [kept], "the unfinished upload removed")
    assert store.get("/k").content == old


def test_a_reader_that_goes_away_lets_go_of_the_file(store: DevServer, tmp_path: Path) -> None:
    store.client.put("/k", content=bytes(30 * MIB))
    with store.client.stream("GET", "/k") as answer:
        parts = answer.iter_raw()
        next(parts)
        store.client.delete("/k")
        assert len(blobs(tmp_path)) == 1
    eventually(lambda: blobs(tmp_path) == [], "the deleted content removed")


def test_a_slow_reader_keeps_the_version_it_began_with(store: DevServer) -> None:
    content = os.urandom(30 * MIB)
    store.client.put("/k", content=content)
    digest = hashlib.md5()
    with store.client.stream("GET", "/k") as answer:
        parts = answer.iter_raw()
        digest.update(next(parts))
        store.client.put("/k", content=b"new")
        for part in parts:
            digest.update(part)
    assert digest.hexdigest() == hashlib.md5(content).hexdigest()
    assert store.get("/k").text == "new"


def test_large_bodies_need_little_memory(store: DevServer) -> None:
    block = bytes(MIB)
    size = 300

    def body() -> Iterator[bytes]:
        for _ in range(size):
            yield block

    store.client.put("/warm", content=bytes(2 * MIB))
    store.get("/warm")
    before = store.memory()
    headers = {"content-length": str(size * MIB)}
    assert store.client.put("/k", content=body(), headers=headers).status_code == 200
    read = 0
    with store.client.stream("GET", "/k") as answer:
        for part in answer.iter_raw():
            read += len(part)
    assert read == size * MIB
    assert store.memory("VmHWM") - before < 16 * MIB


def test_a_damaged_content_is_an_error_and_the_server_stays_up(
    store: DevServer, tmp_path: Path
) -> None:
    store.client.put("/k", content=os.urandom(100_000))
    (path,) = tmp_path.glob("state/**/*.blobs/*")
    path.unlink()
    answer = store.get("/k")
    assert answer.status_code == 500
    assert "get: We encountered an internal error. Please try again. (10001)" in answer.text
    store.client.put("/k", content=b"written anew")
    assert store.get("/k").text == "written anew"


def test_a_killed_server_keeps_what_it_acknowledged(serve: Serve, tmp_path: Path) -> None:
    project = write_project(tmp_path / "store", STORE, r2_buckets=BUCKET)
    first = serve(project)
    contents = {f"k{n}": os.urandom(size) for n, size in enumerate((10, 100_000, 3 * MIB))}
    for key, content in contents.items():
        first.client.put(f"/{key}", content=content)
    connection = first.connect()
    connection.sendall(b"PUT /half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n")
    connection.sendall(b"x" * 5_000_000)
    eventually(lambda: len(blobs(tmp_path)) == 3, "the unfinished upload on the disk")
    first.kill()
    connection.close()

    second = serve(project)
    for key, content in contents.items():
        assert second.get(f"/{key}").content == content
    assert second.get("/half").status_code == 404
    eventually(lambda: len(blobs(tmp_path)) == 2, "the unfinished upload removed")
