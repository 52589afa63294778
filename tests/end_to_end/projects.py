"""Worker projects written for one test."""

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATABASE = {"binding": "DB", "database_name": "main", "database_id": "main-0001"}


def write_project(
    directory: Path, source: str | Mapping[str, str], /, name: str = "worker", **config: Any
) -> Path:
    """Writes a Python worker into `directory` and returns the path of its configuration.

    `source` is the text of `src/entry.py`, or several texts by path below `directory`; `config` holds further keys."""
    files = {"src/entry.py": source} if isinstance(source, str) else source
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text))
    configuration = {
        "name": name,
        "main": "src/entry.py",
        "compatibility_date": "2026-05-01",
        "compatibility_flags": ["python_workers"],
    } | config
    target = directory / "wrangler.jsonc"
    target.write_text(json.dumps(configuration, indent=2))
    return target
