"""Modules such as `js`: one object for all workers, with each worker's own contents."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pyflare.workers.context_module import ContextModule
from pyflare.workers.crossing import entered
from pyflare.workers.current import WorkerScope


@pytest.fixture
def scopes(workers: Any) -> list[WorkerScope]:
    made = [workers.make(name, {}) for name in ("a", "b")]
    for scope in made:
        scope.namespaces["globals"] = SimpleNamespace(own=scope.name)
    return made


def test_each_worker_sees_its_own_names(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals")
    seen = []

    for scope in scopes:
        with entered(scope):
            seen.append(module.own)

    assert seen == ["a", "b"]


def test_shared_names_are_seen_by_everyone(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals", {"Response": 1})

    assert module.Response == 1
    with entered(scopes[0]):
        assert module.Response == 1


def test_an_assignment_stays_with_its_worker(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals", {"fetch": "shared"})
    a, b = scopes

    with entered(a):
        module.fetch = "patched"
        module.extra = 1
        assert (module.fetch, module.extra) == ("patched", 1)
    with entered(b):
        assert module.fetch == "shared"
        assert not hasattr(module, "extra")
    assert module.fetch == "shared"


def test_a_deleted_assignment_uncovers_the_shared_name(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals", {"fetch": "shared"})

    with entered(scopes[0]):
        module.fetch = "patched"
        del module.fetch
        assert module.fetch == "shared"


def test_shared_values_can_be_made_when_they_are_asked_for(scopes: list[WorkerScope]) -> None:
    asked: list[str] = []

    def resolve(name: str) -> object:
        asked.append(name)
        if name != "Late":
            raise AttributeError(name)
        return "made"

    module = ContextModule("globals", resolve=resolve)

    assert (module.Late, module.Late) == ("made", "made")
    assert asked == ["Late"]
    with pytest.raises(AttributeError):
        _ = module.Missing


def test_a_worker_may_cover_a_value_that_is_not_made_yet(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals", resolve=lambda name: f"made {name}")
    a, b = scopes

    with entered(a):
        module.fetch = "patched"
    with entered(b):
        assert module.fetch == "made fetch"
    with entered(a):
        assert module.fetch == "patched"


def test_a_missing_name_is_an_attribute_error(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals")

    with (
        entered(scopes[0]),
        pytest.raises(AttributeError, match=r"^module 'globals' has no attribute 'missing'$"),
    ):
        _ = module.missing


def test_importing_a_missing_name_is_an_import_error(
    scopes: list[WorkerScope], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "globals", ContextModule("globals"))

    with entered(scopes[0]), pytest.raises(ImportError, match="cannot import name 'missing'"):
        exec("from globals import missing", {})


def test_names_are_listed_for_the_worker_that_asks(scopes: list[WorkerScope]) -> None:
    module = ContextModule("globals", {"fetch": 1})

    with entered(scopes[0]):
        module.fetch = 2
        module.extra = 3
        assert {"fetch", "extra", "own"} <= set(dir(module))
    assert "extra" not in dir(module)


def test_a_worker_without_a_namespace_cannot_assign(workers: Any) -> None:
    module = ContextModule("globals")

    with (
        entered(workers.make("bare", {})),
        pytest.raises(AttributeError, match="worker 'bare' has no namespace for module 'globals'"),
    ):
        module.x = 1


def test_outside_a_worker_an_assignment_changes_the_module() -> None:
    module = ContextModule("globals")

    module.extra = 1

    assert module.__dict__["extra"] == 1
