"""Keys, objects, the cache, limits; on anyio's plugin."""

import httpx
import pytest

pytestmark = pytest.mark.anyio
RATES = "https://rates.test/eur"


async def test_a_session_ends_after_an_hour(pyflare, pyflare_clock):
    await pyflare.fetch("/login?name=ann", method="POST")
    await pyflare_clock.advance(minutes=59)
    assert (await pyflare.fetch("/me", headers={"Cookie": "who=ann"})).status_code == 200
    await pyflare_clock.advance(minutes=2)
    assert (await pyflare.fetch("/me", headers={"Cookie": "who=ann"})).status_code == 401


async def test_what_the_worker_writes_is_there_for_the_test(pyflare, pyflare_env):
    await pyflare.fetch("/login?name=ann", method="POST")
    assert await pyflare_env.SESSIONS.get("session:ann") == "ann"


async def test_what_the_test_writes_is_there_for_the_worker(pyflare, pyflare_env):
    await pyflare_env.SESSIONS.put("session:bob", "bob")
    assert (await pyflare.fetch("/me", headers={"Cookie": "who=bob"})).text == "hello bob"


async def test_background_work_can_be_waited_for(pyflare, pyflare_env):
    await pyflare.fetch("/later")
    await pyflare.settle()
    assert await pyflare_env.SESSIONS.get("later") == "done"


@pytest.mark.parametrize("size", [0, 1, 100_000, 2_000_000])
async def test_a_picture_comes_back_as_it_was(pyflare, size):
    picture = bytes(range(256)) * (size // 256 + 1)
    assert (await pyflare.fetch("/pictures/a", method="PUT", body=picture)).status_code == 201
    response = await pyflare.fetch("/pictures/a")
    assert response.content == picture
    assert response.headers["etag"]


async def test_a_picture_that_is_not_there(pyflare):
    assert (await pyflare.fetch("/pictures/none")).status_code == 404


async def test_a_rate_is_asked_for_once_a_minute(pyflare, pyflare_outbound, pyflare_clock):
    pyflare_outbound.get(RATES, json={"rate": 1.5})
    answers = [await pyflare.fetch("/rate") for _ in range(3)]
    assert [answer.headers["x-cache"] for answer in answers] == ["miss", "hit", "hit"]
    assert len(pyflare_outbound.requests) == 1
    await pyflare_clock.advance(minutes=2)
    assert (await pyflare.fetch("/rate")).headers["x-cache"] == "miss"


@pytest.mark.parametrize("status", [404, 500, 503])
async def test_without_a_rate_there_is_a_502(pyflare, pyflare_outbound, status):
    pyflare_outbound.get(RATES, status=status)
    assert (await pyflare.fetch("/rate")).status_code == 502


async def test_a_lost_connection_reaches_the_worker(pyflare, pyflare_outbound):
    pyflare_outbound.get(RATES, error=httpx.ConnectError("gone"))
    with pytest.raises(Exception, match="Network connection lost"):
        await pyflare.fetch("/rate")


async def test_what_was_not_prepared_is_no_request(pyflare, pyflare_outbound):
    with pytest.raises(Exception, match="asked for GET https://rates.test/eur; prepared is nothing"):
        await pyflare.fetch("/rate")


async def test_the_fourth_request_in_a_minute_is_refused(pyflare, pyflare_clock):
    statuses = [(await pyflare.fetch("/limited")).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    await pyflare_clock.advance(minutes=1)
    assert (await pyflare.fetch("/limited")).status_code == 200


async def test_everybody_has_a_limit_of_their_own(pyflare):
    for _ in range(3):
        await pyflare.fetch("/limited?who=a")
    assert (await pyflare.fetch("/limited?who=b")).status_code == 200
