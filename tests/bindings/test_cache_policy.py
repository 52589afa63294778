"""Which responses a cache keeps, for how long, and under which headers."""

from __future__ import annotations

import pytest

from pyflare_bindings.cache.cache_control import parse_cache_control
from pyflare_bindings.cache.http_dates import http_date, parse_http_date
from pyflare_bindings.cache.policy import Kept, keep

NOW = 784_111_777.0
"""Sun, 06 Nov 1994 08:49:37 GMT."""


def lifetime(status: int = 200, **headers: str) -> float | None:
    """Seconds that a response is kept, None when it must not be; `cache_control="…"` names headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = keep(status, named, NOW)
    return None if kept is None else kept.expires - NOW


def kept(**headers: str) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = keep(200, {"cache-control": "max-age=60", **named}, NOW)
    assert isinstance(found, Kept)
    return found.headers


@pytest.mark.parametrize("status", [200, 201, 203, 204, 301, 302, 404, 410, 418, 500, 599])
def test_any_status_is_kept_for_as_long_as_it_says(status: int) -> None:
    assert lifetime(status, cache_control="public, max-age=60") == 60


@pytest.mark.parametrize("status", [0, 101, 206, 304])
def test_partial_and_empty_answers_are_never_kept(status: int) -> None:
    assert lifetime(status, cache_control="public, max-age=60") is None


@pytest.mark.parametrize(
    ("status", "seconds"),
    [(200, 7200), (301, 7200), (302, 1200), (303, 1200), (404, 180), (410, 180)],
)
def test_a_response_that_says_nothing_has_the_lifetime_of_its_status(
    status: int, seconds: int
) -> None:
    assert lifetime(status) == seconds
    assert lifetime(status, cache_control="public") == seconds


@pytest.mark.parametrize("status", [201, 203, 204, 307, 308, 405, 500])
def test_other_statuses_have_to_say_it(status: int) -> None:
    assert lifetime(status) is None
    assert lifetime(status, cache_control="public") is None


def test_without_default_lifetimes_a_silent_response_is_stale_at_once() -> None:
    found = keep(200, {}, NOW, default_lifetimes=False)
    assert found is not None
    assert found.expires == NOW


@pytest.mark.parametrize(
    "control",
    ["no-store", "private", "max-age=60, no-store", "NO-STORE", "private=, max-age=60"],
)
def test_forbidden_responses(control: str) -> None:
    assert lifetime(cache_control=control) is None


@pytest.mark.parametrize(
    "control", ["no-cache", "max-age=0", "s-maxage=0, max-age=60", "max-age=x", "max-age",
                "no-cache, max-age=60", "no-cache=x-here, max-age=60",
                'no-cache="x-no, X-Here", max-age=60'],
)  # fmt: skip
def test_responses_that_are_stale_at_once(control: str) -> None:
    assert lifetime(cache_control=control, x_here="1") == 0


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("max-age=60", 60),
        ("Max-Age=60", 60),
        ("max-age = 60", 60),
        ('max-age="60"', 60),
        ("s-maxage=10, max-age=60", 10),
        ("max-age=60, s-maxage=10", 10),
        ("public, stale-while-revalidate=1000, max-age=60", 60),
        ("stale-if-error=1000, max-age=60", 60),
        ("proxy-revalidate, max-age=60", 60),
        ('no-cache="x-no, x-neither", max-age=60', 60),
        (",, max-age=60 ,", 60),
        ("max-age=" + "9" * 5000, 10 * 365 * 24 * 3600),
    ],
)
def test_lifetimes_in_cache_control(control: str, seconds: int) -> None:
    assert lifetime(cache_control=control) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"expires": http_date(NOW + 90)}, 90),
        ({"expires": http_date(NOW + 90), "date": http_date(NOW + 30)}, 60),
        ({"expires": http_date(NOW + 90), "date": "yesterday"}, 90),
        ({"expires": http_date(NOW - 1)}, -1),
        ({"expires": "0"}, 0),
        ({"expires": "0", "cache_control": "max-age=60"}, 60),
        ({"pragma": "no-cache"}, 0),
        ({"pragma": "no-cache", "cache_control": "max-age=60"}, 60),
        ({"cache_control": "max-age=60", "age": "20"}, 40),
        ({"cache_control": "max-age=60", "age": "100"}, -40),
        ({"cache_control": "max-age=60", "age": "-5"}, 60),
        ({"cache_control": "max-age=60", "age": "often"}, 60),
    ],
)
def test_lifetimes_in_other_headers(headers: dict[str, str], seconds: int) -> None:
    assert lifetime(**headers) == seconds


def test_cookies_are_not_shared() -> None:
    assert lifetime(cache_control="public, max-age=60", set_cookie="a=1") is None


@pytest.mark.parametrize("directive", ["private=set-cookie", 'Private="Set-Cookie"'])
def test_a_response_that_allows_it_is_kept_without_its_cookies(directive: str) -> None:
    headers = kept(cache_control=f"max-age=60, {directive}, public", set_cookie="a=1")
    assert "set-cookie" not in headers
    assert headers["cache-control"] == "max-age=60, public"


def test_a_response_is_kept_without_the_headers_that_are_private() -> None:
    headers = kept(cache_control='private="x-a, X-B", max-age=60', x_a="1", x_b="2", x_c="3")
    assert headers.keys() == {"cache-control", "x-c", "date", "age"}
    assert headers["cache-control"] == "max-age=60"
    assert lifetime(cache_control="private=x-a, max-age=60", set_cookie="a=1") is None


def test_what_another_cache_said_is_not_kept() -> None:
    assert "cf-cache-status" not in kept(cf_cache_status="DYNAMIC")


@pytest.mark.parametrize(
    ("control", "allowed"),
    [("max-age=60", False), ("public, max-age=60", True), ("s-maxage=60", True),
     ("must-revalidate, max-age=60", True)],
)  # fmt: skip
def test_answers_to_authorized_requests_have_to_allow_it(control: str, allowed: bool) -> None:
    found = keep(200, {"cache-control": control}, NOW, authorized=True)
    assert (found is not None) == allowed


def test_headers_of_the_connection_are_dropped() -> None:
    headers = kept(
        connection="close, X-Mine", x_mine="1", keep_alive="5", te="trailers", x_other="2"
    )
    assert headers.keys() == {"cache-control", "x-other", "date", "age"}


def test_date_and_age_are_those_of_the_moment() -> None:
    headers = kept(date="Sat, 01 Jan 2000 00:00:00 GMT", age="7")
    assert headers["date"] == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert headers["age"] == "7"
    assert kept()["age"] == "0"


def test_a_comma_within_quotes_separates_nothing() -> None:
    control = parse_cache_control('other="a, no-store", max-age=1')
    assert control.directives == {"other": "a, no-store", "max-age": "1"}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777),
        ("Thu, 29 Feb 2024 23:59:60 GMT", 1709251200),
        ("Mon, 06 Nov 1994 08:49:37 GMT", None),
        ("Fri, 30 Feb 2024 00:00:00 GMT", None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37 UTC", None),
        ("Sun, 6 Nov 1994 08:49:37 GMT", None),
        ("Sunday, 06-Nov-94 08:49:37 GMT", None),
        ("Sun Nov  6 08:49:37 1994", None),
        ("", None),
    ],
)
def test_only_the_modern_form_of_a_date_is_read(text: str, seconds: int | None) -> None:
    assert parse_http_date(text) == seconds
