"""`env.TOKEN` of a Secrets Store."""

from __future__ import annotations

from typing import Any

from .conftest import Bench, Surroundings

CONFIG: dict[str, Any] = {
    "secrets_store_secrets": [{"binding": "TOKEN", "store_id": "s1", "secret_name": "API_TOKEN"}]
}


def test_it_gives_the_value_that_was_stored(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        await around.registry.secrets_store("s1").put("API_TOKEN", "t0ken")
        return await around.env.TOKEN.get()

    assert bench(program, **CONFIG) == "t0ken"


def test_a_change_is_seen_at_the_next_call(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        store = around.registry.secrets_store("s1")
        await store.put("API_TOKEN", "1")
        before = await around.env.TOKEN.get()
        await store.put("API_TOKEN", "2")
        return before, await around.env.TOKEN.get()

    assert bench(program, **CONFIG) == ("1", "2")


def test_an_absent_one_is_the_platforms_error(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        await around.env.TOKEN.get()

    assert bench.error(program, **CONFIG) == 'Error: Secret "API_TOKEN" not found'


def test_a_file_that_cannot_be_used_is_named(bench: Bench) -> None:
    async def program(around: Surroundings) -> Any:
        path = around.registry.secrets_store("s1").path
        path.parent.mkdir(parents=True)
        path.write_bytes(b"no database" * 100)
        await around.env.TOKEN.get()

    assert 'Secret "API_TOKEN" could not be read: ' in bench.error(program, **CONFIG)
