"""A worker that runs the copies of its modules that its host has imported."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.workers.isolation import IsolationError
from pyflare.workers.shared_modules import other_names, share, unshare

FILES = {
    "entry_s.py": "import helper_s\ndef lazy():\n    import lazy_s\n    return lazy_s\n",
    "helper_s.py": "VALUE = 'plain'\n",
    "lazy_s.py": "",
    "parts_s/one.py": "",
}


@pytest.fixture
def host(workers: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports modules from the folder of worker `a`, as the host does."""
    monkeypatch.syspath_prepend(str(workers.write("a", FILES)))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("entry_s", "helper_s", "lazy_s", "parts_s"):
            del sys.modules[name]


def taken_in(
    workers: Any, name: str = "a", more: dict[str, str] | None = None, **options: Any
) -> Any:
    scope = workers.make(name, FILES | (more or {}), **options)
    share(workers.isolation, scope.space, "entry_s")
    return scope


def test_what_the_host_has_is_the_workers_and_no_clash(workers: Any, host: Any) -> None:
    helper, one = host("helper_s"), host("parts_s.one")
    scope = taken_in(workers)
    workers.isolation.add(scope.space, can_swap=False)

    assert scope.space.import_main("entry_s").helper_s is helper
    assert sys.modules["parts_s.one"] is one
    workers.isolation.remove(scope.space)
    assert sys.modules["helper_s"] is helper
    assert "entry_s" not in sys.modules


def test_after_its_main_module_all_that_it_imports_stays(workers: Any, host: Any) -> None:
    entry = host("entry_s")
    first, second = taken_in(workers), None
    workers.isolation.add(first.space)
    assert first.space.reload("entry_s") is entry
    lazy = entry.lazy()
    workers.isolation.remove(first.space)
    second = taken_in(workers)
    workers.isolation.add(second.space)

    assert second.space.reload("entry_s").lazy() is lazy


def test_a_clash_with_another_worker_stays_one(workers: Any, host: Any) -> None:
    host("helper_s")
    workers.isolation.add(taken_in(workers).space)
    with pytest.raises(IsolationError, match="helper_s"):
        workers.isolation.add(taken_in(workers, "b").space, can_swap=False)


def test_beside_another_worker_each_has_its_own(workers: Any, host: Any) -> None:
    helper = host("helper_s")
    a, b = taken_in(workers), taken_in(workers, "b")
    workers.isolation.add(a.space, b.space)

    assert workers.isolation.swapping
    assert a.space.import_main("entry_s").helper_s is helper
    assert b.space.import_main("entry_s").helper_s is not helper
    workers.isolation.remove(b.space)
    assert sys.modules["helper_s"] is helper


@pytest.mark.parametrize("alone", [True, False])
def test_unshared_it_has_new_ones_until_it_goes(workers: Any, host: Any, alone: bool) -> None:
    entry, helper = host("entry_s"), host("helper_s")
    a = taken_in(workers)
    workers.isolation.add(a.space, *([] if alone else [taken_in(workers, "b").space]))
    unshare(workers.isolation, a.space)

    again = a.space.reload("entry_s")
    assert again is not entry
    assert again.helper_s is not helper
    workers.isolation.remove(a.space)
    if alone:
        assert (sys.modules["entry_s"], sys.modules["helper_s"]) == (entry, helper)


@pytest.mark.parametrize("imported", [(), ("helper_s",)])
def test_a_private_package_goes_with_the_hosts_modules(
    workers: Any, host: Any, imported: tuple[str, ...]
) -> None:
    for name in (*imported, "mypy_extensions"):
        host(name)
    uses = {"uses_s.py": "import mypy_extensions"}
    scope = taken_in(workers, more=uses, private_packages=["mypy_extensions"])

    assert workers.isolation.needs_swapping([scope.space]) is not bool(imported)


def test_a_copy_under_another_name_is_found(
    workers: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = taken_in(workers)
    assert other_names(scope.space) == {}
    monkeypatch.syspath_prepend(str(workers.folder))
    host("a.helper_s")
    found = other_names(scope.space)
    for name in ("a.helper_s", "a"):
        del sys.modules[name]
    assert found == {"a.helper_s": "helper_s"}
    assert Path(scope.space.root or "").name == "a"
