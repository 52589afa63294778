"""What crosses a call, as what it arrives, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

Between = Callable[..., Any]

ECHO = """
def echo(self, value):
    return value

def describe(self, value):
    return f"{type(value).__name__} {value!r}"
"""

VALUES = {
    "None": ("None", "NoneType None"),
    "True": ("True", "bool True"),
    "1": ("1", "int 1"),
    "1.5": ("1.5", "float 1.5"),
    "a whole float": ("2.0", "int 2"),
    "infinity": ("float('inf')", "float inf"),
    "a large int": ("2**70", "int 1180591620717411303424"),
    "a str": ("'\U0001f600'", "str '\U0001f600'"),
    "a list": ("[1, 'a', None]", "list [1, 'a', None]"),
    "a dict": ("{'a': {'b': [1]}}", "JsDict {'a': {'b': [1]}}"),
    "an empty dict": ("{}", "JsDict {}"),
    "a set": ("{1}", "set {1}"),
    "bytes": ("b'ab'", "memoryview"),
    "an error": ("ValueError('no')", "Exception Exception('Error: no')"),
    "a str subclass": ("type('S', (str,), {})('x')", "str 'x'"),
    "an int subclass": ("enum.IntEnum('E', 'A').A", "int 1"),
    "jsnull": ("jsnull", "NoneType None"),
    "a Date": (
        "datetime.datetime(2026, 1, 2, 3, 4, 5)",
        "datetime datetime.datetime(2026, 1, 2, 3, 4, 5)",
    ),
    "a JavaScript map": ("js.Map.new([['a', 1]])", "JsDict {'a': 1}"),
}


@pytest.mark.parametrize(("given", "arrives"), VALUES.values(), ids=VALUES)
def test_an_argument_arrives_as(between: Between, given: str, arrives: str) -> None:
    assert between(ECHO, f"return await B.describe({given})").startswith(arrives)


@pytest.mark.parametrize(("given", "arrives"), VALUES.values(), ids=VALUES)
def test_a_result_arrives_as(between: Between, given: str, arrives: str) -> None:
    caller = "value = await B.give()\nreturn f'{type(value).__name__} {value!r}'"
    assert between(f"def give(self): return {given}", caller).startswith(arrives)


REFUSED = {
    "a tuple": ("(1, 2)", "TypeError", "<class 'tuple'> cannot be sent over RPC."),
    "a tuple in a list": ("[(1, 2)]", "TypeError", "<class 'tuple'> cannot be sent over RPC."),
    "a bytearray": ("bytearray(b'a')", "TypeError", "<class 'bytearray'> cannot be sent over RPC."),
    "a regular expression": ("js.RegExp.new('a')", "TypeError", "RegExp cannot be sent over RPC."),
    "a complex": ("1j", "JsException", "DataCloneError"),
    "a range": ("range(3)", "JsException", "DataCloneError"),
    "an instance": ("type('Custom', (), {})()", "JsException", "DataCloneError"),
    "a class": ("ValueError", "JsException", "DataCloneError"),
    "a symbol": ("js.Symbol('x')", "JsException", "DataCloneError: Symbol(x) could not be cloned."),
    "an URL": (
        "js.URL.new('http://x')",
        "JsException",
        'DataCloneError: Could not serialize object of type "URL". This type does not support serialization.',
    ),
    "a file": (
        "js.File.new(to_js(['abc']), 'n.txt')",
        "JsException",
        'DataCloneError: Could not serialize object of type "File". This type does not support serialization.',
    ),
    "a response with a WebSocket": (
        "Response(None, status=101, web_socket=js.WebSocketPair.new().object_values()[0])",
        "JsException",
        'DataCloneError: Could not serialize object of type "WebSocket". This type does not support serialization.',
    ),
    "an abort signal": (
        "js.AbortController.new().signal",
        "JsException",
        "DataCloneError: AbortSignal serialization is not enabled.",
    ),
    "a request with an abort signal": (
        "Request('http://x/', signal=js.AbortController.new().signal)",
        "JsException",
        "DataCloneError: AbortSignal serialization is not enabled.",
    ),
    "an entrypoint without props": (
        "self.ctx.exports.default",
        "JsException",
        'DataCloneError: Could not serialize object of type "LoopbackServiceStub". '
        "This type does not support serialization.",
    ),
    "a promise of a call": (
        "B._binding.echo(1)",
        "JsException",
        'DataCloneError: Could not serialize object of type "JsRpcPromise". '
        "This type does not support serialization.",
    ),
}


@pytest.mark.parametrize(("given", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_an_argument_is_refused(between: Between, given: str, kind: str, text: str) -> None:
    caller = f"""
    try:
        await B.echo({given})
    except Exception as error:
        return type(error).__name__, str(error)
    """
    raised, message = between(ECHO, caller)
    assert raised == kind
    assert message.startswith(text)


def test_what_cannot_be_sent_rejects_the_promise_and_never_raises_at_the_call(
    between: Between,
) -> None:
    caller = """
    promise = B._binding.echo(object())
    try:
        await promise
    except JsException as error:
        return error.name
    """
    assert between(ECHO, caller) == "DataCloneError"


def test_a_result_that_cannot_be_sent_is_the_callers_error(between: Between) -> None:
    caller = """
    try:
        await B.give()
    except JsException as error:
        return error.name, error.message, error.remote
    """
    name, message, remote = between("def give(self): return object()", caller)
    assert (name, message, remote) == ("DataCloneError", "#<Object> could not be cloned.", True)


def test_the_callee_cannot_change_what_the_caller_passed(between: Between) -> None:
    callee = """
    def change(self, value):
        value["list"].append(3)
        value["new"] = 1
        helper.SEEN.append(value)
    """
    caller = """
    value = {"list": [1, 2]}
    await B.change(value)
    return value
    """
    assert between(callee, caller) == {"list": [1, 2]}


def test_the_caller_cannot_change_what_the_callee_keeps(between: Between) -> None:
    callee = """
    def give(self):
        helper.SEEN = helper.SEEN or {"n": [1]}
        return helper.SEEN
    """
    caller = """
    first = await B.give()
    first["n"].append(2)
    return await B.give()
    """
    assert between(callee, caller) == {"n": [1]}


def test_what_is_changed_after_the_call_is_sent_as_it_was(between: Between) -> None:
    caller = """
    value = [1]
    call = B.echo(value)
    value.append(2)
    return await call
    """
    assert between(ECHO, caller) == [1]


def test_buffers_are_copied(between: Between) -> None:
    callee = """
    def fill(self, buffer):
        buffer[0] = 9
        return bytes(buffer)
    """
    caller = """
    array = js.Uint8Array.new(2)
    result = await B.fill(array)
    return bytes(result), array.to_bytes()
    """
    assert between(callee, caller) == (b"\x09\x00", b"\x00\x00")


def test_keywords_arrive_as_one_last_object(between: Between) -> None:
    callee = "def take(self, *args): return list(args)"
    assert between(callee, "return await B.take(1, b=2, c=None)") == [1, {"b": 2, "c": None}]


@pytest.mark.parametrize(
    "many", ["'x' * (33 << 20)", "b'x' * (33 << 20)", "['x' * (17 << 20)] * 2"]
)
def test_more_than_32_mebibytes_are_refused(between: Between, many: str) -> None:
    caller = f"""
    try:
        await B._binding.echo(to_js({many}))
    except JsException as error:
        return error.message
    """
    assert between(ECHO, caller).startswith(
        "Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: 3"
    )


@pytest.mark.parametrize(
    ("character", "bytes_each"), [("x", 1), ("\\xe9", 1), ("\\u0394", 2), ("\\U0001f600", 4)]
)
def test_text_counts_as_v8_writes_it(between: Between, character: str, bytes_each: int) -> None:
    caller = f"""
    answers = []
    for count in ((32 << 20) // {bytes_each} - 8, (32 << 20) // {bytes_each} + 1):
        try:
            answers.append(len(await B._binding.length("{character}" * count)) > 0)
        except JsException as error:
            answers.append(error.message[:14])
    return answers
    """
    callee = "def length(self, text): return 'well'"
    assert between(callee, caller) == [True, "Serialized RPC"]


def test_a_cycle_crosses_as_a_cycle(between: Between) -> None:
    # A Python method gets converted values, so that the ring is turned round by a function.
    caller = """
    ring = Object.new()
    ring.me = ring
    fn = await B._binding.make()
    back = await fn(ring)
    return back.me.me is back, back is ring
    """
    assert between("def make(self): return lambda value: value", caller) == (True, False)


def test_number_like_names_come_first_as_in_every_object_of_javascript(between: Between) -> None:
    caller = """
    sent = {"b": 1, "10": 1, "9": {"x": 1, "1": 2}, "a": 1, "01": 1}
    back = await B.echo(sent)
    return list(back), list(back["9"]), list(await B.echo({"b": 1, "a": 1}))
    """
    assert between(ECHO, caller) == (["9", "10", "b", "a", "01"], ["1", "x"], ["b", "a"])


def test_a_request_goes_on_without_the_signal_of_the_client_who_sent_it(between: Between) -> None:
    other = """
    class Other(WorkerEntrypoint):
        def url(self, request): return request.url
    """
    callee = """
    async def fetch(self, request):
        assert request.js_object.signal is not None
        return Response(await self.ctx.exports.Other.url(request.js_object))
    """
    caller = 'return await (await B.fetch("http://x/")).text()'
    assert between(callee, caller, other) == "http://x/"
