"""What a client gets for an exception that left a worker: a page, JSON or text, by what it accepts."""

from __future__ import annotations

import json
import re
from typing import Literal

from .contracts import Scope
from .tracebacks import describe, format_traceback

__all__ = ["ErrorFormat", "error_response", "preferred_format"]

ErrorFormat = Literal["html", "json", "text"]

_RANGE = re.compile(r"\s*([^;,\s]+)\s*((?:;[^,]*)?)")
_QUALITY = re.compile(r";\s*q\s*=\s*([0-9.]+)", re.IGNORECASE)


def preferred_format(accept: str, user_agent: str) -> ErrorFormat:
    """JSON when the client names it and does not like HTML better; else a page for browsers; else text.

    A page goes to clients that accept ``text/html``, ``text/*`` or ``*/*`` and are not curl, as ``wrangler dev`` does.
    """
    ranges: dict[str, float] = {}
    for match in _RANGE.finditer(accept):
        quality = _QUALITY.search(match[2])
        try:
            ranges[match[1].lower()] = float(quality[1]) if quality else 1.0
        except ValueError:
            ranges[match[1].lower()] = 0.0
    json_quality = ranges.get("application/json", 0.0)
    if json_quality > ranges.get("text/html", 0.0):
        return "json"
    html = any(ranges.get(name, 0.0) > 0 for name in ("text/html", "text/*", "*/*"))
    return "html" if html and "curl/" not in user_agent else "text"


def error_response(
    error: BaseException, scope: Scope, url: str, *, pretty: bool
) -> tuple[str, str]:
    """Content type and body for an uncaught exception. Without ``pretty`` it is always the plain traceback."""
    accept = _header(scope, b"accept")
    chosen: ErrorFormat = (
        preferred_format(accept, _header(scope, b"user-agent")) if pretty else "text"
    )
    match chosen:
        case "html":
            from .error_page import error_page

            return "text/html;charset=utf-8", error_page(error, scope, url)
        case "json":
            name, message = describe(error)
            told = {"name": name, "message": message, "stack": format_traceback(error)}
            return "application/json", json.dumps({"error": told})
        case "text":
            return "text/plain;charset=utf-8", format_traceback(error)


def _header(scope: Scope, wanted: bytes) -> str:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]
    return ", ".join(values)
