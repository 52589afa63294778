"""What uvicorn writes in pieces leaves in as few writes as the moment allows."""

import asyncio
from collections.abc import Callable
from typing import Any

from pyflare.cli.one_write import HoldingTransport


class Recorder:
    """A transport that keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def write(self, data: bytes) -> None:
        self.calls.append(bytes(data))

    def close(self) -> None:
        self.calls.append("close")

    def write_eof(self) -> None:
        self.calls.append("eof")

    def abort(self) -> None:
        self.calls.append("abort")

    def is_closing(self) -> bool:
        return False


def calls(use: Callable[[HoldingTransport], None]) -> list[Any]:
    async def run() -> list[Any]:
        recorder = Recorder()
        use(HoldingTransport(recorder, asyncio.get_running_loop()))  # type: ignore[arg-type]
        before_next_turn = list(recorder.calls)
        await asyncio.sleep(0)
        return [before_next_turn, recorder.calls]

    return asyncio.run(run())


def test_head_and_body_are_one_write() -> None:
    def use(transport: HoldingTransport) -> None:
        transport.write(b"head ")
        transport.write(b"body")

    assert calls(use) == [[b"head body"], [b"head body"]]


def test_a_piece_alone_leaves_with_the_next_turn_of_the_loop() -> None:
    assert calls(lambda transport: transport.write(b"head")) == [[], [b"head"]]


def test_a_large_body_is_not_copied_behind_the_head() -> None:
    large = bytes(100_000)

    def use(transport: HoldingTransport) -> None:
        transport.write(b"head")
        transport.write(large)

    assert calls(use)[1] == [b"head", large]


def test_order_is_kept_over_many_pieces() -> None:
    def use(transport: HoldingTransport) -> None:
        for number in range(5):
            transport.write(b"%d" % number)

    assert b"".join(calls(use)[1]) == b"01234"


def test_closing_writes_what_is_held_back() -> None:
    def use(transport: HoldingTransport) -> None:
        transport.write(b"last")
        transport.close()

    assert calls(use)[1] == [b"last", "close"]


def test_the_end_of_writing_comes_after_what_is_held_back() -> None:
    def use(transport: HoldingTransport) -> None:
        transport.write(b"last")
        transport.write_eof()

    assert calls(use)[1] == [b"last", "eof"]


def test_an_aborted_connection_gets_nothing_more() -> None:
    def use(transport: HoldingTransport) -> None:
        transport.write(b"lost")
        transport.abort()

    assert calls(use)[1] == ["abort"]


def test_everything_else_is_the_transports_own() -> None:
    seen = []
    calls(lambda transport: seen.append(transport.is_closing()))

    assert seen == [False]


def test_a_client_that_has_gone_is_not_written_to() -> None:
    class Closed(Recorder):
        def write(self, data: bytes) -> None:
            raise RuntimeError("unable to perform operation; the handler is closed")

        def is_closing(self) -> bool:
            return True

    async def run() -> list[Any]:
        failures: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context))
        transport = HoldingTransport(Closed(), loop)  # type: ignore[arg-type]
        transport.write(b"head")
        await asyncio.sleep(0)
        transport.write(b"head")
        transport.write(b"body")
        transport.write(b"head")
        transport.write(bytes(100_000))
        transport.write_now(b"whole")
        transport.write(b"head")
        transport.close()
        await asyncio.sleep(0)
        return failures

    assert asyncio.run(run()) == []
