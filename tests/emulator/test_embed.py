"""`Pyflare` as an object: start, reload, several side by side, close."""

import asyncio
import json
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.config import ConfigError
from pyflare.workers.isolation import IsolationError
from pyflare_bindings.lease import Lease, LeaseHeld
from tests.emulator.conftest import Runner, request, write_worker

COUNTER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        db = self.env.DB
        await db.prepare("CREATE TABLE IF NOT EXISTS t (v)").run()
        await db.prepare("INSERT INTO t VALUES (1)").run()
        return Response(str((await db.prepare("SELECT count(*) AS n FROM t").first()).n))
"""
D1 = [{"binding": "DB", "database_id": "shared"}]


def counter(folder: Path, **config: Any) -> Path:
    return write_worker(folder, COUNTER, d1_databases=D1, **config)


def test_workers_that_name_one_database_share_its_owner(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        owners = [worker.definition.environment.DB._connection.owner for worker in flare.workers]
        await request(flare, host="a.localhost")
        return owners[0] is owners[1], (await request(flare, host="b.localhost")).text

    assert run(program, counter(tmp_path / "a"), counter(tmp_path / "b")) == (True, "2")


def test_state_is_kept_beside_the_first_configuration(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        return (await request(flare)).text

    config = counter(tmp_path)
    from pyflare.embed import DEFAULT

    assert [run(program, config, persist_to=DEFAULT) for _ in range(2)] == ["1", "2"]
    assert (tmp_path / ".pyflare" / "state").is_dir()


def test_temporary_state_is_gone_after_close(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Path:
        await request(flare)
        assert any(flare.state_directory.rglob("*.sqlite"))
        return flare.state_directory

    assert not run(program, counter(tmp_path)).exists()


def test_env_is_what_the_worker_sees(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare)
        row = await flare.env().DB.prepare("SELECT count(*) AS n FROM t").first()
        return row.n

    assert run(program, counter(tmp_path)) == 1


def test_an_unknown_worker_is_named_with_the_known_ones(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        with pytest.raises(KeyError, match="no worker 'nope'; known: one"):
            flare.loaded("nope")

    run(program, counter(tmp_path / "one"))


def test_a_binding_without_support_is_refused_by_name_and_place(tmp_path: Path) -> None:
    workflow = {"binding": "ORDERS", "name": "orders", "class_name": "Orders"}
    config = write_worker(tmp_path, "", workflows=[workflow])

    with pytest.raises(ConfigError) as refusal:
        Pyflare(config)

    text = (
        'the binding "ORDERS" (Workflow, "workflows") is not supported by this version of pyflare'
    )
    assert text in str(refusal.value)


def test_two_workers_of_one_name_are_refused(tmp_path: Path) -> None:
    configs = [counter(tmp_path / "a", name="same"), counter(tmp_path / "b", name="same")]

    with pytest.raises(ConfigError, match='Two Workers are named "same"'):
        Pyflare(configs)


def test_a_state_directory_has_one_owner(run: Runner, tmp_path: Path) -> None:
    config = counter(tmp_path / "w")
    objects = counter(
        tmp_path / "second",
        durable_objects={"bindings": [{"name": "C", "class_name": "C"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["C"]}],
    )

    async def program(flare: Pyflare) -> Any:
        second = Pyflare(objects, persist_to=tmp_path / "state")
        with pytest.raises(LeaseHeld, match=r"in use by process .* has Durable Objects"):
            await second.start()

    run(program, config, persist_to=tmp_path / "state")


def test_a_closed_one_says_so_and_closes_twice(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await flare.close()
        await flare.close()
        with pytest.raises(RuntimeError, match="was closed"):
            await flare.start()

    run(program, counter(tmp_path))


def test_it_starts_on_the_first_request_where_no_lifespan_comes(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = Pyflare(counter(tmp_path), persist_to=None)
        answers = await asyncio.gather(request(flare), request(flare))
        await flare.close()
        return max(answer.text for answer in answers)

    assert asyncio.run(program()) == "2"


COLLIDING = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        import asyncio
        await asyncio.sleep(0)
        import name
        await self.env.DB.prepare("CREATE TABLE IF NOT EXISTS t (v)").run()
        await self.env.DB.prepare("INSERT INTO t VALUES (1)").run()
        count = (await self.env.DB.prepare("SELECT count(*) AS n FROM t").first()).n
        return Response(f"{name.NAME} {count} {len(await request.text())}")
"""


def colliding(tmp_path: Path) -> Pyflare:
    configs = [
        write_worker(
            tmp_path / each,
            {"src/entry.py": COLLIDING, "src/name.py": f"NAME = {each!r}"},
            d1_databases=D1,
        )
        for each in ("a", "b")
    ]
    return Pyflare(configs, persist_to=None)


def test_in_a_host_whose_loop_cannot_swap_modules_workers_get_a_loop_of_their_own(
    tmp_path: Path,
) -> None:
    threads = threading.active_count()

    async def program() -> Any:
        flare = colliding(tmp_path)
        hosts = ["a.localhost", "b.localhost"] * 10
        answers = await asyncio.gather(
            *(request(flare, host=host, method="POST", body=b"12345") for host in hosts)
        )
        await flare.close()
        return sorted(answer.text.split()[0] for answer in answers), answers[0].text.split()[2]

    assert asyncio.run(program()) == (["a"] * 10 + ["b"] * 10, "5")
    assert threading.active_count() == threads


def test_the_lifespan_of_a_host_ends_the_loop_of_their_own(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = colliding(tmp_path)
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        seen = []

        async def send(message: Any) -> None:
            seen.append(message["type"])
            if message["type"] == "lifespan.startup.complete":
                seen.append((await request(flare, host="b.localhost")).text)
                await inbox.put({"type": "lifespan.shutdown"})

        await inbox.put({"type": "lifespan.startup"})
        await flare({"type": "lifespan"}, inbox.get, send)
        return seen

    threads = threading.active_count()
    assert asyncio.run(program()) == [
        "lifespan.startup.complete",
        "b 1 0",
        "lifespan.shutdown.complete",
    ]
    assert threading.active_count() == threads


def test_started_by_hand_on_a_loop_that_cannot_swap_it_says_how_to_get_one(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = colliding(tmp_path)
        with pytest.raises(IsolationError, match="loop_factory"):
            await flare.start()
        await flare.close()

    before = (list(sys.meta_path), asyncio.run, threading.Thread.start)
    asyncio.run(program())
    assert (sys.meta_path, asyncio.run, threading.Thread.start) == before


def test_the_lifespan_starts_and_closes_it(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = Pyflare(counter(tmp_path), persist_to=None)
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        sent: list[str] = []

        async def send(message: Any) -> None:
            sent.append(message["type"])
            if message["type"] == "lifespan.startup.complete":
                assert (await request(flare)).text == "1"
                await inbox.put({"type": "lifespan.shutdown"})

        await inbox.put({"type": "lifespan.startup"})
        await flare({"type": "lifespan"}, inbox.get, send)
        return sent

    assert asyncio.run(program()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_failed_start_is_told_to_the_host(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    async def program() -> Any:
        flare = Pyflare(counter(tmp_path / "w"), persist_to=tmp_path / "file")
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            sent.append(message)

        with pytest.raises(FileExistsError):
            await flare({"type": "lifespan"}, receive, send)
        await flare.close()
        return sent[0]["type"]

    assert asyncio.run(program()) == "lifespan.startup.failed"


def test_closing_one_leaves_another_in_the_process_working(tmp_path: Path) -> None:
    async def program() -> Any:
        first = Pyflare(write_worker(tmp_path / "a", {"src/entry_a.py": COUNTER},
            main="src/entry_a.py", d1_databases=D1), persist_to=None)  # fmt: skip
        second = Pyflare(write_worker(tmp_path / "b", {"src/entry_b.py": COUNTER},
            main="src/entry_b.py", d1_databases=D1), persist_to=None)  # fmt: skip
        async with second:
            async with first:
                answers = [await request(first), await request(second)]
            answers.append(await request(second))
        return [answer.text for answer in answers]

    assert asyncio.run(program()) == ["1", "1", "2"]


def test_the_process_is_as_before_after_close(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare)

    before = (list(sys.path), list(sys.meta_path))
    run(program, counter(tmp_path))

    assert (sys.path, sys.meta_path) == before
    assert "entry" not in sys.modules


def test_a_reload_takes_new_code_and_configuration(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint
    import helper

    class Default(WorkerEntrypoint):
        def fetch(self):
            return Response(f"{helper.VERSION} {self.env.MODE}")
    """

    def write(version: str, mode: str) -> Path:
        files = {"src/entry.py": source, "src/helper.py": f"VERSION = {version!r}"}
        return write_worker(tmp_path, files, vars={"MODE": mode})

    async def program(flare: Pyflare) -> Any:
        answers = [await request(flare)]
        write("two", "b")
        await flare.reload(tmp_path / "src" / "helper.py")
        answers.append(await request(flare))
        (tmp_path / "src" / "helper.py").write_text("VERSION = (")
        await flare.reload(tmp_path / "src" / "helper.py")
        answers.append(await request(flare))
        write("three", "c")
        await flare.reload(tmp_path / "wrangler.json")
        answers.append(await request(flare))
        return [answer.text if answer.status == 200 else answer.status for answer in answers]

    assert run(program, write("one", "a")) == ["one a", "two b", 500, "three c"]


def test_a_broken_configuration_is_shown_until_it_is_mended(run: Runner, tmp_path: Path) -> None:
    config = counter(tmp_path)
    good = config.read_text()

    async def program(flare: Pyflare) -> Any:
        config.write_text("{")
        with pytest.raises(ConfigError):
            await flare.reload(config)
        broken = await request(flare)
        config.write_text(good)
        await flare.reload(config)
        return broken.status, "CloseBraceExpected" in broken.text, (await request(flare)).text

    assert run(program, config) == (500, True, "1")


def test_a_reload_follows_the_redirect_of_a_build_tool_again(run: Runner, tmp_path: Path) -> None:
    user, built = counter(tmp_path, name="user"), counter(tmp_path / "dist", name="built")
    redirect = tmp_path / ".wrangler" / "deploy" / "config.json"
    redirect.parent.mkdir(parents=True)
    redirect.write_text(json.dumps({"configPath": str(built)}))

    async def program(flare: Pyflare) -> Any:
        before = flare.loaded().name
        await flare.reload(built)
        after = flare.loaded().name
        await flare.reload(user)
        return before, after, flare.loaded().name

    assert run(program, cwd=tmp_path) == ("built", "built", "built")


def test_a_reload_refuses_the_name_of_another_worker(run: Runner, tmp_path: Path) -> None:
    first, second = counter(tmp_path / "a", name="a"), counter(tmp_path / "b", name="b")
    good = second.read_text()

    async def program(flare: Pyflare) -> Any:
        second.write_text(good.replace('"b"', '"a"'))
        with pytest.raises(ConfigError, match='Two Workers are named "a"'):
            await flare.reload(second)
        answers = [await request(flare, host=f"{name}.localhost") for name in "ab"]
        second.write_text(good)
        await flare.reload(second)
        mended = await request(flare, host="b.localhost")
        return [each.status for each in answers], mended.status, flare.worker("a").name

    assert run(program, first, second) == ([200, 500], 200, "a")


def test_a_reload_tells_warnings_again(run: Runner, tmp_path: Path) -> None:
    config = counter(tmp_path)

    async def program(flare: Pyflare) -> Any:
        config.write_text(config.read_text().replace('"d1_databases"', '"d1_database"'))
        await flare.reload(config)

    run(program, config)
    assert 'Did you mean "d1_databases"' in run.err.text


def test_the_default_state_directory_stays_out_of_git(run: Runner, tmp_path: Path) -> None:
    from pyflare.embed import DEFAULT

    async def program(flare: Pyflare) -> Any:
        pass

    run(program, counter(tmp_path), persist_to=DEFAULT)

    assert (tmp_path / ".pyflare" / ".gitignore").read_text() == "*\n"


def test_run_sync_works_while_the_module_is_imported(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from pyodide.ffi import run_sync
    from workers import Response, WorkerEntrypoint

    async def work():
        await asyncio.sleep(0)
        return "waited"

    FOUND = run_sync(work())

    class Default(WorkerEntrypoint):
        def fetch(self):
            return Response(FOUND)
    """

    async def program(flare: Pyflare) -> Any:
        return (await request(flare)).text

    assert run(program, write_worker(tmp_path, source)) == "waited"


def test_a_file_that_the_standard_library_hides_is_named(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Any:
        await request(flare)

    run(program, write_worker(tmp_path, {"src/entry.py": COUNTER, "src/queue.py": ""}))

    assert "queue.py is never imported" in run.err.text


def test_nothing_is_acknowledged_that_goes_into_a_deleted_state_directory(
    run: Runner, tmp_path: Path
) -> None:
    state = tmp_path / "state"

    async def program(flare: Pyflare) -> Any:
        before = await request(flare)
        shutil.rmtree(state)
        refused = await request(flare)
        after = await request(flare)
        return before.text, refused.status, "was deleted or replaced" in refused.text, after.text

    config = counter(tmp_path / "w")
    assert run(program, config, persist_to=state) == ("1", 500, True, "1")
    assert run(lambda flare: request(flare), config, persist_to=state).text == "2"


def test_a_deleted_state_directory_is_noticed_and_locked_anew(run: Runner, tmp_path: Path) -> None:
    state = tmp_path / "state"

    async def program(flare: Pyflare) -> Any:
        await request(flare)
        shutil.rmtree(state)
        while "was deleted while in use" not in run.err.text:
            await asyncio.sleep(0.05)
        with pytest.raises(LeaseHeld):
            Lease.acquire(state)
        return (await request(flare)).text

    assert run(program, counter(tmp_path / "w"), persist_to=state) == "1"


def test_a_state_directory_that_another_process_took_over_is_not_used_any_more(
    run: Runner, tmp_path: Path
) -> None:
    state = tmp_path / "state"

    async def program(flare: Pyflare) -> Any:
        await request(flare)
        shutil.rmtree(state)
        state.mkdir()
        other = Lease.acquire(state)
        while "The state directory was deleted" not in run.err.text:
            await asyncio.sleep(0.05)
        answer = await request(flare)
        other.release()
        return answer.status, "is in use by process" in answer.text

    assert run(program, counter(tmp_path / "w"), persist_to=state) == (500, True)
