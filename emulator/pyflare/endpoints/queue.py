"""``/cdn-cgi/local/queue/<name>``: hand messages to the consumer of a queue now.

The usual local tool has no such address; it is the counterpart of those for cron and email.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from pyflare.server.contracts import ASGIApplication, Receive, Scope, Send
from pyflare.server.inbound import inbound_path
from pyflare.server.outbound import send_text

from .exchange import BodyTooLarge, read_body, send_json

__all__ = ["DeliverMessages", "queue_endpoint"]

#: Calls the handler with messages, as ``{body, contentType?, id?, timestamp?, attempts?}``: (queue, messages). Raises
#: LookupError when nobody consumes the queue, ValueError for a message that cannot be read.
DeliverMessages: TypeAlias = Callable[[str, Sequence[Any]], Awaitable[dict[str, Any]]]

#: A hundred messages of 128 KB, as a batch may have, with room for their encoding in JSON.
_LIMIT: Final = 32 << 20

_HOW: Final = (
    'POST JSON to /cdn-cgi/local/queue/<name>: a list of messages such as [{"body": {"id": 1}}], or an object with '
    '"messages".'
)


def queue_endpoint(deliver: DeliverMessages) -> ASGIApplication:
    """POST of JSON. The dispatcher's result in JSON, with status 200, or 500 when the handler failed."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        name = inbound_path(scope).partition("/queue/")[2]
        if scope["method"] != "POST" or not name:
            await send_text(send, 405 if name else 400, _HOW)
            return
        try:
            messages = _messages(await read_body(scope, receive, _LIMIT))
            result = await deliver(name, messages)
        except ConnectionError:
            return
        except BodyTooLarge as error:
            await send_text(send, 413, f"{error}; at most {_LIMIT} are taken.")
        except LookupError as error:
            await send_text(send, 404, _text(error))
        except ValueError as error:
            await send_text(send, 400, str(error))
        else:
            await send_json(send, 200 if result["outcome"] == "ok" else 500, result)

    return answer


def _messages(raw: bytes) -> list[Any]:
    try:
        given = json.loads(raw)
    except ValueError:
        raise ValueError(f"The body is not JSON. {_HOW}") from None
    except RecursionError:
        raise ValueError(f"The JSON of the body is nested too deeply. {_HOW}") from None
    messages = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(messages, list) or not messages:
        raise ValueError(f"There are no messages in the body. {_HOW}")
    return messages


def _text(error: LookupError) -> str:
    return str(error.args[0]) if error.args else "Nobody consumes this queue."
