"""Caches: what is put is found until it expires, whole, in part, or as "not modified"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare_bindings.cache import DEFAULT_CACHE, Answer, CacheStore, Conditions, named_cache
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError

URL = "http://cache.key/x?a=1"
LARGE = 200_000
MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT"


class Client:
    """All caches, called synchronously, on a clock that is turned by hand."""

    def __init__(self, runner: asyncio.Runner, root: Path, durability: Any) -> None:
        self.runner = runner
        self.root = root
        self.durability = durability
        self.clock = ManualClock()
        self.open()

    def open(self) -> None:
        self.registry = BindingRegistry(self.root, clock=self.clock, durability=self.durability)
        self.caches: CacheStore = self.registry.caches()

    def close(self) -> None:
        self.runner.run(self.registry.close())

    def restart(self) -> None:
        self.close()
        self.open()

    def put(
        self,
        body: Any = b"body",
        *,
        key: str = URL,
        cache: str = DEFAULT_CACHE,
        status: int = 200,
        control: str = "max-age=60",
        length: int | None = None,
        **headers: str,
    ) -> bool:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"cache-control": control, **named}
        return self.runner.run(self.caches.put(cache, key, status, given, body, length=length))

    def match(
        self, key: str = URL, *, cache: str = DEFAULT_CACHE, **conditions: str
    ) -> Answer | None:
        """Look up; a body that is a stream is read."""

        async def look_up() -> Answer | None:
            asked = Conditions(**conditions) if conditions else None
            found = await self.caches.match(cache, key, asked)
            if found is None or found.body is None or isinstance(found.body, bytes):
                return found
            return found._replace(body=b"".join([chunk async for chunk in found.body]))

        return self.runner.run(look_up())

    def found(self, key: str = URL, **conditions: str) -> Answer:
        found = self.match(key, **conditions)
        assert found is not None
        return found

    def delete(self, key: str = URL, *, cache: str = DEFAULT_CACHE) -> bool:
        return self.runner.run(self.caches.delete(cache, key))

    def advance(self, seconds: float) -> None:
        self.runner.run(self.clock.advance(seconds))

    def blobs(self) -> list[Path]:
        return sorted(self.root.glob("**/*.blobs/*"))


@pytest.fixture(params=["process", "machine"])
def caches(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        client = Client(runner, tmp_path / "state", request.param)
        yield client
        client.close()


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def header(answer: Answer, name: bytes) -> bytes | None:
    return dict(answer.headers).get(name)


class TestEntries:
    @pytest.mark.parametrize("size", [0, 4, 65536, 65537, LARGE])
    def test_a_body_comes_back_as_it_was(self, caches: Client, size: int) -> None:
        body = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
        assert caches.put(body)
        for _ in range(2):
            assert (caches.found().status, caches.found().body) == (200, body)

    def test_status_and_headers_come_back(self, caches: Client) -> None:
        caches.put(status=404, x_mine="ä")
        found = caches.found()
        assert found.status == 404
        assert header(found, b"x-mine") == "ä".encode()
        assert header(found, b"cf-cache-status") == b"HIT"
        assert header(found, b"content-length") == b"4"

    def test_a_stream_without_length_has_no_content_length(self, caches: Client) -> None:
        caches.put(stream(b"bo", b"dy"))
        assert header(caches.found(), b"content-length") is None
        assert caches.found().body == b"body"

    def test_a_status_without_body_has_none(self, caches: Client) -> None:
        caches.put(b"", status=204)
        assert caches.found().body is None

    def test_the_last_put_counts(self, caches: Client) -> None:
        for body in (b"one", b"t" * LARGE, b"three"):
            caches.put(body)
            assert caches.found().body == body
        caches.close()
        assert caches.blobs() == []

    def test_what_is_found_stays_readable_when_it_is_replaced(self, caches: Client) -> None:
        caches.put(b"a" * LARGE)

        async def scenario() -> bytes:
            found = await caches.caches.match(DEFAULT_CACHE, URL)
            assert found is not None
            await caches.caches.delete(DEFAULT_CACHE, URL)
            assert not isinstance(found.body, bytes)
            assert found.body is not None
            return b"".join([chunk async for chunk in found.body])

        assert caches.runner.run(scenario()) == b"a" * LARGE

    def test_every_part_of_the_key_counts(self, caches: Client) -> None:
        caches.put(key="http://a/x?p=1&q=2")
        for other in ("http://a/x?q=2&p=1", "https://a/x?p=1&q=2", "http://b/x?p=1&q=2",
                      "http://a/X?p=1&q=2", "http://a/x?p=1&q=2#f", "http://a/x"):  # fmt: skip
            assert caches.match(other) is None

    def test_named_caches_are_apart_from_each_other_and_the_default(self, caches: Client) -> None:
        names = [DEFAULT_CACHE, named_cache("default"), named_cache("a"), named_cache("")]
        for name in names:
            caches.put(name.encode(), cache=name)
        for name in names:
            found = caches.match(cache=name)
            assert found is not None
            assert found.body == name.encode()
        caches.delete(cache=named_cache("a"))
        assert [caches.match(cache=name) is None for name in names] == [False, False, True, False]

    @pytest.mark.parametrize("body", [b"small", b"l" * LARGE])
    def test_delete_tells_whether_there_was_something(self, caches: Client, body: bytes) -> None:
        caches.put(body)
        assert (caches.delete(), caches.delete(), caches.match()) == (True, False, None)
        caches.close()
        assert caches.blobs() == []

    def test_purging_empties_one_cache(self, caches: Client) -> None:
        for number in range(130):
            caches.put(key=f"http://a/{number}")
        caches.put(b"l" * LARGE, key="http://a/large")
        caches.put(cache=named_cache("other"))
        assert caches.runner.run(caches.caches.purge()) == 131
        assert caches.match("http://a/0") is None
        assert caches.match("http://a/large") is None
        assert caches.match(cache=named_cache("other")) is not None

    def test_entries_survive_a_restart(self, caches: Client) -> None:
        caches.put(b"small", x_mine="1")
        caches.put(b"l" * LARGE, key="http://large/")
        caches.restart()
        assert caches.found().body == b"small"
        assert header(caches.found(), b"x-mine") == b"1"
        assert caches.found("http://large/").body == b"l" * LARGE


class TestLifetime:
    @pytest.mark.parametrize("body", [b"small", b"l" * LARGE])
    def test_an_entry_is_found_until_its_second_and_not_from_it_on(
        self, caches: Client, body: bytes
    ) -> None:
        caches.put(body)
        caches.advance(59)
        assert caches.match() is not None
        caches.advance(1)
        assert caches.match() is None
        assert not caches.delete()

    def test_an_entry_loaded_from_the_disk_keeps_its_expiry(self, caches: Client) -> None:
        caches.put()
        caches.restart()
        assert caches.match() is not None
        caches.advance(60)
        assert caches.match() is None

    @pytest.mark.parametrize("body", [b"small", b"l" * LARGE])
    @pytest.mark.parametrize("restarted", [False, True])
    def test_the_age_of_an_entry_grows_with_the_clock(
        self, caches: Client, body: bytes, restarted: bool
    ) -> None:
        caches.put(body, control="max-age=600", age="30")
        ages = [dict(caches.found().headers)[b"age"]]
        caches.advance(45.5)
        if restarted:
            caches.restart()
        ages.append(dict(caches.found().headers)[b"age"])
        ages.append(dict(caches.found(range="bytes=0-1").headers)[b"age"])
        assert ages == [b"30", b"75", b"75"]

    def test_the_age_is_sent_once_and_nothing_else_of_the_books(self, caches: Client) -> None:
        caches.put()
        names = [name for name, _ in caches.found().headers]
        assert sorted(names) == sorted({*names}), names
        assert not [name for name in names if name.startswith(b":")]

    def test_a_response_that_may_not_be_kept_leaves_what_was_there(self, caches: Client) -> None:
        caches.put(b"old")
        assert not caches.put(b"new", control="no-store")
        assert caches.found().body == b"old"

    def test_a_response_that_is_stale_at_once_takes_the_place_of_the_old_one(
        self, caches: Client
    ) -> None:
        caches.put(b"old")
        assert not caches.put(b"new", control="max-age=0")
        assert caches.match() is None

    def test_what_is_not_kept_is_not_read(self, caches: Client) -> None:
        async def unread() -> AsyncIterator[bytes]:
            raise AssertionError("the stream was read")
            yield b""

        assert not caches.put(unread(), control="no-store")
        assert not caches.put(unread(), length=512 * 1024 * 1024 + 1)

    def test_the_default_lifetimes_can_be_switched_off(self, caches: Client) -> None:
        caches.caches.default_lifetimes = False
        caches.put(control="public")
        assert caches.match() is None


class TestConditions:
    ETAG = '"v1"'

    @pytest.fixture(autouse=True)
    def _stored(self, caches: Client) -> None:
        caches.put(b"0123456789", etag=self.ETAG, last_modified=MODIFIED)

    @pytest.mark.parametrize("tag", ['"v1"', 'W/"v1"', '"a", W/"v1"', "*", ' "v1" '])
    def test_an_etag_that_matches_weakly_is_not_modified(self, caches: Client, tag: str) -> None:
        found = caches.found(if_none_match=tag)
        assert (found.status, found.body) == (304, None)
        assert header(found, b"etag") == b'"v1"'
        assert header(found, b"cf-cache-status") == b"HIT"

    @pytest.mark.parametrize("tag", ['"v2"', "v1", '"v1', ""])
    def test_other_etags_are_modified(self, caches: Client, tag: str) -> None:
        assert caches.found(if_none_match=tag).status == 200

    @pytest.mark.parametrize(
        ("since", "status"),
        [
            (MODIFIED, 304),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 304),
            ("Sat, 05 Nov 1994 08:49:37 GMT", 200),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 200),
        ],
    )
    def test_dates_are_compared(self, caches: Client, since: str, status: int) -> None:
        assert caches.found(if_modified_since=since).status == status

    @pytest.mark.parametrize(("tag", "status"), [('"v2"', 200), ('"v1"', 304), ("*", 304)])
    @pytest.mark.parametrize("since", [MODIFIED, "Sat, 05 Nov 1994 08:49:37 GMT"])
    def test_beside_an_etag_a_date_does_not_count(
        self, caches: Client, tag: str, since: str, status: int
    ) -> None:
        assert caches.found(if_none_match=tag, if_modified_since=since).status == status

    @pytest.mark.parametrize(
        ("if_range", "status"),
        [
            ('"v1"', 206),
            ('"v2"', 200),
            ('W/"v1"', 200),
            (MODIFIED, 206),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 200),
            ("yesterday", 200),
        ],
    )
    def test_the_rest_of_another_version_is_the_whole(
        self, caches: Client, if_range: str, status: int
    ) -> None:
        assert caches.found(range="bytes=2-", if_range=if_range).status == status
        assert caches.found(range="bytes=99-", if_range=if_range).status == (
            416 if status == 206 else 200
        )

    def test_an_etag_that_is_none_matches_nothing(self, caches: Client) -> None:
        caches.put(etag="v1")
        assert caches.found(if_none_match="*").status == 200

    @pytest.mark.parametrize("conditions", [{}, {"if_none_match": '"v1"'}])
    def test_a_range_that_cannot_be_satisfied_comes_before_all(
        self, caches: Client, conditions: dict[str, str]
    ) -> None:
        found = caches.found(range="bytes=10-", **conditions)
        assert (found.status, found.body) == (416, b"")
        assert header(found, b"content-range") == b"bytes */10"
        assert header(found, b"cf-cache-status") == b"HIT"


class TestRanges:
    @pytest.fixture(params=[b"0123456789", b"0123456789" * 20_000], ids=["in row", "in file"])
    def body(self, request: pytest.FixtureRequest, caches: Client) -> bytes:
        caches.put(request.param, content_type="text/x")
        return bytes(request.param)

    @pytest.mark.parametrize(
        ("asked", "first", "last"),
        [
            ("bytes=0-0", 0, 0),
            ("bytes=2-4", 2, 4),
            ("BYTES = 2 - 4 ", 2, 4),
            ("bytes=7-", 7, None),
            ("bytes=-3", -3, None),
            ("bytes=8-99999999", 8, None),
            ("bytes=2-4,-0", 2, 4),
        ],
    )
    def test_one_range_is_a_partial_answer(
        self, caches: Client, body: bytes, asked: str, first: int, last: int | None
    ) -> None:
        expected = body[first:] if last is None else body[first : last + 1]
        start = first if first >= 0 else len(body) + first
        found = caches.found(range=asked)
        assert (found.status, found.body) == (206, expected)
        where = f"bytes {start}-{start + len(expected) - 1}/{len(body)}"
        assert header(found, b"content-range") == where.encode()
        assert header(found, b"content-length") == str(len(expected)).encode()
        assert found.length == len(expected)

    @pytest.mark.parametrize(
        "asked", ["bytes=", "bytes=-0", "bytes=-99999999", "bytes=0-1,-999999"]
    )
    def test_ranges_that_mean_the_whole(self, caches: Client, body: bytes, asked: str) -> None:
        assert (caches.found(range=asked).status, caches.found(range=asked).body) == (200, body)

    @pytest.mark.parametrize(
        "asked",
        ["lines=0-1", "bytes=999999-", "bytes=4-2", "bytes=-", "bytes=a-b", "bytes=1-2,x", "0-1",
         "bytes=1-2,999999-", "bytes=" + "1" * 40 + "-"],
    )  # fmt: skip
    def test_ranges_that_cannot_be_satisfied(self, caches: Client, body: bytes, asked: str) -> None:
        found = caches.found(range=asked)
        assert found.status == 416
        assert header(found, b"content-range") == b"bytes */%d" % len(body)

    def test_several_ranges_are_parts_of_one_answer(self, caches: Client, body: bytes) -> None:
        found = caches.found(range="bytes=0-1,4-5")
        content_type = header(found, b"content-type")
        assert content_type is not None
        kind, _, boundary = content_type.partition(b"; boundary=")
        assert kind == b"multipart/byteranges"
        size = len(body)
        assert found.body == (
            b"--%b\r\nContent-Type: text/x\r\nContent-Range: bytes 0-1/%d\r\n\r\n01\r\n"
            b"--%b\r\nContent-Type: text/x\r\nContent-Range: bytes 4-5/%d\r\n\r\n45\r\n"
            b"--%b--" % (boundary, size, boundary, size, boundary)
        )
        assert found.length == len(found.body)

    def test_without_content_length_there_are_no_ranges(self, caches: Client) -> None:
        caches.put(stream(b"0123456789"))
        assert caches.found(range="bytes=0-0").status == 200

    def test_an_empty_body_has_no_range(self, caches: Client) -> None:
        caches.put(b"")
        assert caches.found(range="bytes=0-").status == 416


class TestMemory:
    def test_what_was_used_is_found_without_the_disk(self, caches: Client) -> None:
        caches.put(b"hot")
        behind_its_back = apsw.Connection(str(caches.caches.path))
        behind_its_back.execute("DELETE FROM entries").fetchall()
        behind_its_back.close()
        assert caches.found().body == b"hot"
        caches.restart()
        assert caches.match() is None

    def test_the_layer_holds_no_more_than_its_bytes(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            clock = ManualClock()
            caches = CacheStore(tmp_path / "caches.sqlite", clock, hot_bytes=100_000)
            headers = {"cache-control": "max-age=60"}
            for number in range(30):
                await caches.put(DEFAULT_CACHE, f"http://a/{number}", 200, headers, b"x" * 10_000)
                assert caches._hot.currsize <= 100_000
            assert 0 < len(caches._hot) < 10
            for number in range(30):
                assert await caches.match(DEFAULT_CACHE, f"http://a/{number}") is not None
            await caches.close()

        asyncio.run(scenario())

    def test_an_entry_larger_than_the_layer_is_still_found(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            caches = CacheStore(tmp_path / "caches.sqlite", ManualClock(), hot_bytes=1000)
            headers = {"cache-control": "max-age=60"}
            await caches.put(DEFAULT_CACHE, URL, 200, headers, b"x" * 10_000)
            found = await caches.match(DEFAULT_CACHE, URL)
            assert found is not None
            assert found.body == b"x" * 10_000
            await caches.close()

        asyncio.run(scenario())


class TestTrouble:
    def test_a_stream_that_fails_leaves_what_was_there(self, caches: Client) -> None:
        async def failing() -> AsyncIterator[bytes]:
            yield b"x" * LARGE
            raise OSError("the source is gone")

        caches.put(b"old")
        with pytest.raises(OSError, match="the source is gone"):
            caches.put(failing())
        assert caches.found().body == b"old"
        caches.close()
        assert caches.blobs() == []

    def test_a_missing_file_is_an_error_and_no_miss(self, caches: Client) -> None:
        caches.put(b"x" * LARGE)
        (blob,) = caches.blobs()
        blob.unlink()
        with pytest.raises(StateError, match="missing"):
            caches.match()

    def test_expired_entries_leave_the_disk(self, caches: Client) -> None:
        caches.put(b"x" * LARGE)
        caches.advance(62)
        caches.close()
        assert caches.blobs() == []

    def test_a_closed_cache_says_so(self, caches: Client) -> None:
        caches.put()
        caches.close()
        for use in (caches.match, caches.put, caches.delete):
            with pytest.raises(ClosedError, match="the cache has been closed"):
                use()

    def test_there_is_one_owner(self, tmp_path: Path) -> None:
        registry = BindingRegistry(tmp_path)
        assert registry.caches() is registry.caches()
