"""Functions and objects that are sent as stubs: both ways, nested, handed on, disposed of."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Workers

Between = Callable[..., Any]

COUNTER = """
def make(self):
    n = 0
    async def add(by=1):
        nonlocal n
        n += by
        return n
    return add
"""


def test_a_returned_function_can_be_called_and_keeps_its_state(between: Between) -> None:
    caller = """
    add = await B.make()
    return callable(add), bool(add), await add(2), await add(), await (await B.make())(5)
    """
    assert between(COUNTER, caller) == (True, True, 2, 3, 5)


def test_a_function_as_argument_is_called_in_its_own_worker(between: Between) -> None:
    callee = "async def call(self, f): return [helper.NAME, await f(1), helper.NAME]"
    caller = """
    async def mine(n):
        import helper
        await asyncio.sleep(0)
        return f"{helper.NAME}{n}"
    return await B.call(mine)
    """
    assert between(callee, caller) == ["b", "a1", "b"]


@pytest.mark.parametrize("wrap", ["{}", "create_proxy({})", "[{}]", "{{'f': {}}}"])
def test_a_function_arrives_callable_however_it_is_sent(between: Between, wrap: str) -> None:
    callee = """
    async def call(self, f):
        f = f[0] if isinstance(f, list) else f["f"] if isinstance(f, dict) else f
        return await f(20)
    """
    assert between(callee, f"return await B.call({wrap.format('lambda n: n + 1')})") == 21


def test_a_function_in_a_nested_result_is_callable(between: Between) -> None:
    caller = """
    value = await B.give()
    return await value["deep"]["f"](4), await value["list"][0](5)
    """
    callee = "def give(self): return {'deep': {'f': lambda n: n * 2}, 'list': [lambda n: n * 3]}"
    assert between(callee, caller) == (8, 15)


def test_a_list_of_functions_can_be_iterated(between: Between) -> None:
    caller = "return [await f(1) for f in await B.give()]"
    callee = "def give(self): return [lambda n: n + 1, lambda n: n + 2]"
    assert between(callee, caller) == [2, 3]


def test_a_callback_gets_javascript_values_and_may_return_them(between: Between) -> None:
    callee = """
    async def call(self, f):
        return await f({"a": [1]})
    """
    caller = """
    def f(value):
        return to_js([type(value).__name__, value.a[0]])
    return await B.call(f)
    """
    # `python_to_rpc` is applied to what a method returns, not to the arguments of a raw stub.
    caller = caller.replace("type(value).__name__", "'object'")
    callee = "async def call(self, f): return await f(to_js({'a': [1]}, dict_converter=Object.fromEntries))"
    assert between(callee, caller) == ["object", 1]


def test_a_dict_returned_by_a_callback_is_no_javascript_value(between: Between) -> None:
    callee = """
    async def call(self, f):
        try:
            await f()
        except JsException as error:
            return str(error)
    """
    assert (
        between(callee, "return await B.call(lambda: {'a': 1})")
        == "DataCloneError: #<Object> could not be cloned."
    )


def test_the_error_of_a_callback_reaches_its_caller(between: Between) -> None:
    callee = """
    async def call(self, f):
        try:
            await f()
        except JsException as error:
            return error.message
    """
    caller = """
    def fail():
        raise ValueError("mine")
    return await B.call(fail)
    """
    assert between(callee, caller).endswith("ValueError: mine\n")


def test_a_stub_handed_on_by_a_worker_in_the_middle_works_after_its_call(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                value = await self.env.B.make()
                add = value["add"]
                first = await add(2)
                await asyncio.sleep(0.01)
                return first, await add(3), await self.env.B.made()
        """,
        {"B": "b"},
    )
    workers.add(
        "b",
        """
        class Default(WorkerEntrypoint):
            async def make(self): return {"add": await self.env.C.make()}
            async def made(self): return await self.env.C.made()
        """,
        {"B": "b", "C": "c"},
    )
    workers.add(
        "c",
        """
        class Default(WorkerEntrypoint):
            def make(self):
                helper.SEEN.append(0)
                def add(by):
                    helper.SEEN[-1] += by
                    return helper.SEEN[-1]
                return add
            def made(self): return helper.SEEN
        """,
    )
    assert workers.call() == (2, 5, [5])


def test_an_argument_stub_is_let_go_when_the_call_returns(between: Between) -> None:
    callee = """
    async def keep(self, f):
        helper.kept = f
        return await f(1)
    async def use(self):
        try:
            return await helper.kept(2)
        except JsException as error:
            return str(error)
    """
    caller = "return await B.keep(lambda n: n), await B.use()"
    assert between(callee, caller) == (1, "Error: RPC stub used after being disposed.")


def test_a_duplicate_of_an_argument_stub_stays(between: Between) -> None:
    callee = """
    async def keep(self, f):
        helper.kept = f.dup()
        return await f(1)
    async def use(self): return await helper.kept(2)
    """
    assert between(callee, "return await B.keep(lambda n: n), await B.use()") == (1, 2)


def test_the_caller_keeps_a_stub_that_it_passes_on(between: Between) -> None:
    callee = COUNTER + "\nasync def call(self, f): return await f(10)"
    caller = """
    add = await B.make()
    return await B.call(add), await add(1)
    """
    assert between(callee, caller) == (10, 11)


def test_an_argument_that_is_returned_comes_back_as_a_stub(between: Between) -> None:
    caller = """
    back = await B.echo(lambda n: n + 1)
    return await back(1)
    """
    assert between("def echo(self, f): return f", caller) == 2


def test_a_disposed_stub_fails_and_its_duplicate_does_not(between: Between) -> None:
    caller = """
    add = (await B.make())._binding
    again = add.dup()
    Reflect.apply(Reflect.get(add, Symbol.dispose), add, to_js([]))
    texts = []
    for use in (add, add.dup, add.method):
        try:
            result = use()
            await result
        except JsException as error:
            texts.append(str(error))
    return texts, await again(3)
    """
    assert between(COUNTER, caller) == (["Error: RPC stub used after being disposed."] * 3, 3)


def test_a_call_made_before_the_disposal_is_still_sent(between: Between) -> None:
    caller = """
    add = (await B.make())._binding
    call = add(3)
    Reflect.get(add, Symbol.dispose)()
    return await call
    """
    assert between(COUNTER, caller) == 3


def test_a_disposed_promise_fails(between: Between) -> None:
    caller = """
    promise = B._binding.make()
    Reflect.get(promise, Symbol.dispose)()
    try:
        await promise(1)
    except JsException as error:
        return str(error)
    """
    assert between(COUNTER, caller) == "Error: RPC promise used after being disposed."


PIPELINE = """
def make(self):
    n = 0
    def add(by):
        nonlocal n
        n += by
        return n
    return {"add": add, "name": "x", "deep": {"add": add, "list": [1]}}
def number(self): return 5
def fail(self): raise js.TypeError.new("no")
async def function(self): return lambda n: n * 2
"""


def test_calls_on_a_promise_need_not_wait_for_it_and_keep_their_order(between: Between) -> None:
    caller = """
    promise = B._binding.make()
    calls = [promise.add(1), promise.deep.add(2), promise.add(3)]
    return [await call for call in calls], await promise.name, list(await promise.deep.list)
    """
    assert between(PIPELINE, caller) == ([1, 3, 6], "x", [1])


def test_a_promised_function_can_be_called(between: Between) -> None:
    assert between(PIPELINE, "return await B._binding.function()(4)") == 8


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("number().x()", "Error: Can't pipeline on RPC that did not return an object."),
        ("number().x", "Error: Can't pipeline on RPC that did not return an object."),
        (
            "make().nothing()",
            'TypeError: The RPC receiver does not implement the method "nothing".',
        ),
        (
            "make().deep.nothing",
            'TypeError: The RPC receiver does not implement the method "nothing".',
        ),
        ("make().name()", 'TypeError: "name" is not a function.'),
        ("make().deep.list()", 'TypeError: "deep.list" is not a function.'),
        ("fail().x()", "TypeError: no"),
        ("fail().x", "TypeError: no"),
    ],
)
def test_what_a_promise_cannot_do(between: Between, call: str, text: str) -> None:
    caller = f"""
    try:
        await B._binding.{call}
    except JsException as error:
        return str(error)
    """
    assert between(PIPELINE, caller) == text


TARGET = """
RpcTarget = import_from_javascript("cloudflare:workers").RpcTarget

class Counter(RpcTarget):
    def __init__(self):
        self.n = 0
    def add(self, by):
        self.n += by
        return self.n
    @property
    def double(self):
        return self.n * 2
    @property
    def inner(self):
        return self
"""


def test_a_target_has_the_methods_and_properties_of_its_class(between: Between) -> None:
    caller = """
    counter = (await B.make())._binding
    return await counter.add(2), await counter.double, await counter.inner.inner.add(1)
    """
    callee = "def make(self): return Counter.new()"
    assert between(callee, caller, TARGET) == (2, 4, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("n", 'The RPC receiver does not implement the method "n".'),
        ("nothing()", 'The RPC receiver does not implement the method "nothing".'),
        ("double()", '"double" is not a function.'),
        ("toString2()", 'The RPC receiver does not implement the method "toString2".'),
        (
            "_begin_call(('constructor',), ())",
            "'constructor' is a reserved method and cannot be called over RPC.",
        ),
        ("_begin_call(('dup',), ())", "'dup' is a reserved method and cannot be called over RPC."),
    ],
)
def test_what_a_target_does_not_show(between: Between, call: str, text: str) -> None:
    caller = f"""
    counter = (await B.make())._binding
    try:
        await counter.{call}
    except JsException as error:
        return error.name, error.message
    """
    callee = "def make(self): return Counter.new()"
    assert between(callee, caller, TARGET) == ("TypeError", text)


def test_an_instance_with_call_and_methods_shows_both(between: Between) -> None:
    extra = """
    class Counter:
        def __init__(self): self.n = 0
        def __call__(self): return self.n
        def add(self, by): self.n += by
    """
    caller = """
    counter = (await B.make())
    await counter.add(2)
    return await counter()
    """
    assert between("def make(self): return Counter()", caller, extra) == 2


def test_a_stub_of_a_plain_object_shows_its_properties(between: Between) -> None:
    callee = """
    def make(self):
        stub = import_from_javascript("cloudflare:workers").RpcStub
        return stub.new(to_js({"n": 1, "f": lambda: 2}, dict_converter=Object.fromEntries))
    """
    caller = """
    stub = (await B.make())._binding
    return await stub.n, await stub.f()
    """
    assert between(callee, caller) == (1, 2)


@pytest.mark.parametrize("value", ["1", "'x'", "js.Date.new()", "jsnull"])
def test_other_values_cannot_be_wrapped_as_a_stub(between: Between, value: str) -> None:
    caller = f"""
    try:
        import_from_javascript("cloudflare:workers").RpcStub.new({value})
    except JsException as error:
        return str(error)
    """
    assert (
        between("", caller)
        == "TypeError: RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives."
    )


def test_a_service_binding_can_be_passed_on(between: Between) -> None:
    callee = """
    async def use(self, service): return await service.name()
    def name(self): return helper.NAME
    """
    caller = """
    return await B.use(self.env.SELF)

async def PLACE(self): pass
    """
    caller = "return await B.use(B)"
    assert between(callee, caller) == "b"


def test_the_functions_event_lasts_as_long_as_its_stub(between: Between) -> None:
    callee = """
    def make(self):
        fired = asyncio.Event()
        js.setTimeout(create_proxy(fired.set), 5)
        async def wait():
            await fired.wait()
            return "fired"
        return wait
    """
    caller = """
    wait = await B.make()
    return await asyncio.wait_for(wait(), 2)
    """
    assert between(callee, caller) == "fired"


def test_a_forgotten_stub_ends_the_event(between: Between) -> None:
    callee = """
    def make(self):
        self.ctx.at_end(lambda: helper.SEEN.append("over"))
        return lambda: None
    def seen(self): return helper.SEEN
    """
    caller = """
    stub = await B.make()
    before = await B.seen()
    del stub
    return before, await B.seen()
    """
    assert between(callee, caller) == ([], ["over"])


def test_a_function_may_call_back_while_its_caller_waits(between: Between) -> None:
    callee = "async def outer(self, f): return await f(lambda n: n + 1)"
    caller = """
    async def f(g):
        return await g(41)
    return await B.outer(f)
    """
    assert between(callee, caller) == 42


def test_functions_that_call_each_other_without_end_are_stopped(between: Between) -> None:
    callee = """
    def make(self):
        async def there(back):
            return await back()
        return there
    """
    caller = """
    there = await B.make()
    depth = 0
    async def back():
        nonlocal depth
        depth += 1
        return await there(back)
    try:
        await back()
    except JsException as error:
        return error.message.partition(".")[0], depth > 100
    """
    assert between(callee, caller) == ("Subrequest depth limit exceeded", True)
