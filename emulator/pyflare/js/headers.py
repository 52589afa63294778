"""``Headers``: the header list of a request or response.

Names are kept lower-cased; a repeated name is joined by ``", "`` at once, except ``set-cookie``, whose values stay
apart. Values are text that travels as UTF-8, which is the runtime's way (browsers accept bytes only).

Source: https://developers.cloudflare.com/workers/runtime-apis/headers/ and workerd ``api/headers.c++``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from .array import JsArray
from .callbacks import supervise
from .error import TypeError_
from .iterator import JsIterator, iterate
from .value import JsInstance, is_nullish
from .webidl import encode_text, null, pairs, text

__all__ = ["HeaderPairs", "Headers", "normalise_name", "normalise_value"]

HeaderPairs: TypeAlias = list[tuple[bytes, bytes]]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FORBIDDEN_IN_VALUE: Final = re.compile("[\0\r\n]")
_COOKIE_NAME: Final = b"set-cookie"
_COOKIE: Final = "set-cookie"
_NO_INIT: Final = (
    "Failed to construct 'Headers': constructor parameter 1 is not of type "
    "'Headers or Sequence or object'."
)
_UNEQUAL: Final = "To initialize a Headers object from a sequence, each inner sequence must have exactly two elements."


@lru_cache(maxsize=2048)
def normalise_name(name: str) -> str:
    """The lower-cased form of a header name. Raises: TypeError for text that is no HTTP token."""
    if _TOKEN.fullmatch(name) is None:
        raise TypeError_("Invalid header name.")
    return name.lower()


def normalise_value(value: Any) -> str:
    """A header value without surrounding whitespace. Raises: TypeError for NUL, CR or LF inside."""
    string = value if type(value) is str else text(value)
    if string.isprintable():
        return string.strip(" ")
    string = string.strip(" \t\r\n")
    if _FORBIDDEN_IN_VALUE.search(string) is not None:
        raise TypeError_("Invalid header value.")
    return string


def _name(name: Any) -> str:
    return normalise_name(name if type(name) is str else text(name))


class Headers(JsInstance, js_name="Headers"):
    """``Headers.new(init)``; ``init`` is pairs, a map, a plain object or other headers, and no dict of Python's.

    Subscripts read as ``get``, which gives null for a missing name, and write as ``set``. ``del`` deletes and raises
    KeyError whatever there was; ``delete`` does not raise.
    """

    _python_names = frozenset({"copy", "empty", "lookup"})
    _raw: Iterable[tuple[bytes, bytes]] | None = None
    _immutable: bool = False
    _fields: dict[str, str]
    _cookies: list[str]

    @classmethod
    def new(cls, init: Any = None, *_: Any, **names: Any) -> Headers:
        headers = cls.empty()
        if init is not None:
            headers._fill(init)
        if names:
            headers._fill(names.items())
        return headers

    @classmethod
    def empty(cls) -> Headers:
        """Mutable headers without an entry."""
        headers: Headers = object.__new__(cls)
        headers._fields = {}
        headers._cookies = []
        return headers

    @classmethod
    def from_raw(cls, raw: Iterable[tuple[bytes, bytes]], *, immutable: bool = True) -> Headers:
        """Headers over wire pairs with lower-case names; they are decoded when first looked at."""
        headers: Headers = object.__new__(cls)
        headers._raw = raw
        headers._immutable = immutable
        return headers

    def __getattr__(self, name: str) -> Any:
        if name in ("_fields", "_cookies") and self._raw is not None:
            self._decode(self._raw)
            return self.__dict__[name]
        raise AttributeError(name)

    def _decode(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        fields: dict[str, str] = {}
        cookies: list[str] = []
        for raw_name, raw_value in raw:
            name = raw_name.decode("latin-1")
            value = raw_value.decode("utf-8", "replace")
            if name in fields:
                # RFC 9113 8.2.3: Cookie lines are one list, and its separator is "; ".
                fields[name] += ("; " if name == "cookie" else ", ") + value
            elif name == _COOKIE:
                cookies.append(value)
            else:
                fields[name] = value
        self._fields = fields
        self._cookies = cookies
        self._raw = None

    @classmethod
    def of_member(cls, given: Any, wrong: str) -> Headers:
        """Headers of their own from the ``headers`` of an init. Raises: TypeError, with ``wrong`` for a plain value."""
        headers = cls.empty()
        headers._fill(given, wrong)
        return headers

    def _fill(self, init: Any, wrong: str = _NO_INIT) -> None:
        if type(init) is list:
            for item in init:
                if type(item) is not tuple or len(item) != 2:
                    break
                self._append(_name(item[0]), normalise_value(item[1]))
            else:
                return
            self._fields.clear()
            self._cookies.clear()
        if isinstance(init, Headers):
            self._cookies += init._cookies
            if not self._fields:
                self._fields = init._fields.copy()
                return
            for name, value in init._fields.items():
                self._append(name, value)
            return
        if isinstance(init, str | int | float) or is_nullish(init):
            raise TypeError_(wrong)
        for name, value in pairs(init, _UNEQUAL):
            self._append(_name(name), normalise_value(value))

    def _append(self, name: str, value: str) -> None:
        if name == _COOKIE:
            self._cookies.append(value)
        elif name in self._fields:
            self._fields[name] += ", " + value
        else:
            self._fields[name] = value

    def _check_guard(self) -> None:
        if self._immutable:
            raise TypeError_("Can't modify immutable headers.")

    def copy(self, *, immutable: bool = False) -> Headers:
        """The same entries in headers of their own."""
        headers = Headers.empty()
        headers._fill(self)
        headers._immutable = immutable
        return headers

    def lookup(self, name: str) -> str | None:
        """The value of a lower-case name for this package's own code; None when absent."""
        return self._fields.get(name)

    def wire_pairs(self) -> HeaderPairs:
        """Lower-case names and values as bytes, each ``set-cookie`` on its own."""
        if self._raw is not None:
            return list(self._raw)
        result = [(name.encode(), encode_text(value)) for name, value in self._fields.items()]
        result += [(b"set-cookie", encode_text(cookie)) for cookie in self._cookies]
        return result

    def plain_pairs(self) -> HeaderPairs | None:
        """What has been received, sorted by name, where iterating over the headers would give the same; else None."""
        raw = self._raw
        if raw is None:
            return None
        pairs = sorted(raw)
        before = _COOKIE_NAME
        for name, value in pairs:
            if name in (before, _COOKIE_NAME) or not value.isascii():
                return None
            before = name
        return pairs

    def get(self, name: Any = None, *_: Any, **__: Any) -> Any:
        """The value or null. Raises: TypeError for a name that is no token."""
        fields = self._fields
        if name in fields:
            return fields[name]
        key = _name(name)
        if key in fields:
            return fields[key]
        if key == _COOKIE and self._cookies:
            return ", ".join(self._cookies)
        return null()

    def set(self, name: Any = None, value: Any = None, *_: Any, **__: Any) -> None:
        self._check_guard()
        key, string = _name(name), normalise_value(value)
        if key == _COOKIE:
            self._cookies[:] = [string]
        else:
            self._fields[key] = string

    def append(self, name: Any = None, value: Any = None, *_: Any, **__: Any) -> None:
        self._check_guard()
        self._append(_name(name), normalise_value(value))

    def has(self, name: Any = None, *_: Any, **__: Any) -> bool:
        key = _name(name)
        return key in self._fields or (key == _COOKIE and bool(self._cookies))

    def delete(self, name: Any = None, *_: Any, **__: Any) -> None:
        self._check_guard()
        key = _name(name)
        if key == _COOKIE:
            self._cookies.clear()
        else:
            self._fields.pop(key, None)

    def getSetCookie(self) -> Any:
        return JsArray.adopt(list(self._cookies))

    def getAll(self, name: Any) -> Any:
        """The runtime's own extension. Raises: TypeError for any name but Set-Cookie."""
        if text(name).lower() != _COOKIE:
            raise TypeError_('getAll() can only be used with the header name "Set-Cookie".')
        return self.getSetCookie()

    def _sorted(self) -> list[tuple[str, str]]:
        items = list(self._fields.items())
        items += [(_COOKIE, cookie) for cookie in self._cookies]
        items.sort(key=_first)
        return items

    def __iter__(self) -> Iterator[list[str]]:
        # Lists rather than arrays: every framework walks the headers of every request. Not tuples,
        # which the SDK refuses to send to a binding (`get(key, onlyIf=headers)`).
        return map(list, self._sorted())

    def entries(self) -> JsIterator:
        return iterate(JsArray.adopt(list(pair)) for pair in self._sorted())

    def keys(self) -> JsIterator:
        return iterate(name for name, _ in self._sorted())

    def values(self) -> JsIterator:
        return iterate(value for _, value in self._sorted())

    def forEach(self, callback: Callable[..., Any], this: Any = None) -> None:
        for name, value in self._sorted():
            supervise(callback(value, name, self))

    def __contains__(self, name: Any) -> bool:
        return self.has(name)

    def __getitem__(self, name: Any) -> Any:
        return self.get(name)

    def __setitem__(self, name: Any, value: Any) -> None:
        self.set(name, value)

    def __delitem__(self, name: Any) -> None:
        self.delete(name)
        # Pyodide takes what `delete` gives for whether the key was there, and here that is undefined.
        raise KeyError(name)


def _first(pair: tuple[str, str]) -> str:
    return pair[0]
