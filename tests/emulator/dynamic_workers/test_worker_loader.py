"""Workers that a Worker loads at run time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pyflare import Pyflare
from tests.emulator.conftest import Runner, request, write_worker

LOADER = [{"binding": "LOADER"}]

GREETER = dedent(
    """
    from workers import Response, WorkerEntrypoint
    import names

    count = 0

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            global count
            count += 1
            return Response(f"{names.NAME} {self.env.GREETING} {count} {request.url}")

        async def add(self, a, b):
            return a + b

    class Admin(WorkerEntrypoint):
        async def whoami(self):
            return self.ctx.props.user
    """
)


def code(**changes: Any) -> dict[str, Any]:
    return {
        "compatibilityDate": "2026-05-01",
        "mainModule": "entry.py",
        "modules": {"entry.py": GREETER, "names.py": "NAME = 'dynamic'"},
        "env": {"GREETING": "hello"},
        **changes,
    }


Program = Callable[[Pyflare, Any], Awaitable[Any]]


@pytest.fixture
def loaded(run: Runner, tmp_path: Path) -> Callable[..., Any]:
    """Run a program with a parent Worker and its `env.LOADER`, in the parent's own code."""
    parent = write_worker(
        tmp_path / "parent",
        {
            "src/entry.py": """
                from workers import Response, WorkerEntrypoint
                import names

                class Default(WorkerEntrypoint):
                    async def fetch(self, request):
                        return Response(f"{names.NAME} {request.url}")

                    async def seen(self, url):
                        return f"parent saw {url}"

                class Outbound(WorkerEntrypoint):
                    async def fetch(self, request):
                        return Response(f"outbound {request.method} {request.url}")

                class Tail(WorkerEntrypoint):
                    async def tail(self, events, env, ctx):
                        from js import console
                        item = events[0]
                        console.log(f"TAIL {item.scriptName} {item.outcome} {item.logs[0].message[0]} {item.preview}")
            """,
            "src/names.py": "NAME = 'parent'",
        },
        worker_loaders=LOADER,
        services=[
            {"binding": "SELF", "service": "parent"},
            {"binding": "OUTBOUND", "service": "parent", "entrypoint": "Outbound"},
            {"binding": "TAIL", "service": "parent", "entrypoint": "Tail"},
        ],
    )

    def go(program: Program, **options: Any) -> Any:
        async def inside(flare: Pyflare) -> Any:
            async def event() -> Any:
                return await program(flare, flare.env())

            return await flare.loaded().run(event())

        return run(inside, parent, **options)

    return go


async def text(fetcher: Any, path: str = "/") -> str:
    from workers import fetch

    response = await fetch(f"http://dynamic.test{path}", fetcher=fetcher.fetch)
    return str(await response.text())


def test_it_answers_requests_with_its_own_modules_and_env(loaded: Any) -> None:
    async def program(flare: Pyflare, env: Any) -> Any:
        worker = env.LOADER.load(code())
        own = await text(worker.getEntrypoint(), "/a")
        return own, (await request(flare)).text

    own, parent = loaded(program)
    assert own == "dynamic hello 1 http://dynamic.test/a"
    assert parent.startswith("parent ")


def test_javascript_objects_do_as_well_as_dicts(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        from js import Object
        from pyodide.ffi import to_js

        given = to_js(code(), dict_converter=Object.fromEntries)
        return await text(env.LOADER.load(given).getEntrypoint())

    assert loaded(program).startswith("dynamic hello 1 ")


def test_methods_and_named_entrypoints_can_be_called(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        worker = env.LOADER.load(code())
        admin = worker.getEntrypoint("Admin", {"props": {"user": "ada"}})
        return await worker.getEntrypoint("default").add(1, 2), await admin.whoami()

    assert loaded(program) == (3, "ada")


def test_get_loads_an_id_once(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        calls: list[str] = []

        async def get_code() -> Any:
            calls.append("asked")
            await asyncio.sleep(0)
            return code()

        workers = [env.LOADER.get("one", get_code) for _ in range(3)]
        await asyncio.gather(*[text(worker.getEntrypoint()) for worker in workers])
        last = await text(env.LOADER.get("one", get_code).getEntrypoint())
        other = await text(env.LOADER.get("two", lambda: code()).getEntrypoint())
        return calls, last.split()[2], other.split()[2]

    assert loaded(program) == (["asked"], "4", "1")


def test_load_and_get_without_an_id_make_new_ones(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        workers = [env.LOADER.load(code()), env.LOADER.load(code())]
        workers.append(env.LOADER.get(None, lambda: code()))
        return [(await text(worker.getEntrypoint())).split()[2] for worker in workers]

    assert loaded(program) == ["1", "1", "1"]


def test_workers_with_equal_module_names_are_kept_apart(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        def variant(name: str) -> Any:
            return code(modules={"entry.py": GREETER, "names.py": f"NAME = {name!r}"})

        stubs = [env.LOADER.load(variant(name)).getEntrypoint() for name in "abc"]
        answers = await asyncio.gather(*[text(stub) for stub in stubs for _ in range(2)])
        return sorted(answer[:9] for answer in answers)

    assert loaded(program) == [
        "a hello 1",
        "a hello 2",
        "b hello 1",
        "b hello 2",
        "c hello 1",
        "c hello 2",
    ]


def test_the_environment_may_hold_bindings_and_data(loaded: Any) -> None:
    source = dedent(
        """
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                answer = await self.env.PARENT.seen(request.url)
                return Response(f"{answer} {self.env.DATA.n} {self.env.LIST[1]}")
        """
    )

    async def program(_: Pyflare, env: Any) -> Any:
        environment = {"PARENT": env.SELF, "DATA": {"n": 5}, "LIST": [1, 2]}
        given = code(modules={"entry.py": source}, env=environment)
        return await text(env.LOADER.load(given).getEntrypoint())

    assert loaded(program) == "parent saw http://dynamic.test/ 5 2"


def test_what_cannot_be_copied_cannot_be_in_the_environment(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        with pytest.raises(Exception, match="DataCloneError"):
            env.LOADER.load(code(env={"LOADER": env.LOADER}))

    loaded(program)


FETCHING = {
    "entry.py": dedent(
        """
        from workers import Response, WorkerEntrypoint, fetch

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                try:
                    answer = await fetch("https://example.test/x", method="POST")
                except Exception as error:
                    return Response(str(error))
                return Response(await answer.text())
        """
    )
}


def test_without_a_global_outbound_nothing_leaves(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        return await text(
            env.LOADER.load(code(modules=FETCHING, globalOutbound=None)).getEntrypoint()
        )

    assert "This worker is not permitted to access the internet via global functions" in loaded(
        program
    )


def test_a_global_outbound_gets_its_requests(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        given = code(modules=FETCHING, globalOutbound=env.OUTBOUND)
        return await text(env.LOADER.load(given).getEntrypoint())

    assert loaded(program) == "outbound POST https://example.test/x"


def test_tails_are_told(loaded: Any, run: Runner) -> None:
    source = dedent(
        """
        from js import console
        from workers import Response, WorkerEntrypoint

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                console.log("working")
                return Response("ok")
        """
    )

    async def program(_: Pyflare, env: Any) -> Any:
        given = code(modules={"entry.py": source}, tails=[env.TAIL])
        await text(env.LOADER.get("t", lambda: given).getEntrypoint())
        for _ in range(30):
            await asyncio.sleep(0)

    loaded(program)
    assert "TAIL parent/t ok working None" in run.out.text


def test_data_modules_are_files_beside_the_code(loaded: Any) -> None:
    modules = {
        "src/main.py": dedent(
            """
            import json
            from pathlib import Path
            from workers import Response, WorkerEntrypoint
            from lib.deep import VALUE

            HERE = Path(__file__).parent

            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    config = json.loads((HERE / "config.json").read_text())
                    data = (HERE / "data.bin").read_bytes()
                    return Response(f"{VALUE} {config['a']} {data!r} {(HERE / 'note').read_text()}")
            """
        ),
        "src/lib/deep.py": {"py": "VALUE = 7"},
        "src/config.json": {"json": {"a": [1]}},
        "src/data.bin": {"data": b"\xff"},
        "src/note": {"text": "hü"},
    }

    async def program(_: Pyflare, env: Any) -> Any:
        given = code(mainModule="src/main.py", modules=modules)
        return await text(env.LOADER.load(given).getEntrypoint())

    assert loaded(program) == "7 [1] b'\\xff' hü"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modules": {}}, "Dynamic Worker code must contain at least one module."),
        ({"modules": None}, "Dynamic Worker code must contain at least one module."),
        ({"mainModule": None}, "needs a text 'mainModule'"),
        ({"compatibilityDate": None}, "needs a text 'compatibilityDate'"),
        ({"compatibilityDate": "soon"}, 'Invalid compatibility date "soon"'),
        ({"compatibilityDate": "2026-13-01"}, 'Invalid compatibility date "2026-13-01"'),
        ({"compatibilityDate": "20260501"}, 'Invalid compatibility date "20260501"'),
        ({"compatibilityDate": "9999-01-01"}, '"9999-01-01" is in the future'),
        (
            {"mainModule": "w.js", "modules": {"w.js": ""}},
            "'w.js' of a dynamic Worker is not Python",
        ),
        ({"mainModule": "other.py"}, "'other.py' of a dynamic Worker is not among its modules"),
        ({"modules": {"entry.py": "", "x.txt": "x"}}, "Module name must end with '.js' or '.py'"),
        (
            {"modules": {"entry.py": {"py": "", "text": ""}}},
            "Module 'entry.py' contained 2 properties.",
        ),
        ({"modules": {"entry.py": {}}}, "Module 'entry.py' contained 0 properties."),
        (
            {"modules": {"../entry.py": ""}, "mainModule": "../entry.py"},
            "cannot have a module named",
        ),
        ({"modules": {"/etc/x.py": ""}, "mainModule": "/etc/x.py"}, "cannot have a module named"),
        ({"modules": {"a\\b.py": ""}, "mainModule": "a\\b.py"}, "cannot have a module named"),
        ({"modules": {"a\0.py": ""}, "mainModule": "a\0.py"}, "cannot have a module named"),
        ({"compatibilityFlags": ["no_such_flag"]}, "no_such_flag"),
        ({"globalOutbound": 5}, "'globalOutbound' of a dynamic Worker is not a service binding."),
        ({"tails": [5]}, "'tails' of a dynamic Worker is not a service binding."),
        ({"tails": "x"}, "'tails' of a dynamic Worker is not an array of service bindings."),
    ],
)
def test_code_that_cannot_be_loaded_says_why(loaded: Any, changes: Any, message: str) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        try:
            env.LOADER.load(code(**changes))
        except Exception as error:
            return str(error)

    assert message in loaded(program)


def test_too_much_code_is_refused(loaded: Any) -> None:
    async def program(_: Pyflare, _env: Any) -> Any:
        from pyflare.dynamic_workers.code import read_code

        with pytest.raises(Exception, match="exceeds the maximum allowed size of 67108864 bytes"):
            read_code(code(modules={"entry.py": "#" * (64 * 1024 * 1024 + 1)}))

    loaded(program)


def test_a_module_that_fails_to_import_fails_each_call(loaded: Any) -> None:
    async def program(flare: Pyflare, env: Any) -> Any:
        entrypoint = env.LOADER.load(code(modules={"entry.py": "1 / 0"})).getEntrypoint()
        failures = []
        for _ in range(2):
            try:
                await text(entrypoint)
            except Exception as error:
                failures.append("ZeroDivisionError" in str(error))
        left = list((flare.state_directory / "v1" / "dynamic-workers").iterdir())
        return failures, left, len(flare._runtime.workers)

    assert loaded(program) == ([True, True], [], 1)


def test_a_callback_that_fails_is_asked_again(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        answers = iter([ValueError("not yet"), code()])

        async def get_code() -> Any:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        entrypoint = env.LOADER.get("x", get_code).getEntrypoint()
        with pytest.raises(Exception, match="not yet"):
            await text(entrypoint)
        return await text(entrypoint)

    assert loaded(program).startswith("dynamic hello 1")


BAD_CODE = {
    "a callback that raises": ValueError("not yet"),
    "a callback that exits": SystemExit(3),
    "no code": None,
    "code with a wrong flag": code(compatibilityFlags=["no_such_flag"]),
    "a module that does not import": code(modules={"entry.py": "1 / 0"}),
}


@pytest.mark.parametrize("bad", BAD_CODE)
def test_a_load_that_failed_is_not_kept(loaded: Any, bad: str) -> None:
    async def program(flare: Pyflare, env: Any) -> Any:
        async def fails() -> Any:
            if isinstance(BAD_CODE[bad], BaseException):
                raise BAD_CODE[bad]
            return BAD_CODE[bad]

        async def mended() -> Any:
            return code()

        with pytest.raises(Exception):  # noqa: B017
            await text(env.LOADER.get("x", fails).getEntrypoint())
        kept = len(flare._background.dynamic.service._loaded)
        return kept, await text(env.LOADER.get("x", mended).getEntrypoint())

    kept, answer = loaded(program)
    assert kept == 0
    assert answer.startswith("dynamic hello 1")


@pytest.mark.parametrize("callback", [None, 5, {"a": 1}])
def test_get_needs_a_function(loaded: Any, callback: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        with pytest.raises(Exception, match="parameter 2 is not of type 'Function'"):
            env.LOADER.get("x", callback)

    loaded(program)


def test_object_classes_are_refused(loaded: Any) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        with pytest.raises(Exception, match="Durable Object classes of dynamic Workers"):
            env.LOADER.load(code()).getDurableObjectClass("C")

    loaded(program)


def test_those_that_were_not_used_for_longest_are_put_away_and_loaded_again(loaded: Any) -> None:
    async def program(flare: Pyflare, env: Any) -> Any:
        from pyflare.dynamic_workers.service import MAX_LOADED

        entrypoints = []
        for number in range(MAX_LOADED + 5):
            worker = env.LOADER.get(str(number), lambda: code())
            entrypoints.append(worker.getEntrypoint())
            await text(entrypoints[-1])
        for _ in range(100):
            await asyncio.sleep(0.01)
            if len(flare._runtime.workers) <= MAX_LOADED + 1:
                break
        count = len(flare._runtime.workers)
        folders = len(list((flare.state_directory / "v1" / "dynamic-workers").iterdir()))
        again, kept = await text(entrypoints[0]), await text(entrypoints[-1])
        return count - MAX_LOADED, folders - MAX_LOADED, again.split()[2], kept.split()[2]

    assert loaded(program) == (1, 0, "1", "2")


def test_after_a_reload_the_code_is_asked_for_again(run: Runner, tmp_path: Path) -> None:
    def parent(name: str) -> Path:
        given = code(modules={"entry.py": GREETER, "names.py": f"NAME = {name!r}"})
        source = f"""
            import json
            from workers import WorkerEntrypoint, fetch

            CODE = json.loads({json.dumps(json.dumps(given))})

            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    entrypoint = self.env.LOADER.get("x", lambda: CODE).getEntrypoint()
                    return await fetch("http://dynamic.test/", fetcher=entrypoint.fetch)
        """
        return write_worker(tmp_path / "parent", source, worker_loaders=LOADER)

    async def program(flare: Pyflare) -> Any:
        before = (await request(flare)).text
        await flare.reload(parent("new"))
        return before.split()[0], (await request(flare)).text.split()[0]

    assert run(program, parent("old")) == ("old", "new")


def test_nothing_is_left_after_a_close(loaded: Any, tmp_path: Path) -> None:
    async def program(_: Pyflare, env: Any) -> Any:
        await text(env.LOADER.load(code()).getEntrypoint())

    loaded(program, persist_to=tmp_path / "state")
    assert not (tmp_path / "state" / "v1" / "dynamic-workers").exists()


def test_what_a_killed_process_left_is_removed_at_the_start(loaded: Any, tmp_path: Path) -> None:
    left = tmp_path / "state" / "v1" / "dynamic-workers" / "old"
    left.mkdir(parents=True)
    (left / "entry.py").write_text("")

    async def program(_: Pyflare, _env: Any) -> Any:
        return left.exists()

    assert loaded(program, persist_to=tmp_path / "state") is False


def test_on_a_loop_that_cannot_keep_modules_apart_it_says_so(tmp_path: Path) -> None:
    async def program() -> Any:
        parent = write_worker(
            tmp_path / "parent",
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint): pass",
            worker_loaders=LOADER,
        )
        async with Pyflare(parent, persist_to=None) as flare:

            async def event() -> Any:
                return await text(flare.env().LOADER.load(code()).getEntrypoint())

            with pytest.raises(Exception, match="could not be loaded: these module names mean"):
                await flare.loaded().run(event())

    asyncio.run(program())


def test_it_works_in_a_real_event_of_a_mounted_application(tmp_path: Path) -> None:
    source = f"""
        import json
        from workers import WorkerEntrypoint, fetch

        CODE = json.loads({json.dumps(json.dumps(code()))})

        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                entrypoint = self.env.LOADER.get("x", lambda: CODE).getEntrypoint()
                return await fetch("http://dynamic.test/", fetcher=entrypoint.fetch)
    """

    async def program() -> Any:
        parent = write_worker(tmp_path / "parent", source, worker_loaders=LOADER)
        flare = Pyflare(parent, persist_to=None)
        try:
            return (await request(flare)).text, (await request(flare)).text
        finally:
            await flare.close()

    first, second = asyncio.run(program())
    assert (first.split()[2], second.split()[2]) == ("1", "2")
