"""A bank of accounts as objects: exceptions, resets and `kill -9` amid transfers, and the sum never changes."""

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import httpx

from .conftest import Serve
from .dev_server import DevServer
from .projects import EXAMPLES, write_project

BANK = EXAMPLES / "bank"
ACCOUNTS = int(os.environ.get("PYFLARE_ACCOUNTS", "30"))
KILLS = int(os.environ.get("PYFLARE_KILLS", "3"))
CENTS = 1000

#: The example's account, where things go wrong at every point of a transfer.
FAULTY = """
import random

import account
from entry_of_the_example import Default

__all__ = ["Account", "Default"]


class Account(account.Account):
    async def settle(self):
        self.go_wrong()
        await super().settle()
        self.go_wrong()

    async def deposit(self, id, cents):
        self.go_wrong()
        await super().deposit(id, cents)
        self.go_wrong()

    def go_wrong(self):
        number = random.random()
        if number < 0.03:
            raise RuntimeError("this one is bad")
        if number < 0.06:
            self.ctx.abort("this one too")
"""


def test_the_example_as_its_readme_shows_it(serve: Serve) -> None:
    server = serve(BANK / "wrangler.jsonc", BANK / "desk" / "wrangler.jsonc")
    desk = {"host": "desk.localhost"}

    server.post("/accounts/ada?cents=1000")
    server.post("/accounts/bob?cents=0")
    first = server.client.post("/?id=1&from=ada&to=bob&cents=250", headers=desk)
    again = server.client.post("/?id=1&from=ada&to=bob&cents=250", headers=desk)
    too_much = server.client.post("/?id=2&from=ada&to=bob&cents=751", headers=desk)

    assert (first.status_code, again.status_code, too_much.status_code) == (200, 200, 409)
    assert server.get("/accounts/ada").json() == {"cents": 750}
    assert server.get("/accounts/bob").json() == {"cents": 250}


def _transfers(address: str, seed: int) -> int:
    """Makes transfers through the desk until the server is gone; gives how many were told to be done."""
    chance = random.Random(seed)
    done = 0
    with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
        while True:
            payer, payee = chance.sample(range(ACCOUNTS), 2)
            query = f"id={seed}-{chance.random()}&from={payer}&to={payee}&cents={chance.randint(1, 400)}"
            try:
                answer = client.post(f"/?{query}", headers={"host": "desk.localhost"})
            except httpx.TransportError:
                return done
            assert answer.status_code in (200, 409, 500), answer.text
            done += answer.status_code == 200


def _settle(server: DevServer, name: int) -> None:
    """Accounts fail now and then; until everything is delivered."""
    while server.client.post(f"/settle/{name}").status_code != 200:
        pass


def test_the_sum_never_changes(serve: Serve, tmp_path: Path) -> None:
    project = tmp_path / "bank"
    config = write_project(
        project,
        FAULTY,
        name="bank",
        durable_objects={"bindings": [{"name": "ACCOUNTS", "class_name": "Account"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Account"]}],
    )
    shutil.copy(BANK / "src" / "account.py", project / "src")
    shutil.copy(BANK / "src" / "entry.py", project / "src" / "entry_of_the_example.py")
    done = 0
    for round in range(KILLS + 1):
        server = serve(config, BANK / "desk" / "wrangler.jsonc")
        if round == 0:
            for name in range(ACCOUNTS):
                assert server.post(f"/accounts/{name}?cents={CENTS}").status_code == 200
        if round == KILLS:
            break
        with ThreadPoolExecutor(6) as clients:
            address = str(server.client.base_url)
            running = [clients.submit(_transfers, address, round * 100 + n) for n in range(6)]
            wait(running, timeout=1.0)
            server.process.kill()
            server.process.wait()
            done += sum(each.result() for each in running)
    for name in range(ACCOUNTS):
        _settle(server, name)
    # Only now is everything that was under way delivered, wherever it was on its way to.
    balances = [server.get(f"/accounts/{name}").json()["cents"] for name in range(ACCOUNTS)]
    assert sum(balances) == ACCOUNTS * CENTS
    assert min(balances) >= 0
    assert done > 50
