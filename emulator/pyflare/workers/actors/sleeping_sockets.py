"""The WebSockets of one object that outlive it in memory: they belong to the namespace, and wake the object.

Source: https://developers.cloudflare.com/durable-objects/best-practices/websockets/ and workerd
``io/hibernation-manager.c++``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyflare.js.error import Error
from pyflare.js.websocket import WebSocket
from pyflare.js.websocket_channel import Close
from pyflare.js.websocket_hibernation import fresh

from ..entrypoints import positional_capacity
from .socket_events import HibernatableSocket

if TYPE_CHECKING:
    from pyflare_bindings.objects.ids import ObjectId

    from .namespace import ActorNamespace

__all__ = ["SleepingSockets"]

_MOST_SOCKETS: Final = 32768


class SleepingSockets:
    """What one object has accepted by ``acceptWebSocket``, and how the platform is to serve it.

    ``request`` and ``response`` are the message that is answered without the object, and its answer; ``event_limit``
    the milliseconds that one event of a socket may take, 0 for any number.
    """

    __slots__ = (
        "_by_tag",
        "_capacities",
        "_sockets",
        "dropped",
        "event_limit",
        "id",
        "namespace",
        "request",
        "response",
        "told",
    )

    def __init__(self, namespace: ActorNamespace, id: ObjectId) -> None:
        self.namespace = namespace
        self.id = id
        self.request: str | None = None
        self.response = ""
        self.event_limit = 0
        # Dicts, because sets have no order.
        self._sockets: dict[HibernatableSocket, None] = {}
        self._by_tag: dict[str, dict[HibernatableSocket, None]] = {}
        self._capacities: dict[str, tuple[Any, int]] = {}
        self.dropped = False
        #: Whether the log has said why.
        self.told = False

    def __len__(self) -> int:
        return len(self._sockets)

    def capacity(self, name: str, handler: Any, most: int) -> int:
        """How many of ``most`` arguments a handler of the class takes."""
        function = getattr(handler, "__func__", handler)
        known = self._capacities.get(name)
        if known is None or known[0] is not function:
            known = self._capacities[name] = function, positional_capacity(handler, most)
        return known[1]

    def accept(self, socket: WebSocket, tags: Sequence[str]) -> None:
        """Take in a socket that was checked. Raises: Error when there are too many."""
        if len(self._sockets) >= _MOST_SOCKETS:
            raise Error(
                f"only {_MOST_SOCKETS} websockets can be accepted on a single Durable Object instance"
            )
        accepted = HibernatableSocket(self, socket, tuple(tags))
        self._sockets[accepted] = None
        for tag in accepted.tags:
            self._by_tag.setdefault(tag, {})[accepted] = None
        accepted.start()

    def all(self) -> list[WebSocket]:
        """The newest first."""
        return [each.socket for each in reversed(self._sockets)]

    def tagged(self, tag: str) -> list[WebSocket]:
        """Those with a tag, the oldest first."""
        return [each.socket for each in self._by_tag.get(tag, ())]

    def forget(self, ended: HibernatableSocket) -> None:
        """The object has been told of its end."""
        self._sockets.pop(ended, None)
        for tag in ended.tags:
            among = self._by_tag.get(tag)
            if among is not None:
                among.pop(ended, None)
                if not among:
                    del self._by_tag[tag]
        if not self._sockets:
            self.namespace.forget_sockets(self)

    def sleep(self) -> None:
        """The object leaves memory: what its code has of the sockets is over, the connections stay."""
        self._capacities.clear()
        for each in self._sockets:
            each.socket = fresh(each.socket)

    def drop(self, close: Close | None) -> None:
        """Cut all off, with a close frame if one is given; nobody in the object hears of it."""
        self.dropped, self.told = True, close is not None
        sockets, self._sockets = list(self._sockets), {}
        self._by_tag.clear()
        for each in sockets:
            each.drop(close)
