"""Which bytes a range stands for."""

from __future__ import annotations

import pytest

from pyflare_bindings.r2 import ByteRange, R2Error, WantedRange
from pyflare_bindings.r2.ranges import resolve_range, resolve_range_header

SIZE = 10


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, (0, 10)),
        (WantedRange(), (0, 10)),
        (WantedRange(offset=0), (0, 10)),
        (WantedRange(offset=9), (9, 1)),
        (WantedRange(length=4), (0, 4)),
        (WantedRange(length=99), (0, 10)),
        (WantedRange(offset=3, length=4), (3, 4)),
        (WantedRange(offset=8, length=99), (8, 2)),
        (WantedRange(suffix=3), (7, 3)),
        (WantedRange(suffix=99), (0, 10)),
    ],
)
def test_a_range_is_cut_off_at_the_end(wanted: WantedRange | None, found: tuple[int, int]) -> None:
    assert resolve_range(wanted, SIZE) == ByteRange(*found)


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (WantedRange(offset=10), 10),
        (WantedRange(offset=10, length=1), 10),
        (WantedRange(offset=99), 10),
        (WantedRange(length=0), 10),
        (WantedRange(offset=1, length=0), 10),
        (WantedRange(suffix=0), 10),
        (WantedRange(offset=0), 0),
        (WantedRange(length=5), 0),
        (WantedRange(suffix=5), 0),
    ],
)
def test_a_range_without_a_byte_is_refused(wanted: WantedRange, size: int) -> None:
    with pytest.raises(R2Error) as caught:
        resolve_range(wanted, size)
    assert (caught.value.code, str(caught.value)) == (
        10039,
        "The requested range is not satisfiable",
    )


@pytest.mark.parametrize("wanted", [None, WantedRange()])
def test_no_range_of_an_empty_object_is_the_whole_of_it(wanted: WantedRange | None) -> None:
    assert resolve_range(wanted, 0) == ByteRange(0, 0)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=3-", (3, 7)),
        ("bytes=-4", (6, 4)),
        ("bytes=-50", (0, 10)),
        ("bytes=8-99", (8, 2)),
        ("BYTES = 2 - 3", (2, 2)),
    ],
)
def test_one_range_of_a_header_is_honoured(header: str, found: tuple[int, int]) -> None:
    assert resolve_range_header(header, SIZE) == ByteRange(*found)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "bytes=",
        "bytes=-",
        "bytes=5-2",
        "bytes=0-1,4-5",
        "items=0-1",
        "bytes=a-b",
        "bytes=-0",
        "bytes=1.5-2",
        "0-1",
        "bytes=٣-",
    ],
)
def test_any_other_header_is_the_whole_object(header: str | None) -> None:
    assert resolve_range_header(header, SIZE) == ByteRange(0, SIZE)


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=999-"])
def test_a_header_behind_the_end_is_refused(header: str) -> None:
    with pytest.raises(R2Error) as caught:
        resolve_range_header(header, SIZE)
    assert caught.value.code == 10039
