"""Caches driven at random behave like dictionaries whose entries expire."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyflare_bindings.cache import DEFAULT_CACHE, named_cache
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

CACHES = [DEFAULT_CACHE, named_cache("a")]
KEYS = ["http://a/", "http://a/?x", "a\0b"]
CONTENTS = {"empty": b"", "short": b"v", "too long for a row": b"L" * 70_000}
PLACES = st.tuples(st.sampled_from(CACHES), st.sampled_from(KEYS))

Place = tuple[str, str]


class CacheMachine(RuleBasedStateMachine):
    durability: Any = "process"

    @initialize()
    def open_first(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.model: dict[Place, tuple[int, bytes, float]] = {}
        self.open()

    def open(self) -> None:
        self.registry = BindingRegistry(
            Path(self.directory.name), clock=self.clock, durability=self.durability
        )
        self.caches = self.registry.caches()

    @rule(
        place=PLACES,
        content=st.sampled_from(sorted(CONTENTS)),
        status=st.sampled_from([200, 404, 500]),
        seconds=st.integers(0, 100),
        streamed=st.booleans(),
    )
    def put(self, place: Place, content: str, status: int, seconds: int, streamed: bool) -> None:
        body = CONTENTS[content]

        async def stream() -> Any:
            for at in range(0, len(body), 10_000):
                yield body[at : at + 10_000]

        headers = {"cache-control": f"max-age={seconds}"}
        stored = self.runner.run(
            self.caches.put(*place, status, headers, stream() if streamed else body)
        )
        assert stored == (seconds > 0)
        self.model[place] = (status, body, self.clock.now() + seconds)

    @rule(place=PLACES)
    def put_forbidden(self, place: Place) -> None:
        headers = {"cache-control": "no-store, max-age=60"}
        assert not self.runner.run(self.caches.put(*place, 200, headers, b"forbidden"))

    @rule(place=PLACES)
    def delete(self, place: Place) -> None:
        there = place in self.model and self.model[place][2] > self.clock.now()
        assert self.runner.run(self.caches.delete(*place)) == there
        self.model.pop(place, None)

    @rule(cache=st.sampled_from(CACHES))
    def purge(self, cache: str) -> None:
        self.runner.run(self.caches.purge(cache))
        self.model = {place: kept for place, kept in self.model.items() if place[0] != cache}

    @rule(seconds=st.integers(1, 60))
    def wait(self, seconds: int) -> None:
        self.runner.run(self.clock.advance(seconds))

    @rule()
    def restart(self) -> None:
        self.runner.run(self.registry.close())
        self.open()

    @invariant()
    def finds_what_the_model_finds(self) -> None:
        if not hasattr(self, "caches"):
            return

        async def look_up(place: Place) -> tuple[int, bytes] | None:
            found = await self.caches.match(*place)
            if found is None or found.body is None:
                return None
            if isinstance(found.body, bytes):
                return found.status, found.body
            return found.status, b"".join([chunk async for chunk in found.body])

        now = self.clock.now()
        for place in [(cache, key) for cache in CACHES for key in KEYS]:
            kept = self.model.get(place)
            expected = None if kept is None or kept[2] <= now else kept[:2]
            assert self.runner.run(look_up(place)) == expected

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.registry.close())
            self.runner.close()
            self.directory.cleanup()


class DurableCacheMachine(CacheMachine):
    durability = "machine"


TestCaches = CacheMachine.TestCase
TestCaches.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestDurableCaches = DurableCacheMachine.TestCase
TestDurableCaches.settings = settings(max_examples=6, stateful_step_count=15, deadline=None)
