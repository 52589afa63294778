"""The context of a worker and of its events."""

from __future__ import annotations

from typing import Any

from pyflare.workers.current import current, current_event


def test_a_workers_context_names_the_worker_and_the_event(workers: Any) -> None:
    scope = workers.make("a", {})
    event = object()

    context = scope.new_context(event)

    assert (context[current], context[current_event]) == (scope, event)
    assert (current.get(), current_event.get()) == (None, None)


def test_events_do_not_share_what_they_set(workers: Any) -> None:
    scope = workers.make("a", {})

    first = scope.new_context("first")
    second = scope.new_context()

    assert first[current_event] == "first"
    assert second.get(current_event) is None
