"""The types of R2's arguments and options.

Source: workerd ``src/workerd/api/r2-bucket.h`` and ``r2-multipart.h``
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.buffer import as_bytes
from pyflare.js.headers import Headers
from pyflare.js.proxy import JsDoubleProxy
from pyflare.js.value import JsProxy, is_nullish

from .conversion import (
    BOOLEAN,
    DATE,
    INTEGER,
    MISMATCH,
    NUMBER,
    STRING,
    TEXT,
    TEXTS_BY_NAME,
    Struct,
    Type,
    array_of,
    one_of,
)

__all__ = [
    "GET_OPTIONS",
    "LIST_OPTIONS",
    "MULTIPART_OPTIONS",
    "PUT_OPTIONS",
    "UPLOADED_PARTS",
    "UPLOAD_PART_OPTIONS",
]


def _buffer(given: Any) -> Any:
    # Python's own buffers are proxies to JavaScript, and no buffers, unless `to_js` has converted them.
    data = as_bytes(given) if isinstance(given, JsProxy) else None
    return MISMATCH if data is None else bytes(data)


_BYTES: Final = Type("ArrayBuffer or ArrayBufferView", _buffer)
_HASH: Final = one_of(Type("BufferSource", _buffer), STRING)
_SSEC_KEY: Final = one_of(_BYTES, TEXT)


def _or_headers(struct: Struct) -> Type:
    def convert(given: Any) -> Any:
        if isinstance(given, Headers):
            return given
        # Production takes any Python object for one without the fields: a condition would be lost in silence.
        if not (is_nullish(given) or isinstance(given, JsProxy | dict)):
            return MISMATCH
        fields = struct.convert(given)
        # The SDK makes a proxy of such an object, through which JavaScript sees its attributes.
        return MISMATCH if not fields and isinstance(given, JsDoubleProxy) else fields

    return Type(f"{struct.name} or Headers", convert)


_CONDITIONAL: Final = _or_headers(
    Struct(
        "Conditional",
        {
            "etagMatches": STRING,
            "etagDoesNotMatch": STRING,
            "uploadedBefore": DATE,
            "uploadedAfter": DATE,
            "secondsGranularity": BOOLEAN,
        },
    )
)
_RANGE: Final = _or_headers(Struct("Range", dict.fromkeys(("offset", "length", "suffix"), NUMBER)))
_HTTP_METADATA: Final = _or_headers(
    Struct(
        "HttpMetadata",
        {
            "contentType": TEXT,
            "contentLanguage": TEXT,
            "contentDisposition": TEXT,
            "contentEncoding": TEXT,
            "cacheControl": TEXT,
            "cacheExpiry": DATE,
        },
    )
)

GET_OPTIONS: Final = Struct(
    "GetOptions", {"onlyIf": _CONDITIONAL, "range": _RANGE, "ssecKey": _SSEC_KEY}
)
PUT_OPTIONS: Final = Struct(
    "PutOptions",
    {
        "onlyIf": _CONDITIONAL,
        "httpMetadata": _HTTP_METADATA,
        "customMetadata": TEXTS_BY_NAME,
        "md5": _HASH,
        "sha1": _HASH,
        "sha256": _HASH,
        "sha384": _HASH,
        "sha512": _HASH,
        "storageClass": TEXT,
        "ssecKey": _SSEC_KEY,
    },
)
MULTIPART_OPTIONS: Final = Struct(
    "MultipartOptions",
    {
        "httpMetadata": _HTTP_METADATA,
        "customMetadata": TEXTS_BY_NAME,
        "storageClass": TEXT,
        "ssecKey": _SSEC_KEY,
    },
)
LIST_OPTIONS: Final = Struct(
    "ListOptions",
    {
        "limit": INTEGER,
        "prefix": STRING,
        "cursor": STRING,
        "delimiter": STRING,
        "startAfter": STRING,
        "include": array_of(STRING),
    },
)
UPLOAD_PART_OPTIONS: Final = Struct("UploadPartOptions", {"ssecKey": _SSEC_KEY})
UPLOADED_PARTS: Final = array_of(
    Struct(
        "UploadedPart",
        {"partNumber": INTEGER, "etag": TEXT},
        native_name="N7workerd3api11public_beta17R2MultipartUpload12UploadedPartE",
    )
)
