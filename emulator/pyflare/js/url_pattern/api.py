"""``URLPattern``.

Source: https://urlpattern.spec.whatwg.org/#urlpattern-class and workerd ``api/urlpattern-standard.c++``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..array import JsArray
from ..error import TypeError_
from ..value import JsInstance, JsObject, get_property, is_nullish
from ..webidl import null, scalar_text
from .pattern import COMPONENTS, Component, Pattern, address_components, compile_pattern
from .tokens import PatternError

__all__ = ["URLPattern"]

_MEMBERS = (*COMPONENTS, "baseURL")


class URLPattern(JsInstance, js_name="URLPattern"):
    """``URLPattern.new(pattern, base, {"ignoreCase": ...})``: ``pattern`` is a text or has components as members.

    Each component's pattern is an attribute: ``protocol``, ``username``, ``password``, ``hostname``, ``port``,
    ``pathname``, ``search``, ``hash``.
    """

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    @classmethod
    def _construct(cls, given: Any = None, base: Any = None, options: Any = None, *_: Any) -> Any:
        """Raises: TypeError for what is no pattern."""
        if base is not None and not isinstance(base, str) and _is_options(base):
            base, options = None, base
        ignore_case = bool(get_property(options, "ignoreCase"))
        try:
            pattern = _compile(
                _input(given), None if base is None else scalar_text(base), ignore_case
            )
        except PatternError:
            raise TypeError_("Failed to construct URLPattern") from None
        return cls._make(pattern)

    def test(self, given: Any = None, base: Any = None) -> bool:
        """Whether an address matches: a text with an optional base, or an object of components."""
        return self._match(given, base, "test") is not None

    def exec(self, given: Any = None, base: Any = None) -> Any:
        """The match, null when there is none: ``inputs``, and each component's ``input`` and ``groups``."""
        matched = self._match(given, base, "exec")
        if matched is None:
            return null()
        found, address = matched
        read = _input(given)
        inputs = [read if isinstance(read, str) else JsObject.adopt(dict(read))]
        if base is not None:
            inputs.append(scalar_text(base))
        result: dict[str, Any] = {"inputs": JsArray.adopt(inputs)}
        for name, component in self._pattern.components.items():
            groups = JsObject.adopt(component.groups(found[name]))
            result[name] = JsObject.adopt({"input": address[name], "groups": groups})
        return JsObject.adopt(result)

    def _match(self, given: Any, base: Any, method: str) -> Any:
        read = _input(given)
        if base is not None and not isinstance(read, str):
            raise TypeError_(f"Failed to {method} URLPattern")
        address = address_components(
            read if isinstance(read, str) else dict(read),
            None if base is None else scalar_text(base),
        )
        if address is None:
            return None
        found = self._pattern.match(address)
        return None if found is None else (found, address)

    @property
    def hasRegExpGroups(self) -> bool:
        """Whether a component has a regular expression."""
        return any(component.has_regexp_groups for component in self._pattern.components.values())

    def _source(self, name: str) -> str:
        component: Component = self._pattern.components[name]
        return component.source

    @property
    def protocol(self) -> str:
        return self._source("protocol")

    @property
    def username(self) -> str:
        return self._source("username")

    @property
    def password(self) -> str:
        return self._source("password")

    @property
    def hostname(self) -> str:
        return self._source("hostname")

    @property
    def port(self) -> str:
        return self._source("port")

    @property
    def pathname(self) -> str:
        return self._source("pathname")

    @property
    def search(self) -> str:
        return self._source("search")

    @property
    def hash(self) -> str:
        return self._source("hash")


def _is_options(value: Any) -> bool:
    return is_nullish(value) or isinstance(value, dict) or hasattr(value, "__dict__")


def _input(given: Any) -> str | tuple[tuple[str, str], ...]:
    """A text, or the components that an object has."""
    if isinstance(given, str):
        return scalar_text(given)
    if is_nullish(given):
        return ()
    members = ((name, get_property(given, name)) for name in _MEMBERS)
    return tuple((name, scalar_text(value)) for name, value in members if value is not None)


@lru_cache(maxsize=256)
def _compile(
    given: str | tuple[tuple[str, str], ...], base: str | None, ignore_case: bool
) -> Pattern:
    return compile_pattern(given if isinstance(given, str) else dict(given), base, ignore_case)
