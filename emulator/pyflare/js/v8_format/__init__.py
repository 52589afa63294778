"""V8's structured clone format, version 15: the bytes in which objects' storage and queues keep values.

``serialize`` takes what JavaScript could clone and refuses the rest with ``DataCloneError``; ``deserialize`` also reads
versions 13 and 14, and bytes without a header as version 13, which is how the platform's oldest rows are written.

Nearly all stored values are what JSON has too, and those take a short way (:mod:`.plain`); everything else goes through
:mod:`.writer` and :mod:`.reader`, which know references, cycles and every kind of object. The two ways give the same
bytes, and those are the ones that Node.js and the platform write.

Source: the table of tags and the version history in V8's ``src/objects/value-serializer.cc``, and for errors with own
properties workerd's ``src/workerd/jsg/ser.c++``.
"""

from __future__ import annotations

from typing import Any, Final

from pyflare.js.array import JsArray
from pyflare.js.value import JsObject, jsnull

from .plain import NotPlain, Shape, read_plain, write_plain
from .reader import read
from .tags import HEADER
from .writer import write

__all__ = ["deserialize", "serialize"]

_JAVASCRIPT: Final = Shape(dict, JsObject.adopt, JsArray.adopt, jsnull)
_HEADED: Final = HEADER[0]


def serialize(value: Any, *, enhanced_errors: bool = False) -> bytes:
    """The bytes of a JavaScript value.

    Args: ``enhanced_errors`` whether errors keep their own properties (compatibility flag
    ``enhanced_error_serialization``).
    Raises: DOMException "DataCloneError" for what cannot be cloned, RangeError for values nested too deeply.
    """
    out = bytearray(HEADER)
    try:
        write_plain(value, out, set())
    except (NotPlain, RecursionError):
        return write(value, enhanced_errors)
    return bytes(out)


def deserialize(data: bytes) -> Any:
    """The JavaScript value that these bytes hold.

    Raises: Error "Unable to deserialize cloned data." for bytes that are damaged or of an unknown version.
    """
    if len(data) > 2 and data[0] == _HEADED and data[1] == HEADER[1]:
        try:
            return read_plain(data, 2, _JAVASCRIPT)[0]
        except (NotPlain, IndexError, RecursionError):
            pass
    return read(data)
