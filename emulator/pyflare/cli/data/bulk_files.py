"""The list of files that ``r2 bulk put`` uploads.

Source: wrangler's ``src/r2/helpers/bulk.ts``
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .command import CommandError
from .json_text import parse_json

__all__ = ["read_files"]


def read_files(cwd: Path, given: Path) -> list[tuple[str, Path, int]]:
    """Key, file and length in bytes of each entry; relative paths start at ``cwd``.

    Raises CommandError, before anything is uploaded, for a list or a file that cannot be used.
    """
    return [_entry(cwd, given, each) for each in _list_of(cwd, given)]


def _list_of(cwd: Path, given: Path) -> list[Any]:
    path = cwd / given
    if not path.exists():
        raise CommandError(f'The file "{given}" does not exist.')
    try:
        entries = parse_json(path.read_bytes())
    except OSError:
        raise CommandError(f'The file "{given}" is not readable.') from None
    except ValueError:
        raise CommandError(f'The file "{given}" is not a valid JSON.') from None
    if not isinstance(entries, list):
        raise CommandError(f'The file "{given}" must contain an array of entries.')
    return entries


def _entry(cwd: Path, given: Path, entry: Any) -> tuple[str, Path, int]:
    match entry:
        case {"key": str(key), "file": str(file)}:
            path = cwd / file
        case _:
            raise CommandError(
                f'Each entry in the file "{given}" must be an object with "key" and "file" string properties.'
            )
    if not path.exists():
        raise CommandError(f'The file "{file}" does not exist.')
    if not path.is_file():
        raise CommandError(f'The path "{file}" is not a file.')
    return key, path, path.stat().st_size
