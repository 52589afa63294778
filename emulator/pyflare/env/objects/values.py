"""Stored values between Python's hands and bytes: what the SDK's conversions and the structured clone give together.

The SDK turns a Python value into a JavaScript one, which is then serialized; on the way back it turns what was read
into Python again. For plain data both steps are taken at once here; everything else goes the SDK's own way.
"""

from __future__ import annotations

from typing import Any, Final

from workers.rpc import JsDict, python_from_rpc, python_to_rpc

from pyflare.js.v8_format import deserialize, serialize
from pyflare.js.v8_format.plain import NotPlain, Shape, read_plain, write_plain
from pyflare.js.v8_format.tags import HEADER

__all__ = ["from_stored", "to_stored"]

_PYTHON: Final = Shape(JsDict, None, None, None)
_MARK: Final = HEADER[0]
_VERSION: Final = HEADER[1]


def to_stored(value: Any, enhanced_errors: bool = False) -> bytes:
    """The bytes of a Python value.

    Raises: TypeError for what the SDK refuses (tuples, awaitables, ...), DOMException "DataCloneError".
    """
    out = bytearray(HEADER)
    try:
        write_plain(value, out, None)
    except (NotPlain, RecursionError):
        return serialize(python_to_rpc(value), enhanced_errors=enhanced_errors)
    return bytes(out)


def from_stored(data: bytes) -> Any:
    """The Python value of these bytes; an instance of a JavaScript class that has no Python twin comes as it is.

    Raises: Error for damaged bytes.
    """
    if len(data) > 2 and data[0] == _MARK and data[1] == _VERSION:
        try:
            return read_plain(data, 2, _PYTHON)[0]
        except (NotPlain, IndexError, RecursionError):
            pass
    return python_from_rpc(deserialize(data))
