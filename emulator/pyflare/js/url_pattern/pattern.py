"""A pattern for addresses: one compiled pattern for each component.

Source: https://urlpattern.spec.whatwg.org/#urlpattern-internals
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ..error import JsException
from ..regexp import RegExp
from ..url import parse as parse_url
from . import canonical
from .constructor_string import parse_constructor_string
from .parts import Options, PartType, escape_pattern, parse, to_pattern, to_regexp
from .tokens import PatternError

__all__ = ["COMPONENTS", "Component", "Pattern", "address_components", "compile_pattern"]

COMPONENTS: Final = (
    "protocol",
    "username",
    "password",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
)

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROLS_AND_SPACE: Final = "".join(map(chr, range(0x21)))

_DEFAULT: Final = Options()
_HOSTNAME: Final = Options(delimiter=".")
_PATHNAME: Final = Options(delimiter="/", prefix="/")


@dataclass(frozen=True, slots=True)
class Component:
    """``source`` is the pattern in normal form; ``names`` are those of the groups of ``expression``.

    ``optional`` are the names of groups that JavaScript leaves undefined when they match nothing.
    """

    source: str
    expression: re.Pattern[str]
    names: tuple[str, ...]
    optional: frozenset[str]
    has_regexp_groups: bool

    def groups(self, found: re.Match[str]) -> dict[str, str | None]:
        """What the groups matched, None for undefined."""
        pairs = zip(self.names, found.groups(), strict=False)
        return {name: None if not text and name in self.optional else text for name, text in pairs}


@dataclass(frozen=True, slots=True)
class Pattern:
    """The compiled patterns by component."""

    components: Mapping[str, Component]

    def match(self, address: Mapping[str, str]) -> dict[str, re.Match[str]] | None:
        """The matches by component, None when one does not match."""
        found: dict[str, re.Match[str]] = {}
        for name, component in self.components.items():
            matched = component.expression.match(address[name])
            if matched is None:
                return None
            found[name] = matched
        return found


def _compile_component(
    text: str, encode: Callable[[str], str], options: Options, ignore_case: bool = False
) -> Component:
    parts = parse(text, options, encode)
    source, names = to_regexp(parts, options)
    try:
        compiled: RegExp = RegExp._make(source, "iu" if ignore_case else "u")
    except JsException as error:
        raise PatternError(error.message) from None
    return Component(
        to_pattern(parts, options),
        compiled._pattern,
        tuple(names),
        frozenset(
            part.name
            for part in parts
            if part.modifier == "?" and not part.prefix and not part.suffix
        ),
        any(part.type is PartType.REGEXP for part in parts),
    )


def _matches_special_scheme(protocol: Component) -> bool:
    return any(protocol.expression.match(scheme) for scheme in canonical.SPECIAL_SCHEMES)


def compile_pattern(given: str | Mapping[str, str], base: str | None, ignore_case: bool) -> Pattern:
    """Compile a pattern: the text of a whole one, or texts by component and ``baseURL``.

    Raises: PatternError for what is no pattern, and for a base that is no address.
    """
    if isinstance(given, str):
        texts = parse_constructor_string(
            given,
            lambda text: _matches_special_scheme(
                _compile_component(text, canonical.protocol, _DEFAULT)
            ),
        )
        if base is None and "protocol" not in texts:
            raise PatternError("a pattern without a protocol needs a base")
        if base is not None:
            texts["baseURL"] = base
    else:
        if base is not None:
            raise PatternError("components and a base cannot go together")
        texts = dict(given)
    texts = _complete(texts, for_pattern=True)
    text = {name: texts.get(name, "*") for name in COMPONENTS}
    if text["port"] and canonical.SPECIAL_SCHEMES.get(text["protocol"]) == text["port"]:
        text["port"] = ""
    protocol = _compile_component(text["protocol"], canonical.protocol, _DEFAULT)
    special = _matches_special_scheme(protocol)
    host = canonical.hostname
    if text["hostname"].startswith(("[", "{[", "\\[")):
        host = canonical.ipv6_hostname
    path = canonical.pathname if special else canonical.opaque_pathname
    compile_one = partial(_compile_component, ignore_case=ignore_case)
    return Pattern(
        {
            "protocol": protocol,
            "username": _compile_component(text["username"], canonical.userinfo, _DEFAULT),
            "password": _compile_component(text["password"], canonical.userinfo, _DEFAULT),
            "hostname": _compile_component(text["hostname"], host, _HOSTNAME),
            "port": _compile_component(text["port"], canonical.port, _DEFAULT),
            "pathname": compile_one(text["pathname"], path, _PATHNAME if special else _DEFAULT),
            "search": compile_one(text["search"], canonical.query, _DEFAULT),
            "hash": compile_one(text["hash"], canonical.fragment, _DEFAULT),
        }
    )


def address_components(given: str | Mapping[str, str], base: str | None) -> dict[str, str] | None:
    """The components of an address to match, None when it is none. Components that are not given are empty."""
    if isinstance(given, str):
        url = parse_url(given, base)
        if url is not None:
            return _components_of(url)
        return _relative_components(given) if base is None else None
    try:
        found = _complete(dict(given), for_pattern=False)
    except PatternError:
        return None
    return {name: found.get(name, "") for name in COMPONENTS}


def _relative_components(text: str) -> dict[str, str] | None:
    """The components of a text that is no address without a base: those that it has itself, as in the runtime."""
    text = text.strip(_CONTROLS_AND_SPACE)
    if _SCHEME.match(text) is not None:
        return None
    url = parse_url(text, "fake://relative.invalid")
    if url is None:
        return None
    found = {**_components_of(url), "protocol": ""}
    if not text.startswith("//"):
        found["hostname"] = ""
    return found


def _components_of(url: Any) -> dict[str, str]:
    return {
        "protocol": url.protocol.removesuffix(":"),
        "username": url.username,
        "password": url.password,
        "hostname": url.hostname,
        "port": url.port,
        "pathname": url.pathname,
        "search": url.search.removeprefix("?"),
        "hash": url.hash.removeprefix("#"),
    }


def _complete(given: dict[str, str], *, for_pattern: bool) -> dict[str, str]:
    """Fill in from the base what the given components leave open, and bring them into normal form."""
    result: dict[str, str] = {}
    base: dict[str, str] | None = None
    opaque_base = False
    if "baseURL" in given:
        url = parse_url(given["baseURL"])
        if url is None:
            raise PatternError(f"{given['baseURL']!r} is no address")
        base = _components_of(url)
        opaque_base = not base["pathname"].startswith("/") and not base["hostname"]
        result = _inherited(given, base, for_pattern)
    result |= {name: text for name, text in given.items() if name in COMPONENTS}
    if "protocol" in given:
        result["protocol"] = given["protocol"].removesuffix(":")
    for name, mark in (("search", "?"), ("hash", "#")):
        if name in given:
            result[name] = given[name].removeprefix(mark)
    if "pathname" in given and base is not None and not opaque_base:
        absolute = ("/", "\\/", "{/") if for_pattern else "/"
        if not given["pathname"].startswith(absolute):
            folder, slash, _ = base["pathname"].rpartition("/")
            around = folder + slash
            result["pathname"] = (escape_pattern(around) if for_pattern else around) + given[
                "pathname"
            ]
    return result if for_pattern else _normalised(result, given)


def _inherited(given: dict[str, str], base: dict[str, str], for_pattern: bool) -> dict[str, str]:
    """What comes from the base: everything in front of the first component that is given, which ends it."""
    result: dict[str, str] = {}
    escape = escape_pattern if for_pattern else str
    before = ("protocol", "hostname", "port", "pathname", "search", "hash")
    for index, name in enumerate(before):
        if not any(earlier in given for earlier in before[: index + 1]):
            result[name] = escape(base[name])
    # A pattern does not ask for the user of its base.
    if not for_pattern and not any(
        name in given for name in ("protocol", "hostname", "port", "username")
    ):
        result["username"] = base["username"]
        if "password" not in given:
            result["password"] = base["password"]
    return result


def _normalised(result: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    protocol = canonical.protocol(result.get("protocol", ""))
    special = not protocol or protocol in canonical.SPECIAL_SCHEMES
    functions: dict[str, Callable[[str], str]] = {
        "protocol": canonical.protocol,
        "username": canonical.userinfo,
        "password": canonical.userinfo,
        "hostname": canonical.hostname,
        "port": lambda text: canonical.port(text, protocol),
        "pathname": canonical.pathname if special else canonical.opaque_pathname,
        "search": canonical.query,
        "hash": canonical.fragment,
    }
    return {name: functions[name](text) if name in given else text for name, text in result.items()}
