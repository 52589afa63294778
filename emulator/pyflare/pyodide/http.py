"""The module ``pyodide.http``: ``pyfetch`` and its response.

Source: https://pyodide.org/en/stable/usage/api/python-api/http.html
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from io import StringIO
from typing import IO, Any

from ..js import semantics
from ..js.abort import AbortController, AbortSignal
from ..js.error import JsException
from ..js.from_python import to_js
from ..js.value import JsObject, is_nullish
from .suspension import run_sync

__all__ = [
    "AbortError",
    "BodyUsedError",
    "FetchResponse",
    "HttpStatusError",
    "open_url",
    "pyfetch",
]


class HttpStatusError(OSError):
    """A status of 400 to 599, raised by :meth:`FetchResponse.raise_for_status`."""

    def __init__(self, status: int, status_text: str, url: str) -> None:
        self.status = status
        self.status_text = status_text
        self.url = url
        whose = "Client" if 400 <= status < 500 else "Server"
        super().__init__(f"{status} {whose} Error: {status_text} for url: {url}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.status_text, self.url)


class BodyUsedError(OSError):
    """The body was read before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args or ("Response body is already used",))


class AbortError(OSError):
    """The request was aborted; ``reason`` is the signal's."""

    def __init__(self, reason: Any = None) -> None:
        self.reason = reason
        super().__init__("The operation was aborted." if is_nullish(reason) else str(reason))


class FetchResponse:
    """A response with Python's names over a JavaScript ``Response``.

    Args: ``url`` what was asked for, may be empty; ``js_response`` the JavaScript response.
    """

    def __init__(
        self,
        url: Any,
        js_response: Any,
        abort_controller: Any = None,
        abort_signal: Any = None,
    ) -> None:
        self._url = url
        self.js_response = js_response
        self.abort_controller = abort_controller
        self.abort_signal = abort_signal

    @property
    def body_used(self) -> bool:
        return bool(self.js_response.bodyUsed)

    @property
    def headers(self) -> dict[str, str]:
        return dict(iter(self.js_response.headers))

    @property
    def ok(self) -> bool:
        return bool(self.js_response.ok)

    @property
    def redirected(self) -> bool:
        return bool(self.js_response.redirected)

    @property
    def status(self) -> int:
        return int(self.js_response.status)

    @property
    def status_text(self) -> str:
        return str(self.js_response.statusText)

    @property
    def type(self) -> str:
        return str(self.js_response.type)

    @property
    def url(self) -> str:
        return str(self.js_response.url or self._url)

    def _raise_if_failed(self) -> None:
        signal = self.abort_signal
        if signal is not None and signal.aborted:
            raise AbortError(signal.reason)
        if self.js_response.bodyUsed:
            if semantics.current().body_used_error:
                raise BodyUsedError
            raise OSError("Response body is already used")

    def raise_for_status(self) -> None:
        """Raises: HttpStatusError for 400 to 599."""
        if 400 <= self.status < 600:
            raise HttpStatusError(self.status, self.status_text, self.url)

    def clone(self) -> FetchResponse:
        """A second response with the same content. Raises: OSError when the body was read."""
        self._raise_if_failed()
        return FetchResponse(
            self._url, self.js_response.clone(), self.abort_controller, self.abort_signal
        )

    def abort(self, reason: Any = None) -> None:
        """Abort the request. Raises: ValueError for a response that no abortable request gave."""
        if self.abort_controller is None:
            raise ValueError("abort_controller is not set")
        self.abort_controller.abort(to_js(reason))

    async def buffer(self) -> Any:
        """The body as a JavaScript ArrayBuffer."""
        self._raise_if_failed()
        return await self.js_response.arrayBuffer()

    async def text(self) -> str:
        self._raise_if_failed()
        return str(await self.js_response.text())

    async def string(self) -> str:
        """The same as :meth:`text`."""
        return await self.text()

    async def json(self, **kwargs: Any) -> Any:
        """The body parsed by :func:`json.loads` with these options."""
        self._raise_if_failed()
        return json.loads(await self.text(), **kwargs)

    async def memoryview(self) -> builtins.memoryview:
        return (await self.buffer()).to_memoryview()  # type: ignore[no-any-return]

    async def bytes(self) -> builtins.bytes:
        return (await self.buffer()).to_bytes()  # type: ignore[no-any-return]

    async def _into_file(self, file: IO[builtins.bytes]) -> None:
        (await self.buffer()).to_file(file)

    async def _create_file(self, path: str) -> None:
        with open(path, "xb") as file:  # noqa: ASYNC230 - the runtime's files are memory
            await self._into_file(file)

    async def unpack_archive(
        self, *, extract_dir: str | None = None, format: str | None = None
    ) -> None:
        """Unpack the body, an archive, into a folder (the current one by default)."""
        import shutil
        import tempfile
        from pathlib import PurePosixPath
        from urllib.parse import urlsplit

        self._raise_if_failed()
        name = PurePosixPath(urlsplit(self.url).path).name
        if format is None:
            format = _archive_format(name)
        with tempfile.NamedTemporaryFile(suffix="." + format) as file:
            await self._into_file(file)
            file.flush()
            shutil.unpack_archive(file.name, extract_dir, format)


def _archive_format(name: str) -> str:
    import shutil

    for format, suffixes, _ in shutil.get_unpack_formats():
        if any(name.endswith(suffix) for suffix in suffixes):
            return format
    raise ValueError(f"Unknown archive format of {name!r}; pass format=")


async def pyfetch(
    request: Any,
    /,
    *,
    signal: Any = None,
    fetcher: Callable[..., Any] | None = None,
    **options: Any,
) -> FetchResponse:
    """Fetch a URL or a ``Request``.

    Args: ``signal`` an AbortSignal; ``fetcher`` a function to use instead of the global ``fetch``, for instance a
    service binding's; the rest is fetch's options, dicts become objects.
    Raises: OSError when the request fails, AbortError when it was aborted.
    """
    controller = AbortController.new()
    combined = controller.signal
    if signal is not None:
        combined = AbortSignal.any(to_js([signal, combined]))
    init = to_js(options, dict_converter=JsObject.fromEntries)
    init.signal = combined
    if fetcher is None:
        from ..js import fetch

        fetcher = fetch.fetch
    try:
        response = await fetcher(request, init)
    except JsException as error:
        if error.name == "AbortError":
            raise AbortError(error) from None
        raise OSError(error.message) from None
    return FetchResponse(request, response, controller, combined)


def open_url(url: str) -> StringIO:
    """Fetch a URL in synchronous code and give its text. Raises: OSError, and as :func:`run_sync` does."""

    async def read() -> str:
        return await (await pyfetch(url)).text()

    return StringIO(run_sync(read()))
