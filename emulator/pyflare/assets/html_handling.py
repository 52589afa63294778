"""Which file answers a path, or which other path it is redirected to, in each mode of ``html_handling``.

Source: https://developers.cloudflare.com/workers/static-assets/routing/advanced/html-handling/ for the tables of the
modes, ``workers-shared/asset-worker`` of workers-sdk for the cases that they leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

__all__ = ["File", "Intent", "Redirect", "resolve"]


class File(NamedTuple):
    """Answer with the file at this path of the directory."""

    path: str


class Redirect(NamedTuple):
    """Send the client to this path, under which the file has its one proper address."""

    to: str


Intent: TypeAlias = File | Redirect
#: Whether the directory has a file at a path.
Exists: TypeAlias = Callable[[str], bool]
#: In order: serve this file, or send its readers to an address, whichever exists first.
_Choices: TypeAlias = Iterator[File | tuple[str, str]]

_INDEX: Final = "/index"
_INDEX_HTML: Final = "/index.html"
_HTML: Final = ".html"


def resolve(path: str, mode: str, exists: Exists) -> Intent | None:
    """What a decoded path means in a mode of ``html_handling``; ``None`` when no file belongs to it."""
    choices = _MODES[mode]
    for choice in choices(path, exists):
        if isinstance(choice, File):
            if exists(choice.path):
                return choice
        elif _leads_to(choice[1], choice[0], choices, exists):
            return Redirect(choice[1])
    return None


def _leads_to(
    address: str, file: str, choices: Callable[[str, Exists], _Choices], exists: Exists
) -> bool:
    """Whether a request for ``address`` is answered with ``file`` itself, without another redirect."""
    if not exists(file) or exists(address):
        return False
    for choice in choices(address, exists):
        if isinstance(choice, File) and exists(choice.path):
            return choice.path == file
    return False


def _exact(path: str, _exists: Exists) -> _Choices:
    yield File(path)


def _auto(path: str, exists: Exists) -> _Choices:
    if path.endswith(_INDEX):
        if not exists(path):
            yield path + _HTML, path.removesuffix("index")
            yield path.removesuffix(_INDEX) + _HTML, path.removesuffix(_INDEX)
    elif path.endswith(_INDEX_HTML):
        yield path, path.removesuffix("index.html")
        yield path.removesuffix(_INDEX_HTML) + _HTML, path.removesuffix(_INDEX_HTML)
    elif path.endswith("/"):
        yield File(path + "index.html")
        yield path[:-1] + _HTML, path[:-1]
    elif path.endswith(_HTML):
        stem = path.removesuffix(_HTML)
        yield path, stem
        yield stem + _INDEX_HTML, stem + "/"
    yield File(path)
    yield File(path + _HTML)
    yield path + _INDEX_HTML, path + "/"


def _force(path: str, exists: Exists) -> _Choices:
    if path.endswith(_INDEX):
        if not exists(path):
            folder = path.removesuffix("index")
            yield path + _HTML, folder
            yield folder[:-1] + _HTML, folder
    elif path.endswith(_INDEX_HTML):
        folder = path.removesuffix("index.html")
        yield path, folder
        yield folder[:-1] + _HTML, folder
    elif path.endswith("/"):
        yield File(path + "index.html")
        yield File(path[:-1] + _HTML)
    elif path.endswith(_HTML):
        stem = path.removesuffix(_HTML)
        yield path, stem + "/"
        yield File(path)
        yield stem + _INDEX_HTML, stem + "/"
    yield File(path)
    yield path + _HTML, path + "/"
    yield path + _INDEX_HTML, path + "/"


def _drop(path: str, exists: Exists) -> _Choices:
    if path in (_INDEX, _INDEX_HTML):
        if path == _INDEX_HTML or not exists(path):
            # The root is the one address that keeps its slash.
            yield _INDEX_HTML, "/"
    elif path.endswith(_INDEX):
        if not exists(path):
            stem = path.removesuffix(_INDEX)
            yield stem + _HTML, stem
            yield path + _HTML, stem
    elif path.endswith(_INDEX_HTML):
        stem = path.removesuffix(_INDEX_HTML)
        yield path, stem
        yield File(path)
        yield stem + _HTML, stem
    elif path == "/":
        yield File(_INDEX_HTML)
    elif path.endswith("/"):
        stem = path[:-1]
        yield stem + _HTML, stem
        yield stem + _INDEX_HTML, stem
    elif path.endswith(_HTML):
        stem = path.removesuffix(_HTML)
        yield path, stem
        yield stem + _INDEX_HTML, stem
    yield File(path)
    yield File(path + _HTML)
    yield File(path + _INDEX_HTML)


_MODES: Final[dict[str, Callable[[str, Exists], _Choices]]] = {
    "auto-trailing-slash": _auto,
    "force-trailing-slash": _force,
    "drop-trailing-slash": _drop,
    "none": _exact,
}
