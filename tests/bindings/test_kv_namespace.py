"""A KV namespace: values, metadata, expiry and listings, each as production has them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare_bindings.clock import ManualClock
from pyflare_bindings.kv import KVEntry, KVError, KVNamespace, limits
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError

MIB = 1024 * 1024
LARGE = 200_000
DURABILITIES = ("process", "machine")


class Client:
    """One namespace, called synchronously, on a clock that is turned by hand."""

    def __init__(self, runner: asyncio.Runner, root: Path, durability: Any) -> None:
        self.runner = runner
        self.root = root
        self.durability = durability
        self.clock = ManualClock()
        self.open()

    def open(self) -> None:
        self.registry = BindingRegistry(self.root, clock=self.clock, durability=self.durability)
        self.kv: KVNamespace = self.registry.kv("test")

    def restart(self) -> None:
        self.close()
        self.open()

    def close(self) -> None:
        self.runner.run(self.registry.close())

    def put(self, key: str, value: Any = b"", **options: Any) -> None:
        self.runner.run(self.kv.put(key, value, **options))

    def entry(self, key: str) -> KVEntry | None:
        return self.runner.run(self.kv.get(key))

    def get(self, key: str) -> bytes | None:
        async def read() -> bytes | None:
            entry = await self.kv.get(key)
            return None if entry is None else await entry.read()

        return self.runner.run(read())

    def delete(self, key: str) -> None:
        self.runner.run(self.kv.delete(key))

    def names(self, **options: Any) -> list[str]:
        return [key.name for key in self.runner.run(self.kv.list(**options)).keys]

    def advance(self, seconds: float) -> None:
        self.runner.run(self.clock.advance(seconds))

    def refused(self, status: int, key: str = "k", value: Any = b"", **options: Any) -> str:
        with pytest.raises(KVError) as caught:
            self.put(key, value, **options)
        assert caught.value.status == status
        return str(caught.value)

    def blobs(self) -> list[Path]:
        return sorted(self.root.glob("**/*.blobs/*"))

    def wait_while(self, condition: Callable[[], bool]) -> None:
        """Let the event loop run; fails when that does not help within twenty seconds."""
        until = time.monotonic() + 20
        while condition():
            assert time.monotonic() < until
            self.runner.run(asyncio.sleep(0.001))

    def rows(self) -> int:
        """How many rows the file holds, the expired ones included."""
        import apsw

        connection = apsw.Connection(str(self.kv.path))
        try:
            return int(connection.execute("SELECT count(*) FROM entries").get)  # type: ignore[arg-type]
        finally:
            connection.close()


@pytest.fixture(params=DURABILITIES)
def kv(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        client = Client(runner, tmp_path / "state", request.param)
        yield client
        client.close()


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


class TestValues:
    def test_a_key_that_was_never_put_has_no_value(self, kv: Client) -> None:
        assert kv.get("absent") is None

    @pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3 * MIB])
    def test_bytes_come_back_as_they_were(self, kv: Client, size: int) -> None:
        value = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
        kv.put("k", value)
        assert kv.get("k") == value

    @pytest.mark.parametrize("size", [0, 10, 65536, 65537, 3 * MIB])
    def test_streams_are_stored_like_the_bytes_they_give(self, kv: Client, size: int) -> None:
        value = b"ab" * (size // 2) + b"c" * (size % 2)
        kv.put("k", stream(*(value[at : at + 50_000] for at in range(0, size, 50_000))))
        assert kv.get("k") == value

    def test_a_large_value_can_be_read_as_a_stream(self, kv: Client) -> None:
        value = bytes(range(256)) * 4000
        kv.put("k", value)

        async def chunks() -> list[bytes]:
            entry = await kv.kv.get("k")
            assert entry is not None
            return [chunk async for chunk in entry.chunks()]

        read = kv.runner.run(chunks())
        assert len(read) > 1
        assert b"".join(read) == value

    def test_a_value_that_is_overwritten_stays_readable_for_whoever_has_it(
        self, kv: Client
    ) -> None:
        kv.put("k", b"a" * LARGE)
        entry = kv.entry("k")
        kv.put("k", b"b" * LARGE)
        assert entry is not None
        assert kv.runner.run(entry.read()) == b"a" * LARGE
        assert kv.get("k") == b"b" * LARGE

    @pytest.mark.parametrize("after", [b"small", b"b" * LARGE])
    def test_the_file_of_a_value_that_was_overwritten_is_removed(
        self, kv: Client, after: bytes
    ) -> None:
        kv.put("k", b"a" * LARGE)
        kv.put("k", after)
        kv.close()
        assert len(kv.blobs()) == (len(after) == LARGE)

    def test_the_file_of_a_value_that_was_deleted_is_removed(self, kv: Client) -> None:
        kv.put("k", b"a" * LARGE)
        kv.delete("k")
        assert kv.get("k") is None
        kv.close()
        assert kv.blobs() == []

    def test_deleting_what_is_not_there_is_fine(self, kv: Client) -> None:
        kv.delete("absent")

    def test_everything_survives_a_restart(self, kv: Client) -> None:
        kv.put("small", b"s", metadata='{"a":1}', expiration_ttl=60)
        kv.put("large", b"l" * LARGE)
        kv.restart()
        small = kv.entry("small")
        assert small is not None
        assert (small.content, small.metadata) == (b"s", '{"a":1}')
        assert small.expires == int(kv.clock.now()) + 60
        assert kv.get("large") == b"l" * LARGE


class TestLimits:
    def test_the_largest_value_is_taken(self, kv: Client) -> None:
        kv.put("k", b"x" * (25 * MIB))
        entry = kv.entry("k")
        assert entry is not None
        assert entry.size == 25 * MIB

    def test_one_byte_more_is_refused_and_the_old_value_stays(self, kv: Client) -> None:
        kv.put("k", b"old")
        assert kv.refused(413, value=b"x" * (25 * MIB + 1)) == (
            "Value length of 26214401 exceeds limit of 26214400."
        )
        assert kv.get("k") == b"old"

    def test_a_stream_that_turns_out_too_long_is_told_its_whole_length(self, kv: Client) -> None:
        value = stream(*[b"x" * MIB] * 27)
        assert kv.refused(413, value=value) == (
            "Value length of 28311552 exceeds limit of 26214400."
        )
        kv.close()
        assert kv.blobs() == []

    def test_a_declared_length_is_refused_before_anything_is_read(self, kv: Client) -> None:
        async def unread() -> AsyncIterator[bytes]:
            raise AssertionError("the stream was read")
            yield b""

        assert "exceeds limit" in kv.refused(413, value=unread(), length=26214401)

    @pytest.mark.parametrize(
        ("metadata", "size"), [('"' + "x" * 1023 + '"', 1025), ('"' + "ä" * 512 + '"', 1026)]
    )
    def test_metadata_is_measured_as_utf8_json(self, kv: Client, metadata: str, size: int) -> None:
        assert kv.refused(413, metadata=metadata) == (
            f"Metadata length of {size} exceeds limit of 1024."
        )
        assert kv.get("k") is None

    def test_metadata_of_exactly_the_limit_is_taken(self, kv: Client) -> None:
        kv.put("k", metadata='"' + "x" * 1022 + '"')
        assert kv.entry("k") is not None

    @pytest.mark.parametrize("key", ["x" * 512, "ä" * 256, "🙂" * 128])
    def test_a_key_may_have_512_bytes(self, kv: Client, key: str) -> None:
        kv.put(key, b"v")
        assert kv.names() == [key]

    @pytest.mark.parametrize(("key", "size"), [("x" * 513, 513), ("ä" * 257, 514)])
    def test_a_longer_key_is_refused(self, kv: Client, key: str, size: int) -> None:
        assert kv.refused(414, key=key) == (
            f"UTF-8 encoded length of {size} exceeds key length limit of 512."
        )

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            ("", "Key names must not be empty"),
            (".", 'Illegal key name ".". Please use a different name.'),
            ("..", 'Illegal key name "..". Please use a different name.'),
            ("a\ud800", "Could not URL-decode key name"),
        ],
    )
    def test_names_that_are_no_keys(self, kv: Client, key: str, message: str) -> None:
        assert kv.refused(400, key=key) == message

    def test_the_key_is_looked_at_first_and_the_value_last(self, kv: Client) -> None:
        wrong = {"expiration_ttl": 1, "metadata": "1" * 1025}
        huge = b"x" * (25 * MIB + 1)
        assert "Illegal key" in kv.refused(400, ".", huge, **wrong)
        assert "expiration_ttl" in kv.refused(400, "k", huge, **wrong)
        assert "Metadata" in kv.refused(413, "k", huge, metadata="1" * 1025)


class TestExpiry:
    @pytest.mark.parametrize(
        ("ttl", "message"),
        [
            (0, "Invalid expiration_ttl of 0. Please specify integer greater than 0."),
            (-1, "Invalid expiration_ttl of -1. Please specify integer greater than 0."),
            (1, "Invalid expiration_ttl of 1. Expiration TTL must be at least 60."),
            (59, "Invalid expiration_ttl of 59. Expiration TTL must be at least 60."),
        ],
    )
    def test_a_ttl_below_a_minute_is_refused(self, kv: Client, ttl: int, message: str) -> None:
        assert kv.refused(400, expiration_ttl=ttl) == message
        assert kv.get("k") is None

    @pytest.mark.parametrize(
        ("offset", "message"),
        [
            (
                -1,
                "Please specify integer greater than the current number of seconds since the "
                "UNIX epoch.",
            ),
            (
                0,
                "Please specify integer greater than the current number of seconds since the "
                "UNIX epoch.",
            ),
            (1, "Expiration times must be at least 60 seconds in the future."),
            (59, "Expiration times must be at least 60 seconds in the future."),
        ],
    )
    def test_a_time_nearer_than_a_minute_is_refused(
        self, kv: Client, offset: int, message: str
    ) -> None:
        when = int(kv.clock.now()) + offset
        assert kv.refused(400, expiration=when) == f"Invalid expiration of {when}. {message}"

    @pytest.mark.parametrize("how", ["expiration", "expiration_ttl"])
    def test_a_value_is_there_until_its_second_and_gone_from_it_on(
        self, kv: Client, how: str
    ) -> None:
        start = int(kv.clock.now()) if how == "expiration" else 0
        kv.put("k", b"v", **{how: start + 61})
        kv.advance(60)
        assert kv.get("k") == b"v"
        assert kv.names() == ["k"]
        kv.advance(1)
        assert kv.get("k") is None
        assert kv.names() == []

    def test_the_ttl_wins_over_the_time(self, kv: Client) -> None:
        kv.put("k", b"v", expiration=1, expiration_ttl=100)
        entry = kv.entry("k")
        assert entry is not None
        assert entry.expires == int(kv.clock.now()) + 100

    def test_a_put_without_options_clears_expiry_and_metadata(self, kv: Client) -> None:
        kv.put("k", b"1", expiration_ttl=60, metadata="1")
        kv.put("k", b"2")
        entry = kv.entry("k")
        assert entry is not None
        assert (entry.expires, entry.metadata) == (None, None)

    def test_expired_values_leave_the_disk_by_themselves(self, kv: Client) -> None:
        for number in range(120):
            kv.put(f"small{number}", b"v", expiration_ttl=60)
        kv.put("large", b"x" * LARGE, expiration_ttl=60)
        kv.put("kept", b"v")
        kv.advance(59)
        assert kv.rows() == 122
        kv.advance(2)
        kv.wait_while(lambda: kv.rows() > 1 or bool(kv.blobs()))
        assert kv.names() == ["kept"]

    def test_values_that_expired_while_nobody_ran_leave_the_disk_too(self, kv: Client) -> None:
        kv.put("k", b"x" * LARGE, expiration_ttl=60)
        kv.close()
        kv.runner.run(kv.clock.advance(100))
        kv.open()
        assert kv.get("k") is None
        kv.advance(2)
        kv.wait_while(lambda: bool(kv.rows() or kv.blobs()))

    def test_an_earlier_expiry_than_the_one_waited_for_is_swept_in_time(self, kv: Client) -> None:
        kv.put("late", expiration_ttl=1000)
        kv.put("early", expiration_ttl=60)
        kv.advance(62)
        kv.wait_while(lambda: kv.rows() != 1)


class TestListing:
    def test_keys_are_ordered_by_their_utf8_bytes(self, kv: Client) -> None:
        keys = ["b", "a", "Z", "ä", "\uffff", "🙂", "a\0", "a ", "~", "zz"]
        for key in keys:
            kv.put(key)
        assert kv.names() == sorted(keys, key=str.encode)

    @pytest.mark.parametrize("limit", [1, 3, 7, 10, 11])
    def test_pages_give_every_key_once(self, kv: Client, limit: int) -> None:
        keys = [f"k{number:02}" for number in range(10)]
        for key in keys:
            kv.put(key)

        async def pages() -> list[list[str]]:
            found, cursor = [], None
            while True:
                page = await kv.kv.list(limit=limit, cursor=cursor)
                found.append([key.name for key in page.keys])
                cursor = page.cursor
                if cursor is None:
                    return found

        found = kv.runner.run(pages())
        assert list(itertools.chain(*found)) == keys
        assert len(found) == -(-10 // limit)

    def test_a_prefix_is_literal(self, kv: Client) -> None:
        keys = ["re%", "re_", "rex", "re'x", 're"x', "Rex", "re", "r", "*", "re\\"]
        for key in keys:
            kv.put(key)
        for prefix in ["re%", "re_", "rex", "re'", "*", "re\\", "R", ""]:
            assert kv.names(prefix=prefix) == sorted(k for k in keys if k.startswith(prefix))

    @pytest.mark.parametrize("prefix", ["ä", "\x7f", "\U0010ffff", "\uffff"])
    def test_a_prefix_ends_where_its_characters_end(self, kv: Client, prefix: str) -> None:
        keys = [prefix, prefix + "\0", prefix + "\U0010ffff\U0010ffff"]
        for key in [*keys, "a", "\U0010fffe", "\x80"]:
            kv.put(key)
        assert kv.names(prefix=prefix) == keys

    def test_metadata_and_expiry_come_along(self, kv: Client) -> None:
        kv.put("k", metadata="[1]", expiration_ttl=60)
        (key,) = kv.runner.run(kv.kv.list()).keys
        assert (key.metadata, key.expires) == ("[1]", int(kv.clock.now()) + 60)

    def test_expired_keys_fill_no_page(self, kv: Client) -> None:
        for number in range(30):
            kv.put(f"k{number:02}", **({"expiration_ttl": 60} if number % 3 else {}))
        kv.advance(60)
        assert kv.names(limit=10) == [f"k{number:02}" for number in range(0, 30, 3)]
        assert kv.runner.run(kv.kv.list(limit=10)).cursor is None

    def test_limit_and_prefix_may_change_between_pages(self, kv: Client) -> None:
        for key in ("a1", "a2", "b1", "b2"):
            kv.put(key)
        cursor = kv.runner.run(kv.kv.list(limit=1)).cursor
        assert kv.names(cursor=cursor, prefix="a") == ["a2"]
        assert kv.names(cursor=cursor, prefix="b", limit=1) == ["b1"]

    @pytest.mark.parametrize(
        ("options", "status", "message"),
        [
            (
                {"limit": 1001},
                400,
                "Invalid key_count_limit of 1001. Please specify an integer less than 1000.",
            ),
            (
                {"limit": 0},
                400,
                "Invalid key_count_limit of 0. Please specify an integer greater than 0.",
            ),
            (
                {"prefix": "x" * 513},
                414,
                "UTF-8 encoded length of 513 exceeds key length limit of 512.",
            ),
            (
                {"cursor": "?"},
                400,
                "Invalid cursor. Please pass the cursor of the previous page unchanged.",
            ),
        ],
    )
    def test_wrong_arguments(
        self, kv: Client, options: dict[str, Any], status: int, message: str
    ) -> None:
        with pytest.raises(KVError) as caught:
            kv.names(**options)
        assert (caught.value.status, str(caught.value)) == (status, message)


class TestManyKeys:
    def many(self, kv: Client, keys: list[str]) -> dict[str, KVEntry | None]:
        return kv.runner.run(kv.kv.get_many(keys))

    def test_all_are_answered_in_the_order_asked_for_and_once(self, kv: Client) -> None:
        kv.put("1", b"one")
        kv.put("b", b"bee")
        found = self.many(kv, ["b", "absent", "1", "b"])
        assert list(found) == ["b", "absent", "1"]
        assert found["absent"] is None
        assert [entry.content for entry in found.values() if entry] == [b"bee", b"one"]

    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ([], "You must request a minimum of 1 key"),
            ([str(number) for number in range(101)], "You can request a maximum of 100 keys"),
            (["a", ""], "Key names must not be empty"),
            (["a", ".."], 'Illegal key name "..". Please use a different name.'),
        ],
    )
    def test_wrong_keys(self, kv: Client, keys: list[str], message: str) -> None:
        with pytest.raises(KVError) as caught:
            self.many(kv, keys)
        assert (caught.value.status, str(caught.value)) == (400, message)

    def test_a_hundred_keys_are_answered(self, kv: Client) -> None:
        assert len(self.many(kv, [str(number) for number in range(100)])) == 100

    def test_the_values_together_have_a_limit(self, kv: Client) -> None:
        for key in ("a", "b"):
            kv.put(key, b"x" * (13 * MIB))
        with pytest.raises(KVError, match="Total size of request exceeds the limit of 25MB"):
            self.many(kv, ["a", "b"])


class TestTrouble:
    def test_a_stream_that_fails_leaves_the_old_value_and_no_file(self, kv: Client) -> None:
        async def failing() -> AsyncIterator[bytes]:
            yield b"x" * LARGE
            raise OSError("the source is gone")

        kv.put("k", b"old")
        with pytest.raises(OSError, match="the source is gone"):
            kv.put("k", failing())
        assert kv.get("k") == b"old"
        kv.close()
        assert kv.blobs() == []

    def test_a_caller_that_is_cancelled_leaves_nothing(self, kv: Client) -> None:
        async def scenario() -> None:
            waiting = asyncio.Event()

            async def stuck() -> AsyncIterator[bytes]:
                yield b"x" * LARGE
                waiting.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(kv.kv.put("k", stuck()))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        kv.runner.run(scenario())
        assert kv.get("k") is None
        kv.close()
        assert kv.blobs() == []

    @pytest.mark.parametrize("turns", range(0, 40, 3))
    def test_cancelling_at_any_point_leaves_both_row_and_file_or_neither(
        self, kv: Client, turns: int
    ) -> None:
        async def scenario() -> None:
            await kv.kv.put("k", b"old" * LARGE)
            task = asyncio.create_task(kv.kv.put("k", b"new" * LARGE))
            for _ in range(turns):
                await asyncio.sleep(0.0005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        kv.runner.run(scenario())
        assert kv.get("k") in (b"old" * LARGE, b"new" * LARGE)
        kv.close()
        assert len(kv.blobs()) == 1

    def test_a_file_that_is_missing_is_an_error_and_not_an_absent_value(self, kv: Client) -> None:
        kv.put("k", b"x" * LARGE)
        (blob,) = kv.blobs()
        blob.unlink()
        with pytest.raises(StateError, match="missing") as caught:
            kv.get("k")
        assert caught.value.path == blob

    def test_a_file_that_was_cut_off_is_an_error(self, kv: Client) -> None:
        kv.put("k", b"x" * LARGE)
        (blob,) = kv.blobs()
        blob.write_bytes(b"x")
        with pytest.raises(StateError, match="has 1 bytes instead of 200000"):
            kv.get("k")

    def test_files_that_no_row_knows_are_swept_at_the_start(self, kv: Client) -> None:
        kv.put("k", b"x" * LARGE)
        kv.close()
        (blob,) = kv.blobs()
        orphan = blob.with_name("00000000-" + "0" * 32)
        orphan.write_bytes(b"left behind")
        kv.open()
        assert kv.get("k") == b"x" * LARGE
        assert kv.blobs() == [blob]

    @pytest.mark.parametrize("is_there", [True, False])
    def test_contents_whose_rows_are_lost_are_kept_aside_until_they_are_put_back(
        self, kv: Client, caplog: pytest.LogCaptureFixture, is_there: bool
    ) -> None:
        kv.put("large", b"x" * LARGE)
        kv.close()
        (index,) = kv.root.rglob("*.sqlite")
        (contents,) = kv.root.rglob("*.blobs")
        copy = index.read_bytes()
        index.unlink()
        if is_there:
            index.touch()
        kv.open()
        assert kv.get("large") is None
        kv.put("other", b"y" * LARGE)
        kv.close()
        (aside,) = kv.root.rglob("*.lost")
        assert str(aside) in caplog.text
        assert str(index) in caplog.text
        index.write_bytes(copy)
        for path in contents.iterdir():
            path.unlink()
        contents.rmdir()
        aside.rename(contents)
        kv.open()
        assert kv.get("large") == b"x" * LARGE

    def test_a_file_that_is_no_database_is_named(self, kv: Client) -> None:
        kv.close()
        kv.kv.path.parent.mkdir(parents=True, exist_ok=True)
        kv.kv.path.write_bytes(b"this is no database" * 100)
        kv.open()
        with pytest.raises(StateError, match="not a SQLite database") as caught:
            kv.get("k")
        assert caught.value.path == kv.kv.path

    def test_a_closed_namespace_says_so(self, kv: Client) -> None:
        kv.put("k")
        kv.close()
        for use in (kv.get, kv.put, kv.delete):
            with pytest.raises(ClosedError, match="the KV namespace 'test' has been closed"):
                use("k")

    def test_requests_that_come_together_at_first_share_one_opening(self, kv: Client) -> None:
        async def together() -> None:
            await asyncio.gather(*(kv.kv.put(f"k{number}", b"") for number in range(50)))

        kv.runner.run(together())
        assert len(kv.names()) == 50


class TestIdentity:
    def test_one_id_has_one_owner(self, tmp_path: Path) -> None:
        registry = BindingRegistry(tmp_path)
        assert registry.kv("a") is registry.kv("a")
        assert registry.kv("a") is not registry.kv("b")

    def test_no_file_is_named_after_a_key_or_leaves_the_directory(self, kv: Client) -> None:
        keys = ["../../etc/passwd", "a#b", "%41", "A", "a\0b", "🙂", "a.", "a ", "/t", "//t"]
        for key in keys:
            kv.put(key, key.encode() * LARGE)
        kv.restart()
        assert kv.names() == sorted(keys, key=str.encode)
        assert [kv.get(key) for key in keys] == [key.encode() * LARGE for key in keys]
        named = {path.name for path in kv.root.rglob("*")}
        assert not [name for name in named if any(key in name for key in keys if len(key) > 1)]


@pytest.mark.parametrize("name", ["expiration", "expiration_ttl"])
def test_a_time_beyond_every_date_is_refused(name: str) -> None:
    with pytest.raises(KVError, match=f"Invalid {name} of {10**20}"):
        limits.expiry(0.0, **{"expiration": None, "expiration_ttl": None, name: 10**20})
