"""What `remote` on a binding means where nothing is ever remote.

pyflare does not reach deployed resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .kinds import BindingKind
from .report import Report


def check_local_support(
    blocks: Iterable[tuple[BindingKind, tuple[Any, ...]]], report: Report
) -> None:
    """Report, for the entries of each kind, what cannot be had locally."""
    for kind, entries in blocks:
        for entry in entries:
            _check(kind, entry.binding, getattr(entry, "remote", None), entry.position, report)


def _check(kind: BindingKind, name: str, remote: bool | None, at: Any, report: Report) -> None:
    if kind in (BindingKind.UNSAFE, BindingKind.LOGFWDR, BindingKind.ASSETS):
        return
    match kind.support, remote:
        case ("local/remote" | "remote", True) if kind.is_emulated:
            report.warning(
                f'{name} sets "remote": true, but the deployed resource is not reached: a local '
                "one is used.",
                at=at,
            )
        case ("local", True):
            report.error(
                f"{kind.friendly} bindings do not support accessing remote resources.", at=at
            )
        case ("remote" | "always remote", False) if not kind.is_emulated:
            report.error(
                f"{kind.friendly} bindings do not support local development: there is no local "
                f'simulator for {name}. Remove "remote": false from the binding.',
                at=at,
            )
