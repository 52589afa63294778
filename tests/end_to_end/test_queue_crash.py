"""A queue between two Workers under real requests, a failing handler, and kill -9 at any moment."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from .conftest import Serve
from .dev_server import eventually
from .projects import write_project

API = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.method == "POST":
                await self.env.ORDERS.send({"order": await request.text()})
                return Response("accepted")
            listed = await self.env.DONE.list()
            return Response.json([key["name"] for key in listed["keys"]])
"""

# Every third order fails at its first delivery; those with a 7 fail for good.
JOBS = """
    from workers import WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def queue(self, batch):
            for message in batch.messages:
                order = message.body["order"]
                if batch.queue == "dead-orders":
                    await self.env.DONE.put(f"dead-{order}", "")
                elif "7" in order or (int(order) % 3 == 0 and message.attempts == 1):
                    message.retry()
                else:
                    await self.env.DONE.put(f"done-{order}", "")
"""

ORDERS = 90


def test_every_accepted_order_is_done_or_dead_after_three_kills(
    serve: Serve, tmp_path: Path
) -> None:
    done = [{"binding": "DONE", "id": "done"}]
    api = write_project(
        tmp_path / "api",
        API,
        name="api",
        kv_namespaces=done,
        queues={"producers": [{"binding": "ORDERS", "queue": "orders"}]},
    )
    quick = {"max_batch_size": 5, "max_batch_timeout": 0.05}
    jobs = write_project(
        tmp_path / "jobs",
        JOBS,
        name="jobs",
        kv_namespaces=done,
        queues={
            "consumers": [
                {"queue": "orders", "max_retries": 2, "dead_letter_queue": "dead-orders"} | quick,
                {"queue": "dead-orders"} | quick,
            ]
        },
    )
    moments = random.Random("queue crash")
    accepted: list[str] = []
    order = 0
    for _ in range(3):
        server = serve(api, jobs)
        until = time.monotonic() + moments.uniform(0.1, 0.5)
        while time.monotonic() < until and order < ORDERS:
            order += 1
            assert server.post("/", content=str(order)).text == "accepted"
            accepted.append(str(order))
        server.kill()

    server = serve(api, jobs)
    expected = {f"dead-{each}" if "7" in each else f"done-{each}" for each in accepted}

    def all_there() -> Any:
        return expected == set(server.get("/").json())

    eventually(all_there, "every order done or dead")
    server.check_output()


def test_messages_wait_for_a_consumer_that_is_started_later(serve: Serve, tmp_path: Path) -> None:
    done = [{"binding": "DONE", "id": "done"}]
    api = write_project(
        tmp_path / "api",
        API,
        name="api",
        kv_namespaces=done,
        queues={"producers": [{"binding": "ORDERS", "queue": "orders"}]},
    )
    jobs = write_project(
        tmp_path / "jobs",
        JOBS,
        name="jobs",
        kv_namespaces=done,
        queues={"consumers": [{"queue": "orders", "max_batch_timeout": 0}]},
    )
    server = serve(api)
    server.wait_for_output('No Worker that runs here consumes the queue "orders".')
    assert server.post("/", content="1").text == "accepted"
    assert server.stop() == 0

    server = serve(api, jobs)
    server.wait_for_output("QUEUE orders 1/1 (")
    assert server.get("/").json() == ["done-1"]
