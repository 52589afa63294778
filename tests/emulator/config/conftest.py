"""A project directory in which configurations are written and read."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyflare.config import ConfigError, LoadedConfig, load

TODAY = datetime.date(2026, 8, 25)
MINIMAL = {
    "name": "app",
    "main": "src/entry.py",
    "compatibility_date": "2026-01-01",
    "compatibility_flags": ["python_workers"],
}


class Project:
    """A directory with `src/entry.py`. Nothing of the real process environment reaches it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("src/entry.py", "")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def config(self, **settings: Any) -> Path:
        """A wrangler.jsonc that starts, with `settings` beside or instead of the usual ones;
        None leaves one out. One key a line."""
        merged = {k: v for k, v in {**MINIMAL, **settings}.items() if v is not None}
        lines = [f'  "{key}": {json.dumps(value)}' for key, value in merged.items()]
        return self.write("wrangler.jsonc", "{\n" + ",\n".join(lines) + "\n}\n")

    def load(self, path: Path | str | None = None, **options: Any) -> LoadedConfig:
        options = {"environ": {}, "today": TODAY, "cwd": self.root, **options}
        return load(None if path is None else Path(path), **options)

    def error(self, path: Path | str | None = None, **options: Any) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(path, **options)
        return caught.value

    def worker(self, environment: str | None = None, **settings: Any) -> Any:
        """The worker of a configuration with these settings."""
        self.config(**settings)
        return self.load(env=environment).worker

    def messages(self, level: str, environment: str | None = None, **settings: Any) -> list[str]:
        """The messages of one level about a configuration with these settings."""
        self.config(**settings)
        try:
            found = self.load(env=environment).diagnostics
        except ConfigError as error:
            found = error.diagnostics
        return [each.message for each in found if each.level == level]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def minimal() -> Mapping[str, Any]:
    return MINIMAL
