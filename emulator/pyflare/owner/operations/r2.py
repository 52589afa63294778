"""R2 buckets: objects and listings."""

from __future__ import annotations

from typing import Any

from pyflare_bindings.r2 import HttpMetadata, ListOptions, ObjectOptions, R2Error, R2Object
from pyflare_bindings.r2.values import R2ObjectBody
from pyflare_bindings.registry import BindingRegistry

from . import Answer, Body, Refusal, has_begun


async def get(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """An object. Arguments: ``id`` of the bucket, ``key``. Answer: None, or what is known of it with its content."""
    if not has_begun(registry, "r2", arguments["id"]):
        return Answer()
    try:
        found = await registry.r2(arguments["id"]).get(arguments["key"])
    except R2Error as error:
        raise Refusal(str(error)) from error
    if found is None:
        return Answer()
    assert isinstance(found, R2ObjectBody)
    return Answer(_shown(found), found.body.chunks())


async def put(registry: BindingRegistry, arguments: dict[str, Any], body: Body) -> Answer:
    """Write an object from the body. Arguments: ``id``, ``key``, ``length`` of the body where it is known,
    ``http`` with the stored headers, ``storage_class``. Answer: what is known of the object."""
    options = ObjectOptions(
        HttpMetadata(**(arguments.get("http") or {})),
        storage_class=arguments.get("storage_class") or "Standard",
    )
    try:
        made = await registry.r2(arguments["id"]).put(
            arguments["key"], body, options, length=arguments.get("length")
        )
    except R2Error as error:
        raise Refusal(str(error)) from error
    assert made is not None, "a write without conditions is done"
    return Answer(_shown(made))


async def delete(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """Delete an object. Arguments: ``id``, ``key``."""
    try:
        await registry.r2(arguments["id"]).delete(arguments["key"])
    except R2Error as error:
        raise Refusal(str(error)) from error
    return Answer()


async def list_objects(registry: BindingRegistry, arguments: dict[str, Any], _body: Body) -> Answer:
    """One page of a bucket. Arguments: ``id``, ``prefix``, ``delimiter``, ``cursor``, ``limit``. Answer: ``objects``,
    ``prefixes`` and the ``cursor`` of the next page."""
    if not has_begun(registry, "r2", arguments["id"]):
        return Answer({"objects": [], "prefixes": [], "cursor": None})
    options = ListOptions(
        limit=arguments.get("limit"),
        prefix=arguments.get("prefix") or "",
        cursor=arguments.get("cursor"),
        delimiter=arguments.get("delimiter") or "",
        include=frozenset(("httpMetadata", "customMetadata")),
    )
    try:
        page = await registry.r2(arguments["id"]).list(options)
    except R2Error as error:
        raise Refusal(str(error)) from error
    return Answer(
        {
            "objects": [_shown(each) for each in page.objects],
            "prefixes": page.delimited_prefixes,
            "cursor": page.cursor,
        }
    )


def _shown(found: R2Object) -> dict[str, Any]:
    http = found.http_metadata
    return {
        "key": found.key,
        "size": found.size,
        "etag": found.etag,
        "uploaded": found.uploaded,
        "storage_class": found.storage_class,
        "content_type": None if http is None else http.content_type,
        "custom_metadata": found.custom_metadata or {},
    }
