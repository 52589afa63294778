"""KV namespaces: single keys, listings and many keys at once."""

from __future__ import annotations

import base64
from typing import Any

from pyflare_bindings.kv import KVError
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body, Refusal, has_begun


async def get(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """The value of a key. Arguments: ``id``, ``key``. Answer: None, or ``size`` and ``metadata`` with the value."""
    if not has_begun(registry, "kv", arguments["id"]):
        return Answer()
    try:
        entry = await registry.kv(arguments["id"]).get(arguments["key"])
    except KVError as error:
        raise _refused(error) from error
    if entry is None:
        return Answer()
    return Answer({"size": entry.size, "metadata": entry.metadata}, entry.chunks())


async def put(registry: BindingRegistry, arguments: dict[str, Any], body: Body) -> Answer:
    """Set a key to the bytes of the body. Arguments: ``id``, ``key``, and ``expiration``, ``expiration_ttl`` in
    seconds, ``metadata`` as JSON text, ``length`` of the body, where they are known."""
    try:
        await registry.kv(arguments["id"]).put(
            arguments["key"],
            body,
            length=arguments.get("length"),
            **_options(arguments),
        )
    except KVError as error:
        raise _refused(error) from error
    return Answer()


async def delete(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Remove a key. Arguments: ``id``, ``key``."""
    try:
        await registry.kv(arguments["id"]).delete(arguments["key"])
    except KVError as error:
        raise _refused(error) from error
    return Answer()


async def list_keys(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """One page of keys. Arguments: ``id``, ``prefix``, ``cursor``. Answer: ``keys`` as (name, expiration in seconds,
    metadata as JSON text) and the ``cursor`` of the next page."""
    if not has_begun(registry, "kv", arguments["id"]):
        return Answer({"keys": [], "cursor": None})
    try:
        page = await registry.kv(arguments["id"]).list(
            arguments.get("prefix", ""), cursor=arguments.get("cursor")
        )
    except KVError as error:
        raise _refused(error) from error
    keys = [(key.name, key.expires, key.metadata) for key in page.keys]
    return Answer({"keys": keys, "cursor": page.cursor})


async def put_many(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Set several keys one after the other. Arguments: ``id``, ``entries``: each with ``key``, ``value`` in base64 and
    the options of :func:`put`."""
    namespace = registry.kv(arguments["id"])
    for entry in arguments["entries"]:
        try:
            await namespace.put(entry["key"], base64.b64decode(entry["value"]), **_options(entry))
        except KVError as error:
            raise Refusal(f'The key "{entry["key"]}" cannot be written: {error}') from error
    return Answer()


async def delete_many(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Remove several keys one after the other. Arguments: ``id``, ``keys``."""
    namespace = registry.kv(arguments["id"])
    for key in arguments["keys"]:
        try:
            await namespace.delete(key)
        except KVError as error:
            raise Refusal(f'The key "{key}" cannot be deleted: {error}') from error
    return Answer()


def _options(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "expiration": given.get("expiration"),
        "expiration_ttl": given.get("expiration_ttl"),
        "metadata": given.get("metadata"),
    }


def _refused(error: KVError) -> Refusal:
    return Refusal(str(error))
