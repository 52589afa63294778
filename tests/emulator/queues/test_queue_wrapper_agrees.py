"""The short way of `env.QUEUE` to send gives what the SDK's own wrapper gives, byte for byte and error for error."""

from __future__ import annotations

import asyncio
import datetime
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

CYCLE: list[Any] = []
CYCLE.append(CYCLE)

BODIES = {
    "text": "a",
    "emoji": "🙂",
    "lone surrogate": "\ud800",
    "control": "\x00\x1f\x7f\u2028",
    "int": 7,
    "largest safe": 2**53 - 1,
    "too large": 2**53,
    "negative zero": -0.0,
    "float": 1.5,
    "whole float": 7.0,
    "small float": 1e-7,
    "large float": 1e21,
    "nan": math.nan,
    "infinity": math.inf,
    "true": True,
    "none": None,
    "list": [1, [2, None], {"a": False}],
    "dict": {"b": 1, "a": {"x": [None]}},
    "int keys": {2: "b", 1: "a"},
    "digit keys": {"2": "b", "1": "a"},
    "none key": {None: 1},
    "toJSON key": {"toJSON": 1},
    "tuple": (1, 2),
    "set": {1},
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"a"),
    "datetime": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    "object": object(),
    "function": len,
    "cycle": CYCLE,
    "deep": {"a": {"b": {"c": {"d": 1}}}},
}


def outcome(root: Path, body: Any, *, direct: bool, send: str = "bodies") -> Any:
    """What sending a body, or a whole batch, gives and stores, or how it fails."""
    from workers.rpc import _BindingWrapper

    from pyflare.env.queue import WorkerQueue
    from pyflare.env.queue_sdk import WorkerQueueWrapper

    async def run() -> Any:
        registry = BindingRegistry(root, clock=ManualClock())
        queue = registry.queue("q")
        binding = WorkerQueue._make(queue)
        wrapper: Any = (WorkerQueueWrapper if direct else _BindingWrapper)(binding)
        try:
            answers = []
            if send == "batch":
                requests = [lambda: wrapper.sendBatch(body)]
            else:
                batch = [{"body": body}, {"body": 1}]
                requests = [lambda: wrapper.send(body), lambda: wrapper.sendBatch(batch)]
            for request in requests:
                answer = await request()
                answers.append((type(answer), type(answer.metadata.metrics), answer))
            stored = await queue.list()
            return answers, [(m.body, m.content_type, m.visible_at) for m in stored]
        except Exception as error:
            return type(error), str(error)
        finally:
            await queue.purge()
            await registry.close()

    return asyncio.run(run())


@pytest.fixture(scope="module", autouse=True)
def _runtime() -> Any:
    installed = Runtime()
    installed.install()
    yield
    installed.uninstall()


@pytest.mark.parametrize("name", BODIES)
def test_for_all_kinds_of_bodies(tmp_path: Path, name: str) -> None:
    body = BODIES[name]
    assert outcome(tmp_path / "d", body, direct=True) == outcome(tmp_path / "s", body, direct=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(body=JSON)
def test_for_any_json(tmp_path_factory: pytest.TempPathFactory, body: Any) -> None:
    root = tmp_path_factory.mktemp("queues")
    assert outcome(root / "d", body, direct=True) == outcome(root / "s", body, direct=False)


@pytest.mark.parametrize(
    "batch",
    [
        [],
        (),
        [{}],
        [{"body": 1, "contentType": "text"}],
        [{"body": "a", "contentType": "text"}],
        [{"body": 1, "delaySeconds": 5}],
        [{"body": 1}, {"body": b"x"}],
        [1],
        "text",
        None,
        [{"body": "x" * 128_000}],
        [{"body": 1}] * 101,
    ],
    ids=lambda batch: repr(batch)[:40],
)
def test_for_all_kinds_of_batches(tmp_path: Path, batch: Any) -> None:
    def both(direct: bool) -> Any:
        return outcome(tmp_path / str(direct), batch, direct=direct, send="batch")

    assert both(True) == both(False)
