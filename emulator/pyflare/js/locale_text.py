"""What ``toLocaleString`` and its kin need: the locale en-US, the platform's default, and no other.

Source: https://tc39.es/ecma402/#sup-date.prototype.tolocalestring
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from .error import TypeError_
from .number import to_string
from .value import is_nullish, own_items

__all__ = ["grouped", "require_plain"]

_KNOWN_LOCALES: Final = frozenset({"en-US", "en"})


def require_plain(method: str, locales: Any, options: Any, known: Collection[str] = ()) -> None:
    """Raises: TypeError for a locale or an option that would have an effect in production and has none here."""
    wanted = [locales] if isinstance(locales, str) else [] if is_nullish(locales) else list(locales)
    if wanted and wanted[0] not in _KNOWN_LOCALES:
        raise TypeError_(
            f"{method} for the locale {to_string(wanted[0])} is not supported by Pyflare, which knows en-US only"
        )
    for name, value in () if is_nullish(options) else own_items(options):
        if value is not None and name not in known:
            raise TypeError_(f"The option {name} of {method} is not supported by Pyflare")


def grouped(number: float) -> str:
    """A finite number with groups of three digits and up to three decimal places."""
    text = f"{Decimal(repr(number)).quantize(Decimal('0.001'), ROUND_HALF_UP):,f}"
    return text.rstrip("0").rstrip(".")
