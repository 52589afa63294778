"""The environment's own wrapper of service bindings does what the SDK's does."""

from collections.abc import Callable
from typing import Any

import pytest

Between = Callable[..., Any]

CALLEE = """
def echo(self, *values): return list(values)
def give(self, value): return value
def make(self): return lambda n: n + 1
def nested(self): return {"f": lambda: 1, "n": None, "list": [{"a": 1}, None]}
def functions(self): return [lambda: 1, lambda: 2]
def nothing(self): pass
def date(self): return datetime.datetime(2026, 1, 2)
def many(self): return [1, 2.0, None, "a", [True], {"k": 1}]
async def fail(self): raise ValueError("no")
async def fetch(self, request):
    if request.url.endswith("/fail"):
        raise ValueError("no")
    text = await request.text()
    return Response(f"{request.method} {request.url} {text}", headers={"X-A": request.headers.get("x-a") or "none"})
"""

PROGRAMS = {
    "primitives": "return await B.echo(1, 2.0, None, 'a', True)",
    "containers": "return await B.echo({'a': [1, {'b': None}]}, [])",
    "keywords": "return await B.echo(1, a=None, b=[2])",
    "sets": "return await B.echo({1}, {'s': {2}})",
    "bytes": "return [bytes(item) for item in await B.echo(b'ab')]",
    "nothing": "return await B.nothing()",
    "date": "return await B.date()",
    "many": "return await B.many()",
    "attributes of a dict": "return (await B.nested()).n, type(await B.nested()).__name__",
    "function": "f = await B.make()\nreturn type(f).__mro__[0].__name__, await f(1)",
    "functions": "return [(type(f).__name__, await f()) for f in await B.functions()]",
    "callable value": "return type(await B.give(lambda: 1)).__name__",
    "truth": "return bool(B), bool(await B.make())",
    "error": "await B.fail()",
    "missing": "await B.missing()",
    "tuple": "await B.echo((1,))",
    "nested tuple": "await B.echo([(1,)])",
    "instance": "await B.echo(object())",
    "coroutine": "c = B.nothing()\ntry:\n    await B.echo(c)\nfinally:\n    c.close()",
    "dict with other keys": "return await B.echo({1: 2})",
    "iterating a binding": "list(B)",
    "length": "len(B)",
    "awaiting a name": "await B.echo",
    "get": "answer = await B.fetch('http://x/')\nreturn answer.status, await answer.text(), answer.headers['x-a']",
    "post": "answer = await B.fetch('http://x/', method='POST', body='abc', headers={'X-A': '1'})\n"
    "return answer.status, await answer.text(), answer.headers['x-a'], type(answer).__name__",
    "http method": "import http\nanswer = await B.fetch('http://x/', method=http.HTTPMethod.PUT, body=b'a')\n"
    "return await answer.text()",
    "request": "return await (await B.fetch(Request('http://x/', method='PUT', body='a'))).text()",
    "fetch error": "await B.fetch('http://x/fail')",
    "fetch twice": "r = Request('http://x/', method='PUT', body='a')\nawait B.fetch(r)\nawait B.fetch(r)",
    "positional options": "await B.fetch('http://x/', {'method': 'PUT'})",
    "bad address": "await B.fetch('nothing')",
    "bad method": "await B.fetch('http://x/', method='N O')",
    "signal": "return await (await B.fetch('http://x/', signal=js.AbortController.new().signal)).text()",
    "aborted": "await B.fetch('http://x/', signal=js.AbortSignal.abort())",
    "aborted request": "await B.fetch(js.Request.new('http://x/', signal=js.AbortSignal.abort()))",
    "raw": "return B._binding.constructor.name, B._real_name",
    "item": "return type(B['echo']).__name__",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_both_wrappers_give_the_same(between: Between, program: str) -> None:
    lines = "\n".join("    " + line for line in program.splitlines())
    caller = f"""
from workers.rpc import _FetcherWrapper

async def run(B):
{lines}

async def outcome(B):
    try:
        return "value", await run(B)
    except Exception as error:
        return type(error).__name__, str(error).replace("_FetcherWrapper", "W").replace("ServiceWrapper", "W")

return await outcome(B), await outcome(_FetcherWrapper(B._binding))
"""
    ours, sdks = between(CALLEE, caller)
    assert ours == sdks
