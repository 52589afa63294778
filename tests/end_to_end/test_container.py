"""The container image, as far as it can be tried without a builder: what it starts, and what it is made of."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .dev_server import READY, client_for, environment, eventually, free_port
from .projects import write_project

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
START = ROOT / "container" / "start.py"
SMOKE = ROOT / "container" / "smoke"

SOURCE = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        await self.env.KV.put("seen", "yes")
        return Response("fine")
"""
WITH_PACKAGE = """
import greeting
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(greeting.TEXT)
"""
NAMESPACE = [{"binding": "KV", "id": "kv"}]


class Container:
    """The image's entry point with the places of the image moved into a temporary directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "app"
        self.port = free_port()
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = environment(
            PYFLARE_PROJECT=str(self.project),
            PYFLARE_STATE=str(folder / "state"),
            PYFLARE_PACKAGES=str(folder / "packages"),
            PYFLARE_PORT=str(self.port),
            PIP_NO_INDEX="1",
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(START), *arguments]

    def run(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment | changes,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, **changes: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command("--ip", "127.0.0.1"),
                env=self.environment | changes,
                stdout=log,
                stderr=log,
            )

    def wait_until_ready(self) -> None:
        process = self.process
        assert process is not None

        def ready() -> object:
            found = READY.search(self.output())
            assert found or process.poll() is None, self.output()
            return found

        eventually(ready, "the Ready line")

    def output(self) -> str:
        return self.log.read_text()

    def get(self) -> str:
        with client_for(self.port) as client:
            return client.get("/").text

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    made = Container(tmp_path)
    made.project.mkdir()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def wheel(folder: Path, text: str) -> Path:
    """A package `greeting` that can be installed without a network."""
    path = folder / "greeting-1.0-py3-none-any.whl"
    described = "greeting-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("greeting.py", f"TEXT = {text!r}\n")
        file.writestr(
            f"{described}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n"
        )
        file.writestr(
            f"{described}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{described}/RECORD", "")
    return path


def instruction(name: str) -> list[str]:
    """The arguments of every such instruction of the Dockerfile."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name}\s+(.*)$", joined, re.MULTILINE)


def test_the_mounted_project_is_served_and_keeps_its_state_apart(container: Container) -> None:
    write_project(container.project, SOURCE, kv_namespaces=NAMESPACE)
    container.start()
    container.wait_until_ready()

    assert container.get() == "fine"
    assert container.stop() == 0
    assert list((container.folder / "state").rglob("*.sqlite"))
    assert not (container.project / ".pyflare").exists()


def test_the_health_check_of_the_image_follows_the_server(container: Container) -> None:
    (check,) = instruction("HEALTHCHECK")
    python, *arguments = json.loads(check[check.index("CMD") + len("CMD") :])
    assert python == "python3"
    command = [sys.executable, *arguments]
    write_project(container.project, SOURCE, kv_namespaces=NAMESPACE)

    before = subprocess.run(command, env=container.environment, capture_output=True, check=False)
    container.start()
    container.wait_until_ready()
    while_up = subprocess.run(command, env=container.environment, capture_output=True, check=False)

    assert (before.returncode, while_up.returncode) == (1, 0)


def test_options_come_behind_those_of_the_image(container: Container) -> None:
    write_project(container.project, SOURCE, kv_namespaces=NAMESPACE)

    done = container.run("--port", "no number")

    assert done.returncode == 2
    assert "'no number' is not a port number" in done.stderr


def test_any_other_command_runs_in_the_project(container: Container) -> None:
    write_project(container.project, SOURCE, kv_namespaces=NAMESPACE)

    done = container.run("state", "export", str(container.folder / "out"), "--json")

    assert done.returncode == 0
    assert [each["id"] for each in json.loads(done.stdout)] == ["kv"]


def test_a_directory_without_a_project_is_told(container: Container) -> None:
    done = container.run()

    assert done.returncode == 1
    assert f"{container.project} has no wrangler.json, wrangler.jsonc, wrangler.toml" in done.stderr
    assert "mount a project there" in done.stderr


def test_a_service_can_wait_for_the_checkout(container: Container) -> None:
    container.start(PYFLARE_WAIT_SECONDS="30")
    time.sleep(0.5)
    assert container.process is not None
    assert container.process.poll() is None
    write_project(container.project, SOURCE, kv_namespaces=NAMESPACE)

    container.wait_until_ready()

    assert container.get() == "fine"


def test_it_can_be_stopped_while_it_waits(container: Container) -> None:
    container.start(PYFLARE_WAIT_SECONDS="30")
    time.sleep(0.5)

    assert container.stop() == 128 + signal.SIGTERM


@pytest.mark.parametrize("list_file", ["pyproject.toml", "requirements.txt"])
def test_the_packages_of_the_project_are_there(container: Container, list_file: str) -> None:
    write_project(container.project, WITH_PACKAGE)
    wanted = f"greeting @ {wheel(container.folder, 'hello').as_uri()}"
    if list_file == "pyproject.toml":
        text = f'[project]\nname = "x"\nversion = "1"\ndependencies = ["{wanted}"]\n'
    else:
        text = f"# what the Worker needs\n{wanted}\n"
    (container.project / list_file).write_text(text)
    container.start()
    container.wait_until_ready()

    assert container.get() == "hello"


def test_packages_are_installed_once_for_each_list(container: Container) -> None:
    write_project(container.project, WITH_PACKAGE)
    wanted = f"greeting @ {wheel(container.folder, 'hello').as_uri()}"
    (container.project / "requirements.txt").write_text(wanted)

    first = container.run("--port", "x")
    second = container.run("--port", "x")

    assert "Installing 1 packages of the project" in first.stderr
    assert "Installing" not in second.stderr


def test_packages_that_cannot_be_installed_are_told(container: Container) -> None:
    write_project(container.project, SOURCE)
    (container.project / "requirements.txt").write_text("no-such-package-anywhere\n")

    done = container.run()

    assert done.returncode == 1
    assert "no-such-package-anywhere" in done.stderr
    assert "The packages of the project could not be installed" in done.stderr
    assert list((container.folder / "packages").iterdir()) == []


def test_a_project_file_with_a_mistake_is_told(container: Container) -> None:
    write_project(container.project, SOURCE)
    (container.project / "pyproject.toml").write_text("[project\n")

    done = container.run()

    assert done.returncode == 1
    assert f"{container.project / 'pyproject.toml'}: " in done.stderr


def test_a_place_for_packages_that_cannot_be_made_is_told(container: Container) -> None:
    write_project(container.project, SOURCE)
    (container.project / "requirements.txt").write_text("anything\n")
    (container.folder / "packages").write_text("a file")

    done = container.run()

    assert done.returncode == 1
    assert "packages cannot be made (File exists): mount a volume there" in done.stderr


def test_the_image_runs_unprivileged_with_its_state_in_volumes() -> None:
    (user,) = instruction("USER")
    (volumes,) = instruction("VOLUME")
    (entry,) = instruction("ENTRYPOINT")

    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert set(json.loads(volumes)) == {"/state", "/packages"}
    assert json.loads(entry) == ["python3", "/opt/pyflare/start.py"]
    assert instruction("STOPSIGNAL") == ["SIGTERM"]
    assert not instruction("CMD")


def test_what_the_image_copies_is_there_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    sources = [
        source
        for line in instruction("COPY")
        if "--from" not in line
        for source in line.split()[:-1]
    ]

    assert {"pyproject.toml", "README.md", "LICENSE", "emulator", "bindings"} <= set(sources)
    assert all((ROOT / source).exists() for source in sources)
    assert not set(sources) & set(ignored)


def test_the_smoke_test_says_that_there_is_no_builder(tmp_path: Path) -> None:
    alone: dict[str, Any] = {"env": os.environ | {"PATH": str(tmp_path)}, "text": True}
    command = [sys.executable, str(SMOKE), "some-image"]

    skipped = subprocess.run(command, capture_output=True, check=False, **alone)
    required = subprocess.run([*command, "--required"], capture_output=True, check=False, **alone)

    assert skipped.stdout.startswith("SKIPPED: the container image was not built")
    assert (skipped.returncode, required.returncode) == (0, 1)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such bit")
def test_the_smoke_test_can_be_run() -> None:
    assert os.access(SMOKE, os.X_OK)
