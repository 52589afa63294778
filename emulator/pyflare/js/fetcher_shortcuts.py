"""``get``, ``put`` and ``delete`` of a fetcher, which were requests before they were free for methods.

Source: workerd ``api/http.c++`` (``Fetcher::get`` and its kin), until the flag ``fetcher_no_get_put_delete``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from .error import Error, TypeError_
from .promise import JsPromise, start
from .response import Response
from .url import URL
from .value import JsObject, get_property, is_nullish
from .webidl import integer, null, scalar_text

if TYPE_CHECKING:
    from .fetcher import Fetcher

__all__ = ["SHORTCUTS", "shortcut"]

_ABSENT: Final = frozenset({404, 410})


def shortcut(fetcher: Fetcher, name: str) -> Callable[..., JsPromise]:
    """The method of this name, one of :data:`SHORTCUTS`, for this fetcher."""
    ask = SHORTCUTS[name]

    def method(url: Any = None, *arguments: Any, **named: Any) -> JsPromise:
        """A promise; it rejects with Error for a status that is no success."""
        if named:
            arguments = (*arguments, JsObject.adopt(named))
        return start(ask(fetcher, scalar_text(url), *arguments))

    return method


async def _get(fetcher: Fetcher, url: str, kind: Any = None, *_: Any) -> Any:
    """The body as ``text``, ``json``, ``arrayBuffer`` or ``stream``, null where there is none of that address."""
    response: Response = await fetcher.fetch(url, method="GET")
    if response.status in _ABSENT:
        return null()
    _check(response, "GET")
    match "text" if kind is None else scalar_text(kind):
        case "text":
            return await response.text()
        case "json":
            return await response.json()
        case "arrayBuffer":
            return await response.arrayBuffer()
        case "stream":
            body = response.body
            return Response.new("").body if is_nullish(body) else body
    raise TypeError_(
        'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".'
    )


async def _put(fetcher: Fetcher, url: str, body: Any = None, options: Any = None, *_: Any) -> None:
    address = URL.new(url)
    for member, parameter in (("expiration", "expiration"), ("expirationTtl", "expiration_ttl")):
        value = get_property(options, member)
        if value is not None:
            address.searchParams.append(parameter, str(integer(value)))
    _check(await fetcher.fetch(address.href, method="PUT", body=body), "PUT")


async def _delete(fetcher: Fetcher, url: str, *_: Any) -> None:
    _check(await fetcher.fetch(url, method="DELETE"), "DELETE")


def _check(response: Response, method: str) -> None:
    if not 200 <= response.status <= 299:
        raise Error(f"HTTP {method} request failed: {response.status} {response.reason()}")


SHORTCUTS: Final[dict[str, Callable[..., Coroutine[Any, Any, Any]]]] = {
    "get": _get,
    "put": _put,
    "delete": _delete,
}
