"""Compatibility dates and flags: which behaviour of the runtime a worker asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .compatibility_table import FLAGS
from .diagnostics import ConfigError, Diagnostic

if TYPE_CHECKING:
    import datetime

# The date of the runtime whose behaviour is reproduced: what applies where none is configured.
RUNTIME_DATE = "2026-08-20"

_PYTHON = "python_workers"
_NEWEST_PYODIDE = "314.0.5"


class Flag(NamedTuple):
    """One flag of the runtime: the date from which it is on for everyone, and the flags that
    turn it on from a date of their own."""

    name: str
    off: str | None
    since: str | None
    implied: tuple[tuple[str, str], ...]
    experimental: bool


class Problem(NamedTuple):
    """Something the runtime says about a list of flags; `place` is the index in the list."""

    level: Literal["error", "warning"]
    message: str
    place: int
    hint: str | None = None


def _read_table(text: str) -> Iterator[Flag]:
    for line in text.splitlines():
        name, *words = line.split()
        off: str | None = None
        since: str | None = None
        implied: list[tuple[str, str]] = []
        for word in words:
            if word.startswith("-"):
                off = word[1:]
            elif "@" in word:
                other, _, day = word.partition("@")
                implied.append((other, day))
            elif word != "experimental":
                since = word
        yield Flag(name, off, since, tuple(implied), words[-1:] == ["experimental"])


_FLAGS: tuple[Flag, ...] = tuple(_read_table(FLAGS))
_BY_NAME: Mapping[str, Flag] = MappingProxyType(
    {name: flag for flag in _FLAGS for name in (flag.name, flag.off) if name is not None}
)


class CompatibilityFlags:
    """The state of every flag of the runtime, as an attribute by its enable name.

    Reading an attribute is one dictionary lookup; an unknown name raises AttributeError. Beside
    the flags there are `date`, `flags` (name -> bool), `pyodide_version`, `python_version` (the
    minor version of the emulated runtime) and the switches for what differs between the Pyodide
    versions: `null_is_none` (JS null arrives as None), `dict_to_object` (`to_js` of a dict gives
    a plain Object) and `bigint_is_js_bigint` (a bigint arrives as `JsBigInt`).
    """

    date: str
    flags: Mapping[str, bool]
    pyodide_version: str
    python_version: str
    null_is_none: bool
    dict_to_object: bool
    bigint_is_js_bigint: bool

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> bool: ...

    def __init__(self, date: str, flags: Mapping[str, bool]) -> None:
        pyodide, python = _runtime(flags)
        major = pyodide.split(".", 1)[0]
        self.__dict__.update(flags)
        self.__dict__.update(
            date=date,
            flags=MappingProxyType(dict(flags)),
            pyodide_version=pyodide,
            python_version=python,
            null_is_none=pyodide.startswith("0.26."),
            dict_to_object=major != "0",
            bigint_is_js_bigint=major != "0",
        )

    @classmethod
    def resolve(cls, date: str | datetime.date, flags: Iterable[str] = ()) -> CompatibilityFlags:
        """The flags of a worker with this date (`YYYY-MM-DD`) and these flag names.

        Raises ConfigError for what the runtime refuses: an unknown name, a name given twice, a
        flag that is both switched on and off.
        """
        names = list(flags)
        day = date if isinstance(date, str) else date.isoformat()
        wrong = [each for each in problems(day, names) if each.level == "error"]
        if wrong:
            raise ConfigError(Diagnostic("error", e.message, hint=e.hint) for e in wrong)
        return cls(day, _states(day, names))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"compatibility flags cannot be changed: {name}")

    def __repr__(self) -> str:
        return f"CompatibilityFlags({self.date!r}, Pyodide {self.pyodide_version})"


def _states(day: str, names: Iterable[str]) -> dict[str, bool]:
    given = set(names)
    states: dict[str, bool] = {}
    for flag in _FLAGS:
        off = flag.off is not None and flag.off in given
        by_date = flag.since is not None and day >= flag.since
        states[flag.name] = flag.name in given or (by_date and not off)
    # In table order and after all dates, as the runtime does it: one flag can imply the next.
    for flag in _FLAGS:
        if flag.off is None or flag.off not in given:
            for other, since in flag.implied:
                if day >= since and states[other]:
                    states[flag.name] = True
    return states


def _runtime(flags: Mapping[str, bool]) -> tuple[str, str]:
    """The Pyodide version and the minor Python version that a worker runs on."""
    if flags.get("python_workers_development"):
        return _NEWEST_PYODIDE, "3.14"
    if flags.get("python_workers_20260817"):
        return "314.0.5", "3.14"
    if flags.get("python_workers_20260610"):
        return "314.0.4", "3.14"
    if flags.get("python_workers_20250116"):
        return "0.28.2", "3.13"
    return "0.26.0a2", "3.12"


def problems(day: str, names: Iterable[str]) -> list[Problem]:
    """What the runtime says about a list of flags (`src/workerd/io/compatibility-date.c++`).

    Names that it does not know are errors: production refuses the upload. Experimental flags
    are a warning here, since the local runtime allows them while production does not.
    """
    found: list[Problem] = []
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            found.append(
                Problem("error", f"Compatibility flag specified multiple times: {name}", index)
            )
            continue
        seen[name] = index
        flag = _BY_NAME.get(name)
        if flag is None:
            found.append(
                Problem("error", f"No such compatibility flag: {name}", index, _guess(name))
            )
        elif name == flag.name:
            if flag.off is not None and flag.off in seen:
                found.append(_contradiction(flag, index))
            if flag.experimental:
                found.append(
                    Problem(
                        "warning",
                        f"The compatibility flag {name} is experimental and cannot yet be used "
                        "in Workers deployed to Cloudflare.",
                        index,
                    )
                )
            elif flag.since is not None and day >= flag.since:
                found.append(
                    Problem(
                        "warning",
                        f"The compatibility flag {name} became the default as of {flag.since} "
                        "so does not need to be specified anymore.",
                        index,
                    )
                )
        elif flag.name in seen:
            found.append(_contradiction(flag, index))
    return found


def _contradiction(flag: Flag, index: int) -> Problem:
    return Problem(
        "error",
        f"Compatibility flags are mutually contradictory: {flag.name} vs {flag.off}",
        index,
    )


def _guess(name: str) -> str | None:
    from .report import nearest

    return nearest([name], _BY_NAME)


def is_python(flags: Iterable[str]) -> bool:
    """Whether a list of flag names asks for Python at all."""
    return _PYTHON in flags
