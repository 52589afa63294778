"""No byte from outside the directory is ever served, whatever the path says and whatever links there are."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyflare.assets.contents import Contents
from tests.emulator.assets.conftest import Assets

SECRET = "SECRET-"


@pytest.fixture
def project(tmp_path: Path) -> Assets:
    """A directory with neighbours: each file says which it is, and those outside are secrets."""
    for name in ("secret.txt", "public-secret/f", "src/entry.py", "index.html", "404.html", "C:/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET + name)
    files = {
        "index.html": "home",
        "a/b.txt": "b",
        "a/c/d.txt": "d",
        "..x": "dots",
        "404.html": "404",
    }
    return Assets(tmp_path / "public", files)


def link(assets: Assets, name: str, target: Path | str) -> None:
    path = assets.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


ATTACKS = [
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/%2E%2E%2Fsecret.txt",
    "/..%2fsecret.txt",
    "/%252e%252e/secret.txt",
    "/..%252fsecret.txt",
    "/..\\secret.txt",
    "/..%5csecret.txt",
    "/%5c..%5csecret.txt",
    "/a/../../secret.txt",
    "/a/..%2f..%2fsecret.txt",
    "/a/c/../../../secret.txt",
    "/../public-secret/f",
    "/%2e%2e/public-secret/f",
    "/..;/secret.txt",
    "/.%00./secret.txt",
    "/../secret.txt%00.html",
    "/%c0%ae%c0%ae/secret.txt",
    "/%uff0e%uff0e/secret.txt",
    "/\uff0e\uff0e/secret.txt",
    "/C:/x",
    "/C%3A%5Cx",
    "//etc/passwd",
    "/%2fetc/passwd",
    "///etc/passwd",
    "/file:///etc/passwd",
    "/proc/self/environ",
    "/..",
    "/../",
    "/.",
    "/./../secret.txt",
    "/~/secret.txt",
    "/%2e%2e",
    "/..%2f",
    "/a/b.txt/../../../secret.txt",
    "/index.html/../../secret.txt",
]


@pytest.mark.parametrize("path", ATTACKS)
@pytest.mark.parametrize("mode", ["auto-trailing-slash", "drop-trailing-slash", "none"])
def test_an_attack_finds_nothing(project: Assets, path: str, mode: str) -> None:
    assets = Assets(project.root, {}, html_handling=mode, not_found_handling="404-page")

    got = assets.get(path)

    assert SECRET.encode() not in got.body
    assert b"root:" not in got.body
    assert got.body in (b"", b"404", b"home")


PIECES = [
    "..", ".", "%2e", "%2E%2e", "%252e", "/", "//", "%2f", "%2F", "%252f", "\\", "%5c", "%00", "a", "b.txt", "c",
    "secret.txt", "public", "public-secret", "f", "src", "entry.py", "index.html", "..x", "%c0%ae", "C:", "~", "%",
    ";", "%zz", "\u2024", "\uff0f", "404.html",
]  # fmt: skip


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=9).map("".join))
@pytest.mark.parametrize("mode", ["auto-trailing-slash", "force-trailing-slash", "none"])
def test_no_path_at_all_finds_anything_outside(project: Assets, mode: str, path: str) -> None:
    assets = Assets(project.root, {}, html_handling=mode)

    got = asyncio.run(assets.asked(f"/{path}".replace("?", ""), "GET", {}, binding=True))

    assert got is not None
    assert got.body in (b"", b"home", b"b", b"d", b"dots", b"404")
    if got.location is not None:
        # A redirect never leaves the host: neither "//host" nor a backslash.
        assert re.match(r"/(?![/\\])", got.location) or got.location == "/"


def test_a_link_to_a_file_outside_is_not_followed(project: Assets) -> None:
    link(project, "leak.txt", "../secret.txt")
    link(project, "absolute.txt", project.root.parent / "secret.txt")

    assert project.get("/leak.txt").status == 404
    assert project.get("/absolute.txt").status == 404


def test_a_link_to_a_folder_outside_is_not_followed(project: Assets) -> None:
    link(project, "up", "..")
    link(project, "a/up", "../../src")

    assert project.get("/up/secret.txt").status == 404
    assert project.get("/a/up/entry.py").status == 404


def test_a_link_to_a_neighbour_with_the_same_beginning_is_not_followed(project: Assets) -> None:
    link(project, "near", "../public-secret")

    assert project.get("/near/f").status == 404


def test_a_chain_of_links_that_leaves_is_not_followed(project: Assets) -> None:
    link(project, "one", "a/two")
    link(project, "a/two", "../../secret.txt")

    assert project.get("/one").status == 404


def test_links_inside_are_followed(project: Assets) -> None:
    link(project, "same.txt", "a/b.txt")
    link(project, "again", "a")

    assert project.get("/same.txt").body == b"b"
    assert project.get("/again/c/d.txt").body == b"d"


def test_links_in_a_circle_end(project: Assets) -> None:
    link(project, "a/loop", "..")
    link(project, "self", "self")

    assert project.get("/a/loop/a/loop/a/b.txt").body == b"b"
    assert project.get("/self").status == 404
    assert len(project.site._directory._folders) <= 3


def test_a_folder_that_is_replaced_by_a_link_is_not_followed(project: Assets) -> None:
    assert project.get("/a/b.txt").body == b"b"
    os.rename(project.root / "a", project.root.parent / "moved")
    (project.root.parent / "moved" / "b.txt").write_text(SECRET)
    link(project, "a", "../moved")

    assert project.get("/a/b.txt").status == 404


def test_a_file_that_is_replaced_by_a_link_is_not_followed(project: Assets) -> None:
    assert project.get("/a/b.txt").body == b"b"
    (project.root / "a/b.txt").unlink()
    link(project, "a/b.txt", "../../secret.txt")

    assert project.get("/a/b.txt").status == 404


def test_the_reader_follows_no_link_by_itself(project: Assets) -> None:
    link(project, "linked", "a")
    link(project, "leak.txt", "../secret.txt")
    contents = Contents()

    assert asyncio.run(contents.open(os.path.join(project.root, "linked", "b.txt"))) is None
    assert asyncio.run(contents.open(os.path.join(project.root, "leak.txt"))) is None
    assert asyncio.run(contents.open(os.path.join(project.root, "a", "b.txt"))) is not None


def test_a_pipe_is_no_file(project: Assets) -> None:
    os.mkfifo(project.root / "pipe")

    assert project.get("/pipe").status == 404


@pytest.mark.parametrize("form", ["{}/", "{}/.", "{}/a/.."])
def test_the_directory_may_be_given_in_other_forms(project: Assets, form: str) -> None:
    assets = Assets(Path(form.format(project.root)), {})

    assert assets.get("/a/b.txt").body == b"b"
    assert assets.get("/../public-secret/f").status == 404


def test_the_directory_may_be_a_link(project: Assets) -> None:
    entry = project.root.parent / "linked"
    entry.symlink_to(project.root)
    assets = Assets(entry, {})

    assert assets.get("/a/b.txt").body == b"b"
    assert assets.get("/../secret.txt").status == 404


def test_the_root_of_the_file_system_holds_only_itself(tmp_path: Path) -> None:
    from pyflare.assets.directory import Directory

    directory = Directory(Path("/"))

    assert directory.holds("/etc/hostname")
    assert not Directory(tmp_path / "a").holds(str(tmp_path / "ab" / "c"))


# Files that are no assets.


@pytest.mark.parametrize(
    "path",
    [
        "/.assetsignore",
        "/_headers",
        "/_redirects",
        "/secret-1.txt",
        "/sub/secret-2",
        "/build/x",
        "/b.map",
    ],
)
def test_ignored_files_are_never_served(make: Any, path: str) -> None:
    files = {
        ".assetsignore": "# rules\nsecret*\n!secret-ok\n/build\n*.map\n",
        "_headers": "",
        "_redirects": "",
        "secret-1.txt": SECRET,
        "sub/secret-2": SECRET,
        "build/x": SECRET,
        "b.map": SECRET,
    }

    assert make(files, html_handling="none").get(path).status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/secret-ok",
        "/sub/build/x",
        "/sub/_headers",
        "/.well-known/acme",
        "/.hidden",
        "/a/.b/c",
        "/empty",
    ],
)
def test_files_that_only_look_special_are_served(make: Any, path: str) -> None:
    files = {
        ".assetsignore": "secret*\n!secret-ok\n/build\n",
        "secret-ok": "x",
        "sub/build/x": "x",
        "sub/_headers": "x",
        ".well-known/acme": "x",
        ".hidden": "x",
        "a/.b/c": "x",
        "empty": "",
    }

    assert make(files).get(path).status == 200


def test_a_link_to_an_ignored_file_is_ignored(make: Any) -> None:
    assets = make({".assetsignore": "private/\n", "private/key": SECRET, "_headers": SECRET})
    link(assets, "key", "private/key")
    link(assets, "open", "private")
    link(assets, "rules", "_headers")

    assert assets.get("/key").status == 404
    assert assets.get("/open/key").status == 404
    assert assets.get("/rules").status == 404


def test_a_changed_ignore_file_counts_at_once(make: Any) -> None:
    assets = make({"a.txt": "x", "b.txt": "x"})
    assert assets.get("/a.txt").status == 200
    assets.write(".assetsignore", "a.txt\n")
    assert assets.get("/a.txt").status == 404
    assets.write(".assetsignore", "b.txt\n#...\n")

    assert assets.get("/a.txt").status == 200
    assert assets.get("/b.txt").status == 404
