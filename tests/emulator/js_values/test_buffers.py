"""Buffers: shared with ``bytes`` until written, and what they offer to Python."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.buffer import (
    ArrayBuffer,
    BigInt64Array,
    BigUint64Array,
    DataView,
    Float16Array,
    Float32Array,
    Float64Array,
    Int8Array,
    Int16Array,
    Int32Array,
    TypedArray,
    Uint8Array,
    Uint8ClampedArray,
    Uint16Array,
    Uint32Array,
    as_bytes,
)
from pyflare.js.error import JsException
from pyflare.js.proxy import create_proxy
from pyflare.js.value import JsObject, jsnull

KINDS = [
    (Int8Array, "b", 1), (Uint8Array, "B", 1), (Uint8ClampedArray, "B", 1), (Int16Array, "h", 2),
    (Uint16Array, "H", 2), (Int32Array, "i", 4), (Uint32Array, "I", 4), (Float32Array, "f", 4),
    (Float64Array, "d", 8), (BigInt64Array, "q", 8), (BigUint64Array, "Q", 8),
]  # fmt: skip


def test_bytes_are_not_copied_until_somebody_writes() -> None:
    data = b"immutable"
    array = Uint8Array.from_bytes(data)
    assert array.to_bytes() is data
    assert as_bytes(array) is data
    array[0] = 73
    assert (data, array.to_bytes()) == (b"immutable", b"Immutable")


def test_views_of_one_buffer_see_each_others_writes() -> None:
    array = Uint8Array.from_bytes(b"\0\0\0\0")
    view = Uint16Array.new(array.buffer, 2, 1)
    part = array.subarray(2)
    view[0] = 0x0201
    assert array.to_bytes() == b"\0\0\1\2"
    assert list(part) == [1, 2]


def test_a_bytearray_is_written_through() -> None:
    data = bytearray(2)
    ArrayBuffer.adopt(data)
    Uint8Array.from_bytes(data).fill(7)
    assert data == b"\7\7"


@pytest.mark.parametrize(("kind", "code", "size"), KINDS)
def test_conversion_to_python_is_a_writable_copy_with_the_right_format(
    kind: type[TypedArray], code: str, size: int
) -> None:
    array = kind.of(1, 2)
    view = array.to_py()
    assert (view.format, view.itemsize, view.tolist()) == (code, size, [1, 2])
    view[0] = 9
    assert list(array) == [1, 2]


@pytest.mark.parametrize(
    ("made", "items"),
    [
        (lambda: Uint8Array.new(2), [0, 0]),
        (lambda: Uint8Array.new([1, 256, -1, 1.9, "3", None]), [1, 0, 255, 1, 3, 0]),
        (lambda: Uint8Array.new(b"ab"), [97, 98]),
        (lambda: Uint8Array.new(bytearray(b"ab")), [97, 98]),
        (lambda: Uint16Array.new(b"ab"), [97, 98]),
        (lambda: Uint8Array.new(Uint16Array.of(257, 2)), [1, 2]),
        (lambda: Uint8Array.new(), []),
        (lambda: Uint8Array.new(jsnull), []),
        (lambda: Uint8Array.new(JsObject.adopt({"length": 1, "0": 5})), [5]),
        (lambda: Uint8Array.from_([1, 2], lambda item, index: item * 2), [2, 4]),
        (lambda: Int8Array.of(200), [-56]),
        (lambda: Uint8ClampedArray.of(300, -1, 1.5, 2.5, float("nan")), [255, 0, 2, 2, 0]),
        (lambda: Float32Array.of(1e300, 0.5), [float("inf"), 0.5]),
        (lambda: Float16Array.of(1.5, 65520), [1.5, float("inf")]),
        (lambda: BigInt64Array.of(2**63), [-(2**63)]),
        (lambda: BigUint64Array.of(-1), [2**64 - 1]),
        (lambda: Int32Array.of(2**31), [-(2**31)]),
    ],
)
def test_ways_to_make_a_typed_array(made: Callable[[], TypedArray], items: list[Any]) -> None:
    assert list(made()) == items


def test_integral_floats_arrive_as_int() -> None:
    assert type(Float64Array.of(2)[0]) is int


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda a: (len(a), a.length, a.byteLength, a.byteOffset), (3, 3, 3, 0)),
        (lambda a: a[-1], 3),
        (lambda a: a.at(-1), 3),
        (lambda a: a.indexOf(2), 1),
        (lambda a: a.includes(9), False),
        (lambda a: 2 in a, True),
        (lambda a: a.join("-"), "1-2-3"),
        (lambda a: str(a), "1,2,3"),
        (lambda a: list(a.slice(1)), [2, 3]),
        (lambda a: list(a.subarray(0, -1)), [1, 2]),
        (lambda a: list(a.map(lambda item, *_: item * 100)), [100, 200, 44]),
        (lambda a: list(a.filter(lambda item, *_: item > 1)), [2, 3]),
        (lambda a: (a.reverse(), list(a)), (None, [3, 2, 1])),
        (lambda a: list(a.toReversed()), [3, 2, 1]),
        (lambda a: list(a.sort(lambda x, y: y - x)), [3, 2, 1]),
        (lambda a: list(a.with_(0, 9)), [9, 2, 3]),
        (lambda a: list(a.copyWithin(0, 1)), [2, 3, 3]),
        (lambda a: list(a.fill(7, 1, 2)), [1, 7, 3]),
        (lambda a: a.reduce(lambda total, item, *_: total + item), 6),
        (lambda a: [list(pair) for pair in a.entries()], [[0, 1], [1, 2], [2, 3]]),
        (lambda a: list(a.object_keys()), ["0", "1", "2"]),
        (lambda a: bytes(a), b"\1\2\3"),
        (lambda a: a.to_string(), "\1\2\3"),
        (lambda a: a.BYTES_PER_ELEMENT, 1),
    ],
)
def test_operations_on_one_two_three(operation: Callable[[Any], Any], expected: Any) -> None:
    assert operation(Uint8Array.of(1, 2, 3)) == expected


def test_typed_arrays_sort_by_number() -> None:
    assert list(Float64Array.of(10, 9, 1).toSorted()) == [1, 9, 10]


def test_set_copies_elements_also_from_the_same_buffer() -> None:
    array = Uint8Array.of(1, 2, 3, 4)
    array.set(array.subarray(0, 3), 1)
    array.set([9])
    array.set(Uint16Array.of(258), 1)
    assert list(array) == [9, 2, 2, 3]


def test_array_buffer_slice_is_a_copy() -> None:
    buffer = Uint8Array.of(1, 2, 3).buffer
    part = buffer.slice(1)
    Uint8Array.new(part)[0] = 9
    assert (part.byteLength, Uint8Array.new(buffer)[1]) == (2, 2)


def test_a_resizable_buffer_grows_with_zeros() -> None:
    buffer = ArrayBuffer.new(1, maxByteLength=4)
    buffer.resize(3)
    assert (buffer.resizable, buffer.maxByteLength, buffer.to_bytes()) == (True, 4, b"\0\0\0")


def test_transfer_detaches_the_old_buffer_and_empties_its_views() -> None:
    array = Uint8Array.of(1, 2)
    moved = array.buffer.transfer()
    assert (array.buffer.detached, array.length, list(array)) == (True, 0, [])
    assert moved.to_bytes() == b"\1\2"


def test_data_view_reads_and_writes_both_byte_orders() -> None:
    view = DataView.new(ArrayBuffer.new(16), 4)
    view.setUint16(0, 258)
    view.setFloat64(2, 1.5, True)
    assert (view.getUint16(0), view.getUint16(0, True), view.getFloat64(2, True)) == (258, 513, 1.5)
    assert (view.byteOffset, view.byteLength) == (4, 12)
    view.setInt8(0, 200)
    view.setBigUint64(4, -1)
    assert (view.getInt8(0), view.getBigInt64(4)) == (-56, -1)


def test_files_and_python_buffers() -> None:
    array = Uint8Array.new(3)
    array.from_file(io.BytesIO(b"abcdef"))
    target, out = bytearray(3), io.BytesIO()
    array.assign_to(target)
    array.to_file(out)
    assert target == out.getvalue() == b"abc"
    array.assign(b"xyz")
    assert array.to_bytes() == b"xyz"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: TypedArray.new(),
            JsException,
            "Abstract class TypedArray not directly constructable",
        ),
        (lambda: Uint8Array(1), JsException, "Constructor Uint8Array requires 'new'"),
        (lambda: Uint8Array.new(-1), JsException, "Invalid typed array length: -1"),
        (
            lambda: Uint16Array.new(ArrayBuffer.new(4), 1),
            JsException,
            "start offset of Uint16Array should be a multiple of 2",
        ),
        (
            lambda: Uint16Array.new(ArrayBuffer.new(3)),
            JsException,
            "byte length of Uint16Array should be a multiple of 2",
        ),
        (
            lambda: Uint8Array.new(ArrayBuffer.new(3), 4),
            JsException,
            "Start offset 4 is outside the bounds of the buffer",
        ),
        (
            lambda: Uint8Array.new(ArrayBuffer.new(3), 1, 3),
            JsException,
            "Invalid typed array length: 3",
        ),
        (lambda: Uint8Array.of(1).set([1, 2]), JsException, "offset is out of bounds"),
        (lambda: Uint8Array.of(1).with_(1, 0), JsException, "Invalid typed array index"),
        (lambda: BigInt64Array.of(1.5), JsException, "Cannot convert 1.5 to a BigInt"),
        (lambda: ArrayBuffer.new(-1), JsException, "Invalid array buffer length"),
        (lambda: ArrayBuffer.new(2**40), JsException, "Array buffer allocation failed"),
        (
            lambda: ArrayBuffer.new(4, maxByteLength=1),
            JsException,
            "Invalid array buffer max length",
        ),
        (
            lambda: ArrayBuffer.new(4, maxByteLength=4).resize(5),
            JsException,
            "ArrayBuffer.prototype.resize: Invalid length parameter",
        ),
        (
            lambda: ArrayBuffer.new(1).resize(1),
            JsException,
            "Method ArrayBuffer.prototype.resize called on incompatible receiver #<ArrayBuffer>",
        ),
        (
            lambda: DataView.new(b""),
            JsException,
            "First argument to DataView constructor must be an ArrayBuffer",
        ),
        (
            lambda: DataView.new(ArrayBuffer.new(1), 2),
            JsException,
            "Start offset 2 is outside the bounds of the buffer",
        ),
        (lambda: DataView.new(ArrayBuffer.new(1), 0, 2), JsException, "Invalid DataView length 2"),
        (
            lambda: DataView.new(ArrayBuffer.new(1)).getUint16(0),
            JsException,
            "Offset is outside the bounds of the DataView",
        ),
        (lambda: Uint8Array.of(1)[1], IndexError, "1"),
        (lambda: Uint8Array.of(1)["a"], TypeError, "Expected key to be an int, got 'str'"),
        (
            lambda: Uint8Array.of(1)[0:1],
            NotImplementedError,
            "Slice subscripting isn't implemented for typed arrays",
        ),
        (
            lambda: Uint8Array.of(1).assign(b"ab"),
            ValueError,
            "cannot assign to TypedArray of length 2 from buffer of length 1",
        ),
        (
            lambda: Uint8Array.of(1).assign_to(bytearray(2)),
            ValueError,
            "cannot assign from TypedArray of length 1 to buffer of length 2",
        ),
        (
            lambda: Uint8Array.new(3).from_file(io.BytesIO(b"a")),
            ValueError,
            "the file holds 1 bytes, the JavaScript buffer 3",
        ),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert getattr(caught.value, "message", str(caught.value)) == text


def test_a_second_transfer_is_refused() -> None:
    buffer = ArrayBuffer.new(1)
    buffer.transfer()
    with pytest.raises(JsException, match="detached ArrayBuffer"):
        buffer.transfer()


@pytest.mark.parametrize(
    ("source", "data"),
    [
        (b"ab", b"ab"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"xaby")[1:3], b"ab"),
        (memoryview(b"axb")[::2], b"ab"),
        (Uint8Array.from_bytes(b"ab").buffer, b"ab"),
        (Uint8Array.from_bytes(b"xab").subarray(1), b"ab"),
        (DataView.new(ArrayBuffer.adopt(b"ab")), b"ab"),
        (create_proxy(b"ab"), b"ab"),
    ],
)
def test_every_buffer_source_gives_its_bytes(source: Any, data: bytes) -> None:
    found = as_bytes(source)
    assert found is not None
    assert bytes(found) == data


@pytest.mark.parametrize("source", ["text", 1, None, JsObject.adopt({}), [1, 2]])
def test_other_values_are_no_buffer_source(source: Any) -> None:
    assert as_bytes(source) is None


def test_is_view() -> None:
    assert ArrayBuffer.isView(Uint8Array.of(1))
    assert not ArrayBuffer.isView(ArrayBuffer.new(1))


@pytest.mark.parametrize(("size", "truth"), [(0, False), (1, True)])
def test_truth_follows_the_size(size: int, truth: bool) -> None:
    assert bool(ArrayBuffer.new(size)) is bool(Uint8Array.new(size)) is truth


def test_a_buffer_is_no_python_buffer() -> None:
    with pytest.raises(TypeError):
        memoryview(Uint8Array.of(1))  # type: ignore[arg-type]
