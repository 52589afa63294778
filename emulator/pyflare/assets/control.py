"""The control files of a directory, read again when they change: ``.assetsignore``, ``_headers``, ``_redirects``."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from .directory import Folder, Ignored
from .header_rules import HeaderRules, parse_headers
from .ignore_rules import CONTROL_FILES, HEADERS, IGNORE, REDIRECTS, ignores
from .redirect_rules import RedirectRules, parse_redirects
from .rule_urls import Complaint

__all__ = ["AssetsLog", "Control", "Signature", "read_control", "signature"]

_Stamp: TypeAlias = tuple[int, ...]

#: What tells one state of the control files from another; ``None`` for a file that is not there.
Signature: TypeAlias = tuple[_Stamp | None, ...]


class AssetsLog(Protocol):
    """Where a person reads what became of the rules."""

    def say(self, text: str) -> None: ...
    def warning(self, text: str) -> None: ...


def signature(root: Folder) -> Signature:
    """The state of the control files. One system call for each that is there."""
    return tuple(
        _of(os.path.join(root.path, name)) if name in root.left_out else None
        for name in CONTROL_FILES
    )


def _of(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


@dataclass(slots=True)
class Control:
    """What the control files say. ``texts`` are their contents, by name."""

    ignored: Ignored
    headers: HeaderRules
    redirects: RedirectRules
    texts: dict[str, str] = field(default_factory=dict)

    def tell(self, log: AssetsLog, before: Control | None) -> None:
        """Say how many rules count, and what is wrong with the others, for each file that has changed."""
        for name, kind, rules in (
            (HEADERS, "header", self.headers),
            (REDIRECTS, "redirect", self.redirects),
        ):
            text = self.texts.get(name)
            if text is None or (before is not None and before.texts.get(name) == text):
                continue
            log.say(f"✨ Parsed {_counted(len(rules), 'valid', kind)}.")
            if rules.complaints:
                listed = "".join(_shown(each, name) for each in rules.complaints)
                log.warning(
                    f"Found {_counted(len(rules.complaints), 'invalid', kind)}:\n{listed}".rstrip()
                )


def _counted(count: int, what: str, kind: str) -> str:
    return f"{count} {what} {kind} rule{'' if count == 1 else 's'}"


def _shown(complaint: Complaint, name: str) -> str:
    text = f"▶︎ {complaint.problem}\n"
    return (
        f"{text}    at {name}:{complaint.number} | {complaint.line}\n" if complaint.line else text
    )


def read_control(root: Folder, html_handling: str) -> Control:
    """Read the files at the root of a directory; one that is missing, or cannot be read, says nothing. Blocks."""
    texts = {}
    for name in CONTROL_FILES:
        path = os.path.join(root.path, name)
        if _of(path) is None:
            continue
        try:
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                texts[name] = file.read()
        except OSError:
            continue
    return Control(
        ignores(texts.get(IGNORE, "")),
        parse_headers(texts.get(HEADERS, "")),
        parse_redirects(texts.get(REDIRECTS, ""), html_handling),
        texts,
    )
