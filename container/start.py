"""What the container image runs: the project's packages, then `pyflare` in the place of this process.

    docker run pyflare                             serve the project in /app
    docker run pyflare --env staging               the same, with options of `pyflare dev`
    docker run pyflare d1 execute DB --command ... any other command of pyflare, in the project's directory

What a project lists in `pyproject.toml` (`project.dependencies`) or `requirements.txt` is installed into the volume
/packages when it is new or has changed. Environment variables: PYFLARE_PROJECT, the project's directory;
PYFLARE_PACKAGES, where packages are kept; PYFLARE_STATE, the state directory; PYFLARE_PORT, default 8787;
PYFLARE_WAIT_SECONDS, how long to wait for a configuration to appear, default 0.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

CONFIGURATIONS = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")
LOOK_SECONDS = 0.2
TERMINATED = 128 + signal.SIGTERM


class StartError(Exception):
    """Why nothing can be started; the text says what to do."""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Become `pyflare`. Raises StartError."""
    # The first process of a container ignores signals that it does not handle itself.
    signal.signal(signal.SIGTERM, _end)
    project = Path(environ.get("PYFLARE_PROJECT", "/app"))
    wait_for(project, float(environ.get("PYFLARE_WAIT_SECONDS", "0")))
    packages = install(project, Path(environ.get("PYFLARE_PACKAGES", "/packages")))
    os.chdir(project)
    environment = dict(environ)
    if packages is not None:
        known = [environ["PYTHONPATH"]] if environ.get("PYTHONPATH") else []
        environment["PYTHONPATH"] = os.pathsep.join([str(packages), *known])
    command = command_line(arguments, environ)
    os.execve(sys.executable, [sys.executable, "-m", "pyflare", *command], environment)


def command_line(arguments: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """What `pyflare` is given."""
    if arguments and not arguments[0].startswith("-"):
        return list(arguments)
    port, state = environ.get("PYFLARE_PORT", "8787"), environ.get("PYFLARE_STATE", "/state")
    return ["dev", "--ip", "0.0.0.0", "--port", port, "--persist-to", state, *arguments]


def wait_for(project: Path, seconds: float) -> None:
    """Wait until the project is there; services of a CI job start before its checkout. Raises StartError."""
    until = time.monotonic() + seconds
    while not any((project / name).is_file() for name in CONFIGURATIONS):
        if time.monotonic() >= until:
            raise StartError(
                f"{project} has no {', '.join(CONFIGURATIONS)}: mount a project there, for example with "
                f'-v "$PWD:{project}", or name its directory in PYFLARE_PROJECT.'
            )
        time.sleep(LOOK_SECONDS)


def install(project: Path, packages: Path) -> Path | None:
    """Install what the project asks for, once for each list. Gives the directory, None for no packages.

    Raises StartError.
    """
    wanted = requirements(project)
    if not wanted:
        return None
    version = "{}.{}".format(*sys.version_info)
    digest = hashlib.sha256("\n".join([version, *wanted]).encode()).hexdigest()[:16]
    target = packages / digest
    if target.is_dir():
        return target
    print(f"Installing {len(wanted)} packages of the project", file=sys.stderr, flush=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=_writable(packages)))
    listed = unfinished / "requirements.txt"
    listed.write_text("".join(f"{each}\n" for each in wanted))
    options = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", "--quiet"]
    pip = [sys.executable, "-m", "pip", "install", *options, "--target", str(unfinished)]
    try:
        done = subprocess.run([*pip, "-r", str(listed)], check=False, cwd=project)
        if done.returncode:
            raise StartError(
                "The packages of the project could not be installed (see above). Correct the list, or build an image "
                "that has them: FROM this one, then USER root and RUN pip install."
            )
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def requirements(project: Path) -> list[str]:
    """What the project asks for, in the words of pip."""
    described = project / "pyproject.toml"
    if described.is_file():
        try:
            table = tomllib.loads(described.read_text("utf-8")).get("project", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise StartError(f"{described}: {error}. Correct the file.") from error
        if found := list(table.get("dependencies", ())):
            return found
    listed = project / "requirements.txt"
    if not listed.is_file():
        return []
    lines = (line.strip() for line in listed.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _writable(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory
        problem = "cannot be written by this user"
    except OSError as error:
        problem = f"cannot be made ({error.strerror})"
    raise StartError(f"{directory} {problem}: mount a volume there that it can write to.")


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(TERMINATED)


if __name__ == "__main__":
    try:
        main(sys.argv[1:], os.environ)
    except StartError as error:
        sys.exit(str(error))
