"""Projects on disk, and requests to them without a socket."""

import asyncio
import json
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyflare import Pyflare
from pyflare.server.log import LogSink

DATE = "2026-05-01"


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Lines:
    """A text stream that keeps what is written to it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def write_worker(folder: Path, source: str | Mapping[str, str], **config: Any) -> Path:
    """Write a project; gives the path of its configuration."""
    sources = {"src/entry.py": source} if isinstance(source, str) else source
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    settings = {
        "name": folder.name.replace("_", "-").lower(),
        "main": "src/entry.py",
        "compatibility_date": DATE,
        "compatibility_flags": ["python_workers"],
    }
    path = folder / "wrangler.json"
    path.write_text(json.dumps({**settings, **config}))
    return path


async def request(
    flare: Pyflare,
    path: str = "/",
    *,
    method: str = "GET",
    body: bytes = b"",
    host: str = "localhost:8787",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request through the ASGI application."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    raw_path, _, query = path.partition("?")
    pairs = [(b"host", host.encode())]
    if body:
        pairs.append((b"content-length", str(len(body)).encode()))
    pairs += [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()]
    scope = {
        "type": "http",
        "method": method,
        "path": raw_path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "headers": pairs,
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8787),
    }
    await flare(scope, receive, send)
    return Answer(
        sent[0]["status"],
        [(k.decode("latin-1"), v.decode("latin-1")) for k, v in sent[0]["headers"]],
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


Program = Callable[[Pyflare], Awaitable[Any]]


class Runner:
    """Runs a program against started workers, on the event loop they need."""

    def __init__(self) -> None:
        self.out = Lines()
        self.err = Lines()

    def __call__(self, program: Program, *configs: Path, **options: Any) -> Any:
        options.setdefault("persist_to", None)
        log = LogSink(stdout=self.out, stderr=self.err)  # type: ignore[arg-type]
        flare = Pyflare(list(configs), log=log, **options)

        async def run() -> Any:
            async with flare:
                return await program(flare)

        with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
            return runner.run(run())


@pytest.fixture
def run() -> Runner:
    return Runner()
