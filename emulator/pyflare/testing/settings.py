"""What a test wants of its Pyflare: from the ini file, the fixtures and the marker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["MARKER", "base_options", "marked_options"]

MARKER = "pyflare"

#: What the marker may say; all are arguments of :class:`pyflare.Pyflare`.
_MARKED = frozenset(
    {
        "bindings",
        "clock",
        "configs",
        "cron",
        "env",
        "env_files",
        "outbound",
        "overrides",
        "persist_to",
        "vars",
    }
)


def base_options(config: pytest.Config, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for every test, ``overrides`` being those of the ``pyflare_options`` fixture."""
    options: dict[str, Any] = {"cwd": config.rootpath}
    # While the first conftest.py is loaded, this is all there is of the command line.
    files = config.known_args_namespace.pyflare_config or config.getini("pyflare_config")
    if files:
        options["configs"] = [Path(config.rootpath, each) for each in files]
    environment = config.getini("pyflare_env")
    if environment:
        options["env"] = environment
    options.update(overrides)
    return options


def marked_options(node: pytest.Item, base: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with what the test's markers say; ``vars`` and ``bindings`` come beside those of outer ones.

    Fails the test for a marker that says something else.
    """
    options = dict(base)
    for marker in reversed(list(node.iter_markers(MARKER))):
        unknown = set(marker.kwargs) - _MARKED
        if unknown or marker.args:
            pytest.fail(
                f"@pytest.mark.pyflare of {node.nodeid} takes {', '.join(sorted(_MARKED))} by name, not "
                f"{', '.join(sorted(unknown)) or 'positional arguments'}.",
                pytrace=False,
            )
        for name, value in marker.kwargs.items():
            known = options.get(name)
            merged = isinstance(value, Mapping) and isinstance(known, Mapping)
            options[name] = {**known, **value} if merged else value  # type: ignore[dict-item]
    return options
