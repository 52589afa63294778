"""Secret values: readable by name, never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Secrets(Mapping[str, str]):
    """An immutable mapping of names to values whose `repr` shows the names alone."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        names = ", ".join(f"{name}=(hidden)" for name in self._values)
        return f"Secrets({names})"
