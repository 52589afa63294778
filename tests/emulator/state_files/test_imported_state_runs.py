"""A Worker finds after the import what it had stored before, in every binding."""

import json
from pathlib import Path
from typing import Any

from pyflare import Pyflare
from pyflare.embed import DEFAULT
from tests.emulator.conftest import Runner, request
from tests.emulator.state_files.conftest import Command
from tests.emulator.state_files.wrangler_state import PAIRS, WranglerFixture

SOURCE = """
from workers import DurableObject, Response, WorkerEntrypoint


class Counter(DurableObject):
    async def seen(self):
        rows = self.ctx.storage.sql.exec("SELECT n FROM visits").toArray()
        stored = await self.ctx.storage.get("k")
        return [rows[0].n, stored]

    async def alarm(self):
        await self.env.KV.put("rang", "yes")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/rang"):
            return Response(await self.env.KV.get("rang") or "not yet")
        order = await self.env.DB.prepare("SELECT what FROM orders").first()
        file = await self.env.FILES.get("plan.txt")
        counter = self.env.COUNTER.getByName("a")
        return Response.json([
            order.what,
            await self.env.KV.get("greeting"),
            await file.text(),
            list(await counter.seen()),
        ])
"""
LONG_AGO = 1_000_000_000_000


def fill(wrangler: WranglerFixture) -> None:
    wrangler.d1(
        "dbid-1", "CREATE TABLE orders (what TEXT)", ("INSERT INTO orders VALUES ('tea')", ())
    )
    wrangler.kv("kvprev", {"greeting": (b"hello", None, None)})
    wrangler.r2("my-bucket", wrangler.r2_object("my-bucket", "plan.txt", b"a plan"))
    wrangler.object(
        "shop-Counter",
        "a",
        f"{PAIRS};CREATE TABLE visits (n INTEGER)",
        ("INSERT INTO visits VALUES (7)", ()),
        # The text "old", as the runtime stores it.
        ("INSERT INTO _cf_KV VALUES ('k', ?)", (b'\xff\x0f"\x03old',)),
        alarm=LONG_AGO,
    )


def test_a_worker_finds_what_it_had_and_an_overdue_alarm_rings(
    run: Runner, wrangler: WranglerFixture, command: Command, project: Path
) -> None:
    fill(wrangler)
    (project / "entry.py").write_text(SOURCE)
    assert command("import", wrangler.path).code == 0

    async def program(flare: Pyflare) -> Any:
        found = json.loads((await request(flare)).text)
        for _ in range(500):
            rang = (await request(flare, "/rang")).text
            if rang == "yes":
                break
        return found, rang

    found, rang = run(program, project / "wrangler.jsonc", persist_to=DEFAULT)

    assert found == ["tea", "hello", "a plan", [7, "old"]]
    assert rang == "yes"
