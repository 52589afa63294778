"""The page that a browser shows when a worker raised: where it happened, in the user's own code."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from .contracts import Scope
from .tracebacks import Frame, describe, format_traceback, user_frames

__all__ = ["error_page"]

_SECRET: Final = re.compile(
    r"^(?:authorization|proxy-authorization|cookie|x-api-key|x-auth.*)$"
    r"|token|secret|passw|credential|signature|session|api-?key",
    re.IGNORECASE,
)

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 2rem 1rem; }
h1 { font-size: 1rem; font-weight: 600; opacity: .7; margin: 0; }
h2 { font-size: 1.5rem; margin: .25rem 0 1.5rem; overflow-wrap: anywhere; white-space: pre-wrap; }
h3 { font-size: .95rem; margin: 1.5rem 0 .25rem; overflow-wrap: anywhere; }
pre { background: #8881; border-radius: .4rem; font: 13px/1.6 ui-monospace, monospace; margin: 0;
  overflow-x: auto; padding: .6rem 0; }
pre span { display: block; padding: 0 .8rem; }
pre span.ran { background: #e332; font-weight: 600; }
pre.plain { padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; font: 13px/1.6 ui-monospace, monospace; }
td { padding: 0 1rem 0 0; vertical-align: top; overflow-wrap: anywhere; }
details { margin-top: 1.5rem; }
"""

_LINKS: Final = (
    ("Python Workers", "https://developers.cloudflare.com/workers/languages/python/"),
    ("Errors and exceptions", "https://developers.cloudflare.com/workers/observability/errors/"),
)


def error_page(error: BaseException, scope: Scope, url: str) -> str:
    """The HTML of the page; every part that comes from the worker or the client is escaped."""
    name, message = describe(error)
    title = f"{name}: {message}" if message else name
    frames = "".join(map(_frame, reversed(user_frames(error))))
    if not frames:
        frames = "<p>No frame of the worker's own code was on the stack.</p>"
    links = " · ".join(f'<a href="{href}">{escape(text)}</a>' for text, href in _LINKS)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>An error has occurred</title><style>{_STYLE}</style></head><body>"
        f"<h1>An error has occurred</h1><h2>{escape(title)}</h2>"
        f"{frames}"
        f"<h3>Traceback</h3><pre class=plain>{escape(format_traceback(error))}</pre>"
        f"<h3>Request</h3>{_request(scope, url)}"
        f"<p>{links}</p></body></html>\n"
    )


def _frame(frame: Frame) -> str:
    lines = "".join(
        f"<span{' class=ran' if number == frame.line else ''}>{number:>5}  {escape(text)}</span>"
        for number, text in frame.source
    )
    where = f"{escape(frame.file)}:{frame.line} in {escape(frame.function)}"
    return f"<h3>{where}</h3><pre>{lines}</pre>" if lines else f"<h3>{where}</h3>"


def _request(scope: Scope, url: str) -> str:
    rows = [("Method", scope["method"]), ("URL", url)]
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1")
        hidden = _SECRET.search(name) is not None
        rows.append((name, "(hidden)" if hidden else raw_value.decode("latin-1")))
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows
    )
    return f"<table>{cells}</table>"
