"""Secrets, configurations and state are never served, whoever they belong to and whenever they come."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.assets.conftest import Assets
from tests.emulator.conftest import Runner, request, write_worker

SECRET = "TOKEN=secret"

NAMES = [
    ".env",
    ".env.local",
    ".env.staging",
    ".env.staging.local",
    ".dev.vars",
    ".dev.vars.staging",
    ".ENV",
    ".Dev.Vars",
    "wrangler.toml",
    "wrangler.json",
    "wrangler.jsonc",
    ".wrangler/state/x",
    ".pyflare/state/x",
]
STATIC = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("the Worker", status=404)
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", ["", "below/"])
def test_a_file_with_such_a_name_is_no_asset(make: Any, name: str, folder: str) -> None:
    assets = make({f"{folder}{name}": SECRET, "a.txt": "a"})

    assert assets.get(f"/{folder}{name}").status == 404
    assert assets.get("/a.txt").status == 200


@pytest.mark.parametrize("name", NAMES)
def test_a_link_neither_leads_to_it_nor_has_its_name(make: Any, name: str) -> None:
    assets: Assets = make({f"below/{name}": SECRET, "a.txt": "a"})
    (assets.root / "link.txt").symlink_to(f"below/{name}")
    (assets.root / os.path.basename(name)).symlink_to("a.txt")

    assert assets.get("/link.txt").status == 404
    served = assets.get(f"/{os.path.basename(name)}").status
    assert served == (200 if name.endswith("/x") else 404)


@pytest.mark.parametrize("name", [".env", ".dev.vars", ".env.production"])
def test_it_stays_hidden_when_it_comes_while_the_site_is_served(make: Any, name: str) -> None:
    assets: Assets = make({"a.txt": "a"})
    assert assets.get("/a.txt").status == 200

    assets.write(name, SECRET)

    assert assets.get(f"/{name}").status == 404


@pytest.mark.parametrize("name", [".environment", ".env-docs/index.html", "a.env", "dev.vars"])
def test_names_that_only_look_alike_are_assets(make: Any, name: str) -> None:
    path = name.removesuffix("index.html")

    assert make({name: "public"}).get(f"/{path}").body == b"public"


def worker(folder: Path, name: str, directory: str | None, **config: Any) -> Path:
    assets = {} if directory is None else {"assets": {"directory": directory}}
    return write_worker(folder, STATIC, name=name, **assets, **config)


def test_files_that_were_named_are_hidden(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "tokens.txt").write_text(SECRET)
    (tmp_path / "project" / ".assetsignore").write_text("*.py\n")
    config = worker(tmp_path / "project", "one", ".")

    async def program(flare: Any) -> Any:
        return [(await request(flare, path)).body for path in ("/tokens.txt", "/wrangler.json")]

    answers = run(program, config, env_files=["tokens.txt"])

    assert answers == [b"the Worker"] * 2


def test_a_configuration_below_its_assets_is_hidden(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "site" / "conf").mkdir(parents=True)
    for name in (".dev.vars", ".env.staging"):
        (tmp_path / "site" / "conf" / name).write_text(SECRET)
    (tmp_path / "site" / ".assetsignore").write_text("*.py\n")
    config = worker(tmp_path / "site" / "conf", "one", "..")

    async def program(flare: Any) -> Any:
        paths = ("/conf/.dev.vars", "/conf/.env.staging", "/conf/wrangler.json")
        return [(await request(flare, path)).body for path in paths]

    assert run(program, config) == [b"the Worker"] * 3


@pytest.mark.parametrize("first", ["the owner of the secret", "the site"])
def test_what_another_worker_names_is_hidden(run: Runner, tmp_path: Path, first: str) -> None:
    site = worker(tmp_path / "site", "site", "public")
    own = worker(tmp_path / "site" / "public" / "other", "other", None)
    named = own.with_name("settings.json")
    own.rename(named)
    (tmp_path / "site" / "public" / ".assetsignore").write_text("*.py\n")
    configs = [named, site] if first == "the owner of the secret" else [site, named]

    async def program(flare: Any) -> Any:
        served = flare._sites.by_worker["site"]
        from pyflare.assets.site import Asked

        asked = Asked("GET", "http://x/other/settings.json", "/other/settings.json", "")
        return (await served.fetch(asked)).status

    assert run(program, *configs) == 404


def test_a_configuration_that_breaks_stops_the_assets_until_it_is_mended(
    run: Runner, tmp_path: Path
) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "a.txt").write_text("a")
    config = worker(tmp_path, "one", "public")
    good = config.read_text()

    async def program(flare: Any) -> Any:
        from pyflare.config import ConfigError

        seen = [(await request(flare, "/a.txt")).status]
        config.write_text(json.dumps({**json.loads(good), "vars": 1}))
        with pytest.raises(ConfigError):
            await flare.reload(config)
        broken = await request(flare, "/a.txt")
        seen.append(broken.status)
        config.write_text(good)
        await flare.reload(config)
        seen.append((await request(flare, "/a.txt")).status)
        return seen, broken.text

    seen, text = run(program, config)

    assert seen == [200, 500, 200]
    assert "vars" in text


def test_where_a_link_to_secrets_leads_is_hidden_also_after_it_has_changed(
    run: Runner, tmp_path: Path
) -> None:
    config = worker(tmp_path, "one", ".")
    (tmp_path / ".assetsignore").write_text("*.py\n")
    for name in ("first.txt", "second.txt"):
        (tmp_path / name).write_text(SECRET)
    (tmp_path / ".dev.vars").symlink_to("first.txt")

    async def program(flare: Any) -> Any:
        seen = [(await request(flare, "/first.txt")).body]
        (tmp_path / ".dev.vars").unlink()
        (tmp_path / ".dev.vars").symlink_to("second.txt")
        await flare.reload(config)
        seen.append((await request(flare, "/second.txt")).body)
        return seen

    assert run(program, config) == [b"the Worker"] * 2
