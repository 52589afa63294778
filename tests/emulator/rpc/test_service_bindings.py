"""Service bindings as they are configured: entrypoints, props, exports, workers that are missing or old."""

import asyncio
from typing import Any

import pytest

from pyflare import Pyflare
from pyflare.server.log import LogSink

from .conftest import Workers

ROLE = """
class Default(WorkerEntrypoint):
    async def role(self):
        props = self.ctx.props
        await asyncio.sleep(0)
        seen = {name: getattr(props, name) for name in props.object_keys()}
        props.role = "changed"
        return seen
class Named(Default):
    async def fetch(self, request): return Response(f"named {getattr(self.ctx.props, 'n', None)}")
    def name(self): return "named"
class Silent(WorkerEntrypoint):
    pass
class NotExported:
    pass
"""


def test_each_binding_has_its_own_props(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                one, two = self.env.ONE, self.env.TWO
                return await asyncio.gather(one.role(), two.role(), one.role(), one.role())
        """,
        {"ONE": {"service": "b", "props": {"role": "a", "n": 1, "deep": [True]}}, "TWO": "b"},
    )
    workers.add("b", ROLE)
    full = {"role": "a", "n": 1, "deep": [True]}
    one, two, three, four = workers.call()
    assert [{**each, "deep": list(each["deep"])} for each in (one, three, four)] == [full] * 3
    assert two == {}


def test_props_are_given_afresh_to_every_call(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                await self.env.ONE.role()
                return (await self.env.ONE.role())["role"]
        """,
        {"ONE": {"service": "b", "props": {"role": "a"}}},
    )
    workers.add("b", ROLE)
    assert workers.call() == "a"


def test_a_named_entrypoint_answers_calls_and_requests(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                answer = await self.env.NAMED.fetch("http://x/")
                return await self.env.NAMED.name(), await answer.text()
        """,
        {"NAMED": {"service": "b", "entrypoint": "Named", "props": {"n": 3}}},
    )
    workers.add("b", ROLE)
    assert workers.call() == ("named", "named 3")


@pytest.mark.parametrize(
    ("entry", "call", "text"),
    [
        ({"service": "b", "entrypoint": "Nothing"}, "x()", "Error: Worker has no such entrypoint: Nothing"),
        ({"service": "b", "entrypoint": "NotExported"}, "x()", "Error: Worker has no such entrypoint: NotExported"),
        ({"service": "c"}, "x()", "Error: Worker has no default entrypoint."),
        ({"service": "b", "entrypoint": "Silent"}, "fetch('http://x/')", "TypeError: Method fetch does not exist"),
        ({"service": "b", "entrypoint": "No"}, "fetch('http://x/')", "Error: Worker has no such entrypoint: No"),
        ({"service": "c"}, "fetch('http://x/')", "Error: Handler does not export a fetch() function."),
        (
            {"service": "c", "entrypoint": "Thing"},
            "x()",
            "Error: The entrypoint name Thing refers to a Durable Object class, but the incoming request is trying to "
            "invoke it as a stateless worker.",
        ),
        (
            {"service": "gone"},
            "x()",
            'Error: Worker "gone" not found. Make sure it is running locally. Start it in the same pyflare: give its '
            "configuration too (pyflare dev -c <this> -c <that>).",
        ),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(
    workers: Workers, entry: dict[str, Any], call: str, text: str
) -> None:
    workers.add(
        "a",
        f"""
        class Default(WorkerEntrypoint):
            async def test(self):
                try:
                    await self.env.B._binding.{call}
                except JsException as error:
                    return str(error)
        """,
        {"B": entry},
    )
    workers.add("b", ROLE)
    workers.add(
        "c",
        """
        from workers import DurableObject
        class Thing(DurableObject):
            pass
        """,
    )
    assert workers.call() == text


def test_a_request_to_a_worker_that_is_not_here_is_answered_503(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                answer = await self.env.B.fetch("http://x/")
                return answer.status, (await answer.text())[:25]
        """,
        {"B": "gone"},
    )
    assert workers.call() == (503, 'Worker "gone" not found. ')


def test_a_worker_that_is_not_here_is_named_at_start(workers: Workers) -> None:
    workers.add("a", "class Default(WorkerEntrypoint): pass", {"B": "gone", "SELF": "a"})
    said: list[str] = []

    class Log(LogSink):
        def warning(self, text: str) -> None:
            said.append(text)

    async def main() -> None:
        async with Pyflare(workers.configurations, persist_to=None, log=Log()):
            pass

    asyncio.run(main())
    assert [text for text in said if "gone" in text] == [
        'Worker "a": the binding "B" refers to the Worker "gone", which is not running here. '
        "Calls on it fail until its configuration is given too (-c)."
    ]


def test_a_worker_that_cannot_be_imported_fails_its_callers(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                texts = []
                for call in (self.env.B._binding.x, lambda: self.env.B._binding.fetch("http://x/")):
                    try:
                        await call()
                    except JsException as error:
                        texts.append(error.message.rstrip().rpartition("\\n")[2])
                return texts
        """,
        {"B": "b"},
    )
    workers.add("b", "import nowhere_at_all")
    assert workers.call() == ["ModuleNotFoundError: No module named 'nowhere_at_all'"] * 2


ONE_ARGUMENT = (
    'Attempted to call RPC function "scheduled" with the wrong number of arguments. When calling a top-level handler '
    "function that is not declared as part of a class, you must always send exactly one argument. In order to support "
    "variable numbers of arguments, the server must use class-based syntax (extending WorkerEntrypoint) instead."
)


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        ("B._binding.scheduled(1)", "got 1"),
        ("B._binding.scheduled()", f"TypeError: {ONE_ARGUMENT}"),
        ("B._binding.scheduled(1, 2)", f"TypeError: {ONE_ARGUMENT}"),
        ("B._binding.nothing(1)", 'TypeError: The RPC receiver does not implement the method "nothing".'),
        ("B._binding.alarm(1)", "TypeError: 'alarm' is a reserved method and cannot be called over RPC."),
        ("(await B._binding.fetch('http://x/')).text()", "hello"),
    ],
)  # fmt: skip
def test_module_level_handlers_can_be_called_with_one_argument(
    workers: Workers, call: str, outcome: str
) -> None:
    workers.add(
        "a",
        f"""
        class Default(WorkerEntrypoint):
            async def test(self):
                B = self.env.B
                try:
                    return await {call}
                except JsException as error:
                    return str(error)
        """,
        {"B": "b"},
    )
    workers.add(
        "b",
        """
        def on_fetch(request): return Response("hello")
        def on_scheduled(controller, env, ctx): return f"got {controller}"
        """,
        compatibility_date="2025-01-01",
        compatibility_flags=["python_workers", "python_workers_20250116"],
    )
    assert workers.call().startswith(outcome)


def test_exports_are_bindings_to_the_workers_own_entrypoints(workers: Workers) -> None:
    workers.add(
        "a",
        ROLE
        + """
from workers import env
exports = import_from_javascript("cloudflare:workers")
class Default(WorkerEntrypoint):
    async def test(self):
        named = self.ctx.exports.Named
        with_props = named(props=to_js({"n": 5}, dict_converter=Object.fromEntries))
        answer = await with_props.fetch("http://x/")
        missing = hasattr(self.ctx.exports, "Nothing")
        again = exports.exports.Named
        return (named.constructor.name, await named.name(), await answer.text(), missing,
            await again.name(), await self.ctx.exports.default.hello(), sorted(self.ctx.exports.object_keys()))
    def hello(self): return "hello"
""",
    )
    assert workers.call() == (
        "LoopbackServiceStub",
        "named",
        "named 5",
        False,
        "named",
        "hello",
        ["Named", "Silent", "default"],
    )


def test_exports_come_with_their_compatibility_date(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self): return hasattr(self.ctx, "exports")
        """,
        compatibility_date="2025-11-16",
    )
    assert workers.call() is False


def test_the_embedder_reaches_a_worker_through_its_environment(workers: Workers) -> None:
    workers.add("a", "class Default(WorkerEntrypoint): pass", {"B": "b"})
    workers.add(
        "b",
        """
        class Default(WorkerEntrypoint):
            async def call(self, f): return await f(helper.NAME)
            async def fetch(self, request): return Response("hello")
        """,
    )

    async def body(flare: Pyflare) -> Any:
        service = flare.env("a").B
        answer = await service.fetch("http://x/")
        return await service.call(lambda name: f"host of {name}"), await answer.text()

    assert workers.run(body) == ("host of b", "hello")


def test_after_a_reload_calls_reach_the_new_code(workers: Workers) -> None:
    workers.add("a", "class Default(WorkerEntrypoint): pass", {"B": "b"})
    old = "class Default(WorkerEntrypoint):\n    def version(self): return lambda: 1\n"
    workers.add("b", old)

    async def body(flare: Pyflare) -> Any:
        service = flare.env("a").B
        before = await service.version()
        entry = workers.directory / "b" / "entry.py"
        entry.write_text(entry.read_text().replace("lambda: 1", "lambda: 2  # new"))
        await flare.reload(entry)
        return await before(), await (await service.version())()

    assert workers.run(body) == (1, 2)


def test_a_stub_of_a_closed_worker_says_so(workers: Workers) -> None:
    workers.add("a", "class Default(WorkerEntrypoint): pass", {"B": "b"})
    workers.add("b", "class Default(WorkerEntrypoint):\n    def f(self): return lambda: 1\n")

    async def body(flare: Pyflare) -> Any:
        stub = await flare.env("a").B.f()
        await flare.close()
        try:
            await stub()
        except Exception as error:
            return str(error)

    assert (
        workers.run(body)
        == "Error: The execution context which hosts this callback is no longer running."
    )


def test_exports_show_the_workers_own_object_classes(workers: Workers) -> None:
    workers.add(
        "a",
        """
        from workers import DurableObject
        class Thing(DurableObject):
            def label(self): return f"{helper.NAME} {self.ctx.id.name}"
        class Default(WorkerEntrypoint):
            async def test(self):
                stub = self.ctx.exports.Thing.getByName("x")
                return await stub.label(), list(self.ctx.exports.object_keys())
        """,
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Thing"]}],
    )
    assert workers.call() == ("a x", ["default", "Thing"])


def test_a_binding_to_an_own_entrypoint_with_props_can_be_sent(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                given = self.ctx.exports.default(props=to_js({"n": 5}, dict_converter=Object.fromEntries))
                return await self.env.B.ask(given), given.constructor.name
            def number(self): return self.ctx.props.n
        """,
        {"B": "b"},
    )
    workers.add(
        "b",
        """
        class Default(WorkerEntrypoint):
            async def ask(self, given): return await given.number()
        """,
    )
    assert workers.call() == (5, "Fetcher")


def test_the_exports_of_a_class_without_storage_are_no_namespace(workers: Workers) -> None:
    workers.add(
        "a",
        """
        from workers import DurableObject
        class Thing(DurableObject): pass
        class Default(WorkerEntrypoint):
            async def test(self):
                thing = self.ctx.exports.Thing
                try:
                    thing.getByName("x")
                except AttributeError as error:
                    return thing.constructor.name, str(error), error.__notes__
        """,
    )
    kind, name, (note,) = workers.call()
    assert (kind, name) == ("LoopbackDurableObjectClass", "getByName")
    assert "ctx.exports.Thing is no namespace" in note


def test_the_module_of_the_platform_shows_what_it_has(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                module = import_from_javascript("cloudflare:workers")
                span = module.tracing.startSpan("work")
                names = [module.DurableObject.name, module.WorkerEntrypoint.name, module.RpcPromise.name]
                try:
                    module.withEnv({}, lambda: 1)
                except Exception as error:
                    return list(module.object_keys())[:3], names, span.isTraced, str(error)
        """,
    )
    keys, names, traced, refusal = workers.call()
    assert keys == ["DurableObject", "RpcPromise", "RpcProperty"]
    assert names == ["DurableObject", "WorkerEntrypoint", "JsRpcPromise"]
    assert not traced
    assert "patch_env()" in refusal
