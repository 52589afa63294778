"""Options of a wrong kind are refused: a condition that is ignored is a lost write."""

import pytest

from pyflare.env.r2_options import read_conditions, read_range
from pyflare.js.error import JsException


@pytest.mark.parametrize("value", ["abc", 5, True, object()])
def test_a_condition_or_range_that_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(JsException, match="'onlyIf' field"):
        read_conditions(value)
    with pytest.raises(JsException, match="'range' field"):
        read_range(value)
