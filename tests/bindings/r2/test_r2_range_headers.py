"""`Range` headers as clients send them."""

import pytest

from pyflare_bindings.r2.errors import R2Error
from pyflare_bindings.r2.ranges import resolve_range_header
from pyflare_bindings.r2.values import ByteRange

MANY = "9" * 5000


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=0-0", "bytes=-5", "bytes=7-"])
def test_an_empty_object_is_given_whole(header: str) -> None:
    assert resolve_range_header(header, 0) == ByteRange(0, 0)


@pytest.mark.parametrize("header", [f"bytes=0-{MANY}", f"bytes=-{MANY}"])
def test_any_number_of_digits_is_cut_off_at_the_end(header: str) -> None:
    assert resolve_range_header(header, 10) == ByteRange(0, 10)


def test_a_start_of_any_number_of_digits_is_behind_the_end() -> None:
    with pytest.raises(R2Error) as refusal:
        resolve_range_header(f"bytes={MANY}-", 10)
    assert refusal.value.code == 10039
