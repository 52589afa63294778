"""Tracebacks for people: the runtime's frames are left out, the user's are kept."""

from __future__ import annotations

from typing import Any

from pyflare.js.error import JsException, TypeError_
from pyflare.js.url import URL
from pyflare.server.tracebacks import describe, format_traceback, user_frames


def caught(call: Any, *arguments: Any) -> BaseException:
    try:
        call(*arguments)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def call_the_runtime_badly() -> Any:
    return URL.new("not a url")


def test_frames_below_the_users_call_are_counted_not_shown() -> None:
    text = format_traceback(caught(call_the_runtime_badly))
    assert "call_the_runtime_badly" in text
    assert "/pyflare/" not in text
    assert "of the runtime and of frameworks not shown; --log-level debug shows them)" in text


def test_full_traceback_has_them() -> None:
    text = format_traceback(caught(call_the_runtime_badly), full=True)
    assert "/pyflare/js/" in text


def test_causes_are_told() -> None:
    def chained() -> None:
        try:
            call_the_runtime_badly()
        except Exception as error:
            raise RuntimeError("outer") from error

    text = format_traceback(caught(chained))
    assert "The above exception was the direct cause" in text
    assert text.rstrip().split("\n")[-2] == "RuntimeError: outer"


def test_a_suppressed_context_is_neither_shown_nor_counted() -> None:
    def failing() -> None:
        try:
            call_the_runtime_badly()
        except Exception:
            raise RuntimeError("outer") from None

    text = format_traceback(caught(failing))

    assert "RuntimeError: outer" in text
    assert "not shown" not in text


def test_error_groups_are_told_in_full() -> None:
    def group() -> None:
        raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])

    text = format_traceback(caught(group))
    assert "ValueError: one" in text
    assert "KeyError: 'two'" in text


def test_syntax_error_shows_the_line() -> None:
    text = format_traceback(caught(compile, "x = = 1\n", "entry.py", "exec"))
    assert 'File "entry.py", line 1' in text
    assert "SyntaxError: invalid syntax" in text


def test_javascript_errors_are_named_as_pyodide_names_them() -> None:
    text = format_traceback(JsException("TypeError", "no"))
    assert text == "pyodide.ffi.JsException: TypeError: no\n"


def test_fault_of_the_runtime_itself_keeps_its_frames() -> None:
    error = caught(parse_nothing)
    error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
    error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
    assert "/pyflare/server/routes.py" in format_traceback(error)


def parse_nothing() -> Any:
    from pyflare.server.routes import parse_route

    return parse_route("")


def test_description_of_a_javascript_error_is_its_own() -> None:
    assert describe(TypeError_("no")) == ("TypeError", "no")


def test_description_survives_an_exception_without_text() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    name, message = describe(Silent())
    assert name == "Silent"
    assert "ZeroDivisionError" in message


def test_deep_recursion_gives_a_bounded_number_of_frames() -> None:
    def deep() -> None:
        deep()

    assert len(user_frames(caught(deep))) == 50
