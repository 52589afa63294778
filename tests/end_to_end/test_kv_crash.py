"""`kill -9` while values are being written through the real command: what was acknowledged is there, whole."""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from .conftest import Serve
from .dev_server import DevServer
from .projects import write_project

KILLS = int(os.environ.get("PYFLARE_KILLS", "4"))
SOURCE = """
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
        if "number" in query:
            await self.env.KV.put(query["key"], f"{int(query['number']):08}" * int(query["size"]))
            return Response("acknowledged")
        value = await self.env.KV.get(query["key"])
        if value is None:
            return Response("none")
        return Response(value[:8] if value == value[:8] * (len(value) // 8) else "torn")
"""
SIZES = {"small": 10, "medium": 20_000, "large": 400_000}


class Writer:
    """Puts growing numbers under one key until the server is gone."""

    def __init__(self, server: DevServer, key: str, first: int) -> None:
        self.key = key
        self.begun = first
        self.done = first
        self.started = threading.Event()
        self._address = str(server.client.base_url)

    def run(self) -> None:
        with httpx.Client(base_url=self._address, timeout=20, trust_env=False) as client:
            while True:
                number = self.begun = self.begun + 1
                query = f"/?key={self.key}&size={SIZES[self.key]}&number={number}"
                try:
                    answer = client.get(query)
                except httpx.TransportError:
                    return
                assert answer.text == "acknowledged"
                self.done = number
                self.started.set()


def test_kills_amid_writes_lose_and_tear_no_acknowledged_value(
    serve: Serve, tmp_path: Path
) -> None:
    project = write_project(
        tmp_path / "ledger", SOURCE, kv_namespaces=[{"binding": "KV", "id": "ledger"}]
    )
    moments = random.Random(14)
    bounds = dict.fromkeys(SIZES, (0, 0))
    for attempt in range(KILLS + 1):
        server = serve(project)
        for key, (done, begun) in bounds.items():
            text = server.get(f"/?key={key}").text
            if begun:
                assert text != "torn"
                assert done <= int(text) <= begun, (key, text, bounds)
        if attempt == KILLS:
            break
        writers = [Writer(server, key, begun) for key, (_, begun) in bounds.items()]
        with ThreadPoolExecutor(len(writers)) as clients:
            running = [clients.submit(writer.run) for writer in writers]
            assert all(writer.started.wait(20) for writer in writers)
            time.sleep(moments.uniform(0.0, 0.15))  # the kill is to land anywhere in a write
            server.kill()
            for client in running:
                client.result()
        bounds = {writer.key: (writer.done, writer.begun) for writer in writers}
    assert len(list((tmp_path / "state").glob("**/*.blobs/*"))) == 2
