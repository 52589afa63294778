"""A hint for code that treats what a binding gives as an object of JavaScript, where it is Python's own already."""

from __future__ import annotations

import datetime
from typing import Final

__all__ = ["hint_about_conversion"]

_CONVERTED: Final = (list, dict, memoryview, datetime.datetime)
# fmt: off
_OF_JAVASCRIPT: Final = frozenset((
    "to_py", "length", "object_keys", "object_values", "object_entries", "as_object_map",
    "as_py_json", "js_id", "typeof", "constructor", "forEach", "map", "filter", "find", "push",
    "slice", "to_bytes", "to_memoryview", "byteLength", "getTime", "toISOString",
))
# fmt: on
_HINT: Final = (
    "Results of bindings come as Python's own lists, dicts and dates: workers-runtime-sdk converts them, here as in "
    "what pywrangler deploys. Only a Worker that is deployed without that package, before 2026-04-21, is given objects "
    "of JavaScript."
)


def hint_about_conversion(error: BaseException) -> str | None:
    """What to say of an AttributeError whose attribute only the unconverted value would have."""
    if not isinstance(error, AttributeError) or error.name not in _OF_JAVASCRIPT:
        return None
    return _HINT if isinstance(error.obj, _CONVERTED) else None
