"""The example `order-system` under load, with failing cards and two kills: one receipt or one dead letter per order.

`PYFLARE_ORDER_SECONDS` sets how long orders come in.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from pyflare import Pyflare
from pyflare.server.log import LogSink

from .conftest import Serve
from .dev_server import DevServer, eventually
from .projects import EXAMPLES

SECONDS = float(os.environ.get("PYFLARE_ORDER_SECONDS", "6"))
KILLS = 2
CUSTOMERS = 4
CARDS = ("good",) * 12 + ("flaky", "crash", "declined")
CONFIGURATIONS = tuple(
    EXAMPLES / "order-system" / name / "wrangler.jsonc" for name in ("api", "fulfilment", "reports")
)


class Shop:
    """Customers that order without a break, from whatever server is running."""

    def __init__(self) -> None:
        self.accepted: dict[str, dict[str, Any]] = {}
        self.open = True
        self.address = ""
        self._lock = threading.Lock()

    def customer(self, number: int) -> None:
        """Order after order; one that got no answer is sent again with the same id."""
        dice = random.Random(number)
        count = 0
        while self.open:
            count += 1
            order = {
                "id": f"{number}-{count}",
                "customer": f"customer {number}",
                "cents": dice.randrange(100, 10_000),
                "card": dice.choice(CARDS),
            }
            while self.open and not self._order(order):
                time.sleep(0.02)

    def _order(self, order: dict[str, Any]) -> bool:
        try:
            answer = httpx.post(f"{self.address}/orders", json=order, timeout=10, trust_env=False)
        except httpx.TransportError:
            return False
        assert answer.status_code == 202, answer.text
        with self._lock:
            self.accepted[order["id"]] = order
        return True


def write_report(server: DevServer) -> dict[str, Any]:
    answer = server.post("/cdn-cgi/local/scheduled", headers={"host": "reports.localhost"})
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = server.get("/report").json()
    return report


def what_is_stored(state: Path) -> tuple[list[Any], list[str]]:
    """The rows of the table and the keys of the bucket, read when nothing runs any more."""
    flare = Pyflare(CONFIGURATIONS, persist_to=state, log=LogSink(level="none"))

    async def read() -> tuple[list[Any], list[str]]:
        async with flare:
            env = flare.env("api")
            rows = (await env.DB.prepare("SELECT * FROM orders").run()).results
            keys: list[str] = []
            options: dict[str, Any] = {}
            while True:
                page = await env.RECEIPTS.list(options)
                keys += [each.key for each in page.objects]
                if not page.truncated:
                    return rows, keys
                options = {"cursor": page.cursor}

    with asyncio.Runner(loop_factory=flare.loop_factory) as runner:
        return runner.run(read())


def test_every_order_has_one_receipt_or_one_dead_letter(serve: Serve, tmp_path: Path) -> None:
    shop = Shop()
    moments = random.Random("orders")
    server = serve(*CONFIGURATIONS)
    shop.address = str(server.client.base_url).rstrip("/")
    with ThreadPoolExecutor(CUSTOMERS) as customers:
        visits = [customers.submit(shop.customer, number) for number in range(CUSTOMERS)]
        try:
            for _ in range(KILLS):
                time.sleep(SECONDS / (KILLS + 1) * moments.uniform(0.8, 1.2))
                server.kill()
                server = serve(*CONFIGURATIONS)
                shop.address = str(server.client.base_url).rstrip("/")
            time.sleep(SECONDS / (KILLS + 1))
        finally:
            shop.open = False
        for visit in visits:
            visit.result()

    def all_through() -> Any:
        # The report's Worker also sends again what was stopped between the table and the queue.
        report = write_report(server)
        return report if report["waiting"] == 0 else None

    report = eventually(all_through, "no order is waiting", 60)
    server.check_output()
    assert server.stop() == 0

    rows, keys = what_is_stored(tmp_path / "state")
    assert len(keys) == len(set(keys)) == len(rows)
    states = {row.id: row.state for row in rows}
    assert shop.accepted.keys() <= states.keys()
    assert set(keys) == {
        f"receipts/{id}.json" if state == "shipped" else f"dead-letters/{id}.json"
        for id, state in states.items()
    }
    # Others may be dead too, if they stood behind a card that broke the handler time and again.
    assert {row.state for row in rows if row.card == "declined"} == {"dead"}
    shipped = [row for row in rows if row.state == "shipped"]
    assert report == report | {
        "orders": len(rows),
        "shipped": len(shipped),
        "dead": len(rows) - len(shipped),
        "turnover": sum(row.cents for row in shipped),
    }
    assert {"good", "flaky", "crash", "declined"} == {row.card for row in rows}


def test_the_readme_s_commands_do_what_it_says(serve: Serve) -> None:
    server = serve(*CONFIGURATIONS)
    for id, card in (("1", "good"), ("2", "flaky"), ("3", "crash"), ("4", "declined")):
        order = {"id": id, "customer": "Ada", "cents": 1250, "card": card}
        assert server.post("/orders", content=json.dumps(order)).status_code == 202

    def state(id: str) -> Any:
        return server.get(f"/orders/{id}").json()["state"]

    for id, wanted in (("1", "shipped"), ("2", "shipped"), ("3", "shipped"), ("4", "dead")):
        eventually(lambda id=id, wanted=wanted: state(id) == wanted, f"order {id} is {wanted}")  # type: ignore[misc]
    assert server.get("/receipts/1").json() == {"order": "1", "customer": "Ada", "cents": 1250}
    assert server.get("/receipts/4").status_code == 404
    server.wait_for_output('to dead letter queue "dead-orders" after 4 failed attempts...')
    report = write_report(server)
    assert (report["orders"], report["shipped"], report["dead"]) == (4, 3, 1)
    assert report["turnover"] == 3 * 1250
