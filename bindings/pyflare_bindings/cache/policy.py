"""Which responses a cache keeps, and for how long.

Source: https://developers.cloudflare.com/cache/concepts/default-cache-behavior/,
https://developers.cloudflare.com/cache/concepts/cache-control/ and
https://developers.cloudflare.com/workers/runtime-apis/cache/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from .cache_control import CacheControl, parse_cache_control
from .http_dates import http_date, parse_http_date

__all__ = ["MAX_BODY_BYTES", "Kept", "keep"]

#: The largest body that is kept; larger ones are for enterprise accounts.
MAX_BODY_BYTES: Final = 512 * 1024 * 1024

# A partial answer, and one that only says that another is still good.
_NEVER_KEPT: Final = frozenset({206, 304})
_LONGEST_SECONDS: Final = 10 * 365 * 24 * 3600.0

#: Seconds by status for a response that says nothing about its lifetime.
_DEFAULT_LIFETIMES: Final = {200: 7200, 301: 7200, 302: 1200, 303: 1200, 404: 180, 410: 180}

# Of one connection, and what an answer from here says itself.
_NOT_KEPT: Final = frozenset(
    {
        "cf-cache-status",
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class Kept(NamedTuple):
    """A response as it is kept: its headers, and the time in seconds at which it expires.

    One that is stale already takes the place of an older one, which is thereby gone.
    """

    headers: dict[str, str]
    expires: float


def keep(
    status: int,
    headers: Mapping[str, str],
    now: float,
    *,
    authorized: bool = False,
    default_lifetimes: bool = True,
) -> Kept | None:
    """How a response is kept; None for one that must not be.

    In: `headers` by lower-case name; `now` in seconds; `authorized`, whether the request of the
    response carried `Authorization`; `default_lifetimes`, whether a response that says nothing
    about its lifetime has the one of production, or none as with the JavaScript emulator.
    """
    if status in _NEVER_KEPT or not 200 <= status <= 599:
        return None
    control = parse_cache_control(headers.get("cache-control", ""))
    directives = control.directives
    if "no-store" in directives or "private" in directives:
        return None
    if "set-cookie" in headers and "set-cookie" not in control.private:
        return None
    if authorized and not directives.keys() & {"must-revalidate", "public", "s-maxage"}:
        return None
    lifetime = _lifetime(status, headers, control, now, default_lifetimes)
    if lifetime is None:
        return None
    age = _age(headers)
    return Kept(_kept_headers(headers, control, now, age), now + lifetime - age)


def _lifetime(
    status: int,
    headers: Mapping[str, str],
    control: CacheControl,
    now: float,
    default_lifetimes: bool,
) -> float | None:
    directives = control.directives
    # `proxy-revalidate` forbids stale answers, which there are none of here.
    if "no-cache" in directives or not control.no_cache.isdisjoint(headers):
        return 0
    if "cache-control" not in headers and "no-cache" in headers.get("pragma", "").lower():
        return 0
    for name in ("s-maxage", "max-age"):
        seconds = control.seconds(name)
        if seconds is not None:
            return min(seconds, _LONGEST_SECONDS)
    if "expires" in headers:
        expires = parse_http_date(headers["expires"])
        date = parse_http_date(headers.get("date", ""))
        # Anything but a date, such as "0", means the past.
        return 0 if expires is None else expires - (now if date is None else date)
    if not default_lifetimes:
        return 0
    return _DEFAULT_LIFETIMES.get(status)


def _age(headers: Mapping[str, str]) -> int:
    age = headers.get("age", "")
    return min(int(age), 2**31) if age.isascii() and age.isdigit() and len(age) < 20 else 0


def _kept_headers(
    headers: Mapping[str, str], control: CacheControl, now: float, age: int
) -> dict[str, str]:
    dropped = _NOT_KEPT
    if "connection" in headers:
        dropped = dropped | {each.strip().lower() for each in headers["connection"].split(",")}
    kept = {
        name: value
        for name, value in headers.items()
        if name not in dropped and name not in control.private
    }
    if control.private:
        if control.rest:
            kept["cache-control"] = control.rest
        else:
            del kept["cache-control"]
    kept["date"] = http_date(now)
    kept["age"] = str(age)
    return kept
