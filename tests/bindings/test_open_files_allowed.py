"""How many files may be open, also where the system has no such limit."""

from __future__ import annotations

import resource
import sys

import pytest

from pyflare_bindings.objects.open_databases import files_allowed
from pyflare_bindings.storage.open_files import open_files_allowed


def test_it_is_the_limit_of_the_process() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert open_files_allowed() == (None if soft == resource.RLIM_INFINITY else soft)


def test_a_process_without_a_limit_may_have_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert open_files_allowed() is None
    assert files_allowed() > 10_000


def test_a_system_without_such_limits_allows_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert open_files_allowed() is None
    assert files_allowed() > 10_000
