"""A thread beside its caller: its jobs are done, and not on the processor that the caller needs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from pyflare_bindings.storage.side_thread import SideThread


@pytest.fixture
def thread() -> Iterator[SideThread]:
    thread = SideThread("beside")
    yield thread
    thread.close()


def test_a_job_is_done_on_the_thread_that_has_the_name(thread: SideThread) -> None:
    names = [thread.submit(lambda: threading.current_thread().name).result() for _ in range(2)]
    assert names == ["beside_0", "beside_0"]


def test_it_is_idle_but_for_the_time_of_a_job(thread: SideThread) -> None:
    go_on = threading.Event()
    before = thread.is_idle
    job = thread.submit(go_on.wait)
    during = thread.is_idle
    go_on.set()
    job.result()
    assert (before, during, thread.is_idle) == (True, False, True)


def test_what_a_job_raises_is_its_outcome_and_the_next_one_runs(thread: SideThread) -> None:
    failed: Future[float] = thread.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failed.result()
    assert thread.submit(lambda: "next").result() == "next"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets a thread choose")
def test_a_job_may_run_on_all_processors_but_the_callers(thread: SideThread) -> None:
    allowed = os.sched_getaffinity(0)
    thread.submit(lambda: None).result()
    during_job = thread.submit(lambda: os.sched_getaffinity(0)).result()
    assert during_job < allowed if len(allowed) > 1 else during_job == allowed
    assert len(during_job) >= len(allowed) - 1
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets a thread choose")
def test_a_job_may_run_on_all_processors_once_the_caller_waits(thread: SideThread) -> None:
    thread.submit(lambda: None).result()
    go_on = threading.Event()

    def job() -> set[int]:
        go_on.wait()
        return os.sched_getaffinity(0)

    under_way = thread.submit(job)
    thread.may_run_anywhere()
    go_on.set()
    assert under_way.result() == os.sched_getaffinity(0)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets a thread choose")
def test_a_system_that_refuses_the_choice_loses_no_job(
    thread: SideThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not in this container")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert [thread.submit(lambda: "done").result() for _ in range(3)] == ["done"] * 3


def test_closing_waits_for_the_job_and_may_be_repeated(thread: SideThread) -> None:
    done = thread.submit(lambda: "done")
    thread.close()
    thread.close()
    assert done.done()
