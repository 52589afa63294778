"""A namespace driven at random behaves like a dictionary whose entries expire."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

KEYS = st.sampled_from(["a", "a/b", "a/b/c", "A", "%41", "ä", "🙂", "\uffff", "a\0", "..a", " "])
CONTENTS = {
    "empty": b"",
    "short": b"v",
    "all bytes": bytes(range(256)),
    "too long for a row": b"L" * 70_000,
}
VALUES = st.sampled_from(sorted(CONTENTS))
PREFIXES = st.sampled_from(["", "a", "a/", "%", "ä", "\uffff"])


class Kept(NamedTuple):
    value: bytes
    metadata: str | None
    expires: int | None


class NamespaceMachine(RuleBasedStateMachine):
    durability: Any = "process"

    @initialize()
    def open_first(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.model: dict[str, Kept] = {}
        self.open()

    def open(self) -> None:
        self.registry = BindingRegistry(
            Path(self.directory.name), clock=self.clock, durability=self.durability
        )
        self.kv = self.registry.kv("model")

    def live(self) -> dict[str, Kept]:
        now = self.clock.now()
        return {k: v for k, v in self.model.items() if v.expires is None or v.expires > now}

    @rule(
        key=KEYS,
        content=VALUES,
        ttl=st.none() | st.integers(60, 200),
        metadata=st.none() | st.just("1"),
        streamed=st.booleans(),
    )
    def put(
        self, key: str, content: str, ttl: int | None, metadata: str | None, streamed: bool
    ) -> None:
        value = CONTENTS[content]

        async def stream() -> Any:
            for at in range(0, len(value), 1000):
                yield value[at : at + 1000]

        given = stream() if streamed else value
        self.runner.run(self.kv.put(key, given, expiration_ttl=ttl, metadata=metadata))
        expires = None if ttl is None else int(self.clock.now()) + ttl
        self.model[key] = Kept(value, metadata, expires)

    @rule(puts=st.lists(st.tuples(KEYS, VALUES), min_size=2, max_size=6, unique_by=lambda p: p[0]))
    def put_at_once(self, puts: list[tuple[str, str]]) -> None:
        async def together() -> None:
            await asyncio.gather(*(self.kv.put(key, CONTENTS[content]) for key, content in puts))

        self.runner.run(together())
        self.model |= {key: Kept(CONTENTS[content], None, None) for key, content in puts}

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.runner.run(self.kv.delete(key))
        self.model.pop(key, None)

    @rule(seconds=st.integers(1, 150))
    def wait(self, seconds: int) -> None:
        self.runner.run(self.clock.advance(seconds))

    @rule()
    def restart(self) -> None:
        self.runner.run(self.registry.close())
        self.open()

    @rule(prefix=PREFIXES, limit=st.integers(1, 12))
    def list_pages(self, prefix: str, limit: int) -> None:
        async def pages() -> list[str]:
            names, cursor = [], None
            while True:
                page = await self.kv.list(prefix, limit, cursor)
                assert len(page.keys) <= limit
                names += [key.name for key in page.keys]
                cursor = page.cursor
                if cursor is None:
                    return names

        expected = sorted((k for k in self.live() if k.startswith(prefix)), key=str.encode)
        assert self.runner.run(pages()) == expected

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "kv"):
            return

        async def everything() -> dict[str, Kept]:
            page = await self.kv.list()
            found = {}
            for key in page.keys:
                entry = await self.kv.get(key.name)
                assert entry is not None
                assert (entry.metadata, entry.expires) == (key.metadata, key.expires)
                found[key.name] = Kept(await entry.read(), entry.metadata, entry.expires)
            return found

        assert self.runner.run(everything()) == self.live()

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.registry.close())
            large = sum(len(kept.value) > 65536 for kept in self.live().values())
            blobs = list(Path(self.directory.name).glob("**/*.blobs/*"))
            expired = len(self.model) - len(self.live())
            assert large <= len(blobs) <= large + expired
            self.runner.close()
            self.directory.cleanup()


class DurableNamespaceMachine(NamespaceMachine):
    durability = "machine"


TestNamespace = NamespaceMachine.TestCase
TestNamespace.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestDurableNamespace = DurableNamespaceMachine.TestCase
TestDurableNamespace.settings = settings(max_examples=6, stateful_step_count=15, deadline=None)
