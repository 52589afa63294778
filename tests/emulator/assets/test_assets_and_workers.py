"""Assets in front of a Worker, behind its binding, and without any Worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyflare.config import ConfigError
from tests.emulator.conftest import Answer, Runner, request, write_worker

WORKER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = "/" + request.url.split("/", 3)[3]
        if path.startswith("/url/"):
            answer = await self.env.ASSETS.fetch("https://any.host/" + path[5:])
            return Response(await answer.text(), status=answer.status, headers={"x-url": answer.url})
        if path.startswith("/post/"):
            return await self.env.ASSETS.fetch("https://any.host/" + path[6:], method="POST")
        if path.startswith("/manual/"):
            return await self.env.ASSETS.fetch("https://any.host/" + path[8:], redirect="manual")
        if path.startswith("/size/"):
            answer = await self.env.ASSETS.fetch("https://any.host/" + path[6:])
            return Response(str(len(await answer.bytes())))
        if request.headers.get("x-pass"):
            return await self.env.ASSETS.fetch(request)
        return Response("the Worker")
"""

FILES = {"index.html": "home", "style.css": "body {}", "docs/index.html": "docs"}


def project(
    folder: Path,
    files: Mapping[str, str] = FILES,
    assets: Mapping[str, Any] = {},
    **config: Any,
) -> Path:
    for name, text in files.items():
        path = folder / "public" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    block = {"directory": "public", "binding": "ASSETS", **assets}
    return write_worker(folder, config.pop("source", WORKER), assets=block, **config)


def get(run: Runner, config: Path, path: str, **options: Any) -> Answer:
    return run(lambda flare: request(flare, path, **options), config)  # type: ignore[no-any-return]


def test_a_file_comes_before_the_worker(run: Runner, tmp_path: Path) -> None:
    answer = get(run, project(tmp_path), "/style.css")

    assert (answer.status, answer.body) == (200, b"body {}")
    assert ("content-type", "text/css; charset=utf-8") in answer.headers
    assert ("content-length", "7") in answer.headers


def test_the_worker_answers_the_rest(run: Runner, tmp_path: Path) -> None:
    assert get(run, project(tmp_path), "/api").body == b"the Worker"


def test_the_worker_may_go_first(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"run_worker_first": True})

    assert get(run, config, "/style.css").body == b"the Worker"
    assert get(run, config, "/style.css", headers={"x-pass": "1"}).body == b"body {}"


def test_requests_for_assets_are_logged(run: Runner, tmp_path: Path) -> None:
    get(run, project(tmp_path), "/style.css?x=1")

    assert "[wrangler:info] GET /style.css 200 OK" in run.out.text


def test_a_file_does_not_run_the_worker(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, source="raise ValueError('broken')\n")

    assert get(run, config, "/style.css").status == 200
    assert get(run, config, "/api").status == 500


# The binding.


@pytest.mark.parametrize(
    ("path", "status", "body", "url"),
    [
        ("/url/style.css", 200, "body {}", "https://any.host/style.css"),
        ("/url/style.css?x=1#y", 200, "body {}", None),
        ("/url/docs", 200, "docs", "https://any.host/docs/"),
        ("/url/docs/index.html", 200, "docs", "https://any.host/docs/"),
        ("/url/", 200, "home", "https://any.host/"),
        ("/url/missing", 404, "", "https://any.host/missing"),
        ("/url/api", 404, "", None),
    ],
)
def test_the_binding_answers_with_the_asset_and_follows_redirects(
    run: Runner, tmp_path: Path, path: str, status: int, body: str, url: str | None
) -> None:
    answer = get(run, project(tmp_path), path)

    assert (answer.status, answer.text) == (status, body)
    assert url is None or ("x-url", url) in answer.headers


def test_a_redirect_is_given_back_when_asked_to(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"run_worker_first": True})

    manual = get(run, config, "/manual/docs")
    passed = get(run, config, "/docs?x=1", headers={"x-pass": "1"})

    assert (manual.status, dict(manual.headers)["location"]) == (307, "/docs/")
    assert (passed.status, dict(passed.headers)["location"]) == (307, "/docs/?x=1")


def test_the_binding_refuses_other_methods(run: Runner, tmp_path: Path) -> None:
    answer = get(run, project(tmp_path), "/post/style.css")

    assert (answer.status, answer.body) == (405, b"")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_the_binding_gives_can_be_answered_with(
    run: Runner, tmp_path: Path, method: str
) -> None:
    config = project(tmp_path, assets={"run_worker_first": True})

    answer = get(run, config, "/style.css", method=method, headers={"x-pass": "1"})

    assert answer.status == 200
    assert answer.body == (b"body {}" if method == "GET" else b"")
    headers = dict(answer.headers)
    assert headers["content-type"] == "text/css; charset=utf-8"
    assert headers["content-length"] == "7"
    assert headers["etag"].startswith('"')


def test_a_conditional_request_goes_through_the_binding(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"run_worker_first": True})

    async def program(flare: Any) -> Any:
        first = await request(flare, "/style.css", headers={"x-pass": "1"})
        tag = dict(first.headers)["etag"]
        return await request(flare, "/style.css", headers={"x-pass": "1", "if-none-match": tag})

    answer = run(program, config)

    assert (answer.status, answer.body) == (304, b"")


def test_the_binding_streams_a_large_file(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, {"large.txt": "x" * 1_000_000})

    assert get(run, config, "/size/large.txt").text == "1000000"


def test_the_binding_gives_the_page_for_missing_files(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"not_found_handling": "single-page-application"})

    answer = get(run, config, "/url/profile")

    assert (answer.status, answer.body) == (200, b"home")


def test_rules_of_headers_are_seen_through_the_binding(run: Runner, tmp_path: Path) -> None:
    files = {**FILES, "_headers": "/*\n  X-A: from the rules\n"}
    config = project(tmp_path, files, assets={"run_worker_first": True})

    answer = get(run, config, "/style.css", headers={"x-pass": "1"})
    other = get(run, config, "/api")

    assert ("x-a", "from the rules") in answer.headers
    assert "x-a" not in dict(other.headers)


# Without a Worker.


def assets_only(folder: Path, files: Mapping[str, str] = FILES, **assets: Any) -> Path:
    for name, text in files.items():
        path = folder / "public" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    config = folder / "wrangler.json"
    block = {"directory": "public", **assets}
    config.write_text(
        json.dumps({"name": "static", "compatibility_date": "2026-05-01", "assets": block})
    )
    return config


@pytest.mark.parametrize(
    ("path", "method", "status", "body"),
    [
        ("/", "GET", 200, b"home"),
        ("/docs/", "GET", 200, b"docs"),
        ("/missing", "GET", 404, b""),
        ("/style.css", "POST", 405, b""),
        ("/missing", "POST", 404, b""),
    ],
)
def test_a_project_of_assets_alone(
    run: Runner, tmp_path: Path, path: str, method: str, status: int, body: bytes
) -> None:
    answer = get(run, assets_only(tmp_path), path, method=method)

    assert (answer.status, answer.body) == (status, body)


def test_assets_alone_reload_with_their_configuration(run: Runner, tmp_path: Path) -> None:
    config = assets_only(tmp_path)

    async def program(flare: Any) -> Any:
        before = await request(flare, "/missing")
        settings = json.loads(config.read_text())
        settings["assets"]["not_found_handling"] = "single-page-application"
        config.write_text(json.dumps(settings))
        await flare.reload(config)
        return before.status, (await request(flare, "/missing")).status

    assert run(program, config) == (404, 200)


def test_assets_that_a_reload_removes_are_gone(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path)

    async def program(flare: Any) -> Any:
        before = await request(flare, "/style.css")
        settings = json.loads(config.read_text())
        del settings["assets"]
        config.write_text(json.dumps(settings))
        await flare.reload(config)
        return before.text, (await request(flare, "/style.css")).text

    assert run(program, config) == ("body {}", "the Worker")


def test_two_workers_have_their_own_assets(run: Runner, tmp_path: Path) -> None:
    one = project(tmp_path / "one", {"name.txt": "one"})
    two = project(tmp_path / "two", {"name.txt": "two"})

    async def program(flare: Any) -> Any:
        return [
            (await request(flare, "/name.txt", host=f"{name}.localhost")).text
            for name in ("one", "two")
        ]

    assert run(program, one, two) == ["one", "two"]


CALLER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        answer = await self.env.SITE.fetch(request)
        return Response(await answer.text(), status=answer.status)
"""


@pytest.mark.parametrize(
    ("path", "method", "status", "body"),
    [
        ("/style.css", "GET", 200, b"body {}"),
        ("/style.css", "POST", 405, b""),
        ("/api", "GET", 200, b"the Worker"),
    ],
)
def test_a_service_binding_meets_the_assets_first(
    run: Runner, tmp_path: Path, path: str, method: str, status: int, body: bytes
) -> None:
    caller = write_worker(
        tmp_path / "caller",
        {"src/caller.py": CALLER},
        main="src/caller.py",
        services=[{"binding": "SITE", "service": "site"}],
    )
    site = project(tmp_path / "site")

    answer = run(lambda flare: request(flare, path, method=method), caller, site)

    assert (answer.status, answer.body) == (status, body)


# With a route, workers and assets see its host, and clients their own.


def test_redirects_lead_to_the_address_that_the_client_used(run: Runner, tmp_path: Path) -> None:
    rules = (
        "/go https://books.example.com/a\n/t https://myexample.com/b\n/own https://example.com/c\n"
    )
    config = project(
        tmp_path,
        {**FILES, "_redirects": rules},
        routes=["example.com/*"],
        dev={"upstream_protocol": "https"},
    )

    async def program(flare: Any) -> Any:
        answers = [await request(flare, path) for path in ("/go", "/t", "/own", "/docs")]
        return [dict(each.headers)["location"] for each in answers]

    assert run(program, config) == [
        "https://books.example.com/a",
        "https://myexample.com/b",
        "/c",
        "/docs/",
    ]


# What a deploy would refuse is refused at the start.


def test_a_directory_with_the_workers_code_is_refused(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"directory": "."})

    with pytest.raises(ConfigError, match=r"contains the Worker's own code \(/src/entry.py\)"):
        get(run, config, "/")


def test_code_that_is_ignored_may_lie_in_the_directory(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path, assets={"directory": "."})
    (tmp_path / ".assetsignore").write_text("src\n")
    (tmp_path / ".dev.vars").write_text("TOKEN=secret\n")

    async def program(flare: Any) -> Any:
        paths = [
            "/public/style.css",
            "/wrangler.json",
            "/src/entry.py",
            "/.dev.vars",
            "/.pyflare/x",
        ]
        return [(await request(flare, path)).text for path in paths]

    (tmp_path / ".pyflare").mkdir()
    (tmp_path / ".pyflare/x").write_text("state")

    assert run(program, config) == ["body {}", *["the Worker"] * 4]


def test_a_file_over_the_limit_is_refused(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path)
    with (tmp_path / "public/large.bin").open("wb") as file:
        file.truncate((25 << 20) + 1)

    with pytest.raises(ConfigError, match=r"The asset /large.bin has 25.0 MiB"):
        get(run, config, "/")


def test_a_file_at_the_limit_is_served(run: Runner, tmp_path: Path) -> None:
    config = project(tmp_path)
    with (tmp_path / "public/large.bin").open("wb") as file:
        file.truncate(25 << 20)

    assert len(get(run, config, "/large.bin").body) == 25 << 20


@pytest.mark.parametrize("name", ["_worker.js", "_worker.js/index.js"])
def test_a_worker_among_the_assets_is_refused_unless_ignored(
    run: Runner, tmp_path: Path, name: str
) -> None:
    config = project(tmp_path, {**FILES, name: ""})

    with pytest.raises(ConfigError, match=r"contains a _worker.js"):
        get(run, config, "/")

    (tmp_path / "public/.assetsignore").write_text("_worker.js\n")
    assert get(run, config, "/").status == 200


def test_too_many_files_are_refused(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyflare.assets import inspection

    monkeypatch.setattr(inspection, "MAX_FILES", 2)

    with pytest.raises(ConfigError, match=r"more than 2 files"):
        get(run, project(tmp_path), "/")
