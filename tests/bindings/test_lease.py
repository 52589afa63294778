"""One process owns a state directory at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyflare_bindings.lease import Lease, LeaseHeld, read_holder

HOLD = """
import sys, time
from pathlib import Path
from pyflare_bindings.lease import Lease
Lease.acquire(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def hold_elsewhere(root: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_process_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    process = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(LeaseHeld, match=f"in use by process {process.pid}.*--persist-to"):
            Lease.acquire(tmp_path)
    finally:
        end(process)


def test_the_lock_frees_itself_when_its_process_is_killed(tmp_path: Path) -> None:
    end(hold_elsewhere(tmp_path))
    lease = Lease.acquire(tmp_path)
    lease.release()


def test_a_released_lease_can_be_taken_again(tmp_path: Path) -> None:
    first = Lease.acquire(tmp_path)
    with pytest.raises(LeaseHeld) as refusal:
        Lease.acquire(tmp_path)
    assert refusal.value.holder == {"pid": os.getpid()}
    first.release()
    first.release()
    Lease.acquire(tmp_path).release()


def test_a_holder_whose_note_is_unreadable_is_still_refused(tmp_path: Path) -> None:
    lease = Lease.acquire(tmp_path)
    (tmp_path / "lease.json").write_text("{")
    with pytest.raises(LeaseHeld, match="in use by another process"):
        Lease.acquire(tmp_path)
    lease.release()


def test_a_holder_tells_more_as_it_goes_along(tmp_path: Path) -> None:
    lease = Lease.acquire(tmp_path, serves=True)
    lease.tell(socket="/a/rather/long/path")
    lease.tell(socket="/s")
    assert read_holder(tmp_path) == {"pid": os.getpid(), "serves": True, "socket": "/s"}
    lease.release()


def test_the_next_holder_knows_what_the_one_before_had_told(tmp_path: Path) -> None:
    first = Lease.acquire(tmp_path, socket="/left/behind")
    first.release()
    second = Lease.acquire(tmp_path)
    assert second.before == {"pid": os.getpid(), "socket": "/left/behind"}
    assert read_holder(tmp_path) == {"pid": os.getpid()}
    second.release()


def test_nobody_has_told_anything_about_a_new_or_damaged_directory(tmp_path: Path) -> None:
    assert read_holder(tmp_path) == {}
    (tmp_path / "lease.json").write_text("[1")
    assert read_holder(tmp_path) == {}
