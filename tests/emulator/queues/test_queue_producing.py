"""`env.QUEUE`: what can be sent, how it is refused, and what a consumer sees of it."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

CONSUMER = ("m = batch.messages", "globals().setdefault('seen', []).extend(m)")


def sent_and_seen(shop: Any, program: Any, **config: Any) -> list[Any]:
    """The messages that a consumer got of what a program sent through the queue that it is given."""

    async def run_it(run: Any) -> Any:
        await program(run.env().Q)
        await run.pass_time(5)
        return run.module().get("seen", [])

    found: list[Any] = shop(run_it, shop.recorder(*CONSUMER, config=config))
    return found


def error(shop: Any, program: Any, *, raw: bool = False, **config: Any) -> str:
    """What a program is told, when it runs in a worker with this configuration."""

    async def run_it(run: Any) -> str:
        from pyodide.ffi import JsException

        worker = run.flare.loaded()
        queue = run.env().Q

        async def event() -> None:
            await program(queue._binding if raw else queue)

        with pytest.raises(JsException) as caught:
            await worker.run(event())
        return str(caught.value)

    text: str = shop(run_it, shop.recorder(config=config))
    return text


class TestBodies:
    @pytest.mark.parametrize(
        "body",
        [
            {"a": 1, "b": [1, 2.5, "x"], "c": {"d": None, "e": True}},
            [1, "two", None],
            "text",
            "",
            7,
            2.5,
            -1e21,
            True,
            None,
            [],
            {},
            "ünïcödé 🙂",
        ],
        ids=repr,
    )
    def test_arrive_as_they_were_sent(self, shop: Any, body: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.send(body)
            await queue.sendBatch([{"body": body}])

        first, second = [m.body for m in sent_and_seen(shop, program)]
        assert first == second == body
        assert type(first) is type(second)
        assert isinstance(first, type(body))

    def test_with_whole_numbers_as_keys_arrive_with_texts_as_keys(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.send({1: {2: "x"}})

        assert [m.body for m in sent_and_seen(shop, program)] == [{"1": {"2": "x"}}]

    def test_that_older_code_converted_by_hand_arrive_too(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            from js import Object
            from pyodide.ffi import to_js

            await queue.send(to_js({"a": [1]}, dict_converter=Object.fromEntries))

        assert [m.body for m in sent_and_seen(shop, program)] == [{"a": [1]}]

    def test_of_type_text_arrive_as_text(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.send('{"a":1}', contentType="text")
            await queue.send('{"a":1}', {"contentType": "TEXT"})

        assert [m.body for m in sent_and_seen(shop, program)] == ['{"a":1}', '{"a":1}']

    def test_of_type_bytes_arrive_as_bytes(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.send(b"\x00\xff", contentType="bytes")

        assert [bytes(m.body) for m in sent_and_seen(shop, program)] == [b"\x00\xff"]

    def test_of_type_v8_keep_dates_and_maps(self, shop: Any) -> None:
        moment = datetime.datetime(2026, 5, 1, 12, 30)

        async def program(queue: Any) -> None:
            await queue.send({"at": moment, "set": {1, 2}}, contentType="v8")

        (message,) = sent_and_seen(shop, program)
        assert message.body == {"at": moment, "set": {1, 2}}

    def test_are_structured_clones_before_2024_03_18(self, shop: Any) -> None:
        moment = datetime.datetime(2026, 5, 1)

        async def run_it(run: Any) -> Any:
            queue = run.env().Q

            async def event() -> None:
                await queue.send({"at": moment})

            await run.flare.loaded().run(event())
            await run.pass_time(5)
            return [m.body for m in run.module()["seen"]]

        flags = ["python_workers", "no_queues_json_messages"]
        config = shop.recorder(*CONSUMER, config={"compatibility_flags": flags})
        assert shop(run_it, config) == [{"at": moment}]

    def test_in_a_batch_have_their_own_types(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.sendBatch(
                [{"body": "x", "contentType": "text"}, {"body": {"a": 1}}, {"body": None}]
            )

        assert [m.body for m in sent_and_seen(shop, program)] == ["x", {"a": 1}, None]


class TestMessages:
    def test_have_id_time_and_attempts(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            await queue.send("a")

        (message,) = sent_and_seen(shop, program)
        assert len(message.id) == 32
        assert message.attempts == 1
        assert message["attempts"] == 1
        assert message.timestamp == datetime.datetime.fromtimestamp(1_767_225_600)

    def test_are_of_a_batch_that_names_its_queue_and_the_backlog_behind_it(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a", "bb", "cc")
            await run.rest()
            assert run.module()["seen"][0] == (
                "q",
                {"metrics": {"backlogCount": 2, "backlogBytes": 8, "oldestMessageTimestamp": AT}},
            )

        script = "globals().setdefault('seen', []).append((batch.queue, batch.metadata))"
        shop(program, shop.recorder(script, max_batch_size=1, max_concurrency=1))

    def test_of_a_batch_with_nothing_behind_it_name_no_oldest_message(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            await run.rest()
            await run.flare.queues.deliver("q", [{"body": 1}])
            assert run.module()["seen"] == [({"metrics": EMPTY}, None)] * 2

        seen = "(batch.metadata, batch.metadata.metrics.oldestMessageTimestamp)"
        script = f"globals().setdefault('seen', []).append({seen})"
        shop(program, shop.recorder(script, max_batch_size=1))


AT = datetime.datetime.fromtimestamp(1_767_225_600)
EMPTY = {"backlogCount": 0, "backlogBytes": 0, "oldestMessageTimestamp": None}


class TestAnswers:
    def test_of_send_and_send_batch_are_the_metrics_from_before(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            queue = run.env().Q
            first = await queue.send("abc")
            assert first == {"metadata": {"metrics": EMPTY}}
            second = await queue.sendBatch([{"body": "x"}])
            assert second.metadata.metrics.backlogCount == 1
            assert second.metadata.metrics.oldestMessageTimestamp == AT

        shop(program, shop.recorder())

    def test_name_no_oldest_message_before_the_flag_of_unset_fields(self, shop: Any) -> None:
        from pyflare.js import semantics

        async def program(run: Any) -> None:
            older = dataclasses.replace(semantics.current(), unset_fields_are_absent=True)
            token = semantics.semantics.set(older)
            try:
                queue = run.env().Q
                metrics = [await queue.metrics(), (await queue.send("a")).metadata.metrics]
            finally:
                semantics.semantics.reset(token)
            assert ["oldestMessageTimestamp" in each for each in metrics] == [False, False]

        shop(program, shop.recorder())

    def test_of_metrics_are_those_of_now(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            queue = run.env().Q
            assert await queue.metrics() == EMPTY
            await queue.send("abc")
            assert await queue.metrics() == {
                "backlogCount": 1,
                "backlogBytes": 5,
                "oldestMessageTimestamp": AT,
            }

        shop(program, shop.recorder())


class TestDelays:
    def test_of_a_message_of_the_batch_and_of_one_in_the_batch(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            queue = run.env().Q
            now = round(run.clock.now() * 1000)
            await queue.send("a", delaySeconds=10)
            batch = [
                {"body": "b"},
                {"body": "c", "delaySeconds": 0},
                {"body": "d", "delaySeconds": 7},
            ]
            await queue.sendBatch(batch, delaySeconds=5)
            stored = await run.flare.registry.queue("q").list()
            delays = {m.body: m.visible_at - now for m in stored}
            assert delays == {b'"a"': 10_000, b'"b"': 5_000, b'"c"': 0, b'"d"': 7_000}

        shop(program, shop.recorder())

    def test_of_a_fraction_are_cut_to_whole_seconds(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.env().Q.send("a", delaySeconds=1.9)
            (message,) = await run.flare.registry.queue("q").list()
            assert message.visible_at - message.sent_at == 1000

        shop(program, shop.recorder())

    @pytest.mark.parametrize(
        ("given", "seconds"),
        [(None, 0), (True, 1), ("7", 7), ("x", 0), (float("nan"), 0), (float("inf"), 0)],
    )
    def test_are_converted_to_whole_numbers(self, shop: Any, given: Any, seconds: int) -> None:
        async def program(run: Any) -> None:
            queue = run.env().Q
            await queue.send("a", delaySeconds=given)
            await queue.sendBatch([{"body": "a", "delaySeconds": given}], delaySeconds=5)
            await queue.sendBatch([{"body": "a"}], delaySeconds=given)
            stored = await run.flare.registry.queue("q").list()
            assert [m.visible_at - m.sent_at for m in stored] == [seconds * 1000] * 3

        shop(program, shop.recorder())

    def test_in_the_configuration_of_the_producer_have_no_effect(self, shop: Any) -> None:
        async def program(run: Any) -> None:
            await run.send("a")
            (message,) = await run.flare.registry.queue("q").list()
            assert message.visible_at == message.sent_at

        producers = [{"binding": "Q", "queue": "q", "delivery_delay": 30}]
        shop(program, shop.recorder(producers=producers))


NO_SEQUENCE = "TypeError: Failed to execute 'sendBatch' on 'WorkerQueue': parameter 1 is not of type 'Sequence'."


class TestRefusals:
    @pytest.mark.parametrize(
        ("program", "text"),
        [
            (lambda q: q.send(), "TypeError: Message body cannot be undefined"),
            (lambda q: q.sendBatch([{}]), "TypeError: Message body cannot be undefined"),
            (lambda q: q.sendBatch([]), "TypeError: sendBatch() requires at least one message"),
            (
                lambda q: q.send("a", contentType="xml"),
                "TypeError: Unsupported queue message content type: xml",
            ),
            (
                lambda q: q.send({"a": 1}, contentType="text"),
                'TypeError: Content Type "text" requires a value of type string, but received: object',
            ),
            (
                lambda q: q.send("a", contentType="bytes"),
                'TypeError: Content Type "bytes" requires a value of type ArrayBufferView, but received: string',
            ),
            (
                lambda q: q.send("a", contentType=""),
                "TypeError: Unsupported queue message content type: ",
            ),
            (
                lambda q: q.sendBatch([{"body": "a", "contentType": "TEXT"}]),
                "TypeError: Unsupported queue message content type: TEXT",
            ),
            (lambda q: q.sendBatch("abc"), NO_SEQUENCE),
            (lambda q: q.sendBatch(), NO_SEQUENCE),
            (lambda q: q.sendBatch(1), NO_SEQUENCE),
            (
                lambda q: q.sendBatch([1]),
                "TypeError: Incorrect type: the provided value is not of type 'MessageSendRequest'.",
            ),
            (
                lambda q: q.sendBatch([None]),
                "TypeError: Cannot initialize N7workerd3api11WorkerQueue18MessageSendRequestE with "
                "required members from an undefined or null value.",
            ),
            (
                lambda q: q.send("a", 5),
                "TypeError: Failed to execute 'send' on 'WorkerQueue': "
                "parameter 2 is not of type 'SendOptions'.",
            ),
            (
                lambda q: q.sendBatch([{"body": 1}], "text"),
                "TypeError: Failed to execute 'sendBatch' on 'WorkerQueue': "
                "parameter 2 is not of type 'SendBatchOptions'.",
            ),
            (
                lambda q: q.send("a", delaySeconds=2**31),
                "TypeError: Value out of range. Must be between -2147483648 and 2147483647 (inclusive).",
            ),
        ],
    )
    def test_of_arguments(self, shop: Any, program: Any, text: str) -> None:
        assert error(shop, program, raw=True) == text

    def test_of_a_bare_array_buffer(self, shop: Any) -> None:
        async def program(queue: Any) -> None:
            from js import ArrayBuffer

            await queue.send(ArrayBuffer.new(4), {"contentType": "bytes"})

        assert error(shop, program, raw=True) == (
            'TypeError: Content Type "bytes" requires a value of type ArrayBufferView, but received: object'
        )

    @pytest.mark.parametrize("raw", [True, False])
    def test_of_a_message_that_is_too_large_have_the_platform_s_code(
        self, shop: Any, raw: bool
    ) -> None:
        assert error(shop, lambda q: q.send("x" * 128_000), raw=raw) == (
            "Error: message length of 128002 bytes exceeds limit of 128000 (10204)"
        )

    def test_have_no_code_before_2026_03_12(self, shop: Any) -> None:
        old = {"compatibility_date": "2026-03-11"}
        assert error(shop, lambda q: q.send("x" * 128_000), **old) == (
            "Error: Queue send failed: message length of 128002 bytes exceeds limit of 128000"
        )
        assert error(shop, lambda q: q.sendBatch([{"body": 1}] * 101), **old) == (
            "Error: Queue sendBatch failed: batch message count of 101 exceeds limit of 100"
        )

    def test_of_a_delay_that_is_too_long(self, shop: Any) -> None:
        assert error(shop, lambda q: q.send("a", delaySeconds=86_401)) == (
            "Error: message delay 86401 is invalid: it must be a whole number of seconds from 0 to 86400 (10202)"
        )

    def test_of_a_store_that_cannot_be_used_say_why(self, shop: Any) -> None:
        async def program(run: Any) -> str:
            await run.send("a")
            run.flare.registry.queues().path.unlink()
            with pytest.raises(Exception, match=r"deleted or replaced.*\(15000\)") as caught:
                await run.send("b")
            return str(caught.value)

        assert shop(program, shop.recorder()).startswith("Error: ")


def test_send_takes_the_buffer_of_a_view_away_and_send_batch_does_not(shop: Any) -> None:
    async def program(run: Any) -> None:
        from js import Uint8Array

        queue = run.env().Q._binding
        sent, batched = (Uint8Array.new([1, 2, 3]) for _ in range(2))
        await queue.send(sent, {"contentType": "bytes"})
        await queue.sendBatch([{"body": batched, "contentType": "bytes"}])
        assert (sent.length, batched.length) == (0, 3)
        stored = await run.flare.registry.queue("q").list()
        assert [m.body for m in stored] == [b"\x01\x02\x03"] * 2

    shop(program, shop.recorder())


def test_the_binding_has_the_platform_s_class_name(shop: Any) -> None:
    async def program(run: Any) -> None:
        assert run.env().Q._binding.constructor.name == "WorkerQueue"

    shop(program, shop.recorder())
