"""A link is followed anew at each request: what it leads to changes without a trace in its own folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.assets.conftest import Assets


def settle(folder: Path) -> None:
    """Make a folder as old as one that has not been touched for an hour."""
    past = time.time() - 3600
    os.utime(folder, (past, past))


@pytest.fixture
def linked(make: Any) -> Assets:
    assets: Assets = make({"one/f.txt": "1", "two/f.txt": "2", "hub/keep": "", "a/keep": ""})
    (assets.root / "hub" / "to").symlink_to("../one")
    (assets.root / "a" / "folder").symlink_to("../hub/to")
    (assets.root / "a" / "file.txt").symlink_to("../hub/to/f.txt")
    (assets.root / "a" / "later.txt").symlink_to("../hub/late.txt")
    for name in ("a", "hub", "."):
        settle(assets.root / name)
    return assets


def swap(link: Path, target: str) -> None:
    link.unlink()
    link.symlink_to(target)


@pytest.mark.parametrize("path", ["/a/folder/f.txt", "/a/file.txt"])
def test_a_link_to_a_link_that_changes(linked: Assets, path: str) -> None:
    before = linked.get(path).body

    swap(linked.root / "hub" / "to", "../two")

    assert (before, linked.get(path).body) == (b"1", b"2")


def test_a_target_that_appears_and_goes(linked: Assets) -> None:
    seen = [linked.get("/a/later.txt").status]
    linked.write("hub/late.txt", "late")
    seen.append(linked.get("/a/later.txt").status)
    (linked.root / "hub" / "late.txt").unlink()
    seen.append(linked.get("/a/later.txt").status)

    assert seen == [404, 200, 404]


def test_a_target_that_becomes_a_folder(linked: Assets) -> None:
    linked.write("hub/late.txt", "late")
    assert linked.get("/a/later.txt").body == b"late"

    (linked.root / "hub" / "late.txt").unlink()
    linked.write("hub/late.txt/f.txt", "below")

    assert linked.get("/a/later.txt/f.txt").body == b"below"


def test_a_target_that_moves_out_of_the_directory(linked: Assets, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f.txt").write_text("secret")
    assert linked.get("/a/folder/f.txt").body == b"1"

    swap(linked.root / "hub" / "to", "../../outside")

    assert linked.get("/a/folder/f.txt").status == 404
    assert linked.get("/a/file.txt").status == 404


def test_rules_that_are_links_count_and_are_not_served(make: Any) -> None:
    assets: Assets = make({"a.txt": "a", "rules/one": "/x /one\n", "rules/two": "/x /two\n"})
    (assets.root / "_redirects").symlink_to("rules/one")
    settle(assets.root)
    before = assets.get("/x").location

    swap(assets.root / "_redirects", "rules/two")

    assert (before, assets.get("/x").location) == ("/one", "/two")
    assert assets.get("/_redirects").status == 404


class TestTheDirectoryItself:
    def releases(self, tmp_path: Path, make_link: Callable[[Path], None]) -> Assets:
        for number in ("1", "2"):
            release = tmp_path / "releases" / number
            release.mkdir(parents=True)
            (release / "f.txt").write_text(number)
            (release / "_redirects").write_text(f"/x /{number}\n")
            settle(release)
        make_link(tmp_path)
        return Assets(tmp_path / "public", {})

    def test_is_a_link_that_changes(self, tmp_path: Path) -> None:
        assets = self.releases(tmp_path, lambda at: (at / "public").symlink_to("releases/1"))
        before = assets.get("/f.txt").body, assets.get("/x").location

        swap(tmp_path / "public", "releases/2")

        assert before == (b"1", "/1")
        assert (assets.get("/f.txt").body, assets.get("/x").location) == (b"2", "/2")

    def test_lies_behind_a_link_that_changes(self, tmp_path: Path) -> None:
        self.releases(tmp_path, lambda at: (at / "public").symlink_to("releases/1"))
        (tmp_path / "current").symlink_to(".")
        assets = Assets(tmp_path / "current" / "public", {})
        assert assets.get("/f.txt").body == b"1"
        (tmp_path / "later" / "public").mkdir(parents=True)
        (tmp_path / "later" / "public" / "f.txt").write_text("later")

        swap(tmp_path / "current", "later")

        assert assets.get("/f.txt").body == b"later"

    def test_becomes_a_link(self, tmp_path: Path) -> None:
        assets = self.releases(tmp_path, lambda at: (at / "releases" / "1").rename(at / "public"))
        assert assets.get("/f.txt").body == b"1"

        (tmp_path / "public").rename(tmp_path / "old")
        (tmp_path / "public").symlink_to("releases/2")

        assert assets.get("/f.txt").body == b"2"

    def test_is_replaced_by_another(self, tmp_path: Path) -> None:
        assets = self.releases(tmp_path, lambda at: (at / "releases" / "1").rename(at / "public"))
        assert assets.get("/f.txt").body == b"1"

        (tmp_path / "public").rename(tmp_path / "old")
        (tmp_path / "releases" / "2").rename(tmp_path / "public")

        assert assets.get("/f.txt").body == b"2"

    def test_is_gone_for_a_while(self, tmp_path: Path) -> None:
        assets = self.releases(tmp_path, lambda at: (at / "public").symlink_to("releases/1"))
        seen = [assets.get("/f.txt").status]
        (tmp_path / "public").unlink()
        seen.append(assets.get("/f.txt").status)
        (tmp_path / "public").symlink_to("releases/2")
        seen.append(assets.get("/f.txt").status)

        assert seen == [200, 404, 200]
