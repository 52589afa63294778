"""In another application: its lifespan, a path of its own, a loop that does not do, state in memory."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.embed import MEMORY
from tests.emulator.conftest import Runner, request, write_worker

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
