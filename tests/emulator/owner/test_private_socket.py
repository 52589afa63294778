"""The private socket of the process that owns a state directory."""

import json
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.owner.access import open_state
from pyflare.owner.client import OwnerLost, OwnerRefused, RemoteAccess
from pyflare.owner.local import LocalAccess
from pyflare.owner.protocol import BODY, HEAD, JSON, LONGEST, VERSION, identity, json_frame
from pyflare_bindings.lease import Lease, LeaseHeld, read_holder

from .conftest import Owner


def ask(owner: Owner) -> RemoteAccess:
    access = RemoteAccess.connect(owner.root)
    assert access is not None
    return access


def raw(owner: Owner) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(10)
    made.connect(read_holder(owner.root)["socket"])
    return made


def answer(made: socket.socket) -> Any:
    data = made.recv(65536)
    return json.loads(data[HEAD.size :]) if data else None


def test_the_socket_is_for_this_user_alone(owner: Owner) -> None:
    mode = (owner.root / "owner.sock").stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_operations_run_in_the_owner(owner: Owner) -> None:
    access = ask(owner)
    access.call("d1.query", id="db", statements=["CREATE TABLE t (v)", "INSERT INTO t VALUES (7)"])
    assert owner.run(owner.registry.d1("db").query([_select("SELECT v FROM t")]))[0].rows == [(7,)]
    access.close()


def _select(sql: str) -> Any:
    from pyflare_bindings.d1 import Statement

    return Statement(sql)


def test_bodies_go_both_ways(owner: Owner) -> None:
    access = ask(owner)
    pieces = [bytes([n]) * 100_000 for n in range(30)]
    access.call("r2.put", body=pieces, id="my-bucket", key="k", length=3_000_000)
    told, body = access.fetch("r2.get", id="my-bucket", key="k")
    assert told["size"] == 3_000_000
    assert b"".join(body) == b"".join(pieces)
    assert access.fetch("r2.get", id="my-bucket", key="none")[0] is None
    access.close()


def test_a_refusal_leaves_the_connection_usable_also_with_a_body_on_its_way(owner: Owner) -> None:
    access = ask(owner)
    for _ in range(3):
        with pytest.raises(OwnerRefused, match="exceeds limit of 26214400"):
            access.call(
                "kv.put", body=[b"x" * 1_000_000] * 26, id="kv", key="k", length=26_000_000_0
            )
        access.call("kv.put", body=[b"good"], id="kv", key="k")
    with pytest.raises(OwnerRefused, match=r"There is no operation 'no\.such'"):
        access.call("no.such")
    with pytest.raises(OwnerRefused, match="needs the argument 'id'"):
        access.call("d1.query", statements=[])
    assert b"".join(access.fetch("kv.get", id="kv", key="k")[1]) == b"good"
    access.close()


def test_a_failing_statement_is_named_by_its_place(owner: Owner) -> None:
    access = ask(owner)
    with pytest.raises(OwnerRefused, match="no such table: t") as raised:
        access.call("d1.query", id="db", statements=["SELECT 1", "SELECT * FROM t"])
    assert raised.value.statement == 1
    access.close()


def test_many_clients_are_served_at_once(owner: Owner) -> None:
    many = [ask(owner) for _ in range(100)]
    for index, each in enumerate(many):
        each.call("kv.put", body=[b"v"], id="kv", key=f"k{index}")
    assert len(many[0].call("kv.list", id="kv")["keys"]) == 100
    for each in many:
        each.close()


def test_a_statement_is_stopped_when_its_client_has_gone(owner: Owner) -> None:
    access = ask(owner)
    endless = (
        "WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n) SELECT count(*) FROM n"
    )
    access._socket.sendall(
        json_frame({"operation": "d1.query", "arguments": {"id": "db", "statements": [endless]}})
    )
    access.close()
    other = ask(owner)
    assert other.call("d1.query", id="db", statements=["SELECT 1"])[0]["rows"] == [[1]]
    other.close()


def test_a_path_that_is_too_long_for_a_socket_gets_a_shorter_one(
    own: Callable[..., Owner], tmp_path: Path
) -> None:
    owner = own(tmp_path / ("deep" * 40) / "state")
    access = ask(owner)
    assert access.call("d1.query", id="db", statements=["SELECT 1"])[0]["rows"] == [[1]]
    access.close()
    path = Path(read_holder(owner.root)["socket"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    owner.end()
    assert not path.parent.exists()


def test_what_a_killed_owner_left_does_not_hinder_the_next(
    own: Callable[..., Owner], tmp_path: Path
) -> None:
    for root in (tmp_path / "short", tmp_path / ("deep" * 40)):
        root.mkdir()
        first = Lease.acquire(root)
        from pyflare.owner.address import OwnerSocket

        left = OwnerSocket(first)
        path = Path(read_holder(root)["socket"])
        # As the end of a process does: nothing is cleaned up.
        left.listening.close()
        first.release()
        assert path.exists()
        ask(own(root)).close()
        assert path.exists() == (path.parent == root)


@pytest.mark.parametrize(
    "hello",
    [
        {"protocol": VERSION + 1},
        {},
    ],
)
def test_another_version_is_refused_with_both_named(owner: Owner, hello: dict[str, Any]) -> None:
    made = raw(owner)
    made.sendall(json_frame({**hello, "purpose": "operations"}))
    assert "runs another version of pyflare" in answer(made)["refused"]
    made.close()


@pytest.mark.parametrize(
    ("key", "word"),
    [("python", "interpreter"), ("environment", "environment"), ("installation", "pyflare")],
)
def test_an_embedded_instance_of_another_environment_is_refused(
    owner: Owner, key: str, word: str
) -> None:
    made = raw(owner)
    made.sendall(json_frame({**identity(), key: "elsewhere", "purpose": "embedded"}))
    assert f"it runs with another {word}" in answer(made)["refused"]
    made.close()


def test_a_session_is_refused_where_no_workers_are_taken_in(owner: Owner) -> None:
    made = raw(owner)
    made.sendall(json_frame({**identity(), "purpose": "session"}))
    assert "takes in no further Workers" in answer(made)["refused"]
    made.close()


@pytest.mark.parametrize(
    "nonsense",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD.pack(JSON, LONGEST + 1),
        HEAD.pack(JSON, 2**31),
        HEAD.pack(BODY, 0),
        HEAD.pack(JSON, 2) + b"[]",
        HEAD.pack(JSON, 1) + b"{",
    ],
)
def test_whoever_does_not_know_the_protocol_is_hung_up_on(owner: Owner, nonsense: bytes) -> None:
    made = raw(owner)
    made.sendall(nonsense)
    try:
        assert made.recv(100) == b""
    except ConnectionResetError:
        pass
    made.close()
    ask(owner).close()
    assert owner.reports == []


def test_a_call_during_the_owners_end_gets_the_documented_error(owner: Owner) -> None:
    access = ask(owner)
    owner.end()
    with pytest.raises(OwnerLost, match="ended while it was at work"):
        access.call("d1.query", id="db", statements=["SELECT 1"])
    access.close()


def test_what_is_under_way_at_an_orderly_end_is_finished(owner: Owner) -> None:
    access = ask(owner)

    def pieces() -> Any:
        yield b"first"
        import threading

        ending = threading.Thread(target=owner.end)
        ending.start()
        yield b"second"

    access.call("kv.put", body=pieces(), id="kv", key="k")
    access.close()
    owner.end()
    import time

    deadline = time.monotonic() + 10
    while True:
        try:
            local = LocalAccess(owner.root)
            break
        except LeaseHeld:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert b"".join(local.fetch("kv.get", id="kv", key="k")[1]) == b"firstsecond"
    local.close()


def test_without_an_owner_the_operations_run_here(tmp_path: Path) -> None:
    access = open_state(tmp_path / "state")
    assert isinstance(access, LocalAccess)
    access.call("kv.put", body=[b"v"], id="kv", key="k")
    access.close()
    access = open_state(tmp_path / "state")
    assert b"".join(access.fetch("kv.get", id="kv", key="k")[1]) == b"v"
    access.close()


def test_a_directory_that_stays_busy_is_named_in_the_end(tmp_path: Path) -> None:
    lease = Lease.acquire(tmp_path)
    notices: list[str] = []
    with pytest.raises(LeaseHeld, match="is in use by process"):
        open_state(tmp_path, notice=notices.append, seconds=1.2)
    assert len(notices) == 1
    assert notices[0].startswith("Waiting for process ")
    lease.release()


def test_an_owner_that_stands_still_is_named_with_the_likely_reasons(owner: Owner) -> None:
    stands, notices = threading.Event(), list[str]()
    owner.call_soon(stands.wait)
    try:
        with pytest.raises(OwnerRefused, match=r"open in process \d+, which does not answer"):
            open_state(owner.root, notice=notices.append, seconds=1.05)
    finally:
        stands.set()

    assert ["stand at a breakpoint" in each for each in notices] == [True]
    open_state(owner.root).close()
