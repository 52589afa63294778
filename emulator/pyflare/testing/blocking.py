"""What a test without ``await`` sees of bindings and other objects of the emulator."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from pyflare.js.promise import JsPromise
from pyflare.js.value import JsProxy

__all__ = ["Blocking", "blocking", "plain"]


#: Calls a function on the event loop of the workers, and waits for its result if it is awaitable.
Run: TypeAlias = Callable[[Callable[[], Any]], Any]


def blocking(run: Run, value: Any) -> Any:
    """The value itself if it is a plain Python value, else one whose methods wait."""
    if type(value) is list:
        return [blocking(run, each) for each in value]
    if isinstance(value, JsProxy | JsPromise) or type(value).__module__.split(".")[0] in (
        "pyflare",
        "pyflare_bindings",
        "workers",
    ):
        return (
            value if isinstance(value, str | bytes | dict | list | tuple) else Blocking(run, value)
        )
    return Blocking(run, value) if callable(value) and not isinstance(value, type) else value


def plain(value: Any) -> Any:
    """What stands behind it, for arguments; also within lists, tuples, sets and dictionaries."""
    if isinstance(value, Blocking):
        return object.__getattribute__(value, "_value")
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        parts = [plain(each) for each in value]
        unchanged = all(map(operator.is_, parts, value))
        return value if unchanged else kind(parts)
    if kind is dict:
        members = {name: plain(each) for name, each in value.items()}
        unchanged = all(map(operator.is_, members.values(), value.values()))
        return value if unchanged else members
    return value


class Blocking:
    """An object of the emulator. Reading an attribute, calling and indexing happen on its loop, and wait."""

    __slots__ = ("_run", "_value")

    def __init__(self, run: Run, value: Any) -> None:
        object.__setattr__(self, "_run", run)
        object.__setattr__(self, "_value", value)

    def _on_loop(self, function: Callable[[Any], Any]) -> Any:
        value = self._value
        return blocking(self._run, self._run(lambda: function(value)))

    def __getattr__(self, name: str) -> Any:
        return self._on_loop(lambda value: _keep(getattr(value, name)))

    def __setattr__(self, name: str, new: Any) -> None:
        self._on_loop(lambda value: setattr(value, name, plain(new)))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        given = [plain(each) for each in arguments]
        options = {name: plain(each) for name, each in named.items()}
        return self._on_loop(lambda value: value(*given, **options))

    def __getitem__(self, key: Any) -> Any:
        return self._on_loop(lambda value: value[key])

    def __iter__(self) -> Iterator[Any]:
        return iter([blocking(self._run, each) for each in self._run(lambda: list(self._value))])

    def __len__(self) -> int:
        return len(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __contains__(self, item: Any) -> bool:
        return plain(item) in self._value

    def __eq__(self, other: object) -> bool:
        return bool(self._value == plain(other))

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


def _keep(value: Any) -> Any:
    """A method is not called yet; a promise that is a property is waited for by whoever asked."""
    if callable(value) and inspect.isawaitable(value):
        # A remote property, which may be a method as well.
        return _Uncalled(value)
    return value


class _Uncalled:
    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._value(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)
