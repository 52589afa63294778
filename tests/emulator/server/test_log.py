"""The lines in the terminal, which scripts match."""

from __future__ import annotations

import asyncio
import io
import os
import select
from typing import Any

import pytest

from pyflare.server.log import LEVELS, LogSink, wants_colour
from pyflare.server.output import Output


class Captured:
    def __init__(self, **options: Any) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        options.setdefault("colour", False)
        self.log = LogSink(stdout=self.out, stderr=self.err, **options)

    @property
    def texts(self) -> tuple[str, str]:
        return self.out.getvalue(), self.err.getvalue()


def test_request_line() -> None:
    captured = Captured()
    captured.log.request("w", "GET", "/path", 200, "OK", 11.6)
    assert captured.texts == ("[wrangler:info] GET /path 200 OK (12ms)\n", "")


def test_queue_line() -> None:
    captured = Captured(named=True)
    captured.log.queue("jobs", "orders", 9, 10, 11.6)
    assert captured.texts == ("[wrangler:info] [jobs] QUEUE orders 9/10 (12ms)\n", "")


@pytest.mark.parametrize(("done", "shade"), [(2, "32"), (1, "33"), (0, "31")])
def test_queue_line_has_a_colour_for_all_some_and_none(done: int, shade: str) -> None:
    captured = Captured(colour=True)
    captured.log.queue("jobs", "orders", done, 2, 1)
    assert f"\x1b[{shade}m{done}/2\x1b[0m" in captured.texts[0]


def test_queue_line_is_silent_below_info() -> None:
    captured = Captured(level="warn")
    captured.log.queue("jobs", "orders", 2, 2, 1)
    assert captured.texts == ("", "")


def test_lines_name_the_worker_when_there_are_several() -> None:
    captured = Captured(named=True)
    captured.log.request("people", "GET", "/", 200, "OK", 1)
    captured.log.console("people", "log", "hello")
    assert captured.texts[0] == "[wrangler:info] [people] GET / 200 OK (1ms)\n[people] hello\n"


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("log", ("text\n", "")),
        ("info", ("text\n", "")),
        ("debug", ("text\n", "")),
        ("warn", ("", "▲ [WARNING] text\n")),
        ("error", ("", "✘ [ERROR] text\n")),
        ("trace", ("text\n", "")),
    ],
)
def test_console_methods_have_their_forms(level: str, expected: tuple[str, str]) -> None:
    captured = Captured()
    captured.log.console("w", level, "text")
    assert captured.texts == expected


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("none", []),
        ("error", ["error"]),
        ("warn", ["error", "warn"]),
        ("info", ["error", "warn", "info", "debug"]),
        ("log", ["error", "warn", "info", "debug", "log"]),
        ("debug", ["error", "warn", "info", "debug", "log"]),
    ],
)
def test_level_decides_which_console_methods_speak(level: str, shown: list[str]) -> None:
    captured = Captured(level=level)
    for method in ("error", "warn", "info", "debug", "log"):
        captured.log.console("w", method, f"<{method}>")
    both = "".join(captured.texts)
    assert [m for m in ("error", "warn", "info", "debug", "log") if f"<{m}>" in both] == shown


def test_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"loud.*none, error, warn, info, log, debug"):
        LogSink(level="loud")


def test_levels_are_in_order() -> None:
    assert LEVELS == ("none", "error", "warn", "info", "log", "debug")


def test_uncaught_exception_has_headline_and_traceback() -> None:
    captured = Captured()
    try:
        raise ValueError("boom")
    except ValueError as error:
        captured.log.uncaught("w", error, where="alarm")
    lines = captured.texts[1].split("\n")
    assert lines[0] == "✘ [ERROR] Uncaught ValueError: boom (in alarm)"
    assert lines[2] == "  Traceback (most recent call last):"
    assert "  ValueError: boom" in lines


def test_colours_mark_the_status() -> None:
    captured = Captured(colour=True)
    for status in (200, 301, 404, 500):
        captured.log.request("w", "GET", "/", status, "x", 1)
    codes = [line.split("m ", 1)[1][:5] for line in captured.texts[0].splitlines()]
    assert codes == ["\x1b[32m", "\x1b[34m", "\x1b[33m", "\x1b[31m"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True),
        ({"NO_COLOR": "1"}, False),
    ],
)
def test_colour_follows_the_environment(environ: dict[str, str], expected: bool) -> None:
    assert wants_colour(io.StringIO(), environ) is expected


def test_terminal_gets_colours_unless_told_otherwise() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert wants_colour(Terminal(), {})
    assert not wants_colour(Terminal(), {"NO_COLOR": "1"})


def test_lines_of_one_turn_of_the_loop_are_written_together_and_in_order() -> None:
    captured = Captured()

    async def go() -> str:
        captured.log.say("one")
        captured.log.say("two")
        early = captured.out.getvalue()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return early

    assert asyncio.run(go()) == ""
    assert captured.out.getvalue() == "one\ntwo\n"


def test_what_a_worker_says_keeps_its_place_among_what_it_prints() -> None:
    async def go() -> str:
        terminal = io.StringIO()
        log = LogSink(stdout=terminal, stderr=terminal)
        log.say("started")
        log.console("worker", "log", "<2>")
        print("<3>", file=terminal)
        log.console("worker", "warn", "<4>")
        print("<5>", file=terminal)
        log.console("worker", "error", "<6>")
        print("<7>", file=terminal)
        log.uncaught("worker", ValueError("<8>"))
        print("<9>", file=terminal)
        return terminal.getvalue()

    written = asyncio.run(go())

    places = [
        written.index(text) for text in ("started", *(f"<{number}>" for number in range(2, 10)))
    ]
    assert places == sorted(places)


def test_outside_a_loop_lines_are_written_at_once() -> None:
    captured = Captured()
    captured.log.say("one")
    assert captured.out.getvalue() == "one\n"


def test_busy_log_is_written_in_few_pieces() -> None:
    pieces: list[str] = []

    class Counting(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    async def go() -> None:
        output = Output(Counting(), io.StringIO())
        for index in range(1000):
            output.write(f"{index}\n")
            await asyncio.sleep(0)
        output.flush()

    asyncio.run(go())
    assert "".join(pieces) == "".join(f"{index}\n" for index in range(1000))
    assert len(pieces) < 500


def test_lines_of_a_loop_that_ended_early_come_with_the_next() -> None:
    captured = Captured()

    async def say(*texts: str) -> None:
        for text in texts:
            captured.log.say(text)
            # The first is written at once; the second, so soon after it, is to be written a moment later.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def wait() -> None:
        captured.log.say("three")
        await asyncio.sleep(0.1)

    asyncio.run(say("one", "two"))
    assert captured.out.getvalue() == "one\n"
    asyncio.run(wait())
    assert captured.out.getvalue() == "one\ntwo\nthree\n"


class TestPipes:
    def test_pipe_that_nobody_reads_never_blocks(self) -> None:
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream:
            output = Output(stream, io.StringIO(), limit=50_000)
            for index in range(20_000):
                output.write(f"line {index}\n")
            os.close(read)

    def test_reader_that_comes_late_gets_the_lines_and_the_number_of_lost_ones(self) -> None:
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream, os.fdopen(read, "rb", buffering=0) as reader:
            output = Output(stream, io.StringIO(), limit=10_000)
            for index in range(20_000):
                output.write(f"line {index}\n")
            received = b""
            while select.select([reader], [], [], 0)[0]:
                received += reader.read(65536)
                output.flush()
            output.write("after\n")
            received += reader.read(65536)
        lines = received.decode().splitlines()
        assert lines[0] == "line 0"
        assert lines[-1] == "after"
        assert lines[-2].startswith("(")
        assert "log lines dropped" in lines[-2]
        kept = lines[:-2]
        assert kept == [f"line {index}" for index in range(len(kept))]

    def test_closed_pipe_is_no_error(self) -> None:
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as stream:
            output = Output(stream, io.StringIO())
            output.write("nobody\n")
            output.write("hears this\n")

    def test_characters_that_the_stream_cannot_hold_are_escaped(self) -> None:
        read, write = os.pipe()
        with os.fdopen(write, "w", encoding="ascii") as stream:
            Output(stream, io.StringIO()).write("✘ done\n")
            assert os.read(read, 100) == b"\\u2718 done\n"
        os.close(read)

    def test_what_a_worker_printed_before_comes_first(self) -> None:
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream:
            print("printed", file=stream)
            Output(stream, io.StringIO()).write("logged\n")
            assert os.read(read, 100) == b"printed\nlogged\n"
        os.close(read)

    def test_closing_waits_for_a_slow_reader_only_a_moment(self) -> None:
        read, write = os.pipe()
        with os.fdopen(write, "w") as stream:
            output = Output(stream, io.StringIO())
            output.write("x" * 200_000)
            output.close(grace=0.01)
            os.close(read)


def test_streams_keep_their_order_within_each_other() -> None:
    order: list[str] = []

    class Recorder(io.StringIO):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.label = name

        def write(self, text: str) -> int:
            order.append(f"{self.label}:{text.strip()}")
            return len(text)

    async def go() -> None:
        output = Output(Recorder("out"), Recorder("err"))
        output.write("1\n")
        output.write("2\n", error=True)
        output.write("3\n")
        output.flush()

    asyncio.run(go())
    assert order == ["out:1", "err:2", "out:3"]
