"""In another application: its lifespan, a path of its own, a loop that does not do, state in memory."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from pyflare import Pyflare
from pyflare.embed import MEMORY
from pyflare.workers.isolation import IsolationError
from tests.emulator.conftest import Runner, request, write_worker

T = TypeVar("T")

SAYS = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        import name
        return Response(f"{name.NAME} {request.url}")
"""


def says(folder: Path, name: str) -> Path:
    files = {"src/entry.py": SAYS, "src/name.py": f"NAME = {name!r}"}
    return write_worker(folder, files)


def test_a_hosts_own_lifespan_starts_and_closes_it_once(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = Pyflare(says(tmp_path, "a"), persist_to=None)
        async with flare.lifespan("the host's application"):
            first = flare.is_started
            await flare.start()
            answer = await request(flare)
        with pytest.raises(RuntimeError, match="was closed"):
            await flare.start()
        return first, answer.text

    assert asyncio.run(program()) == (True, "a http://localhost:8787/")


def test_a_lifespan_takes_a_loop_of_its_own_where_modules_collide(tmp_path: Path) -> None:
    threads = threading.active_count()

    async def program() -> Any:
        flare = Pyflare([says(tmp_path / each, each) for each in "ab"], persist_to=None)
        async with flare.lifespan():
            answers = [await flare.worker(each).fetch() for each in "ab"]
            await flare.clock.advance(60)
            return [answer.text for answer in answers]

    assert asyncio.run(program()) == ["a http://localhost/", "b http://localhost/"]
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/edge", "a http://localhost:8787/"),
        ("/edge/x", "a http://localhost:8787/x"),
        ("/edges", "beside /edges"),
        ("/", "beside /"),
    ],
)
def test_a_path_is_its_own_and_the_rest_another_applications(
    tmp_path: Path, path: str, answer: str
) -> None:
    async def beside(scope: Any, _: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"beside {scope['path']}".encode()})

    async def program() -> Any:
        async with Pyflare(says(tmp_path, "a"), persist_to=None) as flare:
            app: Any = flare.mount("/edge", beside)
            return (await request(app, path)).text

    assert asyncio.run(program()) == answer


@pytest.mark.parametrize("path", ["edge", "/edge/", "", "/"])
def test_a_path_that_is_none_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="begins with a slash"):
        Pyflare(says(tmp_path, "a")).mount(path, lambda *_: asyncio.sleep(0))


def test_the_env_of_workers_on_a_loop_of_their_own_is_used_there(tmp_path: Path) -> None:
    configs = [says(tmp_path / each, each) for each in "ab"]

    async def program() -> Any:
        flare = Pyflare(configs, persist_to=None, vars={"MODE": "x"})
        async with flare.lifespan():
            with pytest.raises(RuntimeError, match="run on an event loop of their own"):
                flare.env()

            async def there() -> Any:
                return flare.env().MODE

            return await flare.run(there)

    assert asyncio.run(program()) == "x"


def test_a_close_during_the_start_closes_all_of_it(tmp_path: Path) -> None:
    async def program() -> Any:
        flare = Pyflare(says(tmp_path, "a"), persist_to=tmp_path / "state")
        starting = asyncio.ensure_future(flare.start())
        await asyncio.sleep(0)
        await flare.close()
        await starting
        left = len(asyncio.all_tasks())
        async with Pyflare(says(tmp_path, "a"), persist_to=tmp_path / "state") as again:
            answer = await again.fetch()
        return left, answer.status_code

    assert asyncio.run(program()) == (1, 200)


@pytest.mark.parametrize("call", ["fetch", "scheduled", "settle"])
def test_a_use_after_the_end_says_so(tmp_path: Path, call: str) -> None:
    async def program() -> None:
        async with Pyflare(says(tmp_path, "a"), persist_to=None) as flare:
            await flare.fetch()
        with pytest.raises(RuntimeError, match="was closed; make a new one"):
            await getattr(flare, call)()

    asyncio.run(program())


def test_state_in_memory_is_gone_after_close(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Pyflare) -> Path:
        await request(flare)
        assert flare.state_directory.is_dir()
        return flare.state_directory

    assert not run(program, says(tmp_path, "a"), persist_to=MEMORY).exists()


def test_it_tells_once_that_no_lifespan_came(tmp_path: Path) -> None:
    from pyflare.testing import RecordingLog

    log = RecordingLog()

    async def program() -> None:
        flare = Pyflare(says(tmp_path, "a"), persist_to=None, log=log)
        await request(flare)
        await request(flare)
        await flare.close()

    asyncio.run(program())
    assert [text for text in log.warnings if "no lifespan" in text] == log.warnings
    assert len(log.warnings) == 1


@pytest.mark.parametrize("made", ["before", "between"])
def test_two_instances_with_modules_of_the_same_names_never_mix_them(
    tmp_path: Path, made: str
) -> None:
    threads = threading.active_count()

    def one(name: str) -> Pyflare:
        return Pyflare(says(tmp_path / name, name), persist_to=None)

    async def program() -> list[str]:
        first = one("a")
        second = one("b") if made == "before" else None
        async with first.lifespan():
            second = second or one("b")
            async with second.lifespan():
                return [(await request(each)).text.partition(" ")[0] for each in (first, second)]

    if made == "before":
        assert asyncio.run(program()) == ["a", "b"]
    else:
        # The first one runs on the host's loop by then.
        with pytest.raises(IsolationError, match=r"all their configurations to one Pyflare"):
            asyncio.run(program())
    assert threading.active_count() == threads


def test_an_instance_that_is_closed_leaves_the_loop_to_the_other(tmp_path: Path) -> None:
    threads = threading.active_count()

    async def program() -> list[str]:
        first, second = (Pyflare(says(tmp_path / each, each), persist_to=None) for each in "ab")
        async with second.lifespan():
            async with first.lifespan():
                pass
            await first.close()
            return [(await request(second)).text for _ in range(2)]

    assert asyncio.run(program()) == ["b http://localhost:8787/"] * 2
    assert threading.active_count() == threads


@pytest.mark.parametrize("choose", ["loop_factory", "switching_loop"])
def test_two_instances_in_a_script_run_on_the_loop_of_either(tmp_path: Path, choose: str) -> None:
    flares = [Pyflare(says(tmp_path / each, each), persist_to=None) for each in "ab"]

    async def program() -> list[str]:
        async with flares[0], flares[1]:
            return [(await each.fetch()).text.partition(" ")[0] for each in flares]

    factory = getattr(flares[1], choose)
    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(program()) == ["a", "b"]


def test_two_instances_on_a_loop_that_cannot_swap_are_refused(tmp_path: Path) -> None:
    flares = [Pyflare(says(tmp_path / each, each), persist_to=None) for each in "ab"]

    async def program() -> None:
        async with flares[0], flares[1]:
            raise AssertionError

    with pytest.raises(IsolationError, match="running event loop cannot switch"):
        asyncio.run(program())


def in_a_thread(program: Coroutine[Any, Any, T]) -> T:
    """On a loop of its own in a thread, as test clients run each request."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, program).result()


def test_requests_on_passing_loops_in_threads_are_answered_by_one_that_stays(
    tmp_path: Path,
) -> None:
    flare = Pyflare(says(tmp_path, "a"), persist_to=None)
    found = [in_a_thread(request(flare)).text for _ in range(3)]
    in_a_thread(flare.close())

    assert found == ["a http://localhost:8787/"] * 3


def test_requests_of_httpx_are_answered_on_one_loop_after_the_other(tmp_path: Path) -> None:
    flare = Pyflare(says(tmp_path, "a"), persist_to=None)

    async def program() -> str:
        transport = httpx.ASGITransport(app=flare)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return (await client.get("/")).text

    found = [asyncio.run(program()) for _ in range(3)]
    asyncio.run(flare.close())

    assert found == ["a http://test/"] * 3


def test_a_lifespan_can_be_entered_again(tmp_path: Path) -> None:
    files = {"src/entry.py": SAYS, "src/name.py": "NAME = 'a'"}
    config = write_worker(tmp_path, files, kv_namespaces=[{"binding": "KV", "id": "kv"}])
    flare = Pyflare(config, persist_to=tmp_path / "state")

    async def program() -> list[Any]:
        found: list[Any] = []
        async with flare.lifespan():
            found.append(await flare.env().KV.get("k"))
            await flare.env().KV.put("k", "kept")
            found.append((await request(flare)).text)
        return found

    assert [in_a_thread(program()) for _ in range(3)] == [
        [None, "a http://localhost:8787/"],
        ["kept", "a http://localhost:8787/"],
        ["kept", "a http://localhost:8787/"],
    ]


def test_a_servers_lifespan_can_begin_again(tmp_path: Path) -> None:
    flare = Pyflare([says(tmp_path / each, each) for each in "ab"], persist_to=None)

    async def program() -> list[str]:
        messages: asyncio.Queue[Any] = asyncio.Queue()
        told: asyncio.Queue[Any] = asyncio.Queue()
        await messages.put({"type": "lifespan.startup"})
        life = asyncio.ensure_future(flare({"type": "lifespan"}, messages.get, told.put))
        kinds = [(await told.get())["type"]]
        kinds.append((await request(flare)).text)
        await messages.put({"type": "lifespan.shutdown"})
        await life
        return [*kinds, (await told.get())["type"]]

    for _ in range(2):
        assert asyncio.run(program()) == [
            "lifespan.startup.complete",
            "a http://localhost:8787/",
            "lifespan.shutdown.complete",
        ]


@pytest.mark.parametrize("call", ["fetch", "request", "settle", "method"])
def test_a_use_on_another_loop_says_where_it_belongs(tmp_path: Path, call: str) -> None:
    calls: dict[str, Callable[[Pyflare], Any]] = {
        "fetch": lambda flare: flare.fetch(),
        "request": request,
        "settle": lambda flare: flare.settle(),
        "method": lambda flare: flare.worker().add(),
    }

    async def program() -> Any:
        async with Pyflare(says(tmp_path, "a"), persist_to=None) as flare:
            with pytest.raises(RuntimeError, match="was started on another event loop"):
                await asyncio.to_thread(in_a_thread, calls[call](flare))
            return (await flare.fetch()).text

    assert asyncio.run(program()) == "a http://localhost/"
