"""The errors of R2, with the platform's codes and texts.

Source: https://developers.cloudflare.com/r2/api/error-codes/
"""

from __future__ import annotations


class R2Error(Exception):
    """A request that R2 refuses. `str()` is the platform's text without the name of the action.

    `code` is the platform's number, `status` the HTTP status that goes with it, `name` the code of
    the S3 interface.
    """

    def __init__(self, code: int, text: str, status: int, name: str) -> None:
        super().__init__(text)
        self.code = code
        self.status = status
        self.name = name


def internal_error() -> R2Error:
    """What the platform says when its own storage fails."""
    text = "We encountered an internal error. Please try again."
    return R2Error(10001, text, 500, "InternalError")


def access_denied() -> R2Error:
    """The given customer key is not the one that the object was written with."""
    return R2Error(10003, "Access Denied", 403, "AccessDenied")


def part_too_small() -> R2Error:
    """A part other than the last one is smaller than parts may be."""
    text = "Your proposed upload is smaller than the minimum allowed object size."
    return R2Error(10011, text, 400, "EntityTooSmall")


def metadata_too_large() -> R2Error:
    """The custom metadata passes its limit."""
    text = "Your metadata headers exceed the maximum allowed metadata size."
    return R2Error(10012, text, 400, "MetadataTooLarge")


def incomplete_body(expected: int, received: int) -> R2Error:
    """The body ended before, or went on after, its declared length."""
    text = f"The body has {received} bytes; its declared length is {expected}."
    return R2Error(10013, text, 400, "IncompleteBody")


def invalid_key() -> R2Error:
    """The key is too long."""
    return R2Error(10020, "The specified object name is not valid.", 400, "InvalidObjectName")


def invalid_limit() -> R2Error:
    """The size of a page is not from 1 up to 1000."""
    text = "MaxKeys params must be positive integer <= 1000."
    return R2Error(10022, text, 400, "InvalidMaxKeys")


def no_such_upload() -> R2Error:
    """No open multipart upload has this id and key."""
    text = "The specified multipart upload does not exist."
    return R2Error(10024, text, 404, "NoSuchUpload")


def invalid_part() -> R2Error:
    """A part that was named is not there, or has been uploaded anew."""
    text = "One or more of the specified parts could not be found."
    return R2Error(10025, text, 400, "InvalidPart")


def invalid_argument(text: str) -> R2Error:
    """An argument that the storage side refuses."""
    return R2Error(10029, text, 400, "InvalidArgument")


def checksum_mismatch(label: str, given: str, actual: str) -> R2Error:
    """The content is not what its sender announced. Both values in lower-case hex."""
    text = (
        f"The {label} checksum you specified did not match what we received.\n"
        f"You provided a {label} checksum with value: {given}\n"
        f"Actual {label} was: {actual}"
    )
    return R2Error(10037, text, 400, "BadDigest")


def invalid_range() -> R2Error:
    """No byte of the object lies in the range."""
    return R2Error(10039, "The requested range is not satisfiable", 416, "InvalidRange")


def invalid_parts() -> R2Error:
    """The parts of an upload do not make an object: doubled, or of sizes that differ."""
    text = "There was a problem with the multipart upload."
    return R2Error(10048, text, 400, "InvalidPart")


def too_large() -> R2Error:
    """The body passes the size of one upload or of an object."""
    text = "Your proposed upload exceeds the maximum allowed object size."
    return R2Error(100100, text, 400, "EntityTooLarge")
