"""What goes into a bucket and comes out of it, as plain values."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from .bodies import Body

StorageClass = Literal["Standard", "InfrequentAccess"]
HashName = Literal["md5", "sha1", "sha256", "sha384", "sha512"]

#: Content in memory, or a stream of chunks that is read once. Memory must not change any more.
Content: TypeAlias = bytes | memoryview | AsyncIterable[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class HttpMetadata:
    """Headers stored with an object; `cache_expiry` in milliseconds since the epoch."""

    content_type: str | None = None
    content_language: str | None = None
    content_disposition: str | None = None
    content_encoding: str | None = None
    cache_control: str | None = None
    cache_expiry: int | None = None


NO_HTTP_METADATA = HttpMetadata()


class ByteRange(NamedTuple):
    """Part of an object, in bytes."""

    offset: int
    length: int


@dataclass(slots=True)
class R2Object:
    """What is known about an object.

    `uploaded` in milliseconds since the epoch; `checksums` by hash name, always with `md5` unless
    the object was uploaded in parts; the metadata is None where a listing did not include it;
    `range` is what a read covers, None for a write or in a listing.
    """

    key: str
    version: str
    size: int
    etag: str
    uploaded: int
    checksums: dict[str, bytes]
    http_metadata: HttpMetadata | None
    custom_metadata: dict[str, str] | None
    storage_class: StorageClass
    ssec_key_md5: str | None = None
    range: ByteRange | None = None


@dataclass(slots=True)
class R2ObjectBody(R2Object):
    """An object with its content, or with the asked part of it.

    The content stays as it was at the time of the read, whatever is written or deleted later.
    """

    body: Body = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """What is stored with an object. `ssec_key` is a customer's 32-byte key.

    Only the MD5 of the key is kept, to refuse reads without it; nothing is encrypted.
    """

    http_metadata: HttpMetadata = NO_HTTP_METADATA
    custom_metadata: dict[str, str] = field(default_factory=dict)
    storage_class: StorageClass = "Standard"
    ssec_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class Checksum:
    """A hash that the content has to have."""

    name: HashName
    value: bytes


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which keys to list. `include` names the kinds of metadata that the answer carries."""

    limit: int | None = None
    prefix: str = ""
    cursor: str | None = None
    delimiter: str = ""
    start_after: str | None = None
    include: frozenset[Literal["httpMetadata", "customMetadata"]] = frozenset()


@dataclass(frozen=True, slots=True)
class ListResult:
    """One page. `cursor` continues after it, and is there only when there is more."""

    objects: list[R2Object]
    delimited_prefixes: list[str]
    cursor: str | None

    @property
    def truncated(self) -> bool:
        """Whether there is another page."""
        return self.cursor is not None


class UploadedPart(NamedTuple):
    """A part of a multipart upload as its uploader knows it."""

    part_number: int
    etag: str
