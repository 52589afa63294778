"""D1 databases: SQL over one SQLite file each."""

from __future__ import annotations

from .database import D1Database
from .errors import D1Error
from .results import Bindable, Meta, Results, Statement, StatementResult
from .values import d1_values, rows_as_dicts, rows_as_dicts_in_turns

__all__ = [
    "Bindable",
    "D1Database",
    "D1Error",
    "Meta",
    "Results",
    "Statement",
    "StatementResult",
    "d1_values",
    "rows_as_dicts",
    "rows_as_dicts_in_turns",
]
