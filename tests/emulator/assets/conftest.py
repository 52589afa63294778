"""Directories of assets, and sites that answer from them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyflare.assets.contents import FileBody
from pyflare.assets.site import Answer, Asked, Site, SiteSettings


@dataclass
class Told:
    """A log that keeps what it is told."""

    said: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def warning(self, text: str) -> None:
        self.warned.append(text)


@dataclass
class Got:
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    length: int

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def location(self) -> str | None:
        return self.get("location")


async def read(answer: Answer) -> Got:
    body = answer.body
    data = b"".join([part async for part in body]) if isinstance(body, FileBody) else body or b""
    return Got(answer.status, answer.headers, data, answer.length)


class Assets:
    """A directory and its site."""

    def __init__(self, root: Path, files: Mapping[str, str | bytes], **settings: Any) -> None:
        self.root = root
        self.log = Told()
        root.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            self.write(name, content)
        self.site = Site(SiteSettings(directory=root, **settings), self.log)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    async def asked(
        self, path: str, method: str, headers: Mapping[str, str], binding: bool
    ) -> Got | None:
        plain, _, query = path.partition("?")
        asked = Asked.read(
            method,
            f"http://site.test:8787{path}",
            plain,
            query,
            [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        )
        answer = await (self.site.fetch(asked) if binding else self.site.answer(asked))
        return None if answer is None else await read(answer)

    def answer(self, path: str, method: str = "GET", **headers: str) -> Got | None:
        """What a client is answered; None where the Worker answers. Header names are written with underscores."""
        return asyncio.run(self.asked(path, method, _named(headers), binding=False))

    def get(self, path: str, method: str = "GET", **headers: str) -> Got:
        """What the assets answer, the Worker aside."""
        got = asyncio.run(self.asked(path, method, _named(headers), binding=True))
        assert got is not None
        return got


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.fixture
def make(tmp_path: Path) -> Any:
    def build(files: Mapping[str, str | bytes], **settings: Any) -> Assets:
        return Assets(tmp_path / "public", files, **settings)

    return build
