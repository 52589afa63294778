"""The JavaScript object model as Python objects: what every other module of this room stands on.

A JavaScript value in Python's hands is one of

* ``None`` (undefined), :data:`jsnull` (null), ``bool``, ``int``/``float`` (number), ``str``;
* an instance of :class:`JsProxy`: plain objects (:class:`JsObject`), instances of built-in and Web API
  classes (:class:`JsInstance`), errors, and the classes themselves (their metaclass is :class:`JsClass`);
* a promise, which is an :class:`asyncio.Future` and, as in Pyodide, no ``JsProxy``;
* any other Python object, standing for the ``PyProxy`` that production would make of it.

There is no second heap: Python objects pass through unchanged, and APIs that expect an object take a dict or
anything with attributes (:func:`get_property`).

Source of the behaviour: https://pyodide.org/en/stable/usage/type-conversions.html and
https://pyodide.org/en/stable/usage/api/python-api/ffi.html
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from .calling import adapt, by_keywords_too
from .class_names import MODULE, ShownName, show_as_proxies, show_as_proxy
from .object_statics import ObjectStatics

__all__ = [
    "JsBigInt",
    "JsClass",
    "JsInstance",
    "JsNull",
    "JsObject",
    "JsProxy",
    "array",
    "arrived",
    "arriving",
    "get_property",
    "is_index",
    "is_nullish",
    "iterable",
    "js_class_name",
    "jsnull",
    "object_tag",
    "own_items",
    "own_properties",
    "property_key",
    "type_of",
    "with_indices_first",
]


Items = TypeVar("Items", list[Any], tuple[Any, ...])

_PYFLARE: Final = __name__.partition(".")[0] + "."


class JsNull:
    """The type of :data:`jsnull`, JavaScript's ``null``. Falsy, one instance."""

    __slots__ = ()
    __module__ = MODULE
    _instance: ClassVar[JsNull | None] = None

    def __new__(cls) -> JsNull:
        if cls._instance is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "jsnull"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_null, ())


jsnull: Final = JsNull()


def _null() -> JsNull:
    return jsnull


#: ``default_converter(value, convert, cache_conversion)`` as ``to_py`` and ``to_js`` call it.
DefaultConverter: TypeAlias = Callable[[Any, Callable[[Any], Any], Callable[[Any, Any], None]], Any]


class JsProxy:
    """What ``pyodide.ffi.JsProxy`` is to worker code: a JavaScript object seen from Python.

    Equality and hash are by identity, as ``===`` is for objects.
    """

    __slots__ = ()
    __module__ = MODULE

    #: The class of the value. The SDK asks every value for `x.constructor.name`, so this runs at C speed.
    constructor: Any = property(type)

    @property
    def typeof(self) -> str:
        """JavaScript's ``typeof``: ``"object"`` or ``"function"``."""
        return "object"

    @property
    def js_id(self) -> int:
        """An integer that is equal for two proxies of the same object."""
        return id(self)

    def to_py(self, *, depth: int = -1, default_converter: DefaultConverter | None = None) -> Any:
        """Convert to native Python objects; see :mod:`pyflare.js.to_python` for the rules.

        That module, once imported, puts its function in the place of this one.
        """
        from .to_python import to_python

        return to_python(self, depth=depth, default_converter=default_converter)

    def object_keys(self) -> Any:
        """``Object.keys(self)``: a JavaScript array of the own enumerable keys."""
        return array(key for key, _ in own_items(self))

    def object_values(self) -> Any:
        """``Object.values(self)``."""
        return array(value for _, value in own_items(self))

    def object_entries(self) -> Any:
        """``Object.entries(self)``: an array of two-element arrays."""
        return array(array(pair) for pair in own_items(self))

    def as_object_map(self, *, hereditary: bool = False) -> Any:
        """A live mutable mapping over the object's own properties."""
        from .object_map import ObjectMap

        return ObjectMap(self, hereditary=hereditary)

    def as_py_json(self) -> Any:
        """The object, and every object and array within, as Python's mappings and sequences. Live."""
        from .object_map import as_py_json

        return as_py_json(self)

    def to_weakref(self) -> Any:
        """``new WeakRef(self)``."""
        from .weak import WeakRef

        return WeakRef._construct(self)

    def hasOwnProperty(self, key: Any = None, *_: Any) -> bool:
        """``Object.prototype.hasOwnProperty``."""
        return any(name == key for name, _ in own_items(self))

    def toString(self, *_: Any) -> str:
        """``Object.prototype.toString``: ``[object Tag]``."""
        return object_tag(self)

    def valueOf(self, *_: Any) -> Any:
        """``Object.prototype.valueOf``: the object itself."""
        return self

    def __str__(self) -> str:
        return self.toString()

    def __repr__(self) -> str:
        return self.toString()


class JsClass(type, JsProxy):
    """The metaclass of every JavaScript class: ``C.new(...)``, ``C.name``, ``C.prototype``.

    ``class Headers(JsInstance, js_name="Headers")``; the name defaults to the Python class's own. A class says how
    ``new`` builds an instance in ``_construct(cls, *args)`` and what a call without ``new`` does in
    ``_call(cls, *args)``; both are optional and refuse by default, as JavaScript does. Code of this package
    that needs an instance calls a named constructor of the class or ``cls._make(...)``, which runs ``__init__``.

    Python shows every class of this package as ``pyodide.ffi.JsProxy``; a worker's own subclass keeps its name.
    """

    _js_name: str
    _tag: str
    #: Module and qualified name of a class of this package, which pickles find it by.
    _place: tuple[str, str]
    __name__: str = ShownName()  # type: ignore[assignment]

    def __init_subclass__(mcs) -> None:  # noqa: N804
        show_as_proxies(mcs)

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        js_name: str | None = None,
        **_kwargs: Any,
    ) -> None:
        super().__init__(name, bases, namespace)
        cls._js_name = js_name or name
        # Classes of other packages write JavaScript's rules for arguments out: what they serve is hot.
        if namespace.get("__module__", "").startswith(__package__):
            adapt(cls, namespace, namespace.get("_python_names", ()))
        by_keywords_too(cls)
        if cls.__module__.startswith(_PYFLARE):
            show_as_proxy(cls)

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        js_name: str | None = None,
        **kwargs: Any,
    ) -> JsClass:
        return super().__new__(mcs, name, bases, namespace, **kwargs)

    def new(cls, *args: Any, **kwargs: Any) -> Any:
        """JavaScript's ``new C(...)``; keyword arguments become one final object."""
        if kwargs:
            return cls._construct(*args, JsObject.adopt(kwargs))
        return cls._construct(*args)

    def _construct(cls, *args: Any) -> Any:
        from .error import TypeError_

        raise TypeError_("Illegal constructor")

    def _call(cls, *args: Any) -> Any:
        from .error import TypeError_

        raise TypeError_(
            f"Failed to construct '{cls._js_name}': Please use the 'new' operator, "
            "this object constructor cannot be called as a function."
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return cls._call(*args, JsObject.adopt(kwargs))
        return cls._call(*args)

    #: Construct an instance through ``__init__``, for this package's own code.
    _make = type.__call__

    @property
    def name(cls) -> str:
        return cls._js_name

    @property
    def typeof(cls) -> str:
        return "function"

    @property
    def constructor(cls) -> Any:
        """A class is itself a function; its instances see the property of :class:`JsProxy` instead."""
        from .function import Function

        return Function

    @property
    def prototype(cls) -> Any:
        own = cls.__dict__.get("_own_prototype")
        if own is None:
            from .prototype import Prototype

            own = Prototype._make(cls)
            type.__setattr__(cls, "_own_prototype", own)
        return own

    def __repr__(cls) -> str:
        if "_place" not in cls.__dict__:
            return type.__repr__(cls)
        return f"function {cls._js_name}() {{ [native code] }}"

    def __str__(cls) -> str:
        # The class of a value is the class of `js` itself. Programs compare the former's text, hardly the latter's.
        return type.__repr__(cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        # `Error.stackTraceLimit = 50` and the like: statics are settable in JavaScript.
        type.__setattr__(cls, name, value)


show_as_proxies(JsClass)


class JsInstance(JsProxy, metaclass=JsClass, js_name="Object"):
    """Base of instances of built-in and Web API classes.

    Their attributes are getters on a prototype, so they have no own enumerable properties.
    """


class ObjectConstructor(ObjectStatics, JsClass):
    """The metaclass of :class:`JsObject`: what ``js.Object`` has and a plain object has not.

    The statics live here and not on the class, because a plain object must not seem to have a property ``keys`` or
    ``values`` that nobody gave it.
    """

    def adopt(cls, properties: dict[str, Any]) -> JsObject:
        """A plain object whose properties *are* this dict (no copy)."""
        made = _new_object(JsObject)
        _set_properties(made, properties)
        return made

    def _construct(cls, value: Any = None, *_: Any) -> Any:
        return cls.adopt({}) if value is None or value is jsnull else value

    def _call(cls, *args: Any) -> Any:
        return cls._construct(*args)


class JsObject(JsProxy, metaclass=ObjectConstructor, js_name="Object"):
    """A plain JavaScript object. Its properties are the instance's ``__dict__``, in insertion order.

    Also ``js.Object`` itself; its statics are in :class:`ObjectConstructor`.
    """

    def __getattr__(self, name: str) -> Any:
        if name[-1:] == "_" and keyword.iskeyword(name[:-1]):
            try:
                return self.__dict__[name[:-1]]
            except KeyError:
                pass
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name[-1:] == "_" and keyword.iskeyword(name[:-1]):
            name = name[:-1]
        if type(value) is float:
            value = arriving(value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Deleting what is not there does nothing, as in JavaScript."""
        if name[-1:] == "_" and keyword.iskeyword(name[:-1]):
            name = name[:-1]
        self.__dict__.pop(name, None)


_new_object: Callable[[type[JsObject]], JsObject] = object.__new__
#: Sets the whole `__dict__` past `JsObject.__setattr__`, which is Python code.
_set_properties: Callable[[JsObject, dict[str, Any]], None] = JsObject.__dict__["__dict__"].__set__


def arriving(number: float) -> int | float:
    """A number as JavaScript gives it back: whole numbers are ints."""
    if number.is_integer() and -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        return int(number)
    return number


def arrived(items: Items) -> Items | list[Any]:
    """The items as JavaScript gives them back; the sequence itself when nothing in it changes by that."""
    if float not in map(type, items):
        return items
    return [arriving(item) if type(item) is float else item for item in items]


def iterable(value: Any) -> Any:
    """What JavaScript iterates over in a value: entries, where Python sees a mapping and iterates over its keys."""
    return value.entries() if getattr(type(value), "_iterates_entries", False) else value


def own_items(value: Any) -> Iterator[tuple[str, Any]]:
    """The own enumerable properties of any value, as ``Object.entries`` sees them."""
    if isinstance(value, JsObject):
        properties = value.__dict__
        # A cheap look at the first key by text: digits sort before letters.
        if properties and min(properties) < ":":
            properties = with_indices_first(properties)
        yield from list(properties.items())
    elif isinstance(value, JsProxy):
        own = getattr(value, "_own_items", None)
        if own is not None and not isinstance(value, type):
            yield from own()
    elif isinstance(value, dict):
        yield from with_indices_first(
            {property_key(key): item for key, item in value.items()}
        ).items()
    elif isinstance(value, list | tuple | str):
        yield from ((str(index), item) for index, item in enumerate(value))


def own_properties(*names: str) -> Callable[[Any], Iterator[tuple[str, Any]]]:
    """What a class takes for ``_own_items`` when properties of these names are each instance's own."""

    def own_items(self: Any) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in names)

    return own_items


def is_index(key: str) -> bool:
    """Whether a property's name is an array index, which objects list before other names."""
    return (
        key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 10
        and int(key) < 2**32 - 1
    )  # fmt: skip


def with_indices_first(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties in JavaScript's order: integer keys first and by number, the others as they came."""
    indices = sorted(filter(is_index, properties), key=int)
    if not indices:
        return properties
    return {key: properties[key] for key in indices} | properties


def get_property(value: Any, name: str) -> Any:
    """Read a property of anything that may stand for a JavaScript object: a proxy, a dict, a Python object.

    Absent is ``None`` (undefined). Keys of a dict win over its attributes, as they do for a ``PyProxy`` of a dict.
    """
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, name, None)


def is_nullish(value: Any) -> bool:
    """Whether JavaScript's ``value == null`` would hold."""
    return value is None or value is jsnull


def type_of(value: Any) -> str:
    """JavaScript's ``typeof`` for any value in Python's hands."""
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        small = type(value) is not JsBigInt and -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
        return "number" if small else "bigint"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, JsProxy):
        return value.typeof
    return "function" if callable(value) else "object"


MAX_SAFE_INTEGER: Final = 2**53 - 1


class JsBigInt(int):
    """A bigint in Python's hands: an ``int`` that stays a bigint whatever its size."""

    __module__ = MODULE

    def __reduce__(self) -> tuple[Any, ...]:
        return (_big_integer, (int(self),))


def _big_integer(value: int) -> JsBigInt:
    return JsBigInt(value)


def js_class_name(value: Any) -> str | None:
    """``value.constructor.name`` for a JavaScript object, None for anything native to Python."""
    constructor = getattr(value, "constructor", None) if isinstance(value, JsProxy) else None
    return None if constructor is None else constructor.name


def object_tag(value: Any) -> str:
    """``Object.prototype.toString.call(value)``."""
    match value:
        case None:
            return "[object Undefined]"
        case JsNull():
            return "[object Null]"
        case bool():
            return "[object Boolean]"
        case int() | float():
            return "[object Number]"
        case str():
            return "[object String]"
    if isinstance(value, JsClass):
        return "[object Function]"
    if isinstance(value, JsProxy):
        tag = getattr(type(value), "_tag", None)
        return f"[object {tag or type(value)._js_name}]"  # type: ignore[attr-defined]
    return "[object Function]" if callable(value) else "[object Object]"


def property_key(key: Any) -> str:
    """The name under which an object keeps a property."""
    if isinstance(key, str):
        return key
    from .number import to_string

    return to_string(key)


def array(items: Iterable[Any]) -> Any:
    """A JavaScript array of the items."""
    from .array import JsArray

    return JsArray.adopt(list(items))
