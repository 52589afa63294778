"""What the person asked for."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Options"]


class Options(NamedTuple):
    """`overwrite`: whether data that is there already is replaced; `skip_damaged`: whether values whose content is
    missing or damaged are left out, instead of leaving out everything of their resource."""

    overwrite: bool = False
    skip_damaged: bool = False
