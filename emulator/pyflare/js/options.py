"""The options of a JavaScript function: an object, keywords in its place, or a dict of Python's.

A dict reaches JavaScript as a ``PyProxy``, whose properties are those of ``dict`` itself. Only from Pyodide 0.28 on the
items are looked up too, so that with older dates options in a dict have no effect.

Source: Pyodide ``src/core/pyproxy.ts``
"""

from __future__ import annotations

from typing import Any

from . import semantics
from .callbacks import console_sink

__all__ = ["options_or_keywords", "visible_items"]


def options_or_keywords(options: Any, keywords: dict[str, Any]) -> Any:
    """The options argument of a call, or the keywords where it is undefined."""
    if options is None:
        return keywords
    return visible_items(options) if isinstance(options, dict) else options


def visible_items(options: dict[str, Any]) -> dict[str, Any]:
    """What JavaScript sees of a dict, with a warning where that is nothing."""
    if not semantics.current().dicts_are_opaque or not options:
        return options
    shown = ", ".join(map(repr, options))
    console_sink.get()(
        "warn",
        f"The options {shown} have no effect: with compatibility dates before 2025-09-29 JavaScript does not see "
        "the items of a dict. Pass keywords instead, or to_js({...}, dict_converter=Object.fromEntries).",
    )
    return {}
