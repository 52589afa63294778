"""The published table of the modes of ``html_handling``: what each address answers, or where it leads."""

from __future__ import annotations

from typing import Any

import pytest

FILES = {
    name: name
    for name in (
        "index.html",
        "file.html",
        "folder/index.html",
        "both.html",
        "both/index.html",
        "bin",
        "binx/index",
    )
}
MODES = ("auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none")

MISS = "miss"
#: By address: a file that is served, an address to go to, or a miss, in each mode.
TABLE = {
    "/": ("index.html", "index.html", "index.html", MISS),
    "/index": ("→/", "→/", "→/", MISS),
    "/index.html": ("→/", "→/", "→/", "index.html"),
    "/file": ("file.html", "→/file/", "file.html", MISS),
    "/file/": ("→/file", "file.html", "→/file", MISS),
    "/file.html": ("→/file", "→/file/", "→/file", "file.html"),
    "/file/index": ("→/file", "→/file/", "→/file", MISS),
    "/file/index.html": ("→/file", "→/file/", "→/file", MISS),
    "/folder": ("→/folder/", "→/folder/", "folder/index.html", MISS),
    "/folder/": ("folder/index.html", "folder/index.html", "→/folder", MISS),
    "/folder.html": ("→/folder/", "→/folder/", "→/folder", MISS),
    "/folder/index": ("→/folder/", "→/folder/", "→/folder", MISS),
    "/folder/index.html": ("→/folder/", "→/folder/", "→/folder", "folder/index.html"),
    "/both": ("both.html", "→/both/", "both.html", MISS),
    "/both/": ("both/index.html", "both/index.html", "→/both", MISS),
    "/both.html": ("→/both", "both.html", "→/both", "both.html"),
    "/both/index": ("→/both/", "→/both/", "→/both", MISS),
    "/both/index.html": ("→/both/", "→/both/", "both/index.html", "both/index.html"),
    "/bin": ("bin", "bin", "bin", "bin"),
    "/binx/index": ("binx/index", "binx/index", "binx/index", "binx/index"),
    "/bin/": (MISS, MISS, MISS, MISS),
    "/binx": (MISS, MISS, MISS, MISS),
    "/binx/": (MISS, MISS, MISS, MISS),
    "/nothing": (MISS, MISS, MISS, MISS),
}
CASES = [
    (mode, path, answers[index])
    for path, answers in TABLE.items()
    for index, mode in enumerate(MODES)
]


@pytest.mark.parametrize(("mode", "path", "expected"), CASES)
@pytest.mark.parametrize("query", ["", "?q=1"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_address_in_a_mode(
    make: Any, mode: str, path: str, expected: str, query: str, method: str
) -> None:
    assets = make(FILES, html_handling=mode)

    got = assets.answer(path + query, method)

    if expected == MISS:
        assert got is None
    elif expected.startswith("→"):
        assert (got.status, got.location) == (307, expected[1:] + query)
    else:
        body = expected if method == "GET" else ""
        assert (got.status, got.body.decode(), got.length) == (200, body, len(expected))


@pytest.mark.parametrize(("mode", "path", "expected"), CASES)
def test_other_methods_get_no_file(make: Any, mode: str, path: str, expected: str) -> None:
    got = make(FILES, html_handling=mode).answer(path, "POST")

    if expected == MISS:
        assert got is None
    else:
        assert (got.status, got.headers, got.body) == (405, [], b"")
