"""Typed, checked access to one object of a configuration.

The wording of every message is the one that wrangler prints
(`packages/workers-utils/src/config/validation-helpers.ts` of workers-sdk).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .diagnostics import Position
from .jsonc import Path as KeyPath
from .report import Report
from .stringify import stringify

Kind = Literal["string", "number", "boolean", "object"]

SHOULD = '"{field}" bindings should have a {type} "{key}" field but got {json}.'
MUST = '"{field}" bindings must have a {type} "{key}" field but got {json}.'
MAY = '"{field}" bindings should, optionally, have a {type} "{key}" field but got {json}.'
NEEDS = 'binding should have a {type} "{key}" field.'
MAY_WHEN_PRESENT = 'the field "{key}", when present, should be a {type}.'


def is_kind(value: object, kind: Kind) -> bool:
    """What JavaScript's `typeof` says of the value."""
    match kind:
        case "string":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return not isinstance(value, str | int | float)


class Table:
    """One object. `field` is its name in messages (`kv_namespaces[0]`), `path` its place in the
    source; `valid` turns false with the first error found in it."""

    __slots__ = ("field", "path", "report", "valid", "value")

    def __init__(self, value: dict[str, Any], field: str, path: KeyPath, report: Report) -> None:
        self.value = value
        self.field = field
        self.path = path
        self.report = report
        self.valid = True

    @property
    def position(self) -> Position | None:
        return self.report.source.position(self.path)

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def fail(self, message: str, key: str | None = None, hint: str | None = None) -> None:
        """Record an error about this object, or about one of its keys."""
        self.valid = False
        self.report.error(message, self.path if key is None else (*self.path, key), hint)

    def warn(self, message: str, key: str | None = None) -> None:
        self.report.warning(message, self.path if key is None else (*self.path, key))

    def only(self, *known: str) -> bool:
        """Warn of other keys than `known`; whether there were none."""
        return not self.report.unexpected(self.field, self.path, self.value, known)

    # Fields of bindings: `template` is the message, with the whole entry quoted in it.

    def need(self, key: str, template: str = SHOULD, kind: Kind = "string") -> Any:
        if key in self.value and is_kind(self.value[key], kind):
            return self.value[key]
        self._fail_template(key, template, kind)
        return None

    def need_text(self, key: str, template: str = SHOULD) -> str:
        value: str | None = self.need(key, template)
        return "" if value is None else value

    def may(self, key: str, template: str = MAY, kind: Kind = "string") -> Any:
        if key not in self.value or is_kind(self.value[key], kind):
            return self.value.get(key)
        self._fail_template(key, template, kind)
        return None

    def may_text(self, key: str, template: str = MAY, *, empty: bool = True) -> str | None:
        value: str | None = self.may(key, template)
        if value == "" and not empty:
            self._fail_template(key, template, "string")
        return value

    def may_texts(self, key: str) -> tuple[str, ...] | None:
        value = self.value.get(key)
        if key not in self.value:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self._fail_template(key, MAY, "[]string")
            return None
        return tuple(value)

    def remote(self) -> bool | None:
        template = '"{field}" should, optionally, have a {type} "{key}" field but got {json}.'
        value: bool | None = self.may("remote", template, "boolean")
        return value

    def _fail_template(self, key: str, template: str, kind: str) -> None:
        self.fail(
            template.format(field=self.field, key=key, type=kind, json=stringify(self.value)), key
        )

    # Fields of settings: the message names the field and quotes its value alone.

    def named(self, key: str) -> str:
        return f"{self.field}.{key}" if self.field else key

    def prop(
        self,
        key: str,
        kind: Kind,
        *,
        required: bool = False,
        choices: Sequence[object] | None = None,
    ) -> Any:
        if key not in self.value:
            if required:
                self.fail(f'"{self.named(key)}" is a required field.', key)
            return None
        value = self.value[key]
        if not is_kind(value, kind):
            self.fail(
                f'Expected "{self.named(key)}" to be of type {kind} but got {stringify(value)}.',
                key,
            )
            return None
        if choices is not None and value not in choices:
            self.fail(
                f'Expected "{self.named(key)}" field to be one of {stringify(list(choices))} '
                f"but got {stringify(value)}.",
                key,
            )
            return None
        return value

    def text(self, key: str, *, choices: Sequence[str] | None = None) -> str | None:
        value: str | None = self.prop(key, "string", choices=choices)
        return value

    def number(self, key: str) -> int | float | None:
        value: int | float | None = self.prop(key, "number")
        return value

    def flag(self, key: str) -> bool | None:
        value: bool | None = self.prop(key, "boolean")
        return value

    def texts(self, key: str, field: str | None = None) -> tuple[str, ...] | None:
        """A list of texts, or None when absent."""
        if key not in self.value:
            return None
        value = self.value[key]
        named = self.named(key) if field is None else field
        if not isinstance(value, list):
            self.fail(
                f'Expected "{named}" to be an array of strings but got {stringify(value)}', key
            )
            return None
        for index, each in enumerate(value):
            if not isinstance(each, str):
                self.valid = False
                self.report.error(
                    f'Expected "{named}.[{index}]" to be of type string but got {stringify(each)}.',
                    (*self.path, key, index),
                )
        return tuple(each for each in value if isinstance(each, str))

    def table(self, key: str, message: str | None = None) -> Table | None:
        """The object at `key`, or None when it is absent or something else."""
        if key not in self.value:
            return None
        value = self.value[key]
        if not isinstance(value, dict):
            text = f'"{self.named(key)}" should be an object but got {stringify(value)}.'
            self.fail(text if message is None else message, key)
            return None
        return Table(value, self.named(key), (*self.path, key), self.report)
