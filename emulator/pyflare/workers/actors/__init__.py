"""Durable Objects at run time: containers, gates, critical sections, eviction, abort.

For whoever builds on this:

* ``ActorNamespace`` (one per worker and class, ``ActorHost.namespace(...)``) hands out the one live :class:`Actor` of
  an id: ``namespace.actor(id)``. An actor is one *life* of an object: after an eviction or a reset the same id gets
  another one, so keep the id, not the actor. What outlives it (sleeping WebSockets) belongs to the namespace.
  ``namespace.live(id)`` gives the actor only if there is one.
* An event is delivered with ``await actor.deliver(work)``, where ``work(actor)`` gives a coroutine and finds the
  instance in ``actor.instance``. It runs in the object's own context (its worker is current, ``current_event`` is its
  ``ctx``), by turns of the input gate, in a task of its own as far as its code can see. The object is built first if
  need be. The result, or the exception, is given only when everything that the object has written by then is durable.
  When the object dies, every delivery under way raises the reason, marked as the platform marks it. ``deliver`` raises
  the object's own exception: whoever speaks for another worker passes it through ``pyflare.js.rpc.errors.crossing``.
* The output gate: ``actor.output.departure()`` gives None when nothing is to be waited for (the usual case), or a
  future that must be awaited, shielded, before anything leaves the object; it fails when the object is over.
  ``pyflare.js.departure`` does this for every binding.
* What the object gives away and others read or write (``section_host``, ``held_body``) is awaited through
  ``actor.until_end(work)``, which raises the reason when the object is over first; what others sent it and wait for is
  told to ``actor.receive(copies)`` and let go at the end.
* ``actor.hold()`` and ``actor.release()`` keep it from being evicted (a WebSocket that was accepted plainly).
* ``actor.critical(fn)`` runs ``fn`` as a critical section and gives the promise of its outcome; a failure is the
  promise's. ``actor.block_concurrency_while(fn)`` does the same, but a failure resets the object.
* ``actor.storage`` is the open storage (made when first asked for); it tells ``actor.output`` of writes.
* ``namespace.sockets(id)`` has the hibernatable WebSockets of an object: they outlive it when it is evicted, and
  are cut when it is reset.
* ``actor.reset(error)`` ends it: callers get ``error``, tasks are cancelled, what is not committed is rolled back.
"""

from __future__ import annotations

from .actor import Actor
from .host import ActorHost
from .namespace import ActorNamespace

__all__ = ["Actor", "ActorHost", "ActorNamespace"]
