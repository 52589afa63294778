"""Bodies that a worker has compressed itself, on their way to another one, which reads them as they were before.

Source: https://developers.cloudflare.com/workers/runtime-apis/response/#parameters (``encodeBody``): a request over a
binding decodes its answer as any ``fetch`` does.
"""

from __future__ import annotations

from typing import Any

from pyflare.js.byte_sources import ContentSource
from pyflare.js.response import Response
from pyflare.js.unzipping import Unzipped
from pyflare.js.webidl import encode_text

__all__ = ["decode_body"]


def decode_body(response: Response) -> None:
    """Have the body of such a response decoded as it is read. Brotli, which Python does not have, stays as it is."""
    headers = response.headers
    if (headers.lookup("content-encoding") or "").strip().lower() != "gzip":
        return
    content = response._content
    if content is not None:
        source: Any = ContentSource(encode_text(content) if isinstance(content, str) else content)
    else:
        source = response._source
    response._content = None
    response._source = Unzipped(source)
    response.encodeBody = "automatic"
    headers._fields.pop("content-length", None)
