"""The structured clone bytes: what Node.js writes is read, and written again byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import lru_cache
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.array_buffer import ArrayBuffer
from pyflare.js.collections import JsMap, JsSet
from pyflare.js.data_view import DataView
from pyflare.js.date import Date
from pyflare.js.error import DOMException, Error, JsException, RangeError, TypeError_
from pyflare.js.regexp import RegExp
from pyflare.js.symbol import Symbol
from pyflare.js.typed_array_kinds import Uint8Array
from pyflare.js.v8_format import deserialize, serialize
from pyflare.js.value import JsObject, jsnull

#: JavaScript expressions whose values survive in full.
EXPRESSIONS = [
    "undefined",
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "63",
    "64",
    "-64",
    "-65",
    "8191",
    "8192",
    "2**30",
    "-(2**30)",
    "2**31 - 1",
    "-(2**31)",
    "2**31",
    "2**53 - 1",
    "1.5",
    "NaN",
    "Infinity",
    "-Infinity",
    "5e-324",
    "2n**53n",
    "-(2n**64n)",
    "2n**4000n",
    "''",
    "'text'",
    "'\\u00e9\\u00ff'",
    "'\\u0100'",
    "'\\u65e5\\u672c'",
    "'\\ud83d\\ude00'",
    "'\\ud800'",
    "'a'.repeat(127)",
    "'a'.repeat(128)",
    "'a'.repeat(20000)",
    "'\\u0100'.repeat(63)",
    "'\\u0100'.repeat(64)",
    "[]",
    "[1, 'a', null, undefined, true]",
    "[[[]], [[]]]",
    "Array.from({length: 200}, (_, i) => i)",
    "({})",
    "({a: 1, b: 'x'})",
    "({a: '\\u65e5', bc: '\\u65e5', '\\u65e5': 1})",
    "({b: 1, 2: 'two', 1: 'one', a: 0})",
    "({4294967294: 1, 4294967295: 2, 3000000000: 3, '01': 4, '-1': 5, '1.5': 6})",
    "Object.fromEntries(Array.from({length: 200}, (_, i) => ['k' + i, i]))",
    "({['k'.repeat(200)]: 1})",
    "({nested: {deep: [{er: {}}]}})",
    "(() => { const o = {}; return [o, o, [o]] })()",
    "(() => { const o = {}; o.self = o; return o })()",
    "(() => { const a = []; a.push(a); return a })()",
    "(() => { const m = new Map(); m.set('m', m); m.set(m, 1); return m })()",
    "(() => { const s = new Set(); s.add(s); return s })()",
    "new Map()",
    "new Map([[1, 2], ['a', {}], [{}, null], [NaN, 'n']])",
    "new Map([[1, 'n'], [true, 'b'], ['1', 's']])",
    "new Set()",
    "new Set([1, 'x', true, {a: 1}])",
    "new Date(0)",
    "new Date(1700000000123)",
    "new Date(-1)",
    "new Date(NaN)",
    "/ab+/gi",
    "/x/dgimsuy",
    "new RegExp('')",
    "new ArrayBuffer(0)",
    "new Uint8Array([1, 2, 3]).buffer",
    "new ArrayBuffer(2, {maxByteLength: 8})",
    "new Uint8Array(new ArrayBuffer(4, {maxByteLength: 8}), 1, 2)",
    "new Uint8Array(0)",
    "new Int8Array([-1])",
    "new Uint8Array([255])",
    "new Uint8ClampedArray([300])",
    "new Int16Array([-2])",
    "new Uint16Array([65535])",
    "new Int32Array([-3])",
    "new Uint32Array([4294967295])",
    "new Float32Array([1.5])",
    "new Float64Array([Math.PI])",
    "new BigInt64Array([-5n])",
    "new BigUint64Array([5n])",
    "new DataView(new ArrayBuffer(8), 2, 4)",
    "(() => { const u = new Uint8Array([1, 2, 3]); return [u, u.buffer, new DataView(u.buffer, 1), u.subarray(1)] })()",
    "error(new Error('plain'))",
    "error(new Error(''.concat('caused'), {cause: {code: 7}}))",
    "error(new EvalError('e'))",
    "error(new RangeError('r'))",
    "error(new ReferenceError('f'))",
    "error(new SyntaxError('s'))",
    "error(new TypeError('t'))",
    "error(new URIError('u'))",
    "error(new TypeError())",
    "error(new Error('\\u65e5'))",
    "Object(1.5)",
    "Object('boxed')",
    "Object(true)",
    "Object(false)",
]

#: (expression, bytes or value that is read): what comes back another way than it went.
READ_ONLY = [
    ("[1,,3]", [1, None, 3]),
    ("Object.assign([1], {extra: 2})", [1]),
    ("Object(5n)", 5),
    ("5n", 5),
    ("-0", 0),
]

_NODE = shutil.which("node")
_SCRIPT = """
const { Serializer } = require('v8');
function error(e) { e.stack = String(e) + '\\n    at somewhere'; return e }
const out = JSON.parse(require('fs').readFileSync(0)).map(source => {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(eval('(' + source + ')'));
  return serializer.releaseBuffer().toString('hex');
});
console.log(JSON.stringify(out));
"""


@lru_cache(1)
def node_bytes() -> dict[str, bytes]:
    """What Node.js writes for every expression of the tables."""
    if _NODE is None:
        pytest.skip("Node.js is not installed")
    sources = [*EXPRESSIONS, *(source for source, _ in READ_ONLY)]
    ran = subprocess.run(
        [_NODE, "-e", _SCRIPT],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(sources, map(bytes.fromhex, json.loads(ran.stdout)), strict=True))


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_what_node_wrote_is_written_again_byte_for_byte(source: str) -> None:
    data = node_bytes()[source]
    assert serialize(deserialize(data)).hex() == data.hex()


@pytest.mark.parametrize(("source", "expected"), READ_ONLY)
def test_what_python_cannot_tell_apart_is_read_as_the_nearest_value(
    source: str, expected: Any
) -> None:
    value = deserialize(node_bytes()[source])
    assert (value.to_py() if isinstance(value, JsArray) else getattr(value, "_value", value)) == (
        expected
    )


def _value(data: str) -> Any:
    return deserialize(bytes.fromhex(data))


def test_properties_that_are_indices_come_first_in_the_order_of_numbers() -> None:
    value = JsObject.adopt({"b": 1, "10": 2, "9": 3})
    assert list(deserialize(serialize(value)).__dict__) == ["9", "10", "b"]


def test_a_view_shares_its_buffer_with_its_siblings() -> None:
    buffer = ArrayBuffer.adopt(bytearray(b"abcd"))
    pair = JsArray.adopt([Uint8Array.view(buffer, 0, 2), DataView._make(buffer, 2, 2)])
    first, second = deserialize(serialize(pair))
    assert first.buffer is second.buffer
    assert (first.to_bytes(), second.to_bytes()) == (b"ab", b"cd")


def test_what_is_shared_is_shared_afterwards() -> None:
    part = JsObject.adopt({"n": 1})
    first, second = deserialize(serialize(JsArray.adopt([part, part])))
    assert first is second


def test_integral_floats_come_back_as_int() -> None:
    assert type(deserialize(serialize(2.0))) is int


@pytest.mark.parametrize("version", [13, 14, 15])
def test_older_versions_are_read(version: int) -> None:
    assert _value(f"ff{version:02x}4902") == 1


def test_bytes_without_a_header_are_version_13() -> None:
    # A view had no flags then.
    assert _value("4202010256420002").to_bytes() == b"\x01\x02"


def test_uint32_and_utf8_strings_of_old_writers_are_read() -> None:
    assert _value("ff0d55ffffffff0f") == 2**32 - 1
    assert _value("ff0d5302c3a9") == "é"


def test_an_array_of_holes_that_claims_to_be_endless_costs_no_memory() -> None:
    with pytest.raises(JsException, match="too long for pyflare"):
        _value("ff0f61ffffffff0f4000ffffffff0f")


@pytest.mark.parametrize("name", ["Error", "TypeError", "AggregateError", "MyError"])
def test_enhanced_errors_keep_their_own_properties(name: str) -> None:
    error = TypeError_("t") if name == "TypeError" else Error("t")
    error.name, error.code, error.detail = name, 7, JsObject.adopt({"a": jsnull})  # type: ignore[attr-defined]
    error.again = error.detail  # type: ignore[attr-defined]
    read = deserialize(serialize(JsArray.adopt([error, error]), enhanced_errors=True))
    assert read[0] is read[1]
    assert isinstance(read[0], TypeError_) == (name == "TypeError")
    assert (read[0].name, read[0].message, read[0].stack) == (name, "t", error.stack)
    assert (read[0].code, read[0].detail.a) == (7, jsnull)
    assert read[0].detail is read[0].again


def test_errors_lose_their_own_properties_without_the_flag() -> None:
    error = Error("t")
    error.code = 7  # type: ignore[attr-defined]
    assert not hasattr(deserialize(serialize(error)), "code")


def test_an_error_that_causes_itself_survives() -> None:
    error = RangeError("r")
    error.cause = error  # type: ignore[attr-defined]
    read = deserialize(serialize(error))
    assert isinstance(read, RangeError)


def test_a_dom_exception_keeps_name_and_code() -> None:
    read = deserialize(serialize(DOMException("gone", "AbortError")))
    assert isinstance(read, DOMException)
    assert (read.name, read.message, read.code) == ("AbortError", "gone", 20)


REFUSED: list[tuple[Any, str]] = [
    (lambda: 1, "function <lambda>() { [native code] } could not be cloned."),
    (Symbol._make("s"), "Symbol(s) could not be cloned."),
    (JsObject, "function Object() { [native code] } could not be cloned."),
    ({"a": 1}, "#<Object> could not be cloned."),
    ([1], "#<Object> could not be cloned."),
    (b"bytes", "#<Object> could not be cloned."),
    (1j, "#<Object> could not be cloned."),
    (range(2), "#<Object> could not be cloned."),
]


@pytest.mark.parametrize(("value", "text"), REFUSED, ids=[text for _, text in REFUSED])
@pytest.mark.parametrize("nested", [False, True])
def test_what_cannot_be_cloned_is_refused(value: Any, text: str, nested: bool) -> None:
    with pytest.raises(DOMException) as caught:
        serialize(JsObject.adopt({"inner": JsArray.adopt([value])}) if nested else value)
    assert (caught.value.name, caught.value.message) == ("DataCloneError", text)


def test_classes_of_the_platform_are_refused_by_name() -> None:
    from pyflare.js.headers import Headers

    with pytest.raises(DOMException, match='Could not serialize object of type "Headers"'):
        serialize(Headers._make())


def test_a_detached_buffer_is_refused() -> None:
    buffer = ArrayBuffer.adopt(b"ab")
    buffer.transfer()
    with pytest.raises(DOMException, match=r"^DataCloneError: An ArrayBuffer is detached"):
        serialize(buffer)


def _deep(levels: int) -> JsArray:
    value = JsArray.adopt([])
    for _ in range(levels):
        value = JsArray.adopt([value])
    return value


def test_values_nested_too_deeply_are_refused_in_both_directions() -> None:
    with pytest.raises(RangeError, match="Maximum call stack size exceeded"):
        serialize(_deep(100_000))
    data = b"\xff\x0f" + b"A\x01" * 100_000 + b"I\x02" + b"$\x00\x01" * 100_000
    with pytest.raises(RangeError, match="Maximum call stack size exceeded"):
        deserialize(data)


def test_two_hundred_levels_are_no_problem() -> None:
    assert serialize(deserialize(serialize(_deep(200)))) == serialize(_deep(200))


DAMAGED = [
    ("", "cloned data."),
    ("ff", "invalid or unsupported version."),
    ("ff0c4902", "invalid or unsupported version."),
    ("ff104902", "invalid or unsupported version."),
    ("ff0f", "cloned data."),
    ("ff0f99", "cloned data."),
    ("ff0f4980", "cloned data."),
    ("ff0f4980808080808001", "cloned data."),
    ("ff0f4e00", "cloned data."),
    ("ff0f22ff", "cloned data."),
    ("ff0f2205616263", "cloned data."),
    ("ff0f630361006200", "cloned data."),
    ("ff0f5e00", "cloned data."),
    ("ff0f6f22016149027b02", "cloned data."),
    ("ff0f6f5f49027b01", "cloned data."),
    ("ff0f41ffffffff0f", "cloned data."),
    ("ff0f4101490224", "cloned data."),
    ("ff0f410149022400ff", "cloned data."),
    ("ff0f42ff01", "cloned data."),
    ("ff0f420201025642000900", "cloned data."),
    ("ff0f420201025699000100", "cloned data."),
    ("ff0f420201025657010100", "cloned data."),
    ("ff0f7e0802", "cloned data."),
    ("ff0f3b49023a02", "cloned data."),
    ("ff0f2749022c02", "cloned data."),
    ("ff0f5aff01", "cloned data."),
    ("ff0f7299", "cloned data."),
    ("ff0f726d4902", "cloned data."),
    ("ff0f5c63", "cloned data."),
    ("ff0f5c0a0122016149", "cloned data."),
    ("ff0f5302ffff", "cloned data."),
]


@pytest.mark.parametrize(("data", "ending"), DAMAGED)
def test_damaged_bytes_are_named_as_such(data: str, ending: str) -> None:
    with pytest.raises(Error) as caught:
        _value(data)
    assert caught.value.message.startswith("Unable to deserialize cloned data")
    assert caught.value.message.endswith(ending)


def test_maps_sets_dates_and_expressions_come_back_as_their_classes() -> None:
    value = JsArray.adopt(
        [JsMap.from_dict({1: 2}), JsSet.of_items([1]), Date._make(5), RegExp._make("a", "g")]
    )
    assert [type(item) for item in deserialize(serialize(value))] == [JsMap, JsSet, Date, RegExp]
