"""The Worker's own functions, called by a test: the network, the caches, the time and the background they find."""

from __future__ import annotations

import textwrap

import pytest

from .conftest import Project

WORKER = """
import js
from js import Date, Response as JsResponse, caches
from pyodide.ffi import run_sync
from workers import Response, WorkerEntrypoint, fetch, wait_until

PAGE = "https://site.test/page"
API = "https://api.test/x"
done = []

async def ask(url=API):
    return await (await fetch(url)).text()

async def ask_as_javascript(url=API):
    return await (await js.fetch(url)).text()

def ask_and_wait(url=API):
    return run_sync(ask(url))

async def keep(text):
    page = JsResponse.new(text, headers={"Cache-Control": "max-age=60"}.items())
    await caches.default.put(PAGE, page)

async def kept():
    found = await caches.default.match(PAGE)
    return None if found is None else await found.text()

def begin(work):
    wait_until(work)

async def note(value):
    done.append(value)

async def fail():
    raise ValueError("in the background")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.url.endswith("/keep"):
            await keep("the Worker's")
        return Response(await (kept if request.url.endswith("/kept") else ask)() or "nothing")
"""

STYLES = pytest.mark.parametrize("style", ["blocking", "asyncio", "anyio"])
MARKS = {
    "blocking": "",
    "asyncio": "@pytest.mark.asyncio(loop_scope='module')",
    "anyio": "@pytest.mark.anyio",
}
PREAMBLE = """
import asyncio, inspect, pytest, entry, js

@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"

async def run(function, *given):
    result = function(*given)
    return await result if inspect.isawaitable(result) else result
"""


@pytest.fixture
def project(project: Project) -> Project:
    (project.folder / "src/entry.py").write_text(WORKER)
    return project


def run_in(style: str, project: Project, body: str, *, fixtures: str, more: str = "") -> None:
    """Run a test whose ``body`` has await; without it ``run`` is that of the first fixture."""
    kind = "async def"
    if style == "blocking":
        kind = "def"
        flare = fixtures.partition(",")[0]
        body = body.replace("await run(", f"{flare}.run(").replace("await ", "")
    test = f"{MARKS[style]}\n{kind} test_it({fixtures}):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    outcome = project.run(f"{PREAMBLE}\n{textwrap.dedent(more)}\n{test}\n")
    assert outcome.counts == {"passed": 1}, outcome.text


@STYLES
@pytest.mark.parametrize("ask", ["ask", "ask_as_javascript"])
@pytest.mark.parametrize(
    "fixtures", ["pyflare, pyflare_outbound", "pyflare_shared, pyflare_outbound"]
)
def test_a_function_gets_the_prepared_answers_and_the_worker_too(
    project: Project, style: str, ask: str, fixtures: str
) -> None:
    flare = fixtures.partition(",")[0]
    run_in(
        style,
        project,
        f"""
    pyflare_outbound.get(entry.API, text="prepared")
    assert await run(entry.{ask}) == "prepared"
    assert (await {flare}.fetch("/")).text == "prepared"
    assert len(pyflare_outbound.requests) == 2
    """,
        fixtures=fixtures,
    )


@STYLES
def test_what_was_not_prepared_fails_in_a_function(project: Project, style: str) -> None:
    run_in(
        style,
        project,
        """
    with pytest.raises(Exception, match="asked for GET https://api.test/x; prepared is nothing"):
        await run(entry.ask_as_javascript)
    """,
        fixtures="pyflare, pyflare_outbound",
    )


@STYLES
def test_a_function_and_the_workers_have_the_same_caches(project: Project, style: str) -> None:
    run_in(
        style,
        project,
        """
    await run(entry.keep, "the test's")
    assert (await pyflare.fetch("/kept")).text == "the test's"
    await pyflare.registry.caches().purge()
    assert await run(entry.kept) is None
    """,
        fixtures="pyflare",
    )


@STYLES
def test_a_function_reads_the_turned_clock(project: Project, style: str) -> None:
    run_in(
        style,
        project,
        """
    before = await run(entry.Date.now)
    await pyflare.clock.advance(hours=1)
    assert 3.6e6 <= await run(entry.Date.now) - before < 3.7e6
    """,
        fixtures="pyflare",
    )


@STYLES
def test_what_a_function_gives_to_wait_until_is_waited_for(project: Project, style: str) -> None:
    run_in(
        style,
        project,
        """
    await run(entry.begin, entry.note(1))
    await pyflare.settle()
    assert entry.done == [1]
    """,
        fixtures="pyflare",
    )


def test_a_failure_in_wait_until_fails_the_test(project: Project) -> None:
    outcome = project.run(
        "import entry\ndef test_it(pyflare): pyflare.run(entry.begin, entry.fail())\n"
    )

    assert outcome.counts == {"passed": 1, "error": 1}, outcome.text
    assert "background work failed (tested: waitUntil)" in outcome.text


@pytest.mark.parametrize(
    ("style", "mark"),
    [("anyio", "pytest.fixture"), ("asyncio", "pytest_asyncio.fixture(loop_scope='module')")],
)
def test_an_async_fixture_that_calls_a_function_gets_the_prepared_answers(
    project: Project, style: str, mark: str
) -> None:
    more = f"""
        import pytest_asyncio

        @{mark}
        async def found(pyflare, pyflare_outbound):
            pyflare_outbound.get(entry.API, text="prepared")
            return await entry.ask()
        """
    run_in(style, project, "assert found == 'prepared'", fixtures="found", more=more)


#: Its runner is there before the test's own fixtures are.
EARLY = """
    @pytest.fixture(scope="module", autouse=True)
    async def early(anyio_backend):
        yield
    """


@pytest.mark.parametrize(("style", "more"), [("asyncio", ""), ("anyio", ""), ("anyio", EARLY)])
def test_a_function_gets_the_prepared_answers_without_workers_too(
    project: Project, style: str, more: str
) -> None:
    run_in(
        style,
        project,
        """
        pyflare_outbound.get(entry.API, text="prepared")
        assert await entry.ask() == "prepared"
        """,
        fixtures="pyflare_outbound",
        more=more,
    )


def test_a_loop_of_the_test_s_own_gets_the_prepared_answers(project: Project) -> None:
    outcome = project.run(
        """
        import asyncio, entry

        def test_alone(pyflare_outbound):
            pyflare_outbound.get(entry.API, text="prepared")
            assert asyncio.run(entry.ask()) == "prepared"

        def test_with_workers(pyflare, pyflare_outbound):
            pyflare_outbound.get(entry.API, text="prepared")
            assert asyncio.run(entry.ask()) == "prepared"
        """
    )
    assert outcome.counts == {"passed": 2}, outcome.text


def test_prepared_answers_end_with_their_test(project: Project) -> None:
    outcome = project.run(
        """
        import pytest, entry

        def test_prepared(pyflare_shared, pyflare_outbound):
            pyflare_outbound.get(entry.API, text="prepared")
            assert pyflare_shared.fetch("/").text == "prepared"

        @pytest.mark.parametrize("answer", ["a", "b"])
        def test_others(pyflare_shared, pyflare_outbound, answer):
            with pytest.raises(Exception, match="prepared is nothing"):
                pyflare_shared.fetch("/")
            pyflare_outbound.get(entry.API, text=answer)
            assert pyflare_shared.fetch("/").text == pyflare_shared.run(entry.ask) == answer

        def test_none():
            from pyflare.js.caches import cache_opener
            from pyflare.js.fetch import outbound
            from pyflare.workers.current import current_event
            assert outbound.get() is cache_opener.get() is current_event.get() is None
        """
    )
    assert outcome.counts == {"passed": 4}, outcome.text


def test_the_worker_s_options_say_what_answers_a_function(project: Project) -> None:
    outcome = project.run(
        """
        import pytest, entry

        @pytest.mark.pyflare(outbound=lambda request: "by option")
        def test_it(pyflare):
            assert pyflare.run(entry.ask) == "by option"
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_a_function_may_wait_synchronously(project: Project) -> None:
    outcome = project.run(
        """
        import entry

        def test_it(pyflare, pyflare_outbound):
            pyflare_outbound.get(entry.API, text="prepared")
            assert pyflare.run(entry.ask_and_wait) == "prepared"
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text


@pytest.mark.parametrize(
    "call", ["entry.caches.default", "entry.begin(entry.note(1))", "asyncio.run(entry.kept())"]
)
def test_outside_the_loop_of_the_workers_the_error_says_what_to_do(
    project: Project, call: str
) -> None:
    outcome = project.run(
        f"""
        import asyncio, pytest, entry

        def test_it(pyflare):
            with pytest.raises(Exception, match=r"event loop of the Workers.*pyflare.run\\(function"):
                {call}
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text


def test_what_the_registry_gives_waits(project: Project) -> None:
    outcome = project.run(
        """
        import entry

        def test_it(pyflare):
            caches = pyflare.registry.caches()
            caches.default_lifetimes = False
            assert pyflare.flare.registry.caches().default_lifetimes is False
            pyflare.run(entry.keep, "a")
            caches.purge()
            assert pyflare.run(entry.kept) is None
        """
    )
    assert outcome.counts == {"passed": 1}, outcome.text
