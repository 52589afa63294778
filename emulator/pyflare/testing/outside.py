"""Stands in for the network in a test: answers the workers' own requests and keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

__all__ = ["Outside", "UnexpectedRequest"]


class UnexpectedRequest(Exception):
    """The code under test asked for what no answer was prepared for."""


@dataclass(slots=True)
class _Answer:
    method: str
    url: str
    make: Callable[[httpx.Request], Any]
    times: int | None

    def fits(self, request: httpx.Request) -> bool:
        if self.times == 0 or self.method not in ("*", request.method):
            return False
        url = str(request.url)
        if self.url.endswith("*"):
            return url.startswith(self.url[:-1])
        return self.url == url or ("?" not in self.url and self.url == url.partition("?")[0])


class Outside:
    """Answers by method and URL; the one that was prepared last wins. :attr:`requests` are those that came."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self._answers: list[_Answer] = []

    def answer(
        self,
        method: str,
        url: str,
        *,
        status: int = 200,
        json: Any = None,
        text: str | None = None,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        error: Exception | None = None,
        times: int | None = None,
    ) -> None:
        """Prepare an answer.

        Args: ``method`` or ``*``; ``url`` whole, with or without its query, or the beginning of one with ``*`` at its
        end; ``error`` is raised instead of answering (an ``httpx.ConnectError`` is a lost connection to the worker);
        ``times`` how often it answers, without limit by default.
        """

        def make(_: httpx.Request) -> httpx.Response:
            if error is not None:
                raise error
            return httpx.Response(status, json=json, text=text, content=content, headers=headers)

        self.call(method, url, make, times=times)

    def get(self, url: str, **answer: Any) -> None:
        """Prepare the answer to a GET; arguments as for :meth:`answer`."""
        self.answer("GET", url, **answer)

    def post(self, url: str, **answer: Any) -> None:
        """Prepare the answer to a POST; arguments as for :meth:`answer`."""
        self.answer("POST", url, **answer)

    def call(
        self,
        method: str,
        url: str,
        make: Callable[[httpx.Request], Any],
        *,
        times: int | None = None,
    ) -> None:
        """Let a function, sync or async, answer: see ``outbound`` of :class:`pyflare.Pyflare`."""
        self._answers.append(_Answer(method.upper(), url, make, times))

    def __call__(self, request: httpx.Request) -> Any:
        self.requests.append(request)
        for answer in reversed(self._answers):
            if answer.fits(request):
                if answer.times is not None:
                    answer.times -= 1
                return answer.make(request)
        prepared = ", ".join(f"{each.method} {each.url}" for each in self._answers) or "nothing"
        raise UnexpectedRequest(
            f"The code under test asked for {request.method} {request.url}; prepared is {prepared}."
        )
