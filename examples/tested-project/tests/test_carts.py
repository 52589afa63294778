"""The Durable Object, its storage and its alarm; on pytest-asyncio."""

import pytest

from pyflare.testing import evict_object, list_object_ids, run_in_object, run_object_alarm

pytestmark = pytest.mark.asyncio


async def fill(pyflare, *items, name="ann"):
    for item in items:
        await pyflare.fetch(f"/cart/{name}?item={item}", method="POST")


async def items(pyflare, name="ann"):
    return (await pyflare.fetch(f"/cart/{name}")).json()


async def test_a_cart_keeps_its_items(pyflare):
    await fill(pyflare, "pen", "book")
    assert await items(pyflare) == ["pen", "book"]


async def test_every_name_has_its_own(pyflare):
    await fill(pyflare, "pen")
    assert await items(pyflare, "bob") == []


async def test_a_cart_is_empty_at_first(pyflare):
    assert await items(pyflare) == []


async def test_a_cart_can_be_called_directly(pyflare_env):
    stub = pyflare_env.CARTS.getByName("ann")
    assert [await stub.add("pen"), await stub.add("pen")] == [1, 2]


async def test_code_runs_inside_a_cart(pyflare, pyflare_env):
    await fill(pyflare, "pen")

    async def look(instance, ctx):
        return type(instance).__name__, list(await ctx.storage.get("items"))

    assert await run_in_object(pyflare_env.CARTS.getByName("ann"), look) == ("Cart", ["pen"])


async def test_a_cart_is_emptied_after_half_an_hour(pyflare, pyflare_clock):
    await fill(pyflare, "pen")
    await pyflare_clock.advance(minutes=29)
    assert await items(pyflare) == ["pen"]
    await pyflare_clock.advance(minutes=2)
    assert await items(pyflare) == []


async def test_adding_to_a_cart_begins_its_time_anew(pyflare, pyflare_clock):
    await fill(pyflare, "pen")
    await pyflare_clock.advance(minutes=20)
    await fill(pyflare, "book")
    await pyflare_clock.advance(minutes=20)
    assert await items(pyflare) == ["pen", "book"]


async def test_the_alarm_can_be_run_at_once(pyflare, pyflare_env):
    await fill(pyflare, "pen")
    stub = pyflare_env.CARTS.getByName("ann")
    assert await run_object_alarm(stub) is True
    assert await run_object_alarm(stub) is False
    assert await items(pyflare) == []


async def test_carts_that_hold_something_are_listed(pyflare, pyflare_env):
    await fill(pyflare, "pen", name="ann")
    await items(pyflare, "bob")
    ids = await list_object_ids(pyflare_env.CARTS)
    assert [str(id) for id in ids] == [str(pyflare_env.CARTS.idFromName("ann"))]


async def test_an_evicted_cart_keeps_its_items(pyflare, pyflare_env):
    await fill(pyflare, "pen")
    assert await evict_object(pyflare_env.CARTS.getByName("ann")) is True
    assert await items(pyflare) == ["pen"]
