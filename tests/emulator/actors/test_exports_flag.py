"""``ctx.exports`` of an object is there or not, as the compatibility date and flags say."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pyflare import Pyflare

from .conftest import write_objects

SOURCE = """
    class Thing(DurableObject):
        async def has_exports(self):
            return hasattr(self.ctx, "exports")
"""


@pytest.mark.parametrize(
    ("date", "flags", "expected"),
    [
        ("2025-11-16", [], False),
        ("2025-11-16", ["enable_ctx_exports"], True),
        ("2025-11-17", [], True),
        ("2026-05-01", ["disable_ctx_exports"], False),
    ],
)
def test_exports_of_an_object(tmp_path: Path, date: str, flags: list[str], expected: bool) -> None:
    config = write_objects(
        tmp_path / "w",
        SOURCE,
        compatibility_date=date,
        compatibility_flags=["python_workers", *flags],
    )

    async def main() -> Any:
        async with Pyflare(config, persist_to=None) as flare:
            return await flare.env().THING.getByName("x").has_exports()

    assert asyncio.run(main()) is expected
