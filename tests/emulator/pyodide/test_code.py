"""``pyodide.code``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest

from pyflare.pyodide.code import (
    eval_code,
    eval_code_async,
    find_imports,
    relaxed_call,
    relaxed_wrap,
    run_js,
    should_quiet,
)


@pytest.mark.parametrize(
    ("source", "options", "value"),
    [
        ("1 + 1", {}, 2),
        ("x = 2\nx * 3", {}, 6),
        ("x = 2", {}, None),
        ("1;", {}, None),
        ("1;", {"quiet_trailing_semicolon": False}, 1),
        ("1; # said quietly", {}, None),
        ("x = 7", {"return_mode": "last_expr_or_assign"}, 7),
        ("x: int = 8", {"return_mode": "last_expr_or_assign"}, 8),
        ("x = 1\nx += 1", {"return_mode": "last_expr_or_assign"}, 2),
        ("a[0] = 1", {"return_mode": "last_expr_or_assign"}, None),
        ("1", {"return_mode": "none"}, None),
        ("", {}, None),
        ("    3\n", {}, 3),
    ],
)
def test_eval_code_gives_the_last_value(source: str, options: dict[str, Any], value: Any) -> None:
    assert eval_code(source, {"a": [0]}, **options) == value


def test_names_stay_in_the_given_scope_and_nothing_else_does() -> None:
    scope: dict[str, Any] = {}
    eval_code("x = 1\nx", scope)
    assert {name for name in scope if name != "__builtins__"} == {"x"}


def test_locals_are_kept_apart_from_globals() -> None:
    names: dict[str, Any] = {}
    assert eval_code("y = g\ny", {"g": 4}, names) == 4
    assert names == {"y": 4}


def test_a_traceback_names_the_given_file() -> None:
    with pytest.raises(SyntaxError) as caught:
        eval_code("1 +", filename="notebook.py")
    assert caught.value.filename == "notebook.py"


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="Unrecognized return_mode 'all'"):
        eval_code("1", {}, return_mode="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "value"), [("await wait(5)", 5), ("6", 6), ("x = await wait(7)\nx", 7)]
)
def test_eval_code_async_may_await(source: str, value: int) -> None:
    async def wait(number: int) -> int:
        await asyncio.sleep(0)
        return number

    assert asyncio.run(eval_code_async(source, {"wait": wait})) == value


@pytest.mark.parametrize(
    ("source", "quiet"), [("1;", True), ("1", False), ("';'", False), ("1; 2", False), ("(", False)]
)
def test_should_quiet(source: str, quiet: bool) -> None:
    assert should_quiet(source) is quiet


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a.b, c\nfrom d.e import f", ["a", "c", "d"]),
        ("from . import x\nfrom .y import z", []),
        ("def f():\n    import late", ["late"]),
        ("import (", []),
    ],
)
def test_find_imports(source: str, names: list[str]) -> None:
    assert find_imports(source) == names


class Handler:
    def two(self, a: Any, b: Any = None) -> tuple[Any, Any]:
        return a, b


def decorated() -> Callable[..., Any]:
    def plain(a: Any) -> Any:
        return a

    @wraps(plain)
    def wrapper(*args: Any) -> Any:
        return plain(*args)

    return wrapper


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (lambda: "none", "none"),
        (lambda a: a, 1),
        (lambda a, *rest: (a, rest), (1, (2, 3))),
        (lambda a, *, key=None: (a, key), (1, "k")),
        (lambda *, key: key, "k"),
        (lambda a, **kw: kw, {"key": "k", "other": "o"}),
        (Handler().two, (1, 2)),
        (partial(lambda a, b: (a, b), 0), (0, 1)),
        (decorated(), 1),
    ],
)
def test_relaxed_calls_drop_what_a_function_does_not_take(
    function: Callable[..., Any], result: Any
) -> None:
    assert relaxed_call(function, 1, 2, 3, key="k", other="o") == result
    assert relaxed_wrap(function)(1, 2, 3, key="k", other="o") == result


def test_a_missing_argument_is_still_an_error() -> None:
    with pytest.raises(TypeError):
        relaxed_call(lambda a, b: a, 1)


def test_run_js_names_the_code_it_cannot_run() -> None:
    with pytest.raises(
        NotImplementedError, match=r"no JavaScript engine, so run_js cannot run '1 \+ 1'"
    ):
        run_js("1 + 1")
    with pytest.raises(TypeError, match="argument should have type 'string' not type 'int'"):
        run_js(1)  # type: ignore[arg-type]
