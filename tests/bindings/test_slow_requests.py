"""Which requests are remembered as too long for the event loop."""

from __future__ import annotations

from pyflare_bindings.d1 import Statement
from pyflare_bindings.d1.slow_requests import SlowRequests

ONE = [Statement("SELECT 1")]
TEN = ONE * 10


def test_a_request_like_a_slow_one_is_slow() -> None:
    slow = SlowRequests()
    slow.add(ONE)
    assert [Statement("SELECT 1")] in slow
    assert [Statement("SELECT 2")] not in slow


def test_a_batch_that_is_longer_than_a_slow_one_is_slow() -> None:
    slow = SlowRequests()
    slow.add(TEN)
    assert ONE * 11 in slow
    assert ONE * 9 not in slow


def test_a_slow_request_that_has_become_fast_is_forgotten() -> None:
    slow = SlowRequests()
    slow.add(ONE)
    slow.judge(ONE, seconds=0.005)
    assert ONE in slow
    slow.judge(ONE, seconds=0.0001)
    assert ONE not in slow


def test_a_request_that_takes_long_on_the_thread_is_remembered() -> None:
    slow = SlowRequests()
    slow.judge(ONE, seconds=0.5)
    assert ONE in slow


def test_a_request_without_statements_is_never_slow() -> None:
    slow = SlowRequests()
    slow.add([])
    assert [] not in slow


def test_only_so_many_are_remembered_and_the_oldest_goes_first() -> None:
    slow = SlowRequests()
    for number in range(1000):
        slow.add([Statement(f"SELECT {number}")])
    remembered = [n for n in range(1000) if [Statement(f"SELECT {n}")] in slow]
    assert remembered == list(range(744, 1000))
