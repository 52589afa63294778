"""The database, the queue, cron and calls between the two Workers."""

import pytest

from pyflare.testing import apply_d1_migrations

from .conftest import MIGRATIONS


@pytest.mark.parametrize(("item", "price"), [("pen", 2), ("book", 12)])
def test_an_order_has_the_price_of_the_other_worker(shop, item, price):
    response = shop.fetch("/orders", json={"item": item})
    assert response.status_code == 201
    assert response.json() == {"id": 1, "price": price}


def test_what_nobody_sells_cannot_be_ordered(shop):
    assert shop.fetch("/orders", json={"item": "moon"}).status_code == 422
    assert shop.worker("shop").count() == 0


def test_an_order_is_new_at_first(shop, order):
    assert shop.fetch(f"/orders/{order()}").json() == {"item": "pen", "state": "new"}


def test_an_order_is_packed_when_its_message_is_delivered(shop, order, pyflare_clock):
    number = order()
    pyflare_clock.advance(5)
    assert shop.fetch(f"/orders/{number}").json()["state"] == "packed"


def test_a_batch_waits_for_its_time(shop, order, pyflare_clock):
    number = order()
    pyflare_clock.advance(4)
    assert shop.fetch(f"/orders/{number}").json()["state"] == "new"


def test_every_change_of_state_is_noted(shop, order, pyflare_clock):
    order()
    pyflare_clock.advance(5)
    row = shop.env("shop").DB.prepare("SELECT order_id, state FROM audit").first()
    assert (row.order_id, row.state) == (1, "packed")


def test_the_outcome_of_a_batch(shop, order):
    order()
    messages = [{"id": "a", "body": {"id": 1, "item": "pen"}}, {"id": "b", "body": {"id": 2, "item": "book"}}]
    outcome = shop.queue("orders", messages)
    assert outcome["outcome"] == "ok"
    assert outcome["explicitAcks"] == ["a"]
    assert outcome["retryMessages"] == [{"msgId": "b"}]


def test_a_message_without_an_item_fails_its_batch(shop):
    assert shop.queue("orders", [{"body": {"id": 1}}])["outcome"] == "exception"


def test_what_cannot_be_packed_is_in_the_queue_of_lost_messages(shop, order, pyflare_clock):
    order("book")
    pyflare_clock.advance(minutes=1)
    assert shop.run(shop.flare.registry.queue("lost").metrics).backlog_count == 1


def test_packed_orders_are_swept(shop, order, pyflare_clock):
    order()
    pyflare_clock.advance(5)
    assert shop.scheduled("0 3 * * *").outcome == "ok"
    assert shop.worker("shop").count() == 0


def test_the_sweep_runs_every_night(shop, order, pyflare_clock):
    order()
    pyflare_clock.advance(hours=24)
    assert shop.worker("shop").count() == 0


def test_a_sweep_without_tables_fails(pyflare):
    assert pyflare.scheduled("0 3 * * *").outcome == "exception"


def test_migrations_are_applied_once(shop):
    assert shop.run(apply_d1_migrations, shop.env("shop").DB, MIGRATIONS) == []


def test_migrations_are_recorded(shop):
    rows = shop.env("shop").DB.prepare("SELECT name FROM d1_migrations ORDER BY id").raw()
    assert [row[0] for row in rows] == ["0001_orders.sql", "0002_audit.sql"]


@pytest.mark.parametrize("number", range(5))
def test_every_test_begins_with_an_empty_database(shop, order, number):
    assert order() == 1


@pytest.mark.asyncio
async def test_the_same_with_await(pyflare, pyflare_env):
    await apply_d1_migrations(pyflare_env.DB, MIGRATIONS)
    assert (await pyflare.fetch("/orders", json={"item": "pen"})).status_code == 201
    assert await pyflare.worker("shop").count() == 1
    await pyflare.clock.advance(5)
    assert (await pyflare.fetch("/orders/1")).json()["state"] == "packed"
