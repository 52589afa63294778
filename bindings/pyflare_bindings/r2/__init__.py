"""R2 buckets: one owner each, over one SQLite file and a directory of blobs."""

from .bucket import R2Bucket
from .conditions import WILDCARD, Conditions, Etag, parse_etags
from .errors import R2Error
from .limits import Limits
from .multipart import MultipartUploads
from .ranges import WantedRange
from .values import (
    ByteRange,
    Checksum,
    HttpMetadata,
    ListOptions,
    ListResult,
    ObjectOptions,
    R2Object,
    R2ObjectBody,
    UploadedPart,
)

__all__ = [
    "WILDCARD",
    "ByteRange",
    "Checksum",
    "Conditions",
    "Etag",
    "HttpMetadata",
    "Limits",
    "ListOptions",
    "ListResult",
    "MultipartUploads",
    "ObjectOptions",
    "R2Bucket",
    "R2Error",
    "R2Object",
    "R2ObjectBody",
    "UploadedPart",
    "WantedRange",
    "parse_etags",
]
