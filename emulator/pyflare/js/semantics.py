"""Which runtime version's conversions hold for the running worker.

The versions differ in a few conversions that worker code can see. The current choice is a context variable, so that
workers with different compatibility flags live in one process; whoever loads a worker sets it.

Source: https://pyodide.org/en/stable/project/changelog.html
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

__all__ = ["PYODIDE_0_26", "PYODIDE_0_28", "PYODIDE_314", "Semantics", "current", "semantics"]


@dataclass(frozen=True, slots=True)
class Semantics:
    """The conversions of one runtime version.

    ``version`` is what ``pyodide.__version__`` says; ``null_is_none``: JavaScript's null arrives as ``None`` and not
    as ``jsnull``; ``dicts_are_opaque``: JavaScript does not see the items of a dict that it is given as options;
    ``dict_to_object``: ``to_js`` makes a plain object of a dict, not a map; ``body_used_error``: reading a body twice
    raises ``BodyUsedError``, not a plain ``OSError``; ``bigints_have_a_class``: a bigint is a ``JsBigInt`` in Python.

    Of WebSockets: ``blob_messages``: binary messages arrive as blobs by default; ``close_is_answered``: a close frame
    is answered without the worker; ``close_reason_is_limited``: to 123 bytes; ``pedantic_close_codes``: only 1000
    and 3000 to 4999 can be sent.

    Of queues: ``v8_queue_bodies``: bodies are structured clones by default, not JSON; ``plain_queue_errors``: what a
    queue refuses has no error code.

    Of calls: ``sends_abort_signals``: an abort signal crosses, instead of being refused; ``fetchers_have_no_methods``:
    bindings and stubs can only be sent requests; ``fetchers_have_shortcuts``: their ``get``, ``put`` and ``delete`` are
    requests; ``fetchers_are_old``: one of these two.

    Of results: ``unset_fields_are_absent``: optional fields of what a native method gives are left out when they are
    unset, where newer dates have them as undefined; ``keeps_byte_order_mark``: text that is read from a body begins
    with the mark that its bytes begin with.

    Of requests: ``cache_modes``: the values that their ``cache`` may have; without any there is no such option.
    """

    version: str = "0.28.2"
    null_is_none: bool = False
    dicts_are_opaque: bool = False
    dict_to_object: bool = False
    body_used_error: bool = False
    bigints_have_a_class: bool = False
    blob_messages: bool = False
    close_is_answered: bool = False
    close_reason_is_limited: bool = False
    pedantic_close_codes: bool = False
    v8_queue_bodies: bool = False
    plain_queue_errors: bool = False
    sends_abort_signals: bool = False
    fetchers_have_no_methods: bool = False
    fetchers_have_shortcuts: bool = False
    fetchers_are_old: bool = False
    unset_fields_are_absent: bool = False
    keeps_byte_order_mark: bool = False
    cache_modes: frozenset[str] = frozenset({"no-store", "no-cache"})


PYODIDE_0_26: Final = Semantics("0.26.0a2", null_is_none=True, dicts_are_opaque=True)
PYODIDE_0_28: Final = Semantics()
PYODIDE_314: Final = Semantics(
    "314.0.4", dict_to_object=True, body_used_error=True, bigints_have_a_class=True
)

semantics: ContextVar[Semantics] = ContextVar("pyflare_semantics", default=PYODIDE_0_28)

#: The semantics of the running worker.
current = semantics.get
