"""How a worker's handlers are found and called, and what an event is."""

from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from tests.emulator.conftest import Runner, request, write_worker

OLD = "2025-01-01"


def get(run: Runner, tmp_path: Path, source: str, path: str = "/", **config: Any) -> Any:
    async def program(flare: Any) -> Any:
        return await request(flare, path)

    return run(program, write_worker(tmp_path, source, **config))


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("async def fetch(self)", "[]"),
        ("async def fetch(self, request)", "['Request']"),
        ("async def fetch(self, request, env)", "['Request', 'NoneType']"),
        ("async def fetch(self, request, env, ctx)", "['Request', 'NoneType', 'NoneType']"),
        ("async def fetch(self, *args)", "['Request', 'NoneType', 'NoneType']"),
        ("async def fetch(self, request, *, extra=1)", "['Request']"),
        ("def fetch(self, request)", "['Request']"),
    ],
)
def test_fetch_gets_as_many_arguments_as_it_takes(
    run: Runner, tmp_path: Path, signature: str, expected: str
) -> None:
    source = f"""
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        {signature}:
            seen = [v for k, v in locals().items() if k not in ("self", "args", "extra")]
            seen += locals().get("args", ())
            return Response(repr([type(each).__name__ for each in seen]))
    """
    assert get(run, tmp_path, source).text == expected


def test_a_new_instance_serves_every_event(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    count = 0

    class Default(WorkerEntrypoint):
        seen = 0

        async def fetch(self):
            global count
            count += 1
            self.seen += 1
            return Response(f"{self.seen} {count}")
    """

    async def program(flare: Any) -> Any:
        return [(await request(flare)).text for _ in range(3)]

    assert run(program, write_worker(tmp_path, source)) == ["1 1", "1 2", "1 3"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x = 1", "Handler does not export a fetch() function."),
        (
            "from workers import WorkerEntrypoint\nclass Other(WorkerEntrypoint):\n    pass",
            "Handler does not export a fetch() function.",
        ),
        (
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint):\n    pass",
            "Method fetch does not exist",
        ),
        (
            "from workers import WorkerEntrypoint\n"
            "def make():\n    class Hidden(WorkerEntrypoint):\n        pass\n    return Hidden\n"
            "Default = make()",
            "Handler does not export a fetch() function.",
        ),
        (
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint):\n"
            "    async def fetch(self, request):\n        return 'text'",
            "Incorrect type for Promise: the Promise did not resolve to 'Response'.",
        ),
        (
            "from workers import WorkerEntrypoint\nclass Default(WorkerEntrypoint):\n"
            "    def fetch(self, request):\n        return None",
            "Incorrect type for Promise: the Promise did not resolve to 'Response'.",
        ),
        (
            "from workers import WorkerEntrypoint\n__all__ = []\n"
            "class Default(WorkerEntrypoint):\n    pass",
            "Handler does not export a fetch() function.",
        ),
        ("__all__ = ['Missing']", "has no attribute 'Missing'"),
        ("raise ValueError('at import')", "ValueError: at import"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def broken(:", "SyntaxError"),
        ("import src.other", "leave out the 'src.' prefix"),
    ],
)
def test_what_cannot_answer_says_why(run: Runner, tmp_path: Path, source: str, text: str) -> None:
    answer = get(run, tmp_path, source)

    assert answer.status == 500
    assert text in answer.text


def test_a_class_can_extend_one_that_is_imported_under_another_name(
    run: Runner, tmp_path: Path
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint
    from library import Default as Base, Counter as BaseCounter, Steps as BaseSteps

    class Other(BaseCounter):
        pass

    class Default(Base):
        async def fetch(self, request):
            name = request.url.rsplit("/", 1)[1]
            try:
                return Response(await getattr(self.ctx.exports, name).hello())
            except Exception as error:
                return Response(str(error))
    """
    library = """
    from workers import DurableObject, WorkerEntrypoint, WorkflowEntrypoint

    class Default(WorkerEntrypoint):
        pass

    class Counter(WorkerEntrypoint):
        async def hello(self):
            return "hello"

    class Steps(WorkflowEntrypoint):
        pass
    """
    sources = {"src/entry.py": source, "src/library.py": library}
    path = write_worker(tmp_path, sources, compatibility_date="2026-05-01")

    async def program(flare: Any) -> Any:
        return [(await request(flare, f"/{name}")).text for name in ("Other", "Counter")]

    found, missing = run(program, path)
    assert found == "hello"
    assert "There is no 'Counter' class defined in the Python Worker's main module" in missing


@pytest.mark.parametrize("returned", ["js.Response.new('raw')", "Response('raw')", "Legacy()"])
def test_every_form_of_response_is_accepted(run: Runner, tmp_path: Path, returned: str) -> None:
    source = f"""
    import js
    from workers import Response, WorkerEntrypoint

    class Legacy:
        js_response = js.Response.new('raw')

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return {returned}
    """
    assert get(run, tmp_path, source).text == "raw"


def test_legacy_handlers_get_raw_values(run: Runner, tmp_path: Path) -> None:
    source = """
    from js import Response

    async def on_fetch(request, env, ctx):
        return Response.new(f"{request.method} {env.MODE} {ctx.constructor.name}")
    """
    answer = get(run, tmp_path, source, compatibility_date=OLD, vars={"MODE": "m"})

    assert answer.text == "GET m ExecutionContext"


def test_legacy_handlers_may_leave_out_parameters(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, handler

    @handler
    async def on_fetch(request):
        return Response(type(request).__name__)
    """
    assert get(run, tmp_path, source, compatibility_date=OLD).text == "Request"


def test_a_legacy_worker_without_on_fetch_says_so(run: Runner, tmp_path: Path) -> None:
    answer = get(run, tmp_path, "x = 1", compatibility_date=OLD)

    assert 'Python entrypoint "entry.py" does not export a handler named "on_fetch"' in answer.text


def test_default_wins_over_legacy_handlers(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    def on_fetch(request):
        return Response("legacy")

    class Default(WorkerEntrypoint):
        def on_fetch(self, request):
            return Response("class")
    """
    assert get(run, tmp_path, source, compatibility_date=OLD).text == "class"


def test_all_names_what_is_exported(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    __all__ = ["Other"]

    class Default(WorkerEntrypoint):
        def fetch(self, request):
            return Response("unexported")

    class Other(WorkerEntrypoint):
        pass
    """
    assert "Handler does not export a fetch() function." in get(run, tmp_path, source).text


WAITING = """
import asyncio
import js
from pyodide.ffi import create_proxy, jsnull
from workers import Response, WorkerEntrypoint, wait_until

done = []
go = asyncio.Event()

async def work(name):
    await go.wait()
    done.append(name)

async def fail():
    raise ValueError("in the background")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.rsplit("/", 1)[1]:
            case "start":
                self.ctx.waitUntil(work("coroutine"))
                self.ctx.waitUntil(asyncio.create_task(work("task")))
                self.ctx.waitUntil(create_proxy(asyncio.ensure_future(work("proxy"))))
                wait_until(work("module"))
                return Response("answered")
            case "go":
                go.set()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            case "fail":
                self.ctx.waitUntil(fail())
            case "nothing":
                for value in (None, 5, "text", True, jsnull):
                    self.ctx.waitUntil(value)
                self.ctx.waitUntil()
            case "others":
                for value in ({}, [1], print, js.Object.new()):
                    self.ctx.waitUntil(value)
                for value in (None, 5, {}):
                    wait_until(value)
        return Response(",".join(done))
"""


def test_wait_until_goes_on_after_the_answer(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> Any:
        first = (await request(flare, "/start")).text
        return first, sorted((await request(flare, "/go")).text.split(","))

    assert run(program, write_worker(tmp_path, WAITING)) == (
        "answered",
        ["coroutine", "module", "proxy", "task"],
    )


def test_background_work_is_given_its_time_on_close(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from workers import Response, WorkerEntrypoint

    async def late():
        await asyncio.sleep(0.02)
        print("done late")

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            self.ctx.waitUntil(late())
            return Response("answered")
    """
    finished = tmp_path / "finished"
    source = source.replace('print("done late")', f"open({str(finished)!r}, 'w').close()")
    get(run, tmp_path, source)

    assert finished.exists()


def test_a_failure_in_the_background_is_reported_and_changes_no_answer(
    run: Runner, tmp_path: Path
) -> None:
    answer = get(run, tmp_path, WAITING, "/fail")

    assert answer.status == 200
    assert "Uncaught ValueError: in the background (in waitUntil)" in run.err.text


def test_a_primitive_value_is_background_work_that_fails(run: Runner, tmp_path: Path) -> None:
    answer = get(run, tmp_path, WAITING, "/nothing")

    assert answer.status == 200
    told = "Uncaught TypeError: Cannot use 'in' operator to search for 'copy' in {} (in waitUntil)"
    for value in ("undefined", "5", "text", "true", "null"):
        assert told.format(value) in run.err.text


def test_any_other_value_is_background_work_that_is_done(run: Runner, tmp_path: Path) -> None:
    answer = get(run, tmp_path, WAITING, "/others")

    assert answer.status == 200
    assert "waitUntil" not in run.err.text


def test_timers_end_with_their_event_unless_it_waits_for_them(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    from js import setTimeout
    from workers import Response, WorkerEntrypoint

    fired = []

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            path = request.url.rsplit("/", 1)[1]
            if path == "set":
                setTimeout(lambda: fired.append("lost"), 1)
            elif path == "kept":
                setTimeout(lambda: fired.append("kept"), 1)
                self.ctx.waitUntil(asyncio.sleep(0.02))
            else:
                await asyncio.sleep(0.04)
            return Response(",".join(fired))
    """

    async def program(flare: Any) -> Any:
        await request(flare, "/set")
        await request(flare, "/kept")
        return (await request(flare, "/read")).text

    assert run(program, write_worker(tmp_path, source)) == "kept"


def test_background_work_has_thirty_seconds(run: Runner, tmp_path: Path) -> None:
    source = """
    import asyncio
    import js
    from workers import Response, WorkerEntrypoint

    done = []

    async def wait(*seconds):
        for each in seconds:
            await js.scheduler.wait(each * 1000)
            done.append(sum(seconds))

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            if request.url.endswith("/begin"):
                self.ctx.waitUntil(wait(29))
                self.ctx.waitUntil(wait(31))
            return Response(str(done))
    """
    clock = ManualClock()

    async def program(flare: Any) -> Any:
        await request(flare, "/begin")
        for _ in range(7):
            await clock.advance(5)
        return (await request(flare)).text

    assert run(program, write_worker(tmp_path, source), clock=clock) == "[29]"
    assert "waitUntil() tasks did not complete within the allowed time" in run.err.text


TASKS = """
import asyncio
from workers import Response, WorkerEntrypoint

done = []
go = asyncio.Event()

async def work(name):
    await go.wait()
    done.append(name)

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.url.rsplit("/", 1)[1]:
            case "alone":
                asyncio.create_task(work("alone"))
            case "kept":
                self.ctx.waitUntil(asyncio.create_task(work("kept")))
            case "within":
                await asyncio.create_task(self.within())
            case "library":
                # Of no file of the worker's own.
                asyncio.create_task(go.wait()).add_done_callback(lambda _: done.append("library"))
            case "go":
                await asyncio.sleep(0)
                go.set()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        return Response(",".join(sorted(done)))

    async def within(self):
        done.append("within")
"""


def test_tasks_end_with_their_event_unless_it_waits_for_them(run: Runner, tmp_path: Path) -> None:
    async def program(flare: Any) -> Any:
        for path in ("/alone", "/kept", "/within", "/library"):
            await request(flare, path)
        return (await request(flare, "/go")).text

    assert run(program, write_worker(tmp_path, TASKS)) == "kept,library,within"


def test_a_task_that_ends_with_its_event_is_told_of(run: Runner, tmp_path: Path) -> None:
    get(run, tmp_path, TASKS, "/alone")

    assert "The task of work() was cancelled, because its event is over" in run.err.text
    assert "ctx.waitUntil()" in run.err.text


def test_a_task_that_its_event_waits_for_is_nothing_to_tell(run: Runner, tmp_path: Path) -> None:
    get(run, tmp_path, TASKS, "/within")

    assert "was cancelled" not in run.err.text


def test_env_is_the_same_everywhere_and_can_be_patched(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint, env, patch_env

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            seen = [env.MODE, self.env.MODE]
            with patch_env(MODE="patched", NEW="new"):
                from workers import env as patched
                seen += [patched.MODE, patched.NEW]
            from workers import env as after
            seen += [after.MODE, hasattr(after, "NEW")]
            return Response(repr(seen))
    """
    answer = get(run, tmp_path, source, vars={"MODE": "m"})

    assert answer.text == "['m', 'm', 'patched', 'new', 'm', False]"


def test_what_an_event_sets_on_its_env_is_gone_with_it(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            before = hasattr(self.env, "mark")
            self.env.mark = 1
            return Response(str(before))
    """

    async def program(flare: Any) -> Any:
        return [(await request(flare)).text for _ in range(2)]

    assert run(program, write_worker(tmp_path, source)) == ["False", "False"]


def test_variables_keep_their_types(run: Runner, tmp_path: Path) -> None:
    source = """
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            e = self.env
            return Response(repr([e.TEXT, e.NUMBER, e.FLAG, e.MAP.a.b, list(e.LIST), e.SECRET]))
    """
    (tmp_path / ".dev.vars").write_text("SECRET=hidden\n")
    variables = {"TEXT": "t", "NUMBER": 5, "FLAG": True, "MAP": {"a": {"b": 1}}, "LIST": [1, 2]}
    answer = get(run, tmp_path, source, vars=variables)

    assert answer.text == "['t', 5, True, 1, [1, 2], 'hidden']"


def test_console_output_carries_the_worker_and_the_level(run: Runner, tmp_path: Path) -> None:
    source = """
    from js import console
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            console.log("plain", 1)
            console.error("bad")
            return Response("")
    """
    get(run, tmp_path, source)

    assert "plain 1\n" in run.out.text
    assert "✘ [ERROR] bad" in run.err.text


def test_javascript_modules_that_do_not_exist_are_an_import_error(
    run: Runner, tmp_path: Path
) -> None:
    source = """
    from workers import Response, WorkerEntrypoint, import_from_javascript

    class Default(WorkerEntrypoint):
        def fetch(self, request):
            try:
                import_from_javascript("node:nothing")
            except ImportError as error:
                return Response(str(error))
    """
    assert get(run, tmp_path, source).text.startswith("Failed to import 'node:nothing'")


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("raise asyncio.CancelledError('of its own')", "CancelledError: of its own"),
        ("t = asyncio.ensure_future(asyncio.sleep(9)); t.cancel(); await t", "CancelledError"),
    ],
)
def test_whatever_leaves_a_handler_is_an_answer_and_a_line_in_the_log(
    run: Runner, tmp_path: Path, statement: str, shown: str
) -> None:
    source = f"""
    import asyncio
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            {statement}
    """
    answer = get(run, tmp_path, source)

    assert answer.status == 500
    assert shown in answer.text
    assert "GET / 500" in run.out.text
    assert "Uncaught" in run.err.text


def test_a_module_that_raises_keyboard_interrupt_does_not_end_the_process(
    run: Runner, tmp_path: Path
) -> None:
    assert "KeyboardInterrupt" in get(run, tmp_path, "raise KeyboardInterrupt").text


def test_a_thread_beside_workers_of_the_same_names_is_warned_of_once(
    run: Runner, tmp_path: Path
) -> None:
    source = """
    import threading
    from workers import Response, WorkerEntrypoint

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            await self.env.DB.prepare("SELECT 1").run()
            if request.url.endswith("thread"):
                for _ in range(2):
                    threading.Thread(target=lambda: None).start()
            return Response("")
    """
    databases = [{"binding": "DB"}]
    configs = [write_worker(tmp_path / name, source, d1_databases=databases) for name in "ab"]

    async def program(flare: Any) -> Any:
        await request(flare)
        quiet = run.err.text
        await request(flare, "/thread")
        flare.log.flush()
        return quiet, run.err.text.count("starts a thread")

    assert run(program, *configs) == ("", 1)
