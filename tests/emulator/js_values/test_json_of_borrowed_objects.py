"""Python's sequences in ``JSON.stringify``: what they lend is gone before it is written.

JavaScript makes an array of a Python sequence first; the proxies of objects in it end with that walk.
"""

from __future__ import annotations

import json
from collections import deque
from contextvars import copy_context
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.error import JsException
from pyflare.js.from_python import to_js
from pyflare.js.json import stringify
from pyflare.js.proxy import create_proxy
from pyflare.js.response import Response
from pyflare.js.semantics import PYODIDE_0_26, semantics
from pyflare.js.value import JsObject, jsnull

DESTROYED = "Error: This borrowed proxy was automatically destroyed when an iterator was exhausted."


class Thing:
    pass


class Names(list[Any]):
    pass


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

REFUSED = {
    "a dict": [{"a": 1}],
    "an empty dict": [{}],
    "a list": [[1]],
    "an empty list": [[]],
    "a tuple": [(1,)],
    "a dict in a tuple": ({"a": 1},),
    "a dict in a list's own kind": Names([{"a": 1}]),
    "a dict in a deque": deque([{"a": 1}]),
    "a set": [{1}],
    "bytes": [b"ab"],
    "an object": [Thing()],
    "a function": [print],
    "an exception": [ValueError("x")],
    "behind plain values": [1, "a", {"b": 1}],
    "in a dict": {"keys": [{"name": "x"}]},
    "in dicts": {"a": {"b": [{"c": 1}]}},
    "in an object of JavaScript": JsObject.adopt({"a": [{"b": 1}]}),
    "in an array of JavaScript": JsArray.adopt([[{"a": 1}]]),
    "itself": CYCLE,
}
WRITTEN = {
    "plain values": (["a", 1, 1.5, True], '["a",1,1.5,true]'),
    "nothing": ([None, jsnull], "[null,null]"),
    "an empty list": ([], "[]"),
    "a dict": ({"a": 1}, '{"a":1}'),
    "dicts in dicts": ({"a": {"b": 1}}, '{"a":{"b":1}}'),
    "a list in a dict": ({"a": [1, 2]}, '{"a":[1,2]}'),
    "a list in dicts": ({"a": {"b": (1,)}}, '{"a":{"b":[1]}}'),
    "objects of JavaScript": ([JsObject.adopt({"a": 1}), JsArray.adopt([1])], '[{"a":1},[1]]'),
    "a proxy with a life of its own": ([create_proxy({"a": 1})], '[{"a":1}]'),
    "a dict in an array of JavaScript": (JsArray.adopt([{"a": 1}]), '[{"a":1}]'),
    "a list in an array of JavaScript": (JsArray.adopt([[1]]), "[[1]]"),
    "bytes": ({"a": b"ab"}, '{"a":[97,98]}'),
    "what was converted": (
        to_js([{"a": [{"b": 1}]}], dict_converter=JsObject.fromEntries),
        '[{"a":[{"b":1}]}]',
    ),
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_objects_in_a_python_sequence_are_gone(value: Any) -> None:
    with pytest.raises(JsException) as caught:
        stringify(value)
    assert str(caught.value).split("\n")[0] == DESTROYED
    assert caught.value.name == "Error"


@pytest.mark.parametrize(("value", "text"), WRITTEN.values(), ids=WRITTEN)
def test_all_else_is_written(value: Any, text: str) -> None:
    assert stringify(value) == text
    assert json.loads(stringify(value, None, 2)) == json.loads(text)


def test_a_replacer_comes_too_late() -> None:
    with pytest.raises(JsException, match="borrowed proxy"):
        stringify([{"a": 1}], lambda key, value: 5 if key == "0" else value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Response.json({"keys": [{"name": "x"}]}),
        lambda: Response.json([{"a": 1}, {"b": 2}], status=201),
        lambda: Response.json([(1, 2)]),
        lambda: Response.json(keys=[{"a": 1}]),
    ],
    ids=["in a dict", "list", "tuple", "keywords"],
)
def test_a_response_of_them_is_refused_too(make: Any) -> None:
    with pytest.raises(JsException, match="borrowed proxy"):
        make()


def test_the_refusal_says_what_to_do() -> None:
    with pytest.raises(JsException) as caught:
        stringify({"keys": [{"name": "x"}]})
    (note,) = caught.value.__notes__
    assert note.startswith("A dict in a list cannot be written")
    assert "json.dumps" in note


def test_the_oldest_dates_write_them() -> None:
    def check() -> None:
        semantics.set(PYODIDE_0_26)
        assert stringify([{"a": 1}]) == '[{"a":1}]'

    copy_context().run(check)
