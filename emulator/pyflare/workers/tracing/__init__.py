"""What tail consumers are told of the events of a worker.

A worker with a :class:`Tracer` gives every event an :class:`EventTrace`, which is filled in on the way and handed to
the tracer as a ``TraceItem`` when the event is over. Without one nothing of this is loaded.
"""

from .event import EventTrace, Tracer
from .items import TraceItem

__all__ = ["EventTrace", "TraceItem", "Tracer"]
