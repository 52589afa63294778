"""Three Workers that share one KV namespace, in one process, with the real command."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .conftest import Serve
from .dev_server import DevServer
from .projects import write_project

ROUNDS = 50
NAMES = ("small", "large", "reader")
NAMESPACE = {"binding": "KV", "id": "shared-0001"}
SOURCE = """
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

MIB = 1024 * 1024


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        kv = self.env.KV
        url = urlsplit(request.url)
        number = int(parse_qs(url.query).get("round", ["0"])[0])
        match url.path:
            case "/small":
                for index in range(20):
                    await kv.put(f"small/{number}/{index}", f"{number:04}" * 256, metadata=number)
            case "/large":
                await kv.put(f"large/{number % 3}", f"{number:04}" * (MIB // 4))
            case "/reader":
                return Response.json(await self.read(kv, number))
            case "/echo":
                return Response(await kv.get("large/0", "stream"))
            case "/store":
                await kv.put("stored", request.body)
        return Response("done")

    async def read(self, kv, number):
        errors = []
        names, cursor = [], None
        while True:
            page = await kv.list(prefix="small/", limit=37, cursor=cursor)
            names += [key.name for key in page["keys"]]
            if page.list_complete:
                break
            cursor = page.cursor
        if names != sorted(names):
            errors.append("not in order")
        for name in names[:5]:
            found = await kv.getWithMetadata(name)
            if found.value not in (None, f"{found.metadata:04}" * 256):
                errors.append(f"{name} is torn")
            if number % 2:
                await kv.delete(name)
            else:
                await kv.put(name, f"{number:04}" * 256, metadata=number)
        for index in range(3):
            value = await kv.get(f"large/{index}")
            if value is not None and value != value[:4] * (MIB // 4):
                errors.append(f"large/{index} is torn")
        return errors
"""


def configurations(directory: Path) -> list[Path]:
    return [
        write_project(directory / name, SOURCE, name=name, kv_namespaces=[NAMESPACE])
        for name in NAMES
    ]


def ask(server: DevServer, worker: str, path: str) -> str:
    answer = server.get(path, headers={"host": f"{worker}.localhost"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_fifty_rounds_of_writers_and_a_reader_show_no_error(serve: Serve, tmp_path: Path) -> None:
    server = serve(*configurations(tmp_path))
    with ThreadPoolExecutor(3) as clients:
        for number in range(ROUNDS):
            small = clients.submit(ask, server, "small", f"/small?round={number}")
            large = clients.submit(ask, server, "large", f"/large?round={number}")
            reader = clients.submit(ask, server, "reader", f"/reader?round={number}")
            assert (small.result(), large.result(), reader.result()) == ("done", "done", "[]")


def test_what_one_worker_puts_another_gets_also_after_a_restart(
    serve: Serve, tmp_path: Path
) -> None:
    first = serve(*configurations(tmp_path))
    ask(first, "large", "/large?round=3")
    assert ask(first, "reader", "/echo") == "0003" * (256 * 1024)
    assert first.stop() == 0
    assert ask(serve(*configurations(tmp_path)), "small", "/echo") == "0003" * (256 * 1024)


def test_a_body_that_breaks_off_is_not_stored(serve: Serve, tmp_path: Path) -> None:
    server = serve(*configurations(tmp_path))
    with server.connect() as connection:
        head = b"POST /store HTTP/1.1\r\nHost: small.localhost\r\nContent-Length: 3000000\r\n\r\n"
        connection.sendall(head + b"x" * 1_000_000)
    ask(server, "large", "/large?round=0")

    files = list((tmp_path / "state").glob("**/*.blobs/*"))
    assert [path.stat().st_size for path in files if not path.name.endswith(".part")] == [
        1024 * 1024
    ]
    assert server.stop() == 0
    assert len(list((tmp_path / "state").glob("**/*.blobs/*"))) == 1
