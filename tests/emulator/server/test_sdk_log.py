"""What the SDK says of a framework's failures reaches our log, folded and with the worker's name."""

import logging
from collections.abc import Iterator

import pytest

from pyflare.js.error import DOMException
from pyflare.server.log import LogSink
from pyflare.server.sdk_log import SdkLog
from tests.emulator.conftest import Lines


class Sink:
    def __init__(self, level: str = "log") -> None:
        self.out, self.err = Lines(), Lines()
        self.log = LogSink(level=level, stdout=self.out, stderr=self.err)  # type: ignore[arg-type]


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    handler = SdkLog(made.log, lambda: "api")
    handler.install()
    yield made
    handler.uninstall()


def fail(error: BaseException) -> None:
    try:
        raise error
    except type(error):
        logging.getLogger("asgi").exception("Exception in ASGI application after response started")


def test_a_failure_is_marked_and_begins_in_the_users_file(sink: Sink) -> None:
    fail(ValueError("boom"))
    sink.log.flush()

    assert "✘ [ERROR] Uncaught ValueError: boom (in the application)" in sink.err.text
    assert "test_sdk_log.py" in sink.err.text


def test_a_client_that_has_gone_is_no_failure(sink: Sink) -> None:
    gone = DOMException._make("The client disconnected before the body was sent.", "AbortError")
    fail(ExceptionGroup("unhandled errors in a TaskGroup", [gone]))
    sink.log.flush()

    assert sink.err.text == ""


def test_a_warning_names_the_worker(sink: Sink) -> None:
    logging.getLogger("asgi").warning("not implemented")
    sink.log.flush()

    assert "api: not implemented" in sink.err.text


def test_what_is_for_debugging_stays_hidden(sink: Sink) -> None:
    logging.getLogger("asgi").setLevel(logging.DEBUG)
    logging.getLogger("asgi").debug("ASGI request: GET /")
    logging.getLogger("asgi").setLevel(logging.NOTSET)
    sink.log.flush()

    assert sink.out.text + sink.err.text == ""
