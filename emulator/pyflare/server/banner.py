"""What is printed before the server is ready: the table of bindings, and how each worker is reached.

The forms are those of ``wrangler dev``: https://developers.cloudflare.com/workers/wrangler/commands/#dev
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyflare.config.kinds import Binding
    from pyflare.config.worker import LoadedConfig, WorkerConfig

__all__ = ["bindings_table", "reach", "secrets_line"]

_HEADER: Final = ("Binding", "Resource", "Mode")
_HIDDEN_KINDS: Final = ("vars", "secrets")


def bindings_table(config: WorkerConfig, *, named: bool) -> str:
    """The table of a worker's bindings, or a line that says there are none; ``named`` when several workers run."""
    who = config.name if named else "Your Worker"
    rows = [_row(binding) for binding in config.bindings()]
    if not rows:
        return f"{who} has no bindings." if named else "No bindings found."
    widths = [max(len(row[column]) for row in (_HEADER, *rows)) for column in range(2)]
    lines = [
        f"{row[0]:<{widths[0]}}      {row[1]:<{widths[1]}}      {row[2]}"
        for row in (_HEADER, *rows)
    ]
    return "\n".join((f"{who} has access to the following bindings:", *lines))


def _row(binding: Binding) -> tuple[str, str, str]:
    kind, name, entry = binding
    label = _printable(entry.label)
    cell = f"env.{name} ({label})" if label else f"env.{name}"
    if kind.value in _HIDDEN_KINDS:
        return cell, "Environment Variable", "local"
    return cell, kind.friendly, "local" if kind.is_emulated else "not supported"


def _printable(text: str) -> str:
    """Values come from files: a control character among them must not reach the terminal."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)


def secrets_line(loaded: Iterable[LoadedConfig], cwd: Path) -> str | None:
    """``Using secrets defined in .dev.vars``, naming every file that was read, or ``None``."""
    files = dict.fromkeys(file for each in loaded for file in each.secret_files)
    if not files:
        return None
    names = (os.path.relpath(file, cwd) for file in files)
    return f"Using secrets defined in {', '.join(names)}"


def reach(names: Sequence[str], routes: Mapping[str, Sequence[str]], url: str) -> str:
    """How each of several workers is reached. ``names`` in their order, ``routes`` the patterns by name."""
    scheme, _, authority = url.partition("://")
    port = authority.rpartition(":")[2]
    width = max(map(len, names))
    lines = ["Each Worker is reached as follows:"]
    for index, name in enumerate(names):
        ways = [f"{scheme}://{name}.localhost:{port}/", *routes.get(name, ())]
        if index == 0:
            ways.insert(0, f"{url}/")
        lines.append(f"  {name:<{width}}  {', '.join(ways)}")
    return "\n".join(lines)
