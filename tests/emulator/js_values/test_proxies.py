"""``create_proxy`` and its kin."""

from __future__ import annotations

import array
import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from pyflare.js.array import JsArray
from pyflare.js.buffer import DataView, Float32Array, Int8Array, Uint8Array
from pyflare.js.error import JsException
from pyflare.js.proxy import JsDoubleProxy, create_once_callable, create_proxy, destroy_proxies
from pyflare.js.value import JsProxy


class Target:
    value = 1

    def double(self, number: int) -> int:
        return number * 2


def test_a_proxy_is_a_javascript_value_that_gives_its_object_back() -> None:
    target = Target()
    proxy = create_proxy(target)
    assert isinstance(proxy, JsProxy | JsDoubleProxy)
    assert proxy.unwrap() is target
    assert (proxy.type, proxy.constructor.name) == ("Target", "PyProxy")


def test_attributes_are_forwarded() -> None:
    target = Target()
    proxy = create_proxy(target)
    proxy.value = 5
    assert (target.value, proxy.value, proxy.double(4)) == (5, 5, 8)
    del proxy.value
    assert target.value == 1
    with pytest.raises(AttributeError, match="missing"):
        proxy.missing  # noqa: B018


def test_items_of_a_dict_read_as_properties() -> None:
    assert create_proxy({"a": 1}).a == 1


@pytest.mark.parametrize(
    ("target", "ability"),
    [
        (len, callable),
        ([], lambda proxy: hasattr(proxy, "__iter__")),
        ({}, lambda proxy: hasattr(proxy, "__getitem__")),
        (asyncio.Event().wait, callable),
    ],
)
def test_a_proxy_can_do_what_its_object_can(target: Any, ability: Callable[[Any], bool]) -> None:
    assert ability(create_proxy(target))
    assert not ability(create_proxy(object()))


def test_containers_work_through_the_proxy() -> None:
    proxy: Any = create_proxy([1, 2])
    proxy[0] = 3
    del proxy[1]
    assert (list(proxy), len(proxy), proxy[0], 3 in proxy, bool(create_proxy([]))) == (
        [3],
        1,
        3,
        True,
        False,
    )
    assert next(create_proxy(iter([7]))) == 7  # type: ignore[call-overload]


def test_a_proxy_of_a_function_is_called_with_keywords_too() -> None:
    proxy: Any = create_proxy(lambda a, b=0: (a, b))
    assert (proxy(1, b=2), proxy.typeof) == ((1, 2), "function")


def test_capture_this_puts_undefined_before_the_arguments() -> None:
    proxy: Any = create_proxy(lambda this, value: (this, value), capture_this=True)
    assert proxy(1) == (None, 1)


def test_a_proxy_of_an_awaitable_can_be_awaited() -> None:
    async def main() -> None:
        task = asyncio.ensure_future(asyncio.sleep(0, "done"))
        proxy: Any = create_proxy(task)
        assert inspect.isawaitable(proxy)
        assert await proxy == "done"
        assert not inspect.isawaitable(create_proxy(1))

    asyncio.run(main())


def test_a_proxy_of_an_async_iterator_can_be_iterated() -> None:
    async def numbers() -> Any:
        yield 1
        yield 2

    async def main() -> list[Any]:
        proxy: Any = create_proxy(numbers())
        return [number async for number in proxy]

    assert asyncio.run(main()) == [1, 2]


USES: list[Callable[[Any], Any]] = [
    lambda proxy: proxy(1),
    lambda proxy: proxy.unwrap(),
    lambda proxy: proxy.copy(),
    lambda proxy: proxy.getBuffer(),
    lambda proxy: proxy.__name__,
]


@pytest.mark.parametrize("use", USES)
def test_a_destroyed_proxy_refuses_every_use(use: Callable[[Any], Any]) -> None:
    proxy = create_proxy(len)
    proxy.destroy()
    proxy.destroy()
    with pytest.raises(JsException) as caught:
        use(proxy)
    assert str(caught.value) == "Error: Object has already been destroyed"


def test_a_copy_outlives_the_original() -> None:
    proxy = create_proxy(len)
    copy: Any = proxy.copy()
    proxy.destroy()
    assert copy("ab") == 2


def test_destroy_proxies_destroys_each() -> None:
    proxies = [create_proxy(len), create_once_callable(len)]
    destroy_proxies(JsArray.adopt(list(proxies)))
    for proxy in proxies:
        with pytest.raises(JsException):
            proxy("a")  # type: ignore[operator]


def test_a_once_callable_is_called_once() -> None:
    once = create_once_callable(lambda value: value + 1)
    assert once(1) == 2
    with pytest.raises(JsException) as caught:
        once(1)
    assert str(caught.value) == "Error: OnceProxy can only be called once"
    with pytest.raises(JsException):
        once.destroy()


def test_a_buffer_of_bytes_is_an_alias_that_protects_the_bytes() -> None:
    data = b"abc"
    view = create_proxy(data).getBuffer()
    assert view.data.to_bytes() is data
    view.data[0] = 0
    assert data == b"abc"
    view.release()
    assert view.data.length == 3


def test_a_buffer_of_mutable_memory_is_written_through() -> None:
    data = bytearray(b"abc")
    view = create_proxy(data).getBuffer()
    view.data[0] = 120
    assert data == b"xbc"


@pytest.mark.parametrize(
    ("target", "kind", "expected"),
    [
        (b"ab", None, Uint8Array),
        (b"ab", "i8", Int8Array),
        (b"ab", "dataview", DataView),
        (array.array("f", [1]), None, Float32Array),
    ],
)
def test_the_element_type_follows_the_format_or_the_request(
    target: Any, kind: Any, expected: type
) -> None:
    assert type(create_proxy(target).getBuffer(kind).data) is expected


def test_a_view_describes_its_memory() -> None:
    view = create_proxy(memoryview(bytes(8)).cast("H", (2, 2))).getBuffer()
    described = (view.ndim, view.itemsize, view.nbytes, view.format, view.readonly, view.offset)
    assert described == (2, 2, 8, "H", True, 0)
    assert (list(view.shape), list(view.strides)) == ([2, 2], [2, 1])
    assert view.c_contiguous
    assert not view.f_contiguous


@pytest.mark.parametrize(
    ("target", "kind", "text"),
    [
        ("text", None, "Failed to get a buffer: str is no buffer"),
        (b"ab", "q8", "Unknown type q8"),
        (
            memoryview(b"abcd")[::2],
            None,
            "Failed to get a buffer: only contiguous buffers can be viewed",
        ),
        (
            memoryview(b"\0").cast("?"),
            None,
            "A buffer of format '?' has no typed array; name a type for getBuffer",
        ),
    ],
)
def test_what_cannot_be_viewed_is_refused(target: Any, kind: Any, text: str) -> None:
    with pytest.raises(JsException) as caught:
        create_proxy(target).getBuffer(kind)
    assert caught.value.message == text


def test_to_js_of_a_proxy_converts_its_object() -> None:
    assert list(create_proxy([1, 2]).toJs()) == [1, 2]
