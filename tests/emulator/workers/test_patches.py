"""Replaced attributes can be put back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyflare.workers.patches import Patches


class Base:
    def method(self) -> str:
        return "original"


class Derived(Base):
    pass


def _double(original: Any) -> Any:
    return lambda self: original(self) * 2


def test_a_replacement_is_made_from_the_original_and_undone() -> None:
    patches = Patches()

    patches.replace(Base, "method", _double)
    during = Base().method()
    patches.undo()

    assert (during, Base().method()) == ("originaloriginal", "original")


def test_an_inherited_attribute_is_inherited_again_afterwards() -> None:
    patches = Patches()

    patches.replace(Derived, "method", _double)
    patches.undo()

    assert "method" not in vars(Derived)


def test_what_somebody_else_replaced_since_is_left_alone() -> None:
    patches = Patches()
    owner = SimpleNamespace(value=1)

    patches.replace(owner, "value", lambda original: original + 1)
    owner.value = 10
    patches.undo()

    assert owner.value == 10
