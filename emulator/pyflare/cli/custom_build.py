"""``build.command``: it runs before the Workers are loaded, and again when what it watches has changed.

Source: https://developers.cloudflare.com/workers/wrangler/custom-builds/
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyflare.config.diagnostics import ConfigError
from pyflare.server.log import LogSink

if TYPE_CHECKING:
    from pyflare.config import LoadedConfig

__all__ = ["CustomBuilds"]

_PREFIX: Final = "[custom build]"
#: Seconds that a command has to end in after it was asked to.
_PATIENCE: Final = 5.0
_CHUNK: Final = 64 * 1024


class CustomBuilds:
    """The build commands of a session's configurations.

    Args: ``read`` reads a configuration, None the one that is found by itself, without the checks of a start: a build
    may have to make what they ask for.
    """

    def __init__(self, read: Callable[[Path | None], LoadedConfig], log: LogSink) -> None:
        self._read = read
        self._log = log
        #: Of each configuration what its command has just written below the directories that it watches.
        self._written: dict[Path, set[Path]] = {}
        #: What it writes there every time.
        self._outputs: dict[Path, set[Path]] = {}
        self._ran: dict[Path, tuple[int, int]] = {}

    def first(self, configurations: Sequence[Path | None]) -> int | None:
        """Run all, one after the other. None when the Workers can be loaded, else the exit code."""
        wanted = []
        for path in configurations:
            try:
                loaded = self._read(path)
            except ConfigError:
                # Whoever loads the Workers says what is wrong.
                continue
            if loaded.worker.build.command is not None:
                wanted.append(loaded)
        return asyncio.run(self._run_all(wanted)) if wanted else None

    async def _run_all(self, wanted: Sequence[LoadedConfig]) -> int | None:
        task = asyncio.current_task()
        assert task is not None
        if sys.platform != "win32":
            # As Ctrl-C does, so that no command is left behind.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            for loaded in wanted:
                if not await self._run(loaded):
                    return 1
        except asyncio.CancelledError:
            return 0
        return None

    async def again(self, loaded: LoadedConfig, changed: set[Path]) -> bool | None:
        """Run it again if these changes concern it: None when they do not, else whether it went well."""
        path = loaded.user_path or loaded.path
        if path is None:
            return None
        watched = {
            each
            for each in changed
            if any(map(each.is_relative_to, loaded.worker.build.watch_dirs))
        }
        is_news = self._is_news(path, watched)
        if not changed.isdisjoint(loaded.files):
            try:
                loaded = self._read(path)
            except ConfigError:
                # The reload that follows says what is wrong.
                return None
        elif not is_news:
            return None
        return None if loaded.worker.build.command is None else await self._run(loaded)

    def _is_news(self, path: Path, watched: set[Path]) -> bool:
        """Whether somebody else than the command itself has changed these files.

        After a first run that has changed some there is one more, for somebody may have saved meanwhile; what has
        changed in both is the command's own doing, until it changes at another time.
        """
        during = {each for each in watched if self._changed_meanwhile(path, each)}
        outputs = self._outputs.setdefault(path, set())
        outputs -= watched - during
        found = (during & self._written.get(path, set())) - outputs
        self._written[path] = during
        if found:
            outputs |= found
            self._log.warning(
                f"{_PREFIX} The command writes into the directory that it watches: "
                f"{', '.join(sorted(each.name for each in found)[:3])}. That does not start it again; "
                '"build.watch_dir" names what it is made from.'
            )
        return not watched <= outputs

    def _changed_meanwhile(self, path: Path, file: Path) -> bool:
        began, ended = self._ran.get(path, (0, 0))
        try:
            return began <= file.stat().st_mtime_ns <= ended
        except OSError:
            return False

    async def _run(self, loaded: LoadedConfig) -> bool:
        build, worker, log = loaded.worker.build, loaded.worker, self._log
        assert build.command is not None
        log.say(f"{_PREFIX} Running: {build.command}")
        log.flush()
        began = time.time_ns()
        try:
            good = await self._succeeds(build.command, build.cwd)
        except OSError as error:
            log.error(f'"build.cwd" {build.cwd or "."}: {error.strerror or error}')
            good = False
        path = loaded.user_path or loaded.path
        if path is not None:
            self._ran[path] = (began, time.time_ns())
        if not good:
            log.error(
                f"Running custom build `{build.command}` failed. There are likely more logs from your build command "
                "above."
            )
        elif worker.main is not None and not worker.main.exists():
            good = False
            name = "configuration" if path is None else path.name
            log.error(
                f'The expected output file at "{_shown(worker.main)}" was not found after running custom build: '
                f"{build.command}.\nThe `main` property in your {name} file should point to the file generated by the "
                "custom build."
            )
        log.flush()
        return good

    async def _succeeds(self, command: str, cwd: str | None) -> bool:
        process = await asyncio.create_subprocess_shell(
            command,
            cwd=cwd,
            env={**os.environ, "WRANGLER_COMMAND": "dev"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # So that it can be ended together with all that it has started.
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            rest = b""
            while chunk := await process.stdout.read(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                self._print(lines)
            self._print([rest] if rest else [])
            return await process.wait() == 0
        except asyncio.CancelledError:
            await _end(process)
            raise

    def _print(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._log.say(f"{_PREFIX} {line.decode(errors='replace').rstrip()}")
        self._log.flush()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a command that nobody waits for any more, with what it has started."""
    if sys.platform == "win32":
        process.terminate()
        return
    _signal_all(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    # Also when the shell has ended: what it has started may not listen.
    _signal_all(process, signal.SIGKILL)
    await process.wait()


def _signal_all(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _shown(path: Path) -> str:
    """Relative to the working directory where it is below it, as wrangler shows it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
