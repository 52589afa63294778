"""``URL``.

Plain http(s) addresses that are already in normal form, which nearly all are, are recognised by one expression. Any
other text goes through Ada, the parser that the runtime uses; it is only imported then.

Source: https://url.spec.whatwg.org/
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .error import Error, TypeError_
from .searchparams import URLSearchParams
from .value import JsInstance
from .webidl import null, scalar_text

__all__ = ["URL", "UrlRecord", "parse"]

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_NORMAL: Final = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?"
    rf"|{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET})"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
    r"(?P<path>/[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*)?"
    r"(?P<query>\?[A-Za-z0-9\-._~!$&()*+,;=:@/?%]+)?"
    r"(?P<hash>#[A-Za-z0-9\-._~!$&'()*+,;=:@/?%]+)?"
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class UrlRecord:
    """A parsed URL, its parts as the properties of ``URL`` give them."""

    href: str
    protocol: str
    username: str
    password: str
    host: str
    hostname: str
    port: str
    pathname: str
    search: str
    hash: str
    origin: str


@lru_cache(maxsize=256)
def parse(text: str, base: str | None = None) -> UrlRecord | None:
    """The URL in a text, relative to another one if given; None when it is none."""
    found = _NORMAL.fullmatch(text)
    if found is not None:
        record = _from_match(*found.groups())
        if record is not None:
            return record
    return _parse_with_ada(text, base)


def _from_match(
    scheme: str,
    host: str,
    port: str | None,
    path: str | None,
    query: str | None,
    fragment: str | None,
) -> UrlRecord | None:
    if "xn--" in host or (path is not None and ("/." in path or "%2e" in path or "%2E" in path)):
        return None
    if port is not None and (port == _DEFAULT_PORTS[scheme] or int(port) > 65535):
        return None
    place = host if port is None else f"{host}:{port}"
    origin = f"{scheme}://{place}"
    path = path or "/"
    search, fragment = query or "", fragment or ""
    return UrlRecord(
        href=f"{origin}{path}{search}{fragment}",
        protocol=f"{scheme}:",
        username="",
        password="",
        host=place,
        hostname=host,
        port=port or "",
        pathname=path,
        search=search,
        hash=fragment,
        origin=origin,
    )


def _parse_with_ada(text: str, base: str | None) -> UrlRecord | None:
    import ada_url

    try:
        return _from_ada(ada_url.URL(text, base))
    except ValueError:
        return None


def _from_ada(url: Any) -> UrlRecord:
    return UrlRecord(
        href=url.href,
        protocol=url.protocol,
        username=url.username,
        password=url.password,
        host=url.host,
        hostname=url.hostname,
        port=url.port,
        pathname=url.pathname,
        search=url.search,
        hash=url.hash,
        origin=url.origin,
    )


class URL(JsInstance, js_name="URL"):
    """``URL.new(text, base)``. Every part can be set; ``searchParams`` and ``search`` follow each other.

    Raises: TypeError "Invalid URL string." for text that is no URL.
    """

    _record: UrlRecord
    _search_params: URLSearchParams | None = None

    @classmethod
    def _construct(cls, text: Any = None, base: Any = None, *_: Any) -> Any:
        record = parse(*_arguments(text, base))
        if record is None:
            raise TypeError_("Invalid URL string.")
        return cls.of(record)

    @classmethod
    def of(cls, record: UrlRecord) -> URL:
        """A URL object for a parsed URL."""
        url: URL = object.__new__(cls)
        url._record = record
        return url

    @classmethod
    def canParse(cls, text: Any = None, base: Any = None) -> bool:
        return parse(*_arguments(text, base)) is not None

    @classmethod
    def parse(cls, text: Any = None, base: Any = None) -> Any:
        """Like ``new``, but null for text that is no URL."""
        record = parse(*_arguments(text, base))
        return null() if record is None else cls.of(record)

    @staticmethod
    def createObjectURL(_object: Any = None) -> str:
        raise Error("URL.createObjectURL() is not implemented")

    @staticmethod
    def revokeObjectURL(_url: Any = None) -> None:
        raise Error("URL.revokeObjectURL() is not implemented")

    @property
    def href(self) -> str:
        return self._record.href

    @href.setter
    def href(self, value: Any) -> None:
        record = parse(scalar_text(value))
        if record is None:
            raise TypeError_("Invalid URL string.")
        self._replace(record)

    @property
    def origin(self) -> str:
        return self._record.origin

    @property
    def protocol(self) -> str:
        return self._record.protocol

    @protocol.setter
    def protocol(self, value: Any) -> None:
        self._assign("protocol", value)

    @property
    def username(self) -> str:
        return self._record.username

    @username.setter
    def username(self, value: Any) -> None:
        self._assign("username", value)

    @property
    def password(self) -> str:
        return self._record.password

    @password.setter
    def password(self, value: Any) -> None:
        self._assign("password", value)

    @property
    def host(self) -> str:
        return self._record.host

    @host.setter
    def host(self, value: Any) -> None:
        self._assign("host", value)

    @property
    def hostname(self) -> str:
        return self._record.hostname

    @hostname.setter
    def hostname(self, value: Any) -> None:
        self._assign("hostname", value)

    @property
    def port(self) -> str:
        return self._record.port

    @port.setter
    def port(self, value: Any) -> None:
        self._assign("port", value)

    @property
    def pathname(self) -> str:
        return self._record.pathname

    @pathname.setter
    def pathname(self, value: Any) -> None:
        self._assign("pathname", value)

    @property
    def search(self) -> str:
        return self._record.search

    @search.setter
    def search(self, value: Any) -> None:
        self._assign("search", value)
        self._reload_search_params()

    @property
    def hash(self) -> str:
        return self._record.hash

    @hash.setter
    def hash(self, value: Any) -> None:
        self._assign("hash", value)

    @property
    def searchParams(self) -> URLSearchParams:
        """The query as a live list: changes show in ``search`` and ``href``."""
        if self._search_params is None:
            self._search_params = URLSearchParams.over(
                self._record.search[1:], lambda query: self._assign("search", query)
            )
        return self._search_params

    def _assign(self, part: str, value: Any) -> None:
        import ada_url

        url = ada_url.URL(self._record.href)
        try:
            setattr(url, part, scalar_text(value))
        except ValueError:
            # A part that cannot be is ignored, as the standard's setters do.
            return
        self._record = _from_ada(url)

    def _replace(self, record: UrlRecord) -> None:
        self._record = record
        self._reload_search_params()

    def _reload_search_params(self) -> None:
        if self._search_params is not None:
            self._search_params.reload(self._record.search[1:])

    def toString(self) -> str:
        return self._record.href

    def toJSON(self) -> str:
        return self._record.href


def _arguments(text: Any, base: Any) -> tuple[str, str | None]:
    return scalar_text(text), None if base is None else scalar_text(base)
