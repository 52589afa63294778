"""``build.command``: before the start, and again when what it watches changes."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .test_reloading import ANSWER

READS_A_FILE = """\
from pathlib import Path

from workers import Response, WorkerEntrypoint

TEXT = (Path(__file__).parent / "made.txt").read_text()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(TEXT)
"""


def python(code: str) -> str:
    """A command line that runs a piece of Python."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def copies(source: str, target: str) -> str:
    """A command that notes each run in `runs.txt` and makes one file of another."""
    return python(
        f"from pathlib import Path as P; P({target!r}).write_text(P({source!r}).read_text());"
        "open('runs.txt', 'a').write('run\\n')"
    )


def runs(directory: Path) -> int:
    """How often a command of :func:`copies` has run."""
    return len((directory / "runs.txt").read_text().splitlines())


def until_gone(process: int) -> None:
    """Wait for the end of a process that nobody may be there to take notice of."""
    deadline = time.monotonic() + 10
    while Path(f"/proc/{process}/stat").exists():
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def frontend(project: Any, tmp_path: Path) -> Path:
    """A project whose command makes a file of the Worker from one of the folder `frontend`."""
    directory = tmp_path / "app"
    (directory / "frontend").mkdir(parents=True)
    (directory / "frontend" / "text.css").write_text("one")
    command = copies("frontend/text.css", "src/made.txt")
    project(directory, READS_A_FILE, build={"command": command, "watch_dir": "frontend"})
    return directory


def test_it_runs_before_the_worker_is_loaded(dev: Any, frontend: Path) -> None:
    assert dev(frontend).ready().get() == (200, "one")


def test_it_makes_the_directory_of_assets(dev: Any, project: Any, tmp_path: Path) -> None:
    directory = tmp_path / "site"
    command = python("import os; os.mkdir('public'); open('public/index.html', 'w').write('made')")
    project(directory, build={"command": command}, assets={"directory": "public"})
    assert dev(directory).ready().get() == (200, "made")


def test_it_makes_the_main_module(dev: Any, project: Any, tmp_path: Path) -> None:
    directory = tmp_path / "made"
    source = ANSWER.format(text="'made'")
    command = python(f"import os; os.mkdir('dist'); open('dist/entry.py', 'w').write({source!r})")
    project(directory, build={"command": command}, main="dist/entry.py")
    assert dev(directory).ready().get() == (200, "made")


def test_what_it_prints_is_shown_line_by_line(dev: Any, project: Any, tmp_path: Path) -> None:
    command = python("import sys; print('one\\ntwo'); sys.stderr.write('three')")
    project(tmp_path / "talks", build={"command": command})
    running = dev(tmp_path / "talks").ready()
    assert f"[custom build] Running: {command}\n" in running.out
    for word in ("one", "two", "three"):
        assert f"[custom build] {word}\n" in running.out


def test_it_learns_that_it_runs_for_dev_and_where(dev: Any, project: Any, tmp_path: Path) -> None:
    directory = tmp_path / "asks"
    (directory / "deep").mkdir(parents=True)
    command = python(
        "import os; print(os.environ['WRANGLER_COMMAND'], os.path.basename(os.getcwd()))"
    )
    project(directory, build={"command": command, "cwd": "deep"})
    assert "[custom build] dev deep\n" in dev(directory).ready().out


def test_the_environments_own_command_is_the_one(dev: Any, project: Any, tmp_path: Path) -> None:
    project(
        tmp_path / "app",
        build={"command": python("print('top')")},
        env={"staging": {"build": {"command": python("print('staging')")}}},
    )
    running = dev(tmp_path / "app", "--env", "staging").ready()
    assert "[custom build] staging\n" in running.out
    assert "[custom build] top\n" not in running.out


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            {"command": "exit 3"},
            "Running custom build `exit 3` failed. There are likely more logs from your build command above.",
        ),
        ({"command": "true", "cwd": "nowhere"}, '"build.cwd" nowhere: No such file or directory'),
    ],
)
def test_a_command_that_fails_ends_the_start(
    dev: Any, project: Any, tmp_path: Path, build: dict[str, str], said: str
) -> None:
    project(tmp_path / "app", build=build)
    running = dev(tmp_path / "app")
    assert running.wait() == 1
    assert said in running.err


def test_a_command_that_does_not_make_the_main_module_ends_the_start(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    project(tmp_path / "app", build={"command": "true"}, main="dist/entry.py")
    running = dev(tmp_path / "app")
    assert running.wait() == 1
    assert (
        'The expected output file at "dist/entry.py" was not found after running custom build: true.\n'
    ) in running.err
    assert "The `main` property in your wrangler.json file should point to" in running.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_a_command_that_runs_with_what_it_has_started(
    dev: Any, project: Any, tmp_path: Path, number: int
) -> None:
    directory = tmp_path / "app"
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); print('up', flush=True); time.sleep(600)"
    project(directory, build={"command": f"{python(code)}; true"})
    running = dev(directory)
    running.until(lambda: "[custom build] up" in running.out)
    assert running.stop(number) == 0
    assert "Traceback" not in running.err
    until_gone(int((directory / "pid").read_text()))


def test_a_change_of_any_kind_of_file_it_watches_starts_it_again(dev: Any, frontend: Path) -> None:
    running = dev(frontend).ready()
    (frontend / "frontend" / "text.css").write_text("two")
    running.until(lambda: running.get() == (200, "two"))


def test_a_change_of_the_configuration_starts_the_new_command(
    dev: Any, project: Any, frontend: Path
) -> None:
    running = dev(frontend).ready()
    command = python("open('src/made.txt', 'w').write('by the new one')")
    project(frontend, READS_A_FILE, build={"command": command, "watch_dir": "frontend"})
    running.until(lambda: running.get() == (200, "by the new one"))


def test_a_change_elsewhere_does_not_start_it(dev: Any, frontend: Path) -> None:
    running = dev(frontend).ready()
    entry = frontend / "src" / "entry.py"
    entry.write_text(READS_A_FILE.replace("Response(TEXT)", "Response('changed')"))
    running.until(lambda: running.get() == (200, "changed"))
    assert runs(frontend) == 1


def test_a_failure_leaves_the_worker_as_it_was_until_the_next_change(
    dev: Any, frontend: Path
) -> None:
    running = dev(frontend).ready()
    source = frontend / "frontend" / "text.css"
    source.write_bytes(b"\xff")
    running.until(lambda: "There are likely more logs" in running.err)
    assert running.get() == (200, "one")
    source.write_text("two")
    running.until(lambda: running.get() == (200, "two"))


def test_a_command_that_writes_where_it_watches_does_not_run_for_ever(
    dev: Any, project: Any, tmp_path: Path
) -> None:
    directory = tmp_path / "app"
    (directory / "src").mkdir(parents=True)
    (directory / "src" / "source.css").write_text("one")
    command = copies("src/source.css", "src/made.txt")
    project(directory, READS_A_FILE, build={"command": command})
    running = dev(directory).ready()
    (directory / "src" / "source.css").write_text("two")
    running.until(lambda: running.get() == (200, "two"))
    running.until(
        lambda: "The command writes into the directory that it watches: made.txt." in running.err
    )
    assert runs(directory) <= 3
    (directory / "src" / "source.css").write_text("three")
    running.until(lambda: running.get() == (200, "three"))


def test_a_session_that_joins_runs_its_own(
    dev: Any, project: Any, frontend: Path, tmp_path: Path
) -> None:
    project(tmp_path / "owner")
    state = str(tmp_path / "state")
    dev(tmp_path / "owner", "--persist-to", state).ready()
    joined = dev(frontend, "--persist-to", state).ready()
    assert "[custom build] Running: " in joined.out
    (frontend / "frontend" / "text.css").write_text("two")
    joined.until(lambda: joined.get() == (200, "two"))
