"""Which names can be called, with which errors, and in which order."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Workers

Between = Callable[..., Any]

CALLEE = """
value = 7

def method(self, *args): return list(args)
async def slowly(self): await asyncio.sleep(0); return "slow"
def _private(self): return "private"
def fetch(self, request): return Response("x")
"""


def failing(call: str) -> str:
    return f"""
    try:
        await {call}
    except JsException as error:
        return error.name, error.message, getattr(error, "remote", None)
    return "no error"
    """


def test_sync_and_async_methods_are_called_alike(between: Between) -> None:
    assert between(CALLEE, "return [await B.method(1), await B.slowly()]") == [[1], "slow"]


def test_a_method_with_a_leading_underscore_can_be_called(between: Between) -> None:
    assert between(CALLEE, "return await B._binding._private()") == "private"


@pytest.mark.parametrize(
    "name",
    [
        "fetch",
        "connect",
        "alarm",
        "webSocketMessage",
        "webSocketClose",
        "webSocketError",
        "dup",
        "constructor",
    ],
)
def test_a_reserved_name_cannot_be_called(between: Between, name: str) -> None:
    # The stub has some of these names itself, so the path is given directly.
    call = f"B._binding._begin_call(({name!r},), ())"
    assert between(CALLEE, failing(call)) == (
        "TypeError",
        f"'{name}' is a reserved method and cannot be called over RPC.",
        True,
    )


@pytest.mark.parametrize("name", ["nothing", "value", "_nothing"])
def test_a_name_that_is_no_method_is_refused(between: Between, name: str) -> None:
    call = f"getattr(B._binding, {name!r})()"
    assert between(CALLEE, failing(call)) == ("TypeError", f"Method {name} does not exist", True)


def test_double_underscore_names_are_never_remote(between: Between) -> None:
    assert between(CALLEE, failing("B._binding._begin_call(('__init__',), (1, 2))")) == (
        "TypeError",
        "Method __init__ does not exist",
        True,
    )


@pytest.mark.parametrize("stub", ["B", "B._binding"])
def test_then_is_never_remote(between: Between, stub: str) -> None:
    assert between(CALLEE, f"return hasattr({stub}, 'then')") is False


def test_a_path_into_a_method_is_refused(between: Between) -> None:
    assert between(CALLEE, failing("B._binding.method.deeper()")) == (
        "TypeError",
        'The RPC receiver does not implement the method "deeper".',
        True,
    )


def test_a_path_of_64_names_is_the_deepest(between: Between) -> None:
    caller = """
    texts = []
    for depth in (64, 65):
        try:
            await B._binding._begin_call(("x",) * depth, ())
        except JsException as error:
            texts.append(error.message)
    return texts
    """
    assert between(CALLEE, caller) == [
        'The RPC receiver does not implement the method "x".',
        "RPC pipelined property path is too deep (max 64).",
    ]


def test_awaiting_a_method_gives_a_stub_of_it(between: Between) -> None:
    caller = """
    method = await B._binding.method
    return method.constructor.name, list(await method(1, 2))
    """
    assert between(CALLEE, caller) == ("JsRpcStub", [1, 2])


def test_wrong_arguments_are_pythons_error_at_the_caller(between: Between) -> None:
    name, message, _ = between(CALLEE, failing("B.slowly(1)"))
    assert name == "Error"
    assert message.startswith("PythonError: Traceback (most recent call last):\n")
    assert message.endswith(
        "TypeError: Default.slowly() takes 1 positional argument but 2 were given\n"
    )


def test_a_python_exception_crosses_with_its_traceback(between: Between) -> None:
    callee = """
    def fail(self):
        raise KeyError("gone")
    """
    name, message, remote = between(callee, failing("B.fail()"))
    assert (name, remote) == ("Error", True)
    assert message.startswith("PythonError: Traceback (most recent call last):\n")
    assert "entry.py" in message
    assert "pyflare" not in message.replace("pytest", "")
    assert message.endswith("KeyError: 'gone'\n")


@pytest.mark.parametrize(
    ("raised", "name", "message"),
    [
        ("js.TypeError.new('no')", "TypeError", "no"),
        ("js.RangeError.new('no')", "RangeError", "no"),
        ("js.Error.new('no')", "Error", "no"),
        ("js.DOMException.new('no', 'AbortError')", "AbortError", "no"),
        ("JsException('MyError', 'no')", "Error", "MyError: no"),
    ],
)
def test_a_javascript_error_keeps_a_standard_name(
    between: Between, raised: str, name: str, message: str
) -> None:
    assert between(f"def fail(self): raise {raised}", failing("B.fail()")) == (name, message, True)


def test_the_error_is_not_the_callees_object(between: Between) -> None:
    callee = """
    def fail(self):
        helper.error = js.Error.new("no")
        helper.error.secret = [1]
        raise helper.error
    """
    caller = """
    try:
        await B.fail()
    except JsException as error:
        return error.__cause__, error.__context__, hasattr(error, "secret")
    """
    assert between(callee, caller) == (None, None, False)


def test_marks_of_the_platform_cross(between: Between) -> None:
    callee = """
    def fail(self):
        error = js.Error.new("no")
        error.retryable = True
        error.overloaded = True
        raise error
    """
    caller = """
    try:
        await B.fail()
    except JsException as error:
        return error.retryable, error.overloaded
    """
    assert between(callee, caller) == (True, True)


@pytest.mark.parametrize(
    "ending", ["SystemExit(3)", "KeyboardInterrupt()", "asyncio.CancelledError()"]
)
def test_code_that_ends_itself_ends_nothing_else(between: Between, ending: str) -> None:
    name, message, _ = between(f"def fail(self): raise {ending}", failing("B.fail()"))
    assert name == "Error"
    assert ending.partition("(")[0].rpartition(".")[2] in message


def test_a_constructor_that_fails_is_the_calls_error(between: Between) -> None:
    callee = """
    def __init__(self, ctx, env):
        raise ValueError("no instance")
    def method(self): return 1
    """
    _, message, _ = between(callee, failing("B.method()"))
    assert message.endswith("ValueError: no instance\n")


def test_every_call_has_an_instance_of_its_own(between: Between) -> None:
    callee = """
    def count(self):
        self.n = getattr(self, "n", 0) + 1
        return self.n
    """
    assert between(callee, "return [await B.count(), await B.count()]") == [1, 1]


ORDER = """
def note(self, n):
    helper.SEEN.append(n)
    return list(helper.SEEN)
"""


def test_calls_begin_in_the_order_in_which_they_are_made(between: Between) -> None:
    caller = """
    first, second, third = B.note(1), B.note(2), B.note(3)
    await third
    await second
    await first
    return await B.note(4)
    """
    assert between(ORDER, caller) == [1, 2, 3, 4]


def test_a_call_that_is_never_awaited_is_made(between: Between) -> None:
    caller = """
    B._binding.note(1)
    await asyncio.sleep(0.01)
    return await B.note(2)
    """
    assert between(ORDER, caller) == [1, 2]


def test_calls_run_side_by_side(between: Between) -> None:
    callee = """
    async def meet(self):
        helper.SEEN.append(1)
        while len(helper.SEEN) < 3:
            await asyncio.sleep(0)
        return len(helper.SEEN)
    """
    assert between(callee, "return await asyncio.gather(*[B.meet() for _ in range(3)])") == [
        3,
        3,
        3,
    ]


def test_a_call_can_be_awaited_twice(between: Between) -> None:
    caller = """
    call = B._binding.note(1)
    return list(await call), list(await call)
    """
    assert between(ORDER, caller) == ([1], [1])


def test_then_and_catch_work_on_a_call(between: Between) -> None:
    caller = """
    doubled = await B._binding.note(1).then(lambda seen: len(seen) * 10)
    caught = await B._binding.nothing().catch(lambda error: error.message)
    return doubled, caught
    """
    assert between(ORDER, caller) == (10, "Method nothing does not exist")


def test_run_sync_works_on_both_sides(between: Between) -> None:
    callee = """
    def wait(self, n):
        run_sync(asyncio.sleep(0.001))
        return n + 1
    """
    assert between(callee, "return run_sync(B.wait(1))") == 2


def test_the_callees_task_outlives_no_timeout_of_the_caller(between: Between) -> None:
    callee = """
    async def long(self):
        try:
            await asyncio.sleep(60)
        finally:
            helper.SEEN.append("ended")
    def seen(self): return helper.SEEN
    """
    caller = """
    try:
        async with asyncio.timeout(0.01):
            await B.long()
    except TimeoutError:
        pass
    return await B.seen()
    """
    assert between(callee, caller) == ["ended"]


def test_asyncio_timeouts_of_the_callee_are_its_own(between: Between) -> None:
    callee = """
    async def impatient(self):
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return "timeout"
    """
    assert between(callee, "return await B.impatient()") == "timeout"


def test_a_thousand_calls_leave_everybody_else_a_turn(between: Between) -> None:
    caller = """
    turns = 0
    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)
    task = asyncio.create_task(count())
    for n in range(1000):
        await B.method(n)
    task.cancel()
    return turns
    """
    assert between(CALLEE, caller) > 5


def test_the_callees_code_sees_its_own_modules_and_environment(between: Between) -> None:
    callee = """
    async def who(self):
        import helper as again
        before = again.NAME
        await asyncio.sleep(0)
        import helper as after
        return [before, after.NAME, hasattr(self.env, "A"), hasattr(self.env, "B")]
    """
    caller = """
    theirs = await B.who()
    import helper as mine
    return theirs, mine.NAME
    """
    assert between(callee, caller) == (["b", "b", True, False], "a")


def test_workers_may_call_each_other_in_circles(workers: Workers) -> None:
    down = """
    class Default(WorkerEntrypoint):
        async def test(self): return await self.down(9)
        async def down(self, n):
            return helper.NAME if n == 0 else await self.env.OTHER.down(n - 1)
    """
    workers.add("a", down, {"OTHER": "b"})
    workers.add("b", down, {"OTHER": "a"})
    assert workers.call() == "b"


def test_a_worker_may_call_itself(between: Between) -> None:
    caller = """
    if helper.SEEN:
        return "inner"
    helper.SEEN.append(1)
    return await self.env.SELF.test()
    """
    assert between(CALLEE, caller) == "inner"


def test_endless_recursion_ends_with_an_error(between: Between) -> None:
    caller = """
    try:
        return await self.env.SELF.test()
    except JsException as error:
        return error.message
    """
    assert between(CALLEE, caller).startswith("Subrequest depth limit exceeded.")


def test_a_result_that_the_sdk_refuses_is_told_without_the_machinery(between: Between) -> None:
    assert between("def give(self): return (1, 2)", failing("B.give()")) == (
        "Error",
        "PythonError: Traceback (most recent call last):\n"
        "TypeError: <class 'tuple'> cannot be sent over RPC.\n",
        True,
    )
