"""`os.environ` of a worker: the process's variables below, the worker's own writes on top."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.workers.crossing import entered
from pyflare.workers.current import WorkerScope
from pyflare.workers.environ import EnvironOverlay

VARIABLE = "PYFLARE_TEST_VARIABLE"


@pytest.fixture
def scopes(workers: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[WorkerScope]]:
    monkeypatch.setenv(VARIABLE, "process")
    overlay = EnvironOverlay()
    overlay.install()
    yield [workers.make(name, {}) for name in ("a", "b")]
    overlay.uninstall()


def test_a_worker_reads_the_process_environment(scopes: list[WorkerScope]) -> None:
    with entered(scopes[0]):
        assert os.environ[VARIABLE] == os.getenv(VARIABLE) == "process"


def test_a_write_stays_in_the_worker(scopes: list[WorkerScope]) -> None:
    a, b = scopes

    with entered(a):
        os.environ[VARIABLE] = "a"
        os.environ.setdefault("PYFLARE_TEST_NEW", "a")
    with entered(b):
        assert os.environ[VARIABLE] == "process"
        assert "PYFLARE_TEST_NEW" not in os.environ
        os.environ.setdefault("PYFLARE_TEST_NEW", "b")
    with entered(a):
        assert (os.environ[VARIABLE], os.environ["PYFLARE_TEST_NEW"]) == ("a", "a")
    assert os.environ[VARIABLE] == "process"
    assert "PYFLARE_TEST_NEW" not in os.environ


def test_a_deletion_stays_in_the_worker(scopes: list[WorkerScope]) -> None:
    with entered(scopes[0]):
        del os.environ[VARIABLE]
        assert VARIABLE not in os.environ
        with pytest.raises(KeyError, match=VARIABLE):
            del os.environ[VARIABLE]
    assert VARIABLE in os.environ


def test_asking_for_a_variable_that_may_be_absent(scopes: list[WorkerScope]) -> None:
    def asked() -> list[object]:
        return [os.environ.get(VARIABLE), os.getenv("PYFLARE_TEST_NEW", "none")]

    with entered(scopes[0]):
        assert asked() == ["process", "none"]
        os.environ["PYFLARE_TEST_NEW"] = "a"
        assert asked() == ["process", "a"]
        del os.environ[VARIABLE]
        assert asked() == [None, "a"]
    assert asked() == ["process", "none"]


@pytest.mark.parametrize("ask", ["get", "__contains__", "__getitem__"])
def test_a_name_that_is_no_string_is_refused(scopes: list[WorkerScope], ask: str) -> None:
    with entered(scopes[0]), pytest.raises(TypeError, match="str expected, not int"):
        getattr(os.environ, ask)(1)


def test_listing_shows_what_the_worker_sees(scopes: list[WorkerScope]) -> None:
    with entered(scopes[0]):
        size = len(os.environ)
        os.environ["PYFLARE_TEST_NEW"] = "1"
        del os.environ[VARIABLE]
        copy = os.environ.copy()

        assert copy == dict(os.environ)
        assert (copy["PYFLARE_TEST_NEW"], VARIABLE in copy) == ("1", False)
        assert len(os.environ) == size
        assert "PYFLARE_TEST_NEW" in repr(os.environ)


def test_a_value_that_is_no_string_is_refused(scopes: list[WorkerScope]) -> None:
    with entered(scopes[0]), pytest.raises(TypeError, match="str expected, not int"):
        os.environ[VARIABLE] = 1  # type: ignore[assignment]


def test_the_process_gets_its_environment_back() -> None:
    before = type(os.environ)
    overlay = EnvironOverlay()

    overlay.install()
    overlay.uninstall()

    assert type(os.environ) is before
