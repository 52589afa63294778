"""``pyflare dev`` as a person or a script uses it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest


def test_ready_line_names_the_url(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello").ready()
    running.until(lambda: "Ready on" in running.out)
    assert f"[wrangler:info] Ready on http://127.0.0.1:{running.port}\n" in running.out


def test_ready_file_tells_how_to_reach_the_server(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello").ready()
    told = json.loads(running.ready_file.read_text())
    assert told == {
        "url": f"http://127.0.0.1:{running.port}",
        "ip": "127.0.0.1",
        "port": running.port,
        "pid": running.process.pid,
    }
    running.stop()
    assert not running.ready_file.exists()


def test_worker_answers_and_requests_are_logged(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello").ready()
    assert running.get("/x?y") == (200, "hello")
    running.until(lambda: "[wrangler:info] GET /x 200 OK (" in running.out)


def test_health_endpoint_answers(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    assert dev(tmp_path / "hello").ready().get("/cdn-cgi/local/health") == (200, "ok")


def test_variables_of_the_command_line_win_and_are_hidden(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    source = (
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        return Response(self.env.MODE)\n"
    )
    project(tmp_path / "hello", source, vars={"MODE": "configured"})
    running = dev(tmp_path / "hello", "--var", "MODE:given").ready()
    assert running.get() == (200, "given")
    assert 'env.MODE ("(hidden)")' in running.out


def test_several_workers_answer_each_under_its_name(dev: Any, project: Any, tmp_path: Path) -> None:
    source = (
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        return Response('{}')\n"
    )
    one = project(tmp_path / "one", source.format("one"))
    two = project(tmp_path / "two", source.format("two"), routes=["two.example.com/*"])
    running = dev(tmp_path, "-c", str(one), "-c", str(two)).ready()
    assert running.get() == (200, "one")
    assert running.get(host="two.localhost") == (200, "two")
    assert running.get(host="two.example.com") == (200, "two")
    running.until(lambda: "[wrangler:info] [two] GET / 200 OK" in running.out)
    assert f"  two  http://two.localhost:{running.port}/, two.example.com/*" in running.out


def test_route_of_the_configuration_is_what_the_worker_sees(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    source = (
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        return Response(request.url)\n"
    )
    project(tmp_path / "hello", source, route="a.example.com/*")
    running = dev(tmp_path / "hello").ready()
    assert running.get("/x") == (200, "http://a.example.com/x")


def test_host_of_the_command_line_wins_over_the_route(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    source = (
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        return Response(request.url)\n"
    )
    project(tmp_path / "hello", source, route="a.example.com/*")
    running = dev(tmp_path / "hello", "--host", "b.example.com:444").ready()
    assert running.get("/x") == (200, "http://b.example.com:444/x")


def test_worker_that_fails_at_import_answers_with_the_traceback(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "broken", "import a_module_that_does_not_exist\n")
    running = dev(tmp_path / "broken").ready()
    for _ in range(2):
        status, text = running.get(**{"user-agent": "curl/8"})
        assert status == 500
        assert "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'" in text
        assert "entry.py" in text
    assert "✘ [ERROR] Uncaught ModuleNotFoundError" in running.err


def test_worker_that_raises_does_not_end_the_process(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    source = (
        "import sys\n"
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        if request.url.endswith('/exit'):\n"
        "            sys.exit(3)\n"
        "        return Response('fine')\n"
    )
    project(tmp_path / "hello", source)
    running = dev(tmp_path / "hello").ready()
    assert running.get("/exit")[0] == 500
    assert running.get("/") == (200, "fine")


def test_configuration_error_exits_with_1(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello", name="Not A Name")
    running = dev(tmp_path / "hello")
    assert running.wait() == 1
    assert "✘ [ERROR]" in running.err
    assert 'Expected "name" to be of type string' in running.err


def test_missing_configuration_file_exits_with_1(dev: Any, tmp_path: Path) -> None:
    running = dev(tmp_path, "-c", "missing.toml")
    assert running.wait() == 1
    assert "missing.toml" in running.err
    assert "Traceback" not in running.err


def test_busy_port_exits_with_1(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        running = dev(tmp_path / "hello", "--port", str(port))
        assert running.wait() == 1
    assert f"✘ [ERROR] Address already in use (127.0.0.1:{port})." in running.err


def test_second_process_on_the_same_state_exits_with_1_and_names_the_first(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "hello")
    first = dev(tmp_path / "hello").ready()
    second = dev(tmp_path / "hello", "--ready-file", str(tmp_path / "second.json"))
    assert second.wait() == 1
    assert f"is in use by process {first.process.pid}" in second.err
    assert first.get() == (200, "hello")


def test_directory_that_does_not_exist_exits_with_1(dev: Any, tmp_path: Path) -> None:
    running = dev(tmp_path, "--cwd", "missing")
    assert running.wait() == 1
    assert "--cwd missing: No such file or directory" in running.err


def test_state_goes_where_persist_to_says(dev: Any, project: Any, tmp_path: Path) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello", "--persist-to", "elsewhere").ready()
    assert (tmp_path / "hello" / "elsewhere").is_dir()
    assert not (tmp_path / "hello" / ".pyflare").exists()
    assert running.stop() == 0


def test_state_directory_that_cannot_be_used_exits_with_1(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "hello")
    (tmp_path / "hello" / "file").write_text("")
    running = dev(tmp_path / "hello", "--persist-to", "file/state")
    assert running.wait() == 1
    assert (
        "file/state cannot be used: Not a directory. Choose another with --persist-to."
        in running.err
    )


@pytest.mark.parametrize(
    ("name", "why"), [("none/ready.json", "No such file or directory"), (".", "Is a directory")]
)
def test_ready_file_that_cannot_be_written_exits_with_1_before_anything_starts(
    dev: Any, project: Any, tmp_path: Path, name: str, why: str
) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello", "--ready-file", name)
    assert running.wait() == 1
    assert f"--ready-file {name} cannot be written: {why}. Name another file." in running.err
    assert "Traceback" not in running.err
    assert not (tmp_path / "hello" / ".pyflare").exists()


@pytest.mark.parametrize("level", ["none", "error"])
def test_quiet_levels_print_nothing(dev: Any, project: Any, tmp_path: Path, level: str) -> None:
    project(tmp_path / "hello")
    running = dev(tmp_path / "hello", "--log-level", level).ready()
    running.get()
    running.stop()
    assert (running.out, running.err) == ("", "")


def test_output_that_nobody_reads_does_not_stop_the_server(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    noisy = (
        "from js import console\n"
        "from workers import Response, WorkerEntrypoint\n"
        "class Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        for _ in range(100):\n"
        "            console.log('x' * 1000)\n"
        "        return Response('fine')\n"
    )
    project(tmp_path / "noisy", noisy)
    running = dev(tmp_path / "noisy", read=False).ready()
    for _ in range(5):
        assert running.get() == (200, "fine")
