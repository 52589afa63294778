"""``DurableObjectId``.

Source: https://developers.cloudflare.com/durable-objects/api/id/
"""

from __future__ import annotations

from typing import Any

from pyflare.js.error import TypeError_
from pyflare.js.value import JsInstance, own_properties
from pyflare_bindings.objects.ids import ObjectId

__all__ = ["DurableObjectId"]


class DurableObjectId(JsInstance, js_name="DurableObjectId"):
    """An id; ``name`` is there when it was made from one."""

    _own_items = own_properties("name", "jurisdiction")
    jurisdiction: Any = None

    def __init__(self, id: ObjectId, name: str | None) -> None:
        self._id = id
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    def toString(self, *_: Any) -> str:
        """64 hexadecimal digits."""
        return self._id.hex

    def equals(self, other: Any = None, *_: Any) -> bool:
        """Whether both name the same object; the names play no part. Raises: TypeError for what is no id."""
        if not isinstance(other, DurableObjectId):
            raise TypeError_(
                "Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'."
            )
        return self._id.raw == other._id.raw
