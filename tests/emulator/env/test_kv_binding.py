"""`env.KV` as worker code uses it: through the SDK's wrapper, and raw."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.js.semantics import (
    PYODIDE_0_26,
    PYODIDE_0_28,
    PYODIDE_314,
    Semantics,
    semantics,
)
from pyflare.workers.runtime import Runtime
from pyflare_bindings.clock import ManualClock
from pyflare_bindings.registry import BindingRegistry

MIB = 1024 * 1024
LARGE = 200_000

Program = Callable[[Any], Awaitable[Any]]


class Bench:
    """Runs programs against one namespace and tells what they gave or raised."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()

    def raw(self, program: Program) -> Any:
        """With the binding as JavaScript sees it."""
        return self._run(program, wrapped=False)

    def __call__(self, program: Program) -> Any:
        """With the binding as the SDK hands it to Python classes."""
        return self._run(program, wrapped=True)

    def error(self, program: Program) -> str:
        """The text of the error of a program, through the SDK."""
        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            self(program)
        return str(caught.value)

    def _run(self, program: Program, *, wrapped: bool) -> Any:
        from pyflare.env.kv import KvNamespace
        from pyflare.env.sdk import Environment
        from pyflare.js.value import JsObject

        async def run() -> Any:
            registry = BindingRegistry(self.root, clock=self.clock)
            raw = KvNamespace._make(registry.kv("test"))
            try:
                environment = Environment(JsObject.adopt({"KV": raw}))
                return await program(environment.KV if wrapped else raw)
            finally:
                await registry.close()

        return asyncio.run(run())


@pytest.fixture
def kv(tmp_path: Path) -> Iterator[Bench]:
    installed = Runtime()
    installed.install()
    yield Bench(tmp_path / "state")
    installed.uninstall()


def put_and_get(value: Any, *options: Any, **named: Any) -> Program:
    async def program(kv: Any) -> Any:
        assert await kv.put("k", value) is None
        return await kv.get("k", *options, **named)

    return program


class TestGet:
    @pytest.mark.parametrize(
        "options", [("text",), ("json",), ("stream",), ("nonsense",), (), ({"type": "json"},)]
    )
    def test_an_absent_key_is_none_whatever_the_type(self, kv: Bench, options: Any) -> None:
        assert kv(lambda kv: kv.get("absent", *options)) is None

    def test_raw_it_is_null(self, kv: Bench) -> None:
        from pyodide.ffi import jsnull

        assert kv.raw(lambda kv: kv.get("absent")) is jsnull

    def test_text_is_the_default(self, kv: Bench) -> None:
        assert kv(put_and_get("wörd")) == "wörd"
        assert kv(put_and_get("w", None)) == "w"
        assert kv(put_and_get("w", {})) == "w"

    def test_an_empty_text_is_a_value(self, kv: Bench) -> None:
        assert kv(put_and_get("")) == ""

    @pytest.mark.parametrize(
        "options", [(("json",), {}), ((), {"type": "json"}), (({"type": "json"},), {})]
    )
    def test_json_is_parsed(self, kv: Bench, options: Any) -> None:
        positional, named = options
        value = kv(put_and_get('{"a": [1, null, {"b": "c"}]}', *positional, **named))
        assert value == {"a": [1, None, {"b": "c"}]}
        assert value.a[2].b == "c"

    def test_bad_json_is_the_parsers_own_error(self, kv: Bench) -> None:
        text = kv.error(put_and_get("{bad", "json"))
        assert text.startswith("SyntaxError: ")
        assert "KV" not in text

    def test_a_byte_order_mark_is_part_of_the_value(self, kv: Bench) -> None:
        value = b"\xef\xbb\xbf{}"
        assert kv(put_and_get(value)) == "\ufeff{}"
        assert kv.error(put_and_get(value, "json")).startswith("SyntaxError: ")

        async def program(kv: Any) -> Any:
            await kv.put("k", value)
            return (await kv.get(["k"]))["k"]

        assert kv(program) == "\ufeff{}"

    def test_it_cannot_be_cloned(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            import js

            js.structuredClone(kv)

        from pyodide.ffi import JsException

        with pytest.raises(JsException) as caught:
            kv.raw(program)
        assert str(caught.value) == "DataCloneError: A KV namespace binding cannot be serialized."

    def test_array_buffer_is_bytes(self, kv: Bench) -> None:
        value = kv(put_and_get(bytes(range(256)), "arrayBuffer"))
        assert isinstance(value, memoryview)
        assert bytes(value) == bytes(range(256))

    @pytest.mark.parametrize("size", [0, 3, LARGE])
    def test_stream_gives_the_bytes(self, kv: Bench, size: int) -> None:
        async def program(kv: Any) -> bytes:
            await kv.put("k", b"x" * size)
            stream = await kv.get("k", type="stream")
            return b"".join([chunk.to_bytes() async for chunk in stream])

        assert kv(program) == b"x" * size

    def test_a_stream_can_be_a_response(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            from workers import Response

            await kv.put("k", b"ab" * LARGE)
            return await Response(await kv.get("k", "stream")).text()

        assert kv(program) == "ab" * LARGE

    def test_a_stream_stays_whole_when_its_key_is_overwritten(self, kv: Bench) -> None:
        async def program(kv: Any) -> bytes:
            await kv.put("k", b"a" * 2 * MIB)
            stream = await kv.get("k", "stream")
            await kv.put("k", b"b")
            return b"".join([chunk.to_bytes() async for chunk in stream])

        assert kv(program) == b"a" * 2 * MIB

    def test_a_cancelled_stream_lets_go_of_its_file(self, kv: Bench) -> None:
        async def program(kv: Any) -> None:
            await kv.put("k", b"a" * 2 * MIB)
            stream = await kv.get("k", "stream")
            reader = stream.getReader()
            await reader.read()
            await reader.cancel()
            await kv.delete("k")

        kv(program)
        assert not list(kv.root.glob("**/*.blobs/*"))

    def test_an_unknown_type_shows_when_there_is_a_value(self, kv: Bench) -> None:
        assert kv.error(put_and_get("v", "blob")) == (
            'TypeError: Unknown response type. Possible types are "text", "arrayBuffer", "json", '
            'and "stream".'
        )

    @pytest.mark.parametrize(
        ("ttl", "shown"), [(29, 29), (10, 10), (0, 0), (-1, -1), ("soon", 0), (29.9, 29)]
    )
    def test_a_cache_time_below_thirty_seconds_is_refused(
        self, kv: Bench, ttl: Any, shown: int
    ) -> None:
        text = f"Error: KV GET failed: 400 Invalid cache_ttl of {shown}. Cache TTL must be at least 30."
        assert kv.error(lambda kv: kv.get("k", cacheTtl=ttl)) == text
        assert kv.error(lambda kv: kv.getWithMetadata("k", {"cacheTtl": ttl})) == text

    def test_a_cache_time_of_thirty_seconds_changes_nothing(self, kv: Bench) -> None:
        assert kv(put_and_get("v", cacheTtl=30)) == "v"

    def test_bytes_that_are_no_text_are_replaced_and_stay_as_they_are(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("k", b"a\xff\xfe\xe4b")
            text = await kv.get("k")
            return text, bytes(await kv.get("k", "arrayBuffer"))

        assert kv(program) == ("a\ufffd\ufffd\ufffdb", b"a\xff\xfe\xe4b")


class TestGetWithMetadata:
    def test_an_absent_key_is_three_times_none(self, kv: Bench) -> None:
        found = kv(lambda kv: kv.getWithMetadata("absent"))
        assert found == {"value": None, "metadata": None, "cacheStatus": None}
        assert list(found) == ["value", "metadata", "cacheStatus"]

    @pytest.mark.parametrize(
        "metadata", [{"a": [1, None]}, [1], 5, 1.5, "text", True, "", 0, False, {}]
    )
    def test_any_json_value_can_be_metadata(self, kv: Bench, metadata: Any) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("k", "v", metadata=metadata)
            (key,) = (await kv.list())["keys"]
            return (await kv.getWithMetadata("k")).metadata, key.metadata

        assert kv(program) == (metadata, metadata)

    def test_none_is_no_metadata(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("k", "v", metadata=None)
            return await kv.getWithMetadata("k"), (await kv.list())["keys"]

        found, keys = kv(program)
        assert found.metadata is None
        assert keys == [{"name": "k"}]

    def test_the_value_has_the_type_asked_for(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("k", "[1]", {"metadata": "m"})
            return [
                (await kv.getWithMetadata("k", type)).value
                for type in ("text", "json", "arrayBuffer")
            ]

        text, parsed, data = kv(program)
        assert (text, parsed, bytes(data)) == ("[1]", [1], b"[1]")

    def test_metadata_too_large_is_refused(self, kv: Bench) -> None:
        assert kv.error(lambda kv: kv.put("k", "v", metadata="x" * 1023)) == (
            "Error: KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024."
        )


class TestPut:
    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            ("text", b"text"),
            (b"\x00\xff", b"\x00\xff"),
            (memoryview(b"abc")[1:], b"bc"),
            (5, b"5"),
            (1.5, b"1.5"),
            (2.0, b"2"),
            (math.nan, b"NaN"),
            (True, b"true"),
            (None, b"null"),
            ("a\ud800b", "a\ufffdb".encode()),
        ],
    )
    def test_what_is_stored_of_a_value(self, kv: Bench, value: Any, stored: bytes) -> None:
        assert bytes(kv(put_and_get(value, "arrayBuffer"))) == stored

    @pytest.mark.parametrize("value", [{"a": 1}, ["a"], {1}, print])
    def test_other_values_are_refused(self, kv: Bench, value: Any) -> None:
        assert kv.error(lambda kv: kv.put("k", value)) == (
            "TypeError: KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and "
            "ReadableStreams as values."
        )

    def test_typed_arrays_are_stored_as_their_bytes(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            import js

            await kv.put("k", js.Uint16Array.new([1, 258]))
            wide = bytes(await kv.get("k", "arrayBuffer"))
            await kv.put("k", js.Uint8Array.new([1, 2, 3]).subarray(1))
            return wide, bytes(await kv.get("k", "arrayBuffer"))

        assert kv(program) == (b"\x01\x00\x02\x01", b"\x02\x03")

    @pytest.mark.parametrize("size", [0, 10, LARGE])
    def test_a_stream_is_read_to_its_end(self, kv: Bench, size: int) -> None:
        async def program(kv: Any) -> Any:
            import js

            async def chunks() -> AsyncIterator[bytes]:
                for at in range(0, size, 7000):
                    yield b"x" * min(7000, size - at)

            await kv.put("k", js.ReadableStream.from_(chunks()))
            return bytes(await kv.get("k", "arrayBuffer"))

        assert kv(program) == b"x" * size

    def test_a_body_is_used_up_by_being_stored(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            import js

            response = js.Response.new("body")
            await kv.put("k", response.body)
            return await kv.get("k"), response.bodyUsed

        assert kv(program) == ("body", True)

    @pytest.mark.parametrize("way", ["text", "cancel", "reader"])
    def test_a_body_that_was_read_is_refused_and_the_old_value_stays(
        self, kv: Bench, way: str
    ) -> None:
        async def program(kv: Any) -> Any:
            import js

            await kv.put("k", "old")
            response = js.Response.new("new")
            if way == "text":
                await response.text()
            elif way == "cancel":
                await response.body.cancel()
            else:
                reader = response.body.getReader()
                await reader.read()
                reader.releaseLock()
            try:
                await kv.put("k", response.body)
            except Exception as error:
                return str(error), await kv.get("k")

        text = {
            "text": "TypeError: The ReadableStream has been locked to a reader.",
        }.get(way, "TypeError: This ReadableStream is disturbed.")
        assert kv(program) == (text, "old")

    def test_a_value_that_was_read_is_refused(self, kv: Bench) -> None:
        async def program(kv: Any) -> None:
            await kv.put("k", "x" * LARGE)
            stream = await kv.get("k", "stream")
            async for _ in stream:
                pass
            await kv.put("copy", stream)

        assert kv.error(program) == "TypeError: This ReadableStream is disturbed."

    def test_a_locked_stream_is_refused(self, kv: Bench) -> None:
        async def program(kv: Any) -> None:
            import js

            body = js.Response.new("new").body
            body.getReader()
            await kv.put("k", body)

        assert kv.error(program) == "TypeError: The ReadableStream has been locked to a reader."

    def test_what_is_left_of_a_stream_of_javascript_is_stored(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            import js

            stream = js.ReadableStream.from_([b"a", b"b", b"c"])
            reader = stream.getReader()
            await reader.read()
            reader.releaseLock()
            await kv.put("k", stream)
            return await kv.get("k")

        assert kv(program) == "bc"

    def test_a_stream_of_numbers_is_refused_and_cancelled(self, kv: Bench) -> None:
        cancelled = []

        async def program(kv: Any) -> None:
            import js

            async def pull(controller: Any) -> None:
                controller.enqueue(5)

            source = {"pull": pull, "cancel": cancelled.append}
            await kv.put("k", js.ReadableStream.new(source))

        assert kv.error(program) == "TypeError: This ReadableStream did not return bytes."
        assert len(cancelled) == 1

    def test_a_stream_that_fails_rejects_and_stores_nothing(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            import js

            async def pull(controller: Any) -> None:
                controller.error(js.Error.new("the source is gone"))

            await kv.put("k", "old")
            try:
                await kv.put("k", js.ReadableStream.new({"pull": pull}))
            except Exception as error:
                return str(error), await kv.get("k")

        assert kv(program) == ("Error: the source is gone", "old")

    def test_a_value_too_large_is_refused(self, kv: Bench) -> None:
        assert kv.error(lambda kv: kv.put("k", b"x" * (25 * MIB + 1))) == (
            "Error: KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400."
        )

    @pytest.mark.parametrize(
        ("ttl", "message"),
        [
            (0, "Invalid expiration_ttl of 0. Please specify integer greater than 0."),
            (59, "Invalid expiration_ttl of 59. Expiration TTL must be at least 60."),
            (-1, "Invalid expiration_ttl of -1. Please specify integer greater than 0."),
            (1.5, "Invalid expiration_ttl of 1. Expiration TTL must be at least 60."),
            (math.nan, "Invalid expiration_ttl of 0. Please specify integer greater than 0."),
            ("x", "Invalid expiration_ttl of 0. Please specify integer greater than 0."),
        ],
    )
    def test_wrong_lifetimes_write_nothing(self, kv: Bench, ttl: Any, message: str) -> None:
        assert kv.error(lambda kv: kv.put("k", "v", expirationTtl=ttl)) == (
            f"Error: KV PUT failed: 400 {message}"
        )
        assert kv(lambda kv: kv.get("k")) is None

    @pytest.mark.parametrize(
        "options", [{"expirationTtl": 60}, {"expirationTtl": "60"}, {"expirationTtl": 60.9}]
    )
    def test_a_value_is_gone_at_the_second_of_its_expiry(self, kv: Bench, options: Any) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("k", "v", options)
            seen = []
            for seconds in (59, 1):
                await clock.advance(seconds)
                seen.append((await kv.get("k"), [key.name for key in (await kv.list())["keys"]]))
            return seen

        clock = kv.clock
        assert kv(program) == [("v", ["k"]), (None, [])]

    @pytest.mark.parametrize(
        ("offset", "accepted"), [(-5, False), (59, False), (60, True), (61, True)]
    )
    def test_a_time_of_expiry_is_a_minute_ahead(
        self, kv: Bench, offset: int, accepted: bool
    ) -> None:
        when = int(kv.clock.now()) + offset

        async def program(kv: Any) -> Any:
            await kv.put("k", "v", expiration=when)
            return (await kv.list())["keys"]

        if accepted:
            assert kv(program) == [{"name": "k", "expiration": when}]
        else:
            assert kv.error(program).startswith("Error: KV PUT failed: 400 Invalid expiration of")

    def test_an_operation_runs_although_nobody_awaits_it(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.get("open the files")
            kv.put("k", "v").close()
            return await kv.get("k")

        assert kv(program) == "v"


class TestKeys:
    ODD = ("a", "a/b", "a/b/c", "a:b", "a:b:", "A", ".x", "a\\b", "nul", "x" * 512, "/t", "//t",
           "a\x1fb", "a\nb", "^", "...", "%2F", "%41", "a b", "ä", "🙂", "a\0b", "a.", "a ",
           "../../etc/passwd", "a#b", "1", "-")  # fmt: skip

    def test_every_key_has_its_own_value_also_after_a_restart(self, kv: Bench) -> None:
        async def write(kv: Any) -> None:
            for key in self.ODD:
                await kv.put(key, key)

        async def read(kv: Any) -> Any:
            values = [await kv.get(key) for key in self.ODD]
            return values, [key.name for key in (await kv.list())["keys"]]

        kv(write)
        values, names = kv(read)
        assert values == list(self.ODD)
        assert names == sorted(self.ODD, key=str.encode)

    def test_deleting_one_key_touches_no_neighbour(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            for key in self.ODD:
                await kv.put(key, key)
            left = list(self.ODD)
            while left:
                await kv.delete(left.pop())
                assert [key.name for key in (await kv.list())["keys"]] == sorted(
                    left, key=str.encode
                )

        kv(program)

    @pytest.mark.parametrize(
        ("key", "text"),
        [
            ("", "TypeError: Key name cannot be empty."),
            (".", 'TypeError: "." is not allowed as a key name.'),
            ("..", 'TypeError: ".." is not allowed as a key name.'),
        ],
    )
    def test_names_that_are_no_keys(self, kv: Bench, key: str, text: str) -> None:
        uses: list[Program] = [
            lambda kv: kv.get(key),
            lambda kv: kv.getWithMetadata(key),
            lambda kv: kv.put(key, "v"),
            lambda kv: kv.delete(key),
        ]
        assert [kv.error(use) for use in uses] == [text] * 4

    @pytest.mark.parametrize(("key", "size"), [("x" * 513, 513), ("ä" * 257, 514)])
    def test_a_key_too_long_names_the_operation(self, kv: Bench, key: str, size: int) -> None:
        text = f"414 UTF-8 encoded length of {size} exceeds key length limit of 512."
        assert kv.error(lambda kv: kv.get(key)) == f"Error: KV GET failed: {text}"
        assert kv.error(lambda kv: kv.getWithMetadata(key)) == f"Error: KV GET failed: {text}"
        assert kv.error(lambda kv: kv.put(key, "v")) == f"Error: KV PUT failed: {text}"
        assert kv.error(lambda kv: kv.delete(key)) == f"Error: KV DELETE failed: {text}"
        assert kv.error(lambda kv: kv.get([key])) == f"Error: KV GET_BULK failed: {text}"

    def test_a_key_that_is_no_text_becomes_one(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put(5, "five")
            await kv.put(None, "none")
            return [key.name for key in (await kv.list())["keys"]]

        assert kv(program) == ["5", "null"]


class TestManyKeys:
    @staticmethod
    async def fill(kv: Any) -> None:
        await kv.put("1", "[1]", metadata="one")
        await kv.put("b", '"bee"')

    def test_a_list_of_keys_gives_a_dict_in_its_order(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            return await kv.get(["b", "absent", "1", "b"])

        found = kv(program)
        assert isinstance(found, dict)
        assert list(found.items()) == [("b", '"bee"'), ("absent", None), ("1", "[1]")]

    def test_json_of_many(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            return await kv.get(["b", "1"], "json"), await kv.get(["1"], type="json")

        assert kv(program) == ({"b": "bee", "1": [1]}, {"1": [1]})

    def test_with_metadata_an_absent_key_is_none_itself(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            return await kv.getWithMetadata(["1", "b", "absent"])

        assert kv(program) == {
            "1": {"value": "[1]", "metadata": "one"},
            "b": {"value": '"bee"', "metadata": None},
            "absent": None,
        }

    def test_raw_it_is_a_map(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            found = await kv.get(["1", "absent"])
            return found.constructor.name, found.size, found.get("1")

        assert kv.raw(program) == ("Map", 2, "[1]")

    def test_a_hundred_keys_are_answered(self, kv: Bench) -> None:
        assert len(kv(lambda kv: kv.get([str(n) for n in range(100)]))) == 100

    @pytest.mark.parametrize(
        ("keys", "options", "message"),
        [
            ([str(n) for n in range(101)], (), "400 You can request a maximum of 100 keys"),
            ([], (), "400 You must request a minimum of 1 key"),
            (
                ["a"],
                ("arrayBuffer",),
                '400 "arrayBuffer" is not a valid type. Use "json" or "text"',
            ),
            (
                ["a"],
                ({"type": "stream"},),
                '400 "stream" is not a valid type. Use "json" or "text"',
            ),
            (["a", ""], (), "400 Key names must not be empty"),
            (["."], (), '400 Illegal key name ".". Please use a different name.'),
            (
                ["a"],
                ({"cacheTtl": 5},),
                "400 Invalid cache_ttl of 5. Cache TTL must be at least 30.",
            ),
        ],
    )
    def test_wrong_requests(self, kv: Bench, keys: Any, options: Any, message: str) -> None:
        text = f"Error: KV GET_BULK failed: {message}"
        assert kv.error(lambda kv: kv.get(keys, *options)) == text
        assert kv.error(lambda kv: kv.getWithMetadata(keys, *options)) == text

    def test_one_value_that_is_no_json_fails_the_whole(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("good", "1")
            await kv.put("bad", "{")
            await kv.get(["good", "bad"], "json")

        assert kv.error(program) == (
            "Error: KV GET_BULK failed: 400 At least one of the requested keys corresponds to a "
            "non-json value"
        )

    def test_the_values_together_have_a_limit(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            for key in ("a", "b"):
                await kv.put(key, b"x" * (13 * MIB))
            await kv.get(["a", "b"])

        assert kv.error(program) == (
            "Error: KV GET_BULK failed: 413 Total size of request exceeds the limit of 25MB"
        )


class TestList:
    @staticmethod
    async def fill(kv: Any) -> None:
        for key in ("rex", "re%", "re_", "re'", "Rex", "*"):
            await kv.put(key, "v")

    def test_the_shape_of_a_listing(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await kv.put("a", "v", metadata={"m": 1}, expirationTtl=60)
            await kv.put("b", "v")
            return await kv.list()

        listed = kv(program)
        expires = int(kv.clock.now()) + 60
        assert listed == {
            "keys": [{"name": "a", "expiration": expires, "metadata": {"m": 1}}, {"name": "b"}],
            "list_complete": True,
            "cacheStatus": None,
        }
        assert listed.list_complete is listed["list_complete"]

    def test_pages_are_led_to_by_the_cursor(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            names, cursor = [], None
            while True:
                page = await kv.list(limit=4, cursor=cursor)
                names.append([key.name for key in page["keys"]])
                if page.list_complete:
                    return names, "cursor" in page
                cursor = page.cursor

        assert kv(program) == ([["*", "Rex", "re%", "re'"], ["re_", "rex"]], False)

    @pytest.mark.parametrize("prefix", ["rex", "re%", "re_", "re'", "*", "R", "", None])
    def test_a_prefix_has_no_wildcards(self, kv: Bench, prefix: str | None) -> None:
        async def program(kv: Any) -> Any:
            await self.fill(kv)
            return [key.name for key in (await kv.list(prefix=prefix))["keys"]]

        every = ("rex", "re%", "re_", "re'", "Rex", "*")
        assert kv(program) == sorted(name for name in every if name.startswith(prefix or ""))

    @pytest.mark.parametrize("limit", [0, -1, None])
    def test_no_limit_means_a_thousand(self, kv: Bench, limit: int | None) -> None:
        async def program(kv: Any) -> Any:
            await asyncio.gather(*(kv.put(f"k{n:04}", "") for n in range(1001)))
            page = await kv.list({"limit": limit})
            return len(page["keys"]), page.list_complete

        assert kv(program) == (1000, False)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"limit": 1001},
                "400 Invalid key_count_limit of 1001. Please specify an integer less than 1000.",
            ),
            (
                {"prefix": "x" * 513},
                "414 UTF-8 encoded length of 513 exceeds key length limit of 512.",
            ),
            (
                {"cursor": "!"},
                "400 Invalid cursor. Please pass the cursor of the previous page unchanged.",
            ),
        ],
    )
    def test_wrong_options(self, kv: Bench, options: Any, message: str) -> None:
        assert kv.error(lambda kv: kv.list(**options)) == f"Error: KV GET failed: {message}"


class TestBinding:
    def test_it_is_true_has_no_length_and_cannot_be_iterated(self, kv: Bench) -> None:
        async def program(kv: Any) -> Any:
            assert kv
            with pytest.raises(TypeError, match="'KvNamespace' object has no len"):
                len(kv)
            with pytest.raises(TypeError, match="'KvNamespace' object is not iterable"):
                list(kv)
            return True

        assert kv(program)

    def test_a_damaged_value_is_an_error_that_names_the_file(self, kv: Bench) -> None:
        kv(lambda kv: kv.put("k", b"x" * LARGE))
        (blob,) = kv.root.glob("**/*.blobs/*")
        blob.unlink()
        text = kv.error(lambda kv: kv.get("k"))
        assert text.startswith("Error: KV GET failed: 500 ")
        assert str(blob) in text

    def test_a_closed_namespace_is_an_error(self, kv: Bench) -> None:
        async def program(kv: Any) -> None:
            await kv._binding._owner.close()
            await kv.put("k", "v")

        assert kv.error(program) == (
            "Error: KV PUT failed: 500 the KV namespace 'test' has been closed"
        )


def test_a_bulk_read_with_an_empty_type_is_one_of_text(kv: Bench) -> None:
    async def program(kv: Any) -> Any:
        await kv.put("a", "1")
        return dict(await kv.get(["a"], "")), dict(await kv.get(["a"], {"type": ""}))

    assert kv(program) == ({"a": "1"}, {"a": "1"})


@pytest.mark.parametrize("version", [PYODIDE_0_26, PYODIDE_0_28, PYODIDE_314])
def test_a_stored_null_is_null_in_a_bulk_read_with_metadata(kv: Bench, version: Semantics) -> None:
    async def program(kv: Any) -> Any:
        semantics.set(version)
        await kv.put("a", "null", metadata=to_js(5))
        found = await kv.getWithMetadata(to_js(["a"]), "json")
        return found.get("a")

    from pyodide.ffi import jsnull, to_js

    assert kv.raw(program) in (jsnull, None)


def test_a_key_that_is_too_long_is_told_of_before_a_value_that_is_none(kv: Bench) -> None:
    expected = (
        "Error: KV PUT failed: 414 UTF-8 encoded length of 513 exceeds key length limit of 512."
    )
    assert kv.error(lambda kv: kv.put("x" * 513, {})) == expected
    assert kv.error(lambda kv: kv.put("x", {})).startswith("TypeError: KV put() accepts only")
