"""The code of a dynamic Worker, as a Worker gives it: ``{compatibilityDate, mainModule, modules, env, ...}``.

Source: https://developers.cloudflare.com/dynamic-workers/api-reference/ and workerd
``src/workerd/api/worker-loader.c++``
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

from pyflare.config.compatibility import CompatibilityFlags
from pyflare.config.diagnostics import ConfigError
from pyflare.config.settings import is_iso_date
from pyflare.js.buffer import as_bytes
from pyflare.js.error import Error, TypeError_
from pyflare.js.fetcher import Channel, Fetcher
from pyflare.js.json import JSON
from pyflare.js.rpc.values import clone_result
from pyflare.js.value import JsObject, get_property, is_nullish, jsnull, own_items
from pyflare.js.webidl import encode_text, scalar_text

__all__ = ["INHERITED", "DynamicCode", "Inherited", "read_code"]

MAX_CODE_BYTES: Final = 64 * 1024 * 1024

_TYPES: Final = ("js", "cjs", "text", "data", "json", "py", "wasm")


class Inherited:
    def __repr__(self) -> str:
        return "INHERITED"


#: Requests go where those of the loading Worker go.
INHERITED: Final = Inherited()


@dataclass(slots=True, frozen=True)
class DynamicCode:
    """Checked code.

    ``modules`` maps paths to contents; ``outbound`` is where ``fetch`` goes: a channel, None for nowhere; ``tails``
    are told of every event.
    """

    main_module: str
    modules: dict[str, bytes]
    flags: CompatibilityFlags
    environment: JsObject
    outbound: Channel | Inherited | None = INHERITED
    tails: tuple[Channel, ...] = field(default=())


def read_code(given: Any) -> DynamicCode:
    """Check what a Worker gives; dicts and Python values do as well as objects.

    Raises: TypeError and Error with the platform's texts, or that name what pyflare cannot do.
    """
    main = get_property(given, "mainModule")
    date = get_property(given, "compatibilityDate")
    for name, value in (("mainModule", main), ("compatibilityDate", date)):
        if not isinstance(value, str) or not value:
            raise TypeError_(f"Dynamic Worker code needs a text '{name}'.")
    _check_date(date)
    if not main.endswith(".py"):
        raise TypeError_(
            f"The main module {main!r} of a dynamic Worker is not Python; pyflare runs '.py' modules only."
        )
    modules = _modules(get_property(given, "modules"))
    if main not in modules:
        raise TypeError_(f"The main module {main!r} of a dynamic Worker is not among its modules.")
    flags = get_property(given, "compatibilityFlags")
    names = [] if is_nullish(flags) else [scalar_text(flag) for flag in flags]
    try:
        resolved = CompatibilityFlags.resolve(
            date, {"python_workers": None, **dict.fromkeys(names)}
        )
    except ConfigError as error:
        raise Error(f"Dynamic Worker: {error}") from None
    return DynamicCode(
        main,
        modules,
        resolved,
        _environment(get_property(given, "env")),
        _outbound(given),
        _tails(get_property(given, "tails")),
    )


def _check_date(date: str) -> None:
    if not is_iso_date(date):
        raise Error(
            f'Dynamic Worker: Invalid compatibility date "{date}"; it has the form YYYY-MM-DD.'
        )
    if date > datetime.now(UTC).date().isoformat():
        raise Error(f'Dynamic Worker: Compatibility date "{date}" is in the future and unsupported')


def _modules(given: Any) -> dict[str, bytes]:
    entries = [] if is_nullish(given) else list(own_items(given))
    if not entries:
        raise TypeError_("Dynamic Worker code must contain at least one module.")
    modules = {name: _content(name, value) for name, value in entries}
    for name in modules:
        _check_name(name)
    size = sum(map(len, modules.values()))
    if size > MAX_CODE_BYTES:
        raise Error(
            f"Dynamic Worker code size ({size} bytes) exceeds the maximum allowed size of {MAX_CODE_BYTES} bytes."
        )
    return modules


def _content(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        if not name.endswith((".py", ".js")) and not name.startswith("python_modules/"):
            raise TypeError_(
                "Module name must end with '.js' or '.py' (or the content must be an object indicating the type "
                f"explicitly). Got: {name}"
            )
        return encode_text(value)
    found = {each: get_property(value, each) for each in _TYPES}
    present = [each for each, content in found.items() if content is not None]
    if len(present) != 1:
        raise TypeError_(
            "Each module must contain exactly one of 'js', 'cjs', 'text', 'data', 'json', 'py', or 'wasm'. "
            f"Module '{name}' contained {len(present)} properties."
        )
    content = found[present[0]]
    if present[0] == "json":
        return encode_text(scalar_text(JSON.stringify(content)))
    data = as_bytes(content)
    return encode_text(scalar_text(content)) if data is None else bytes(data)


def _check_name(name: str) -> None:
    """Names become paths of files in a folder of the Worker's own."""
    path = PurePosixPath(name)
    bad = path.is_absolute() or not path.parts or ".." in path.parts
    if bad or "\\" in name or ":" in name or not name.isprintable() or len(name) > 200:
        raise TypeError_(f"A dynamic Worker cannot have a module named {name!r}.")


def _environment(given: Any) -> JsObject:
    if is_nullish(given):
        return JsObject.adopt({})
    return JsObject.adopt({name: _value(value) for name, value in own_items(given)})


def _value(value: Any) -> Any:
    """A copy; service bindings and other stubs go on as they are, also out of the SDK's wrappers."""
    from workers import python_to_rpc

    return clone_result(python_to_rpc(value))


def _outbound(given: Any) -> Channel | Inherited | None:
    outbound = get_property(given, "globalOutbound")
    names = [name for name, _ in own_items(given)]
    if outbound is jsnull or (outbound is None and "globalOutbound" in names):
        return None
    return INHERITED if outbound is None else _channel("globalOutbound", outbound)


def _tails(given: Any) -> tuple[Channel, ...]:
    if is_nullish(given):
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError_("'tails' of a dynamic Worker is not an array of service bindings.")
    return tuple(_channel("tails", each) for each in given)


def _channel(field: str, value: Any) -> Channel:
    fetcher = getattr(value, "_binding", value)
    if not isinstance(fetcher, Fetcher):
        raise TypeError_(f"'{field}' of a dynamic Worker is not a service binding.")
    return fetcher._channel
