"""What is wrong with files of another program's state."""

from __future__ import annotations

from pyflare_bindings.storage.errors import StateError

__all__ = ["SourceError", "TargetError"]


class SourceError(StateError):
    """State that cannot be imported; the text names the file and says what to do."""


class TargetError(StateError):
    """A place that state cannot be exported to; the text names it and says what to do."""
