"""A file that appears under its name once all of it is written."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Self

from .command import CommandError

__all__ = ["WholeFile"]


class WholeFile:
    """Writes beside the file and puts it in place at the end; after a failure everything is as before.

    A path that is not an ordinary file, such as a pipe, is written to directly. Raises CommandError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
        self._direct = path.exists() and not path.is_file()

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path if self._direct else self._temporary, "wb")
        except OSError as failure:
            raise self._failed(failure) from failure
        return self

    def write(self, data: bytes) -> None:
        """Write the next bytes."""
        try:
            self._file.write(data)
        except OSError as failure:
            raise self._failed(failure) from failure

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
            if kind is None and not self._direct:
                self._temporary.replace(self._path)
        except OSError as failure:
            raise self._failed(failure) from failure
        finally:
            if not self._direct:
                with contextlib.suppress(OSError):
                    self._temporary.unlink()

    def _failed(self, failure: OSError) -> CommandError:
        return CommandError(
            f"{self._path} cannot be written: {failure.strerror or failure}. Choose another file."
        )
