"""What one call of an embedded Pyflare waits for does not hold up its others, and everything ends or is refused."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyflare.env.r2 import R2Bucket
from pyflare.js.transform import FixedLengthStream
from pyflare.owner import shared as shared_module
from pyflare.owner.descriptors import SpareDescriptor
from pyflare.owner.shared import SharedRegistry
from pyflare.owner.turns import Turns
from pyflare_bindings.clock import SystemClock
from pyflare_bindings.lease import LeaseHeld
from pyflare_bindings.r2 import R2Error, UploadedPart
from pyflare_bindings.r2.conditions import Conditions, Etag
from pyflare_bindings.registry import BindingRegistry
from pyflare_bindings.storage.errors import ClosedError, StateError

from .conftest import Owner

#: More than the calls that an owner works on at once.
MANY = 70
LARGE = 600_000


def beside(owner: Owner, program: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    """What ``program`` gives, which has 20 seconds."""

    async def nobody() -> BindingRegistry:
        raise LeaseHeld(owner.root, {})

    async def keep(_: BindingRegistry) -> None:
        raise AssertionError("nobody asked for it")

    async def run() -> Any:
        shared = SharedRegistry(owner.root, SystemClock(), nobody, keep)
        try:
            async with asyncio.timeout(20):
                return await program(shared)
        finally:
            await shared.close()

    return asyncio.run(run())


class Waiting:
    """A stream that says when it is being read, and gives nothing until it is told."""

    def __init__(self, *pieces: bytes) -> None:
        self.reading = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = False
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.reading.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        for piece in self._pieces:
            yield piece


def test_contents_that_are_not_read_yet_hold_no_call_up(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        await bucket.put("k", bytes(LARGE))
        found = await asyncio.gather(*(bucket.get("k") for _ in range(MANY)))
        await shared.kv("kv").put("k", b"v")
        return {len(await each.body.read()) for each in found}

    assert beside(owner, program) == {LARGE}


def test_contents_that_are_read_in_part_hold_no_call_up(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        await bucket.put("k", bytes(8_000_000))
        begun = []
        for _ in range(MANY):
            begun.append((await bucket.get("k")).body.chunks())
            await anext(begun[-1])
        size = (await bucket.head("k")).size
        for each in begun:
            await each.aclose()
        return size

    assert beside(owner, program) == 8_000_000


def test_contents_are_copied_at_once(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        await bucket.put("k", bytes(LARGE))

        async def copy(key: str) -> int:
            found = await bucket.get("k")
            return (await bucket.put(key, found.body.chunks(), length=LARGE)).size  # type: ignore[no-any-return]

        return set(await asyncio.gather(*(copy(str(n)) for n in range(MANY))))

    assert beside(owner, program) == {LARGE}


def test_uploads_that_wait_for_their_streams_hold_no_call_up(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        streams = [Waiting(b"a", b"bc") for _ in range(MANY)]
        puts = [
            asyncio.ensure_future(bucket.put(str(n), each, length=3))
            for n, each in enumerate(streams)
        ]
        for each in streams:
            await each.reading.wait()
        assert await bucket.head("0") is None
        for each in streams:
            each.go_on.set()
        return {each.size for each in await asyncio.gather(*puts)}

    assert beside(owner, program) == {3}


def test_uploads_that_are_given_up_leave_nothing_behind(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        for _ in range(2):
            streams = [Waiting() for _ in range(MANY)]
            puts = [asyncio.ensure_future(bucket.put("k", each, length=3)) for each in streams]
            for each in streams:
                await each.reading.wait()
            for put in puts:
                put.cancel()
            await asyncio.wait(puts)
            assert all(each.cancelled for each in streams)
        return await bucket.head("k"), len(shared._busy)

    assert beside(owner, program) == (None, 0)


def test_an_upload_that_waits_for_its_stream_is_ended_by_closing(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        stream = Waiting()
        put = asyncio.ensure_future(shared.r2("bucket").put("k", stream, length=3))
        await stream.reading.wait()
        await shared.close()
        with pytest.raises(ClosedError, match="has been closed"):
            await put
        return stream.cancelled

    assert beside(owner, program) is True


REFUSED: dict[str, Callable[[Any, Any], Coroutine[Any, Any, Any]]] = {
    "10020": lambda bucket, stream: bucket.put("x" * 1025, stream, length=3),
    "100100": lambda bucket, stream: bucket.put("k", stream, length=5_363_466_241),
    "10024": lambda bucket, stream: bucket.uploads.upload_part("k", "no", 1, stream, length=3),
}


@pytest.mark.parametrize("code", REFUSED)
def test_an_upload_that_is_refused_at_once_does_not_wait_for_its_stream(
    owner: Owner, code: str
) -> None:
    async def program(shared: Any) -> Any:
        stream = Waiting()
        with pytest.raises(R2Error) as raised:
            await REFUSED[code](shared.r2("bucket"), stream)
        return str(raised.value.code)

    assert beside(owner, program) == code


def test_an_upload_whose_conditions_fail_does_not_wait_for_its_stream(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        conditions = Conditions(etag_matches=(Etag("other"),))
        return await shared.r2("bucket").put("k", Waiting(), length=3, conditions=conditions)

    assert beside(owner, program) is None


def test_after_a_refusal_a_writer_is_told(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        stream = FixedLengthStream.new(10)
        writer = stream.writable.getWriter()
        put = R2Bucket._make(shared.r2("bucket")).put("x" * 1025, stream.readable)
        with pytest.raises(Exception, match="10020"):
            await put
        with pytest.raises(Exception, match="disconnected before the body was sent"):
            await writer.write("abc")
        return "told"

    assert beside(owner, program) == "told"


def test_a_part_that_is_refused_leaves_the_next_one_to_go_on(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        uploads = shared.r2("bucket").uploads
        upload = await uploads.create("k")

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(40):
                yield bytes(100_000)

        with pytest.raises(R2Error):
            await uploads.upload_part("k", "no", 1, pieces(), length=4_000_000)
        part = await uploads.upload_part("k", upload, 1, pieces(), length=4_000_000)
        made = await uploads.complete("k", upload, [UploadedPart(1, part.etag)])
        return made.size

    assert beside(owner, program) == 4_000_000


def test_what_a_stream_raises_that_would_end_a_loop_reaches_its_caller(owner: Owner) -> None:
    async def leaving() -> AsyncIterator[bytes]:
        yield b"a"
        raise SystemExit(3)

    async def program(shared: Any) -> Any:
        try:
            await shared.r2("bucket").put("k", leaving(), length=2)
        except SystemExit as error:
            return error.code, await shared.r2("bucket").head("k")

    assert beside(owner, program) == (3, None)


def test_more_contents_than_can_be_open_are_refused(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_module, "_MOST", 40)

    async def program(shared: Any) -> Any:
        bucket = shared.r2("bucket")
        await bucket.put("k", bytes(LARGE))
        found = [await bucket.get("k") for _ in range(40)]
        with pytest.raises(StateError, match=r"40 contents are being read .* cancel them"):
            await bucket.get("k")
        for each in found:
            each.body.close()
        return (await bucket.head("k")).size

    assert beside(owner, program) == LARGE


@contextmanager
def open_files(soft: int) -> Iterator[None]:
    """At most so many numbers of open files, for the whole process."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


def in_use() -> int:
    """The lowest number of a file that is free."""
    made = os.open(os.devnull, os.O_RDONLY)
    os.close(made)
    return made


def test_an_owner_with_few_files_left_says_so(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        await shared.kv("kv").put("k", b"v")
        with open_files(in_use() + 4), pytest.raises(StateError) as raised:
            await asyncio.gather(*(shared.kv("kv").get("k") for _ in range(2)))
        await shared.kv("kv").get("k")
        return str(raised.value)

    text = beside(owner, program)
    assert (
        f"process {os.getpid()}, which owns this state directory, has too many open files" in text
    )
    assert "ulimit -n" in text


def test_a_process_without_a_free_file_says_so(owner: Owner) -> None:
    async def program(shared: Any) -> Any:
        await shared.kv("kv").put("k", b"v")
        with open_files(in_use()), pytest.raises(StateError) as raised:
            await asyncio.gather(*(shared.kv("kv").get("k") for _ in range(2)))
        await shared.kv("kv").get("k")
        return str(raised.value)

    text = beside(owner, program)
    assert "cannot be reached (Too many open files)" in text
    assert "ulimit -n" in text


def test_a_spare_file_is_given_up_once_and_had_again() -> None:
    spare = SpareDescriptor()
    none_left = OSError(errno.EMFILE, "none left")

    assert not spare.free_for(OSError(errno.ECONNABORTED, "gone"))
    assert spare.free_for(none_left)
    assert not spare.free_for(none_left)
    spare.renew()
    assert spare.free_for(none_left)


def test_turns_are_had_in_order_and_not_lost_with_who_gave_up() -> None:
    async def program() -> list[str]:
        turns, order = Turns(1), []
        first = await turns.take()

        async def wait(name: str) -> None:
            turn = await turns.take()
            order.append(name)
            turn.give_up()

        tasks = [asyncio.ensure_future(wait(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        first.give_up()
        tasks[1].cancel()
        async with asyncio.timeout(5):
            await asyncio.wait(tasks)
            (await turns.take()).give_up()
        return order

    assert asyncio.run(program()) == ["c", "d"]
