"""Status codes as responses treat them.

Source: https://fetch.spec.whatwg.org/#statuses and workerd ``api/http.c++``.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

__all__ = ["NULL_BODY_STATUSES", "REDIRECT_STATUSES", "reason_phrase"]

#: Answers with these never carry a body.
NULL_BODY_STATUSES: Final = frozenset({101, 204, 205, 304})

REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})

_PHRASES: Final = {
    **{status.value: status.phrase for status in HTTPStatus},
    # Python's words differ from the runtime's, or vary between versions of Python.
    0: "",
    413: "Payload Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    418: "I'm a teapot",
    422: "Unprocessable Entity",
}

_BY_CLASS: Final = {2: "Successful", 3: "Redirection", 4: "Client Error", 5: "Server Error"}


def reason_phrase(status: int) -> str:
    """The words for a status; for an unknown one those of its class."""
    phrase = _PHRASES.get(status)
    return _BY_CLASS.get(status // 100, "") if phrase is None else phrase
