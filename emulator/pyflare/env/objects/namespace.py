"""``DurableObjectNamespace``: what the binding of a Durable Object class is.

Source: https://developers.cloudflare.com/durable-objects/api/namespace/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from pyflare.js.error import Error, RangeError, TypeError_
from pyflare.js.fetcher import Channel
from pyflare.js.value import JsInstance, get_property, is_nullish
from pyflare.js.webidl import text, wrong_type
from pyflare_bindings.objects.ids import ObjectId, ObjectIdError, ObjectIds

from .arguments import MISSING, options_of
from .id import DurableObjectId
from .stub import DurableObjectStub

__all__ = ["DurableObjectNamespace", "LoopbackDurableObjectClass", "Objects"]

_NAME: Final = "DurableObjectNamespace"
_NO_JURISDICTIONS: Final = "Jurisdiction restrictions are not implemented in workerd."


class Objects(Protocol):
    """The objects of one class, as far as a binding needs them."""

    @property
    def ids(self) -> ObjectIds: ...

    def channel(self, id: ObjectId) -> Channel: ...


class DurableObjectNamespace(JsInstance, js_name="DurableObjectNamespace"):
    """In: ``find``, which gives the objects when they are first needed: workers may refer to each other in a circle."""

    def __init__(self, find: Callable[[], Objects]) -> None:
        self._find = find
        self._found: Objects | None = None

    def _direct_wrapper(self) -> Any:
        from .namespace_sdk import NamespaceWrapper

        return NamespaceWrapper(self)

    @property
    def _objects(self) -> Objects:
        objects = self._found
        if objects is None:
            objects = self._found = self._find()
        return objects

    def idFromName(self, name: Any = MISSING, *_: Any) -> DurableObjectId:
        """The id of a name: always the same. Raises: TypeError without a name."""
        return _shown(self._objects.ids.from_name(_text(name, "idFromName")))

    def newUniqueId(self, options: Any = None, *_: Any, **named: Any) -> DurableObjectId:
        """An id that nobody else has. Raises: Error for a jurisdiction, TypeError for options that are no object."""
        given = options_of(options, named, "newUniqueId", 1, "NewUniqueIdOptions", _NAME)
        jurisdiction = get_property(given, "jurisdiction")
        if not is_nullish(jurisdiction):
            raise Error(_NO_JURISDICTIONS)
        return _shown(self._objects.ids.unique())

    def idFromString(self, string: Any = MISSING, *_: Any) -> DurableObjectId:
        """The id that ``toString`` gave this text of. Raises: TypeError for any other text."""
        try:
            return _shown(self._objects.ids.from_string(_text(string, "idFromString")))
        except ObjectIdError as error:
            raise TypeError_(str(error)) from None

    def get(self, id: Any = None, options: Any = None, *_: Any, **named: Any) -> DurableObjectStub:
        """A stub of the object. Raises: TypeError for what is no id, RangeError for an unknown routing mode."""
        if not isinstance(id, DurableObjectId):
            raise wrong_type("get", _NAME, 1, "DurableObjectId")
        if options is not None or named:
            _check_options(options, named, "get")
        objects = self._objects
        return DurableObjectStub._make(objects.channel(id._id), id)  # type: ignore[no-any-return]

    def getByName(
        self, name: Any = MISSING, options: Any = None, *_: Any, **named: Any
    ) -> DurableObjectStub:
        """A stub of the object of this name. Raises: TypeError without one, otherwise as :meth:`get`."""
        if options is not None or named:
            _check_options(options, named, "getByName")
        objects = self._objects
        id = objects.ids.from_name(name if type(name) is str else _text(name, "getByName"))
        return DurableObjectStub._make(objects.channel(id), _shown(id))  # type: ignore[no-any-return]

    def jurisdiction(self, jurisdiction: Any = None, *_: Any) -> DurableObjectNamespace:
        """The namespace, restricted; only no restriction is possible. Raises: Error."""
        if not is_nullish(jurisdiction):
            raise Error(_NO_JURISDICTIONS)
        return DurableObjectNamespace._make(self._find)  # type: ignore[no-any-return]


class LoopbackDurableObjectClass(JsInstance, js_name="LoopbackDurableObjectClass"):
    """What ``ctx.exports`` has for a class without storage: no namespace, so there are no ids and no stubs."""

    def __init__(self, class_name: str) -> None:
        self._class_name = class_name

    @property
    def typeof(self) -> str:
        return "function"

    def __getattr__(self, name: str) -> Any:
        error = AttributeError(name)
        if name in ("get", "getByName", "idFromName", "idFromString", "newUniqueId"):
            error.add_note(
                f"ctx.exports.{self._class_name} is no namespace: no entry of `migrations` or `exports` in the "
                "configuration gives the class storage."
            )
        raise error


def _shown(id: ObjectId) -> DurableObjectId:
    return DurableObjectId._make(id, id.name)  # type: ignore[no-any-return]


def _text(argument: Any, method: str) -> str:
    if argument is MISSING:
        raise wrong_type(method, _NAME, 1, "string")
    return text(argument)


def _check_options(options: Any, named: dict[str, Any], method: str) -> None:
    given = options_of(options, named, method, 2, "GetDurableObjectOptions", _NAME)
    # A hint where to put the object is accepted: there is one place only.
    mode = get_property(given, "routingMode")
    if not is_nullish(mode) and mode != "primary-only":
        raise RangeError(f"unknown routingMode: {text(mode)}")
