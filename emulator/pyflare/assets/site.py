"""The assets of one worker: from what is asked for to the answer.

Source: https://developers.cloudflare.com/workers/static-assets/
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from .content_types import content_type
from .contents import Contents, FileBody
from .control import AssetsLog, Control, Signature, read_control, signature
from .directory import Directory, Folder, Stale
from .html_handling import File, Intent, Redirect, resolve
from .ignore_rules import IGNORE, ignores
from .paths import decode, encode
from .worker_first import First, WorkerFirst

if TYPE_CHECKING:
    from ada_url import URL

__all__ = ["Answer", "Asked", "Site", "SiteSettings"]

_CACHE_CONTROL: Final = ("cache-control", "public, max-age=0, must-revalidate")
_CACHE_STATUS: Final = ("cf-cache-status", "HIT")
#: How often a file may vanish between being found and being read, within one request.
_MOST_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What the configuration says. ``navigation_first``: pages that a browser navigates to come before the Worker;
    ``private``: files and folders that are never served.
    """

    directory: Path
    html_handling: str = "auto-trailing-slash"
    not_found_handling: str = "none"
    run_worker_first: bool | tuple[str, ...] = False
    has_worker: bool = True
    navigation_first: bool = True
    private: tuple[Path, ...] = ()


@dataclass(slots=True)
class Asked:
    """The parts of a request that count. ``path`` is percent-encoded, ``query`` without its mark; ``tag`` is
    ``If-None-Match``, ``navigates`` whether a browser loads a page, ``uncached`` whether the request has
    ``Authorization`` or ``Range``. ``mount`` stands before the path in the client's address, encoded and without a
    slash at its end.
    """

    method: str
    url: str
    path: str
    query: str
    tag: str = ""
    navigates: bool = False
    uncached: bool = False
    mount: str = ""

    @classmethod
    def read(
        cls, method: str, url: str, path: str, query: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> Asked:
        """From a request whose header names are in lower case."""
        asked = cls(method, url, path, query)
        for name, value in headers:
            if name == b"if-none-match":
                text = value.decode("latin-1")
                asked.tag = f"{asked.tag}, {text}" if asked.tag else text
            elif name == b"sec-fetch-mode":
                asked.navigates = value == b"navigate"
            elif name in (b"authorization", b"range"):
                asked.uncached = True
        return asked

    @property
    def host(self) -> str:
        """The name of the host, without the port."""
        authority = self.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        if authority.startswith("["):
            return authority.partition("]")[0] + "]"
        return authority.partition(":")[0]

    @property
    def search(self) -> str:
        return f"?{self.query}" if self.query else ""


@dataclass(slots=True)
class Answer:
    """Header names in lower case, without ``Content-Length``; ``length`` is that of the body, also where it is left
    out of an answer to HEAD. Close a :class:`FileBody` that is not sent.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes | FileBody | None = None
    length: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    """``path`` as the directory has it, ``file`` where it really is."""

    path: str
    file: str
    status: int


_Decision: TypeAlias = _Found | Answer | None


class Site:
    """The assets of one worker. What is on disk counts at each request.

    Args: ``log`` is told of the rules in ``_headers`` and ``_redirects`` when they are read.
    """

    def __init__(self, settings: SiteSettings, log: AssetsLog) -> None:
        self.settings = settings
        self._log = log
        self._directory = Directory(settings.directory, private=settings.private)
        self._directory.ignore(ignores(""))
        self._contents = Contents()
        self._first = WorkerFirst(settings.run_worker_first)
        self._control: Control | None = None
        self._signature: Signature = ()

    def hide(self, private: Iterable[Path]) -> None:
        """Never serve these files and folders either, from now on: those of other workers."""
        self._directory.hide((*self.settings.private, *private))

    async def prepare(self) -> None:
        """Read the rules, so that whoever starts the server sees at once what is wrong with them."""
        await self._made_sure(set())

    async def answer(self, asked: Asked) -> Answer | None:
        """The answer to a client; ``None`` when the Worker is to give it."""
        settings = self.settings
        if not settings.has_worker:
            return await self.fetch(asked)
        match self._first.of(asked.path):
            case First.WORKER:
                return None
            case First.ASSETS:
                return await self.fetch(asked)
        # A page for what is missing comes before the Worker only where a browser navigates.
        pages = self._first.has_patterns or (settings.navigation_first and asked.navigates)
        return await self._respond(asked, settings.not_found_handling if pages else "none")

    async def fetch(self, asked: Asked) -> Answer:
        """The answer of the assets alone, as ``env.ASSETS`` gives it."""
        answer = await self._respond(asked, self.settings.not_found_handling)
        return self._with_rules(asked, Answer(404, [])) if answer is None else answer

    async def _respond(self, asked: Asked, not_found: str) -> Answer | None:
        for _ in range(_MOST_TRIES):
            decision = await self._decision(asked, not_found)
            if not isinstance(decision, _Found):
                return decision and self._with_rules(asked, decision)
            answer = await self._open(asked, decision)
            if answer is not None:
                return self._with_rules(asked, answer)
        return None

    async def _open(self, asked: Asked, found: _Found) -> Answer | None:
        content = await self._contents.open(found.file)
        if content is None:
            return None
        tag = f'"{content.tag}"'
        headers = [("etag", tag), _CACHE_STATUS]
        kind = content_type(found.path)
        if kind is not None:
            headers.append(("content-type", kind))
        if not asked.uncached:
            headers.append(_CACHE_CONTROL)
        unchanged = asked.tag in (tag, f"W/{tag}")
        if unchanged or asked.method == "HEAD":
            if isinstance(content.body, FileBody):
                content.body.close()
            if unchanged:
                return Answer(304, headers)
            return Answer(found.status, headers, None, content.length)
        return Answer(found.status, headers, content.body, content.length)

    def _with_rules(self, asked: Asked, answer: Answer) -> Answer:
        assert self._control is not None
        if len(self._control.headers):
            answer.headers = self._control.headers.apply(asked.host, asked.path, answer.headers)
        return answer

    async def _decision(self, asked: Asked, not_found: str) -> _Decision:
        seen: set[Folder] = set()
        while True:
            try:
                if self._is_sure(seen):
                    return self._decide(asked, not_found, seen)
                await self._made_sure(seen)
            except Stale as stale:
                folder = self._directory.to_read(stale.folder)
                await asyncio.to_thread(folder.read)
                seen.add(folder)

    def _is_sure(self, seen: set[Folder]) -> bool:
        """Whether the rules are those on disk."""
        root = self._directory.root
        self._directory.make_sure(root, seen)
        return self._control is not None and signature(root) == self._signature

    async def _made_sure(self, seen: set[Folder]) -> None:
        """Read the rules again."""
        root = self._directory.to_read(self._directory.root)
        if root not in seen:
            await asyncio.to_thread(root.read)
            seen.add(root)
        now = signature(root)
        control = await asyncio.to_thread(read_control, root, self.settings.html_handling)
        before, self._control, self._signature = self._control, control, now
        ignored_before = None if before is None else before.texts.get(IGNORE)
        if ignored_before != control.texts.get(IGNORE):
            self._directory.ignore(control.ignored)
        control.tell(self._log, before)

    def _decide(self, asked: Asked, not_found: str, seen: set[Folder]) -> _Decision:
        assert self._control is not None
        path, rewritten = asked.path, False
        if len(self._control.redirects):
            target = self._control.redirects.match(asked.host, path)
            url = None if target is None else _target_url(target.to, asked)
            if target is not None and url is not None:
                if target.status != 200:
                    return Answer(target.status, [("location", _location(url, asked))])
                path, rewritten = url.pathname, True
        decoded = decode(path)
        find = self._directory.find
        intent: Intent | None = resolve(
            decoded, self.settings.html_handling, lambda each: find(each, seen) is not None
        )
        status = 200
        if intent is None:
            page = self._page_for_missing(decoded, not_found, seen)
            if page is None:
                return Answer(404, []) if rewritten else None
            status = 404 if not_found == "404-page" else 200
            intent = File(page)
        if asked.method not in ("GET", "HEAD"):
            return Answer(405, [])
        if isinstance(intent, Redirect):
            return Answer(307, [("location", asked.mount + encode(intent.to) + asked.search)])
        if (canonical := encode(decoded)) != path:
            return Answer(307, [("location", asked.mount + canonical + asked.search)])
        file = find(intent.path, seen)
        return None if file is None else _Found(intent.path, file, status)

    def _page_for_missing(self, path: str, not_found: str, seen: set[Folder]) -> str | None:
        find = self._directory.find
        if not_found == "single-page-application":
            return "/index.html" if find("/index.html", seen) is not None else None
        if not_found == "404-page":
            folder = path
            while folder:
                folder = folder[: folder.rfind("/")]
                page = f"{folder}/404.html"
                if find(page, seen) is not None:
                    return page
        return None


def _target_url(to: str, asked: Asked) -> URL | None:
    """A rule's target as a URL; ``None`` when what the request put into it makes none."""
    from ada_url import URL

    try:
        return URL(to, base=asked.url)
    except ValueError:
        return None


def _location(target: URL, asked: Asked) -> str:
    """``Location`` of a target: a path on the same origin, and with the request's query if it has none."""
    from ada_url import URL

    tail = f"{target.search or asked.search}{target.hash}"
    if target.origin == URL(asked.url).origin:
        return f"{target.pathname}{tail}"
    return f"{target.origin}{target.pathname}{tail}"
