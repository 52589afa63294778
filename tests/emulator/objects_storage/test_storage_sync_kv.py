"""Keys and values without promises, and the one iterator over them."""

from __future__ import annotations

from typing import Any

import pytest


def filled(storage: Any, count: int = 5) -> Any:
    kv = storage.kv
    for number in range(count):
        kv.put(f"k{number:03}", number)
    return kv


def test_both_kinds_see_the_same_values(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        storage.kv.put("a", {"n": 1})
        await storage.put("b", [2])
        return await storage.get("a"), storage.kv.get("b"), storage.kv.get("c")

    assert storage(program) == ({"n": 1}, [2], None)


def test_undefined_is_a_value_here(storage: Any) -> None:
    async def program(storage: Any) -> Any:
        storage.kv.put("a", None)
        return list(await storage.list())

    assert storage.raw(program) == ["a"]


def test_a_value_that_cannot_be_cloned_is_refused_at_once(storage: Any) -> None:
    assert storage.error(lambda storage: storage.kv.put("a", 1j)).startswith("DataCloneError: ")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 300])
def test_an_iterator_gives_every_pair_once(storage: Any, count: int, reverse: bool) -> None:
    def program(storage: Any) -> Any:
        return [value for _, value in filled(storage, count).list(reverse=reverse)]

    expected = list(range(count))
    assert storage(program) == (expected[::-1] if reverse else expected)


@pytest.mark.parametrize("limit", [1, 127, 128, 129, 200, 500])
def test_a_limit_holds_across_pages(storage: Any, limit: int) -> None:
    def program(storage: Any) -> Any:
        return sum(1 for _ in filled(storage, 300).list(limit=limit))

    assert storage(program) == min(limit, 300)


def test_an_iterator_sees_what_is_put_and_deleted_ahead_of_it(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage)
        seen = []
        for key, _ in kv.list():
            seen.append(key)
            if key == "k001":
                kv.delete("k002")
                kv.put("k0035", "new")
                kv.put("k000", "behind")
        return seen

    assert storage(program) == ["k000", "k001", "k003", "k0035", "k004"]


def test_a_limit_counts_what_was_given_before_a_change(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage)
        seen = []
        for key, _ in kv.list(limit=3):
            seen.append(key)
            kv.put(f"{key}x", 1)
        return seen

    assert storage(program) == ["k000", "k000x", "k000xx"]


def test_an_iterator_sees_a_rollback(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage, 3)
        iterator = kv.list()
        first = iterator.next().value

        def failing() -> None:
            kv.put("k0005", 1)
            raise KeyError

        with pytest.raises(KeyError):
            storage.transactionSync(failing)
        return [first, *iterator]

    assert storage(program) == [["k000", 0], ["k001", 1], ["k002", 2]]


def test_a_new_list_ends_the_one_before(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage)
        first = kv.list()
        first.next()
        second = kv.list()
        assert second.next().value == ["k000", 0]
        return first.next()

    assert storage.error(program) == (
        "Error: kv.list() iterator was invalidated because a new call to kv.list() was started. Only one kv.list() "
        "iterator can exist at a time."
    )


def test_an_iterator_that_has_ended_stays_ended(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage, 1)
        first = kv.list()
        pairs = list(first)
        kv.list().next()
        return len(pairs), first.next(), first.next()

    assert storage(program) == (1, {"done": True}, {"done": True})


def test_javascript_reads_it_by_next_and_by_iteration(storage: Any) -> None:
    def program(storage: Any) -> Any:
        kv = filled(storage, 2)
        iterator = kv.list()
        first = iterator.next()
        return (
            first.done,
            list(first.value),
            [list(pair) for pair in iterator],
            iterator.next().done,
        )

    assert storage.raw(program) == (False, ["k000", 0], [["k001", 1]], True)
