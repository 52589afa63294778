"""A bucket driven at random behaves like a dictionary with the platform's rules."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.r2 import (
    WILDCARD,
    Conditions,
    Etag,
    Limits,
    ListOptions,
    ObjectOptions,
    R2Bucket,
    R2Error,
    UploadedPart,
    WantedRange,
)

LIMITS = Limits(part=8, in_row=16)
KEYS = st.sampled_from(
    ["", "a", "a/", "a/b", "a/b/c", "a/c", "a0", "b", "b/é", "b/e\u0301", "\uffff", "😀", "z\0z"]
)
CONTENTS = st.binary(max_size=40)
PREFIXES = st.sampled_from(["", "a", "a/", "b/", "x", "😀"])
DELIMITERS = st.sampled_from(["", "/", "b", "/b"])
METADATA = st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3), max_size=2)
NUMBERS = st.integers(1, 4)


def identity(key: str) -> str:
    return unicodedata.normalize("NFC", key)


@dataclass
class Stored:
    """An object in the model."""

    spelling: str
    content: bytes
    etag: str
    uploaded: int
    metadata: dict[str, str]


@dataclass
class Upload:
    """An upload in the model."""

    id: str
    key: str
    state: str = "open"
    parts: dict[int, bytes] = field(default_factory=dict)


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


class BucketMachine(RuleBasedStateMachine):
    durability: Any = "process"

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "a.sqlite"
        self.clock = ManualClock()
        self.model: dict[str, Stored] = {}
        self.uploads: list[Upload] = []
        self.etags = ["none"]
        self.open()

    def open(self) -> None:
        self.bucket = R2Bucket("a", self.path, self.clock, self.durability, limits=LIMITS)

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def now(self) -> int:
        return int(self.clock.now() * 1000)

    @rule(
        key=KEYS,
        content=CONTENTS,
        metadata=METADATA,
        streamed=st.booleans(),
        condition=st.sampled_from(
            ["none", "match", "other", "absent", "present", "before", "after"]
        ),
        which=st.integers(0, 50),
    )
    def put(
        self,
        key: str,
        content: bytes,
        metadata: dict[str, str],
        streamed: bool,
        condition: str,
        which: int,
    ) -> None:
        old = self.model.get(identity(key))
        etag = self.etags[which % len(self.etags)]
        now = self.now()
        conditions, holds = {
            "none": (None, True),
            "match": (Conditions(etag_matches=(Etag(etag),)), old is not None and old.etag == etag),
            "other": (
                Conditions(etag_does_not_match=(Etag(etag),)),
                old is None or old.etag != etag,
            ),
            "absent": (Conditions(etag_does_not_match=(WILDCARD,)), old is None),
            "present": (Conditions(etag_matches=(WILDCARD,)), old is not None),
            "before": (Conditions(uploaded_before=now), old is None or old.uploaded < now),
            "after": (
                Conditions(uploaded_after=now - 1000),
                old is not None and old.uploaded > now - 1000,
            ),
        }[condition]

        async def chunks() -> Any:
            for at in range(0, len(content), 7):
                yield content[at : at + 7]

        found = self.run(
            self.bucket.put(
                key,
                chunks() if streamed else content,
                ObjectOptions(custom_metadata=metadata),
                length=len(content) if streamed else None,
                conditions=conditions,
            )
        )
        assert (found is not None) is holds
        if holds:
            assert (found.key, found.size, found.etag) == (key, len(content), md5(content))
            self.model[identity(key)] = Stored(key, content, md5(content), now, metadata)
            self.etags.append(found.etag)

    @rule(
        key=KEYS,
        offset=st.none() | st.integers(0, 45),
        length=st.none() | st.integers(0, 45),
        suffix=st.none() | st.integers(0, 45),
    )
    def get(self, key: str, offset: int | None, length: int | None, suffix: int | None) -> None:
        stored = self.model.get(identity(key))
        wanted = WantedRange(suffix=suffix) if suffix is not None else WantedRange(offset, length)
        if stored is None:
            assert self.run(self.bucket.get(key, range=wanted)) is None
            return
        content = stored.content
        if suffix is not None:
            expected = content[-suffix:] if suffix else b""
        else:
            end = None if length is None else (offset or 0) + length
            expected = content[offset or 0 : end]
        if not expected and wanted != WantedRange():
            with pytest.raises(R2Error, match="not satisfiable"):
                self.run(self.bucket.get(key, range=wanted))
            return
        found = self.run(self.bucket.get(key, range=wanted))
        assert bytes(self.run(found.body.read())) == expected
        assert (found.key, found.size, found.etag) == (stored.spelling, len(content), stored.etag)
        assert (found.uploaded, found.custom_metadata) == (stored.uploaded, stored.metadata)

    @rule(keys=st.lists(KEYS, max_size=4))
    def delete(self, keys: list[str]) -> None:
        self.run(self.bucket.delete(keys))
        for key in keys:
            self.model.pop(identity(key), None)

    @rule(
        prefix=PREFIXES,
        delimiter=DELIMITERS,
        start=st.none() | KEYS,
        limit=st.integers(1, 5),
    )
    def walk(self, prefix: str, delimiter: str, start: str | None, limit: int) -> None:
        names = sorted(self.model, key=str.encode)
        wanted = [
            name
            for name in names
            if name.startswith(prefix)
            and (start is None or name.encode() > identity(start).encode())
        ]
        objects: list[str] = []
        prefixes: list[str] = []
        for name in wanted:
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            if at < 0:
                objects.append(self.model[name].spelling)
            elif name[: at + len(delimiter)] not in prefixes:
                prefixes.append(name[: at + len(delimiter)])
        seen: tuple[list[str], list[str]] = ([], [])
        cursor = None
        while True:
            page = self.run(
                self.bucket.list(
                    ListOptions(limit, prefix, cursor, delimiter, None if cursor else start)
                )
            )
            count = len(page.objects) + len(page.delimited_prefixes)
            assert count == limit if page.truncated else count <= limit
            seen[0].extend(found.key for found in page.objects)
            seen[1].extend(page.delimited_prefixes)
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == (objects, prefixes)

    @rule(key=KEYS)
    def create_upload(self, key: str) -> None:
        self.uploads.append(Upload(self.run(self.bucket.uploads.create(key)), key))

    @rule(which=st.integers(0, 20), number=NUMBERS, content=st.binary(min_size=6, max_size=10))
    def upload_part(self, which: int, number: int, content: bytes) -> None:
        if not self.uploads:
            return
        upload = self.uploads[which % len(self.uploads)]
        request = self.bucket.uploads.upload_part(upload.key, upload.id, number, content)
        if upload.state != "open":
            self.refused(request, 10024)
            return
        assert self.run(request) == UploadedPart(number, md5(content))
        upload.parts[number] = content

    @rule(which=st.integers(0, 20), numbers=st.lists(NUMBERS, unique=True, max_size=4))
    def complete(self, which: int, numbers: list[int]) -> None:
        if not self.uploads:
            return
        upload = self.uploads[which % len(self.uploads)]
        parts = [UploadedPart(n, md5(upload.parts.get(n, b"?"))) for n in numbers]
        request = self.bucket.uploads.complete(upload.key, upload.id, parts)
        sizes = [len(upload.parts.get(n, b"")) for n in numbers]
        ordered = [len(upload.parts.get(n, b"")) for n in sorted(numbers)]
        if upload.state != "open":
            self.refused(request, 10024)
        elif any(n not in upload.parts for n in numbers):
            self.refused(request, 10025)
        elif any(size < LIMITS.part for size in sizes[:-1]):
            self.refused(request, 10011)
        elif ordered and (
            any(size != ordered[0] or size < LIMITS.part for size in ordered[:-1])
            or ordered[-1] > ordered[0]
        ):
            self.refused(request, 10048)
        else:
            made = self.run(request)
            content = b"".join(upload.parts[n] for n in sorted(numbers))
            digests = b"".join(hashlib.md5(upload.parts[n]).digest() for n in sorted(numbers))
            assert made.etag == f"{md5(digests)}-{len(numbers)}"
            upload.state = "completed"
            self.model[identity(upload.key)] = Stored(
                upload.key, content, made.etag, self.now(), {}
            )
            self.etags.append(made.etag)

    @rule(which=st.integers(0, 20))
    def abort(self, which: int) -> None:
        if self.uploads:
            upload = self.uploads[which % len(self.uploads)]
            self.run(self.bucket.uploads.abort(upload.key, upload.id))
            if upload.state == "open":
                upload.state = "aborted"

    def refused(self, request: Any, code: int) -> None:
        with pytest.raises(R2Error) as caught:
            self.run(request)
        assert caught.value.code == code

    @rule(seconds=st.sampled_from([0.0, 0.5, 2.0]))
    def pass_time(self, seconds: float) -> None:
        self.run(self.clock.advance(seconds))

    @rule()
    def restart(self) -> None:
        self.run(self.bucket.close())
        self.open()

    @invariant()
    def heads_agree(self) -> None:
        for stored in self.model.values():
            found = self.run(self.bucket.head(stored.spelling))
            assert (found.etag, found.size) == (stored.etag, len(stored.content))

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self.bucket.close())
            wanted = sum(len(each.parts) for each in self.uploads if each.state == "open")
            blobs = list(Path(self.directory.name).glob("*.blobs/*"))
            assert len(blobs) == wanted + self.blobs_of_objects()
            self.runner.close()
            self.directory.cleanup()

    def blobs_of_objects(self) -> int:
        """How many files the objects need: one each, or one for each part."""
        return sum(
            int(stored.etag.partition("-")[2])
            if "-" in stored.etag
            else len(stored.content) > LIMITS.in_row
            for stored in self.model.values()
        )


class MachineDurability(BucketMachine):
    durability = "machine"


BucketMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
MachineDurability.TestCase.settings = settings(
    max_examples=8, stateful_step_count=20, deadline=None
)
TestBucket = BucketMachine.TestCase
TestBucketAtDurabilityMachine = MachineDurability.TestCase
