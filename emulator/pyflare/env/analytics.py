"""``env.DATASET``: an Analytics Engine dataset to write to.

Source: https://developers.cloudflare.com/analytics/analytics-engine/ and workerd
``src/workerd/api/analytics-engine.c++``
"""

from __future__ import annotations

import asyncio
import math
from typing import Any, Final

from pyflare.js.buffer import as_bytes
from pyflare.js.callbacks import supervise
from pyflare.js.departure import output_gate
from pyflare.js.error import TypeError_
from pyflare.js.number import to_number
from pyflare.js.value import JsInstance, is_nullish
from pyflare.js.webidl import scalar_text
from pyflare_bindings.analytics import AnalyticsDataset, Blob, DataPoint

from .conversion import Parameter, Struct, Type, array_of

__all__ = ["AnalyticsEngine"]


class AnalyticsEngine(JsInstance, js_name="AnalyticsEngine"):
    """The binding."""

    def __init__(self, owner: AnalyticsDataset) -> None:
        self._owner = owner

    def writeDataPoint(self, point: Any = None, *_: Any, **fields: Any) -> None:
        """Write a point of ``indexes`` (one), ``blobs`` and ``doubles`` (20 each). Nothing waits for it.

        Raises: TypeError for a field of a wrong type and for a point over the limits.
        """
        given = _POINT.read(fields if point is None else point)
        written = DataPoint(
            given.get("indexes", []), given.get("blobs", []), given.get("doubles", [])
        )
        try:
            written.check()
        except ValueError as error:
            raise TypeError_(str(error)) from None
        hold = output_gate.get()
        pending = None if hold is None else hold()
        if pending is None:
            self._owner.write(written)
        else:
            supervise(_write_after(pending, self._owner, written))


async def _write_after(
    pending: asyncio.Future[None], owner: AnalyticsDataset, point: DataPoint
) -> None:
    """What an object tells of must not outlast it: without its commit there is no point."""
    await asyncio.shield(pending)
    owner.write(point)


def _blob(value: Any) -> Blob | None:
    if is_nullish(value):
        return None
    data = as_bytes(value)
    if data is None:
        return scalar_text(value)
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return bytes(data)


def _double(value: Any) -> float:
    number = float(to_number(value))
    # Neither the platform's database nor SQLite has a row for what is no number.
    return 0.0 if math.isnan(number) else number


_TEXTS: Final = array_of(Type("string", _blob))
_EVENT: Final = Struct(
    "AnalyticsEngineEvent",
    {"indexes": _TEXTS, "doubles": array_of(Type("number", _double)), "blobs": _TEXTS},
)
_POINT: Final = Parameter("AnalyticsEngine", "writeDataPoint", 1, _EVENT)
