"""``ScheduledController``: what the handler of a cron trigger is told of its event.

Source: https://developers.cloudflare.com/workers/runtime-apis/handlers/scheduled/
"""

from __future__ import annotations

from typing import Any

from pyflare.js.value import JsInstance, own_properties

__all__ = ["ScheduledController"]


class ScheduledController(JsInstance, js_name="ScheduledController"):
    """``scheduledTime`` is in milliseconds since the epoch, ``cron`` the text of the configuration."""

    _own_items = own_properties("scheduledTime", "cron")

    def __init__(self, cron: str, scheduled_time: int) -> None:
        self._cron = cron
        self._scheduled_time = scheduled_time
        self._no_retry = False

    @property
    def cron(self) -> str:
        return self._cron

    @property
    def scheduledTime(self) -> int:
        return self._scheduled_time

    @property
    def type(self) -> str:
        return "scheduled"

    def noRetry(self, *_: Any) -> None:
        """Ask that a failed event is not run again; told to whoever triggered it, since nothing is run again here."""
        self._no_retry = True
