"""R2's objects as JavaScript sees them: what ``head``, ``get``, ``put`` and ``list`` give.

Source: https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2object-definition
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from pyflare.js.buffer import ArrayBuffer
from pyflare.js.date import Date
from pyflare.js.error import TypeError_
from pyflare.js.headers import Headers
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance, JsObject
from pyflare_bindings.r2 import HttpMetadata, R2Object, R2ObjectBody

from .conversion import struct_object
from .r2_content import ObjectContent

__all__ = ["Checksums", "GetResult", "HeadResult", "show"]

# V8 gives the platform's lazy properties from the last to the first.
_FIELDS: Final = (
    "ssecKeyMd5",
    "storageClass",
    "range",
    "customMetadata",
    "httpMetadata",
    "uploaded",
    "checksums",
    "httpEtag",
    "etag",
    "size",
    "version",
    "key",
)
_HASHES: Final = ("md5", "sha1", "sha256", "sha384", "sha512")


class Checksums(JsInstance, js_name="Checksums"):
    """``object.checksums``: each known hash as an ArrayBuffer, the same at each look; the others undefined."""

    def __init__(self, digests: dict[str, bytes]) -> None:
        self._digests = digests

    def _buffer(self, name: str) -> Any:
        digest = self._digests.get(name)
        return None if digest is None else ArrayBuffer.adopt(digest)

    @cached_property
    def md5(self) -> Any:
        return self._buffer("md5")

    @cached_property
    def sha1(self) -> Any:
        return self._buffer("sha1")

    @cached_property
    def sha256(self) -> Any:
        return self._buffer("sha256")

    @cached_property
    def sha384(self) -> Any:
        return self._buffer("sha384")

    @cached_property
    def sha512(self) -> Any:
        return self._buffer("sha512")

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        for name in reversed(_HASHES):
            yield name, getattr(self, name)

    def toJSON(self, *_: Any) -> JsObject:
        """The known hashes in lower-case hex, the others unset."""
        digests = self._digests
        return struct_object(
            {name: digests[name].hex() if name in digests else None for name in _HASHES}
        )


class HeadResult(JsInstance, js_name="HeadResult"):
    """An object without its content."""

    def __init__(self, found: R2Object) -> None:
        self._found = found
        self.key = found.key
        self.version = found.version
        self.size = found.size
        self.etag = found.etag

    @property
    def httpEtag(self) -> str:
        return f'"{self.etag}"'

    @property
    def storageClass(self) -> str:
        # The local tools say nothing here; production names the class.
        return self._found.storage_class

    @property
    def ssecKeyMd5(self) -> str | None:
        return self._found.ssec_key_md5

    @cached_property
    def uploaded(self) -> Any:
        return Date.from_milliseconds(self._found.uploaded)

    @cached_property
    def checksums(self) -> Any:
        return Checksums._make(self._found.checksums)

    @cached_property
    def range(self) -> Any:
        part = self._found.range
        if part is None:
            return None
        return struct_object({"offset": part.offset, "length": part.length, "suffix": None})

    @cached_property
    def httpMetadata(self) -> Any:
        metadata = self._found.http_metadata
        return None if metadata is None else struct_object(_shown(metadata))

    @cached_property
    def customMetadata(self) -> Any:
        metadata = self._found.custom_metadata
        return None if metadata is None else JsObject.adopt(dict(metadata))

    def writeHttpMetadata(self, headers: Any = None, /, *_: Any, **__: Any) -> None:
        """Set the headers that are stored with the object, and leave the others.

        Raises: TypeError for a value that no header can carry, and where a listing left the metadata out.
        """
        if not isinstance(headers, Headers):
            raise TypeError_(
                "Failed to execute 'writeHttpMetadata' on 'HeadResult': parameter 1 is not of type 'Headers'."
            )
        metadata = self._found.http_metadata
        if metadata is None:
            raise TypeError_(
                f"HTTP metadata unknown for key `{self.key}`. "
                "Did you forget to add 'httpMetadata' to `include` when listing?"
            )
        for name, value in (
            ("content-type", metadata.content_type),
            ("content-language", metadata.content_language),
            ("content-disposition", metadata.content_disposition),
            ("content-encoding", metadata.content_encoding),
            ("cache-control", metadata.cache_control),
        ):
            if value is not None:
                headers.set(name, value)
        if metadata.cache_expiry is not None:
            expires = Date.from_milliseconds(metadata.cache_expiry).toUTCString()
            headers.set("expires", expires)

    def _own_items(self) -> Iterator[tuple[str, Any]]:
        for name in _FIELDS:
            yield name, getattr(self, name)


class GetResult(HeadResult, js_name="GetResult"):
    """An object with its content, which can be read once."""

    def __init__(self, found: R2ObjectBody) -> None:
        super().__init__(found)
        metadata = found.http_metadata
        self._body = ObjectContent._make(
            found.body, None if metadata is None else metadata.content_type
        )

    @property
    def body(self) -> Any:
        return self._body.body

    @property
    def bodyUsed(self) -> bool:
        return self._body.bodyUsed  # type: ignore[no-any-return]

    def arrayBuffer(self, *_: Any, **__: Any) -> JsPromise:
        return self._body.arrayBuffer()  # type: ignore[no-any-return]

    def bytes(self, *_: Any, **__: Any) -> JsPromise:
        return self._body.bytes()  # type: ignore[no-any-return]

    def text(self, *_: Any, **__: Any) -> JsPromise:
        return self._body.text()  # type: ignore[no-any-return]

    def json(self, *_: Any, **__: Any) -> JsPromise:
        return self._body.json()  # type: ignore[no-any-return]

    def blob(self, *_: Any, **__: Any) -> JsPromise:
        return self._body.blob()  # type: ignore[no-any-return]


def show(found: R2Object) -> HeadResult:
    """The object for a worker, with its content where the owner gave it."""
    if isinstance(found, R2ObjectBody):
        return GetResult._make(found)  # type: ignore[no-any-return]
    return HeadResult._make(found)  # type: ignore[no-any-return]


def _shown(metadata: HttpMetadata) -> dict[str, Any]:
    expiry = metadata.cache_expiry
    return {
        "contentType": metadata.content_type,
        "contentLanguage": metadata.content_language,
        "contentDisposition": metadata.content_disposition,
        "contentEncoding": metadata.content_encoding,
        "cacheControl": metadata.cache_control,
        "cacheExpiry": None if expiry is None else Date.from_milliseconds(expiry),
    }
