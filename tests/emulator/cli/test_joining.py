"""Several `pyflare dev` on one state directory: one owns it, the others' Workers run there too."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        print("printed by", self.env.NAME)
        db = self.env.DB
        if request.url.endswith("/fail"):
            raise ValueError(f"failed in {self.env.NAME}")
        if request.url.endswith("/other"):
            return await self.env.OTHER.fetch("http://other/")
        await db.prepare("CREATE TABLE IF NOT EXISTS t (who)").run()
        await db.prepare("INSERT INTO t VALUES (?)").bind(self.env.NAME).run()
        return Response(self.env.NAME + " version one")
"""
CONSUMER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def queue(self, batch, env, ctx):
        for message in batch.messages:
            print("consumed", message.body)
"""
PRODUCER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        await self.env.QUEUE.send("hello")
        return Response("sent")
"""


@pytest.fixture
def session(dev: Any, project: Any, tmp_path: Path) -> Any:
    """``session(name)`` starts a Worker's own `pyflare dev` on the state directory that all share."""

    def start(name: str, source: str = SOURCE, **settings: Any) -> Any:
        folder = tmp_path / name
        base = {
            "vars": {"NAME": name},
            "d1_databases": [{"binding": "DB", "database_id": "shared"}],
            "services": [{"binding": "OTHER", "service": "beta"}],
        }
        project(folder, source, **(base | settings))
        return dev(folder, "--persist-to", str(tmp_path / "state"))

    return start


def rows(tmp_path: Path) -> list[str]:
    """What the command line sees in the shared database."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pyflare", "d1", "execute", "DB", "--json", "--command",
            "SELECT who FROM t", "-c", str(tmp_path / "alpha" / "wrangler.json"),
            "--persist-to", str(tmp_path / "state"),
        ],
        capture_output=True,
        check=True,
    )  # fmt: skip
    return [row["who"] for row in json.loads(done.stdout)[0]["results"]]


def owner_of(tmp_path: Path) -> int:
    pid: int = json.loads((tmp_path / "state" / "lease.json").read_text())["pid"]
    return pid


def test_a_second_session_answers_on_its_own_port_and_shows_its_own_log(
    session: Any, tmp_path: Path
) -> None:
    alpha = session("alpha").ready()
    beta = session("beta").ready()
    assert beta.get() == (200, "beta version one")
    assert beta.get("/fail")[0] == 500
    beta.until(lambda: "failed in beta" in beta.err and "printed by beta" in beta.out)
    assert f"The state directory is shared with process {alpha.process.pid}." in beta.out
    alpha.until(lambda: f"beta has joined (process {beta.process.pid})." in alpha.out)
    assert "printed by beta" not in alpha.out
    assert "failed in beta" not in alpha.err


def test_all_sessions_and_commands_work_on_the_same_data(session: Any, tmp_path: Path) -> None:
    alpha, beta = session("alpha").ready(), session("beta").ready()
    alpha.until(lambda: "beta has joined" in alpha.out)
    assert alpha.get("/other") == (200, "beta version one")
    assert beta.get() == (200, "beta version one")
    assert alpha.get() == (200, "alpha version one")
    assert rows(tmp_path) == ["beta", "beta", "alpha"]


def test_a_session_that_stops_takes_its_worker_along(session: Any, tmp_path: Path) -> None:
    alpha, beta = session("alpha").ready(), session("beta").ready()
    alpha.until(lambda: "beta has joined" in alpha.out)
    assert beta.stop(signal.SIGINT) == 0
    alpha.until(lambda: "beta has left." in alpha.out)
    assert alpha.get("/other")[0] == 503
    assert alpha.get() == (200, "alpha version one")
    assert not beta.ready_file.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", _port_of(beta))).close()


def _port_of(dev: Any) -> int:
    return int(dev.out.split("Ready on http://127.0.0.1:")[1].split()[0])


def test_a_joined_worker_is_loaded_again_when_its_files_change(
    session: Any, tmp_path: Path
) -> None:
    session("alpha").ready()
    beta = session("beta").ready()
    entry = tmp_path / "beta" / "src" / "entry.py"
    entry.write_text(SOURCE.replace("version one", "version two"))
    beta.until(lambda: "Local server updated and ready" in beta.out)
    assert beta.get() == (200, "beta version two")
    entry.write_text("this is no Python")
    beta.until(lambda: "SyntaxError" in beta.err)
    assert beta.out.count("Local server updated and ready") == 1


def test_a_joined_worker_is_the_one_that_a_build_tool_has_redirected_to(
    session: Any, dev: Any, project: Any, tmp_path: Path
) -> None:
    session("alpha").ready()
    folder = tmp_path / "beta"
    source = SOURCE.replace('" version one"', '" version " + self.env.SECRET')
    project(folder, SOURCE, vars={"NAME": "as written"}, d1_databases=[])
    built = {"vars": {"NAME": "as built"}, "d1_databases": [{"binding": "DB", "database_id": "x"}]}
    project(folder / "build", source, name="beta", **built)
    (folder / ".dev.vars").write_text("SECRET=of the user")
    redirect = folder / ".wrangler" / "deploy" / "config.json"
    redirect.parent.mkdir(parents=True)
    redirect.write_text(json.dumps({"configPath": "../../build/wrangler.json"}))
    beta = dev(folder, "--persist-to", str(tmp_path / "state")).ready()
    beta.until(lambda: "The state directory is shared with process" in beta.out)
    assert beta.get() == (200, "as built version of the user")


def test_when_the_owner_is_killed_another_takes_over_and_nothing_acknowledged_is_lost(
    session: Any, tmp_path: Path
) -> None:
    alpha = session("alpha").ready()
    others = [session("beta").ready(), session("gamma").ready()]
    for each in (alpha, *others):
        each.get()
    alpha.process.send_signal(signal.SIGKILL)
    alpha.process.wait()
    for each in others:
        assert each.get()[0] == 200
    assert owner_of(tmp_path) in [each.process.pid for each in others]
    assert sorted(rows(tmp_path)) == ["alpha", "beta", "beta", "gamma", "gamma"]


def test_when_the_owner_stops_in_an_orderly_way_the_others_go_on(
    session: Any, tmp_path: Path
) -> None:
    alpha, beta = session("alpha").ready(), session("beta").ready()
    assert alpha.stop(signal.SIGINT) == 0
    assert beta.get() == (200, "beta version one")
    assert owner_of(tmp_path) == beta.process.pid
    assert beta.stop(signal.SIGTERM) == 0


def test_an_owner_that_stops_warns_of_nothing_that_leaves_with_it(session: Any) -> None:
    classes = {"migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}]}
    counter = {"name": "COUNTER", "class_name": "Counter"}
    source = f"{SOURCE}\nfrom workers import DurableObject\nclass Counter(DurableObject): pass\n"
    beta = {"durable_objects": {"bindings": [counter]}, **classes}
    alpha = {"durable_objects": {"bindings": [{**counter, "script_name": "beta"}]}}
    owner = session("alpha", **alpha).ready()
    session("beta", source, **beta).ready()
    told = len(owner.err)

    owner.stop(signal.SIGINT)

    assert "beta has left." in owner.out
    assert "which is not running here" not in owner.err[told:]


def test_a_breakpoint_of_a_joined_worker_is_passed_over_where_the_owner_has_no_terminal(
    session: Any,
) -> None:
    session("alpha").ready()
    source = SOURCE.replace('print("printed by"', 'breakpoint(); print("printed by"')
    joined = session("beta", source).ready()

    assert joined.get() == (200, "beta version one")
    joined.until(lambda: "is passed over" in joined.err)
    assert "entry.py:6 is passed over: process" in joined.err


def test_several_that_start_at_once_elect_exactly_one(session: Any, tmp_path: Path) -> None:
    names = [f"worker-{n}" for n in range(5)]
    several = [session(name) for name in names]
    for each, name in zip(several, names, strict=True):
        each.ready()
        each.until(lambda each=each, name=name: each.get() == (200, f"{name} version one"))
    owner = owner_of(tmp_path)
    assert [each.process.pid for each in several].count(owner) == 1
    for each in several:
        shared = f"shared with process {owner}" in each.out
        assert shared == (each.process.pid != owner)


def test_a_worker_that_runs_already_is_refused_by_name(
    session: Any, dev: Any, tmp_path: Path
) -> None:
    first = session("alpha").ready()
    second = dev(
        tmp_path / "alpha", "--persist-to", str(tmp_path / "state"),
        "--ready-file", str(tmp_path / "second.json"),
    )  # fmt: skip
    assert second.wait() == 1
    assert f"is in use by process {first.process.pid}" in second.err
    assert 'the Worker "alpha" runs already' in second.err
    assert first.get()[0] == 200


def test_producer_and_consumer_in_two_processes_reach_each_other(session: Any) -> None:
    producing = {"producers": [{"binding": "QUEUE", "queue": "jobs"}]}
    producer = session("producer", PRODUCER, queues=producing).ready()
    consumer = session(
        "consumer",
        CONSUMER,
        queues={"consumers": [{"queue": "jobs", "max_batch_timeout": 0}]},
    ).ready()
    producer.until(lambda: "consumer has joined" in producer.out)
    assert producer.get() == (200, "sent")
    consumer.until(lambda: "consumed hello" in consumer.out)


def test_an_embedded_instance_works_on_the_state_of_a_session(
    session: Any, project: Any, tmp_path: Path
) -> None:
    alpha = session("alpha").ready()
    alpha.get()
    project(tmp_path / "script", SOURCE, vars={"NAME": "script"},
            d1_databases=[{"binding": "DB", "database_id": "shared"}])  # fmt: skip
    program = f"""
import asyncio
from pyflare import Pyflare

async def main():
    async with Pyflare({str(tmp_path / "script" / "wrangler.json")!r},
                       persist_to={str(tmp_path / "state")!r}) as flare:
        print((await flare.fetch("/")).text)
        print((await flare.env().DB.prepare("SELECT count(*) AS n FROM t").first()).n)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "script version one" in done.stdout
    assert done.stdout.splitlines()[-1] == "2"
    assert rows(tmp_path) == ["alpha", "script"]


def test_the_next_owner_answers_within_a_second(session: Any, tmp_path: Path) -> None:
    alpha, beta = session("alpha").ready(), session("beta").ready()
    beta.get()
    alpha.process.send_signal(signal.SIGKILL)
    begun = time.monotonic()
    assert beta.get() == (200, "beta version one")
    # A tenth of it is what an idle machine needs.
    assert time.monotonic() - begun < 1


WRITING = """
import asyncio, sys
from pyflare import Pyflare

async def main():
    async with Pyflare(sys.argv[1], persist_to=sys.argv[2]) as flare:
        db = flare.env().DB
        await db.prepare("CREATE TABLE IF NOT EXISTS t (who)").run()
        print("started", flush=True)
        while True:
            await db.prepare("INSERT INTO t VALUES ('script')").run()
            await asyncio.sleep(0.01)

asyncio.run(main())
"""


@pytest.fixture
def script(project: Any, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``script(**settings)`` starts a program with an embedded instance that writes without end."""
    started: list[subprocess.Popen[str]] = []

    def start(**settings: Any) -> subprocess.Popen[str]:
        base = {"d1_databases": [{"binding": "DB", "database_id": "shared"}]}
        config = project(tmp_path / "script", SOURCE, **(base | settings))
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(config), str(tmp_path / "state")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for each in started:
        each.kill()
        each.communicate()


def test_an_embedded_instance_gives_way_to_a_session_and_takes_over_after_it(
    session: Any, script: Any, tmp_path: Path
) -> None:
    writing = script()
    assert writing.stdout.readline() == "started\n"
    assert owner_of(tmp_path) == writing.pid
    alpha = session("alpha").ready()
    assert alpha.get() == (200, "alpha version one")
    assert owner_of(tmp_path) == alpha.process.pid
    before = rows(tmp_path).count("script")
    alpha.until(lambda: rows(tmp_path).count("script") > before)
    assert alpha.stop(signal.SIGINT) == 0
    alpha_is_gone = rows(tmp_path).count("script")
    deadline = time.monotonic() + 20
    while rows(tmp_path).count("script") == alpha_is_gone or owner_of(tmp_path) != writing.pid:
        assert writing.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_embedded_instance_with_objects_refuses_a_session_and_is_refused_by_one(
    session: Any, script: Any, tmp_path: Path
) -> None:
    objects = {
        "durable_objects": {"bindings": [{"name": "C", "class_name": "C"}]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["C"]}],
    }
    writing = script(**objects)
    assert writing.stdout.read(0) == ""
    while not (tmp_path / "state" / "owner.sock").exists():
        assert writing.poll() is None
        time.sleep(0.02)
    alpha = session("alpha")
    assert alpha.wait() == 1
    assert f"in use by process {writing.pid}, which takes in no further Workers" in alpha.err
    writing.kill()
    writing.wait()
    beta = session("beta").ready()
    refused = script(**objects)
    out, _ = refused.communicate(timeout=30)
    assert f"in use by process {beta.process.pid}, and cannot be shared with it" in out
    assert "has Durable Objects" in out
