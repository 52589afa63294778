"""`.assetsignore` line by line: what an upload would leave out."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.assets.ignore_rules import ignores

FILES = ("a.txt", "b.txt", "!.txt", "x/a.txt", "node_modules/f", "x/node_modules/f", "foo")


def ignored(line: str) -> list[str]:
    rules = ignores(f"secret*\n{line}\nlast*")
    assert rules("secret.txt")
    assert rules("x/last.txt")
    return [path for path in FILES if rules(path)]


@pytest.mark.parametrize(
    "line",
    [
        "node_modules\\",
        "A/\\",
        "x\\\r",
        "!",
        "\\/",
        "a\\  ",
        "/\\/a b/",
        "[z-a].txt",
        "[a",
        "/",
        "[",
    ],
)
def test_a_line_that_is_no_pattern_matches_nothing(line: str) -> None:
    assert ignored(line) == []


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("[!a].txt", ["a.txt", "!.txt", "x/a.txt"]),
        ("[^a].txt", ["a.txt", "x/a.txt"]),
        ("[ab].txt", ["a.txt", "b.txt", "x/a.txt"]),
        ("\\[!a].txt", []),
        ("[[:alpha:]].txt", []),
    ],
)
def test_a_class_is_never_negated(line: str, paths: list[str]) -> None:
    assert ignored(line) == paths


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("node_modules/", ["node_modules/f", "x/node_modules/f"]),
        ("node_modules/\r", ["node_modules/f"]),
        ("node_modules/ ", ["node_modules/f"]),
        ("node_modules\r", ["node_modules/f", "x/node_modules/f"]),
        ("node_modules\r\n!node_modules/\r", ["x/node_modules/f"]),
        ("foo \r", ["foo"]),
    ],
)
def test_blanks_behind_a_last_slash_bind_the_folder_to_the_root(
    line: str, paths: list[str]
) -> None:
    assert ignored(line) == paths


def test_a_line_that_is_no_pattern_does_not_end_the_serving(make: Any) -> None:
    assets = make({"secret.txt": "x", "file.txt": "x", ".assetsignore": "secret*\n"})
    assert assets.get("/secret.txt").status == 404
    assets.write(".assetsignore", "node_modules\\\nsecret*")

    assert assets.get("/secret.txt").status == 404
    assert assets.get("/file.txt").status == 200
