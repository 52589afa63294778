"""The tags of V8's structured clone format. Each is the code of the character that stands beside it."""

from __future__ import annotations

from typing import Final

VERSION: Final = 15
OLDEST_VERSION: Final = 13
VERSION_MARK: Final = 0xFF
#: What every value begins with.
HEADER: Final = bytes((VERSION_MARK, VERSION))

PADDING: Final = 0x00
VERIFY_OBJECT_COUNT: Final = 0x3F  # ?

# Primitives.
HOLE: Final = 0x2D  # -
UNDEFINED: Final = 0x5F  # _
NULL: Final = 0x30  # 0
TRUE: Final = 0x54  # T
FALSE: Final = 0x46  # F
INT32: Final = 0x49  # I
UINT32: Final = 0x55  # U
DOUBLE: Final = 0x4E  # N
BIGINT: Final = 0x5A  # Z
UTF8_STRING: Final = 0x53  # S
ONE_BYTE_STRING: Final = 0x22  # "
TWO_BYTE_STRING: Final = 0x63  # c

# Objects.
REFERENCE: Final = 0x5E  # ^
OBJECT: Final = 0x6F  # o
END_OBJECT: Final = 0x7B  # {
DENSE_ARRAY: Final = 0x41  # A
END_DENSE_ARRAY: Final = 0x24  # $
SPARSE_ARRAY: Final = 0x61  # a
END_SPARSE_ARRAY: Final = 0x40  # @
DATE: Final = 0x44  # D
TRUE_OBJECT: Final = 0x79  # y
FALSE_OBJECT: Final = 0x78  # x
NUMBER_OBJECT: Final = 0x6E  # n
BIGINT_OBJECT: Final = 0x7A  # z
STRING_OBJECT: Final = 0x73  # s
REGEXP: Final = 0x52  # R
MAP: Final = 0x3B  # ;
END_MAP: Final = 0x3A  # :
SET: Final = 0x27  # '
END_SET: Final = 0x2C  # ,
ARRAY_BUFFER: Final = 0x42  # B
RESIZABLE_ARRAY_BUFFER: Final = 0x7E  # ~
ARRAY_BUFFER_VIEW: Final = 0x56  # V
ERROR: Final = 0x72  # r
HOST_OBJECT: Final = 0x5C  # \

#: Class of a view -> its tag.
VIEWS: Final = {
    "Int8Array": 0x62,  # b
    "Uint8Array": 0x42,  # B
    "Uint8ClampedArray": 0x43,  # C
    "Int16Array": 0x77,  # w
    "Uint16Array": 0x57,  # W
    "Int32Array": 0x64,  # d
    "Uint32Array": 0x44,  # D
    "Float16Array": 0x68,  # h
    "Float32Array": 0x66,  # f
    "Float64Array": 0x46,  # F
    "BigInt64Array": 0x71,  # q
    "BigUint64Array": 0x51,  # Q
    "DataView": 0x3F,  # ?
}
#: Bits of a view's flags.
LENGTH_TRACKING: Final = 1
OF_RESIZABLE: Final = 2

#: Name of an error -> the tag of its prototype; `Error` itself has none.
ERROR_PROTOTYPES: Final = {
    "EvalError": 0x45,  # E
    "RangeError": 0x52,  # R
    "ReferenceError": 0x46,  # F
    "SyntaxError": 0x53,  # S
    "TypeError": 0x54,  # T
    "URIError": 0x55,  # U
}
ERROR_MESSAGE: Final = 0x6D  # m
ERROR_CAUSE: Final = 0x63  # c
ERROR_STACK: Final = 0x73  # s
ERROR_END: Final = 0x2E  # .

#: Flag of a regular expression -> its bit.
REGEXP_FLAGS: Final = {"g": 1, "i": 2, "m": 4, "y": 8, "u": 16, "s": 32, "d": 128}

# Host objects: the platform's own numbers of its classes.
HOST_DOM_EXCEPTION: Final = 7
HOST_NATIVE_ERROR: Final = 10
#: How the platform numbers the classes of errors in a host object.
NATIVE_ERRORS: Final = {
    "Error": 1,
    "TypeError": 2,
    "RangeError": 3,
    "ReferenceError": 4,
    "SyntaxError": 5,
    "EvalError": 10,
    "URIError": 11,
    "AggregateError": 12,
}
UNKNOWN_NATIVE_ERROR: Final = 0
