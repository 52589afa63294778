"""``js.Intl``: dates and numbers as text of the locale en-US.

Source: https://tc39.es/ecma402/#sec-intl-datetimeformat-constructor
"""

from __future__ import annotations

from typing import Any, ClassVar

from .date import Date
from .error import RangeError
from .number import Number, to_number, to_string
from .value import JsInstance, JsObject, get_property

__all__ = ["DateTimeFormat", "Intl", "NumberFormat"]


class DateTimeFormat(JsInstance, js_name="DateTimeFormat"):
    """``Intl.DateTimeFormat.new(locales, options)``."""

    def __init__(self, locales: Any, options: Any) -> None:
        self._locales = locales
        self._options = options
        # What cannot be shown is refused here, as it is where it can.
        self._text(0)

    @classmethod
    def _construct(cls, locales: Any = None, options: Any = None, *_: Any) -> Any:
        """Raises: RangeError for a zone that is none, TypeError for what has no pattern here."""
        return cls._make(locales, options)

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    def _text(self, time: int) -> str:
        from .locale_dates import locale_text

        return locale_text(time, "Intl.DateTimeFormat", self._locales, self._options, "any")

    def format(self, date: Any = None) -> str:
        """A Date or time value as text, now when it is left out. Raises: RangeError for an invalid one."""
        moment = Date._construct() if date is None else Date._construct(date)
        if moment._time != moment._time:
            raise RangeError("Invalid time value")
        return self._text(int(moment._time))

    def resolvedOptions(self) -> JsObject:
        zone = get_property(self._options, "timeZone")
        return JsObject.adopt(
            {
                "locale": "en-US",
                "calendar": "gregory",
                "numberingSystem": "latn",
                "timeZone": "UTC" if zone is None else to_string(zone),
            }
        )


class NumberFormat(JsInstance, js_name="NumberFormat"):
    """``Intl.NumberFormat.new(locales)``."""

    def __init__(self, locales: Any, options: Any) -> None:
        from .locale_text import require_plain

        require_plain("Intl.NumberFormat", locales, options)

    @classmethod
    def _construct(cls, locales: Any = None, options: Any = None, *_: Any) -> Any:
        """Raises: TypeError for other locales than en-US, and for options."""
        return cls._make(locales, options)

    @classmethod
    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)

    def format(self, number: Any = None) -> str:
        return str(Number._make(to_number(number)).toLocaleString())


class IntlNamespace(JsInstance, js_name="Object"):
    """The object ``Intl``."""

    _tag = "Intl"
    DateTimeFormat: ClassVar[type] = DateTimeFormat
    NumberFormat: ClassVar[type] = NumberFormat


Intl = IntlNamespace._make()
