"""The module ``pyodide.code``: running Python given as text, and calls that drop surplus arguments.

Source: https://pyodide.org/en/stable/usage/api/python-api/code.html
"""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from io import StringIO
from textwrap import dedent
from types import CodeType
from typing import Any, Literal, TypeVar

__all__ = [
    "eval_code",
    "eval_code_async",
    "find_imports",
    "relaxed_call",
    "relaxed_wrap",
    "run_js",
    "should_quiet",
]

ReturnMode = Literal["last_expr", "last_expr_or_assign", "none"]
R = TypeVar("R")
_RESULT = "__pyflare_result__"


def should_quiet(source: str, /) -> bool:
    """Whether the last piece of code ends with a semicolon, which asks for no result."""
    quiet = False
    try:
        for token in tokenize.generate_tokens(StringIO(source).readline):
            if token.type == tokenize.OP:
                quiet = token.string == ";"
            elif token.type not in _INVISIBLE:
                quiet = False
    except (tokenize.TokenError, SyntaxError):
        return False
    return quiet


_INVISIBLE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT}
)


def _compile(
    source: str,
    return_mode: ReturnMode,
    quiet_trailing_semicolon: bool,
    filename: str,
    flags: int,
) -> CodeType:
    if return_mode not in ("last_expr", "last_expr_or_assign", "none"):
        raise ValueError(f"Unrecognized return_mode {return_mode!r}")
    source = dedent(source)
    module = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST)
    quiet = return_mode == "none" or (quiet_trailing_semicolon and should_quiet(source))
    if module.body and not quiet:
        _keep_result(module, return_mode)
    code: CodeType = compile(module, filename, "exec", flags)
    return code


def _keep_result(module: ast.Module, return_mode: ReturnMode) -> None:
    """Make the last statement store its value under a name that is taken out again."""
    last = module.body[-1]
    value: ast.expr | None = None
    if isinstance(last, ast.Expr):
        module.body.pop()
        value = last.value
    elif return_mode == "last_expr_or_assign":
        target: ast.expr | None = None
        if isinstance(last, ast.Assign):
            target = last.targets[0]
        elif isinstance(last, ast.AnnAssign | ast.AugAssign):
            target = last.target
        if isinstance(target, ast.Name):
            value = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if value is None:
        return
    store = ast.Assign([ast.Name(_RESULT, ast.Store())], value)
    module.body.append(ast.fix_missing_locations(ast.copy_location(store, last)))


def _scopes(given_globals: dict[str, Any] | None, given_locals: Any) -> tuple[dict[str, Any], Any]:
    if given_globals is None:
        import __main__

        given_globals = __main__.__dict__
    return given_globals, given_globals if given_locals is None else given_locals


def eval_code(
    source: str,
    globals: dict[str, Any] | None = None,
    locals: Any = None,
    *,
    return_mode: ReturnMode = "last_expr",
    quiet_trailing_semicolon: bool = True,
    filename: str = "<exec>",
    flags: int = 0,
) -> Any:
    """Run a program text and give the value of its last expression.

    Args: as the builtin ``exec``; ``return_mode`` "last_expr", "last_expr_or_assign" or "none"; with
    ``quiet_trailing_semicolon`` a final semicolon asks for no value.
    Raises: SyntaxError, ValueError for another mode, and whatever the program raises.
    """
    code = _compile(source, return_mode, quiet_trailing_semicolon, filename, flags)
    scope, names = _scopes(globals, locals)
    exec(code, scope, names)
    return names.pop(_RESULT, None)


async def eval_code_async(
    source: str,
    globals: dict[str, Any] | None = None,
    locals: Any = None,
    *,
    return_mode: ReturnMode = "last_expr",
    quiet_trailing_semicolon: bool = True,
    filename: str = "<exec>",
    flags: int = 0,
) -> Any:
    """As :func:`eval_code`; the program may use ``await`` at its top level."""
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = _compile(source, return_mode, quiet_trailing_semicolon, filename, flags)
    scope, names = _scopes(globals, locals)
    running = eval(code, scope, names)
    if inspect.iscoroutine(running):
        await running
    return names.pop(_RESULT, None)


def find_imports(source: str) -> list[str]:
    """The top-level names of the modules that a program imports, sorted; [] for a text with a syntax error."""
    try:
        tree = ast.parse(dedent(source))
    except SyntaxError:
        return []
    return sorted(set(_imported(tree)))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@lru_cache(maxsize=128)
def _accepts(code: CodeType) -> tuple[int | None, frozenset[str] | None]:
    """How many positional arguments and which keywords a function takes; None for any."""
    count = code.co_argcount
    names = code.co_varnames[code.co_posonlyargcount : count + code.co_kwonlyargcount]
    any_positional = bool(code.co_flags & inspect.CO_VARARGS)
    any_keyword = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return (None if any_positional else count), (None if any_keyword else frozenset(names))


def _relaxed(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a function can take, the surplus dropped."""
    bound = getattr(function, "__self__", None) is not None
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is not None and not hasattr(plain, "__wrapped__"):
        count, names = _accepts(code)
        if count is not None:
            args = args[: count - bound]
        if kwargs and names is not None:
            kwargs = {name: value for name, value in kwargs.items() if name in names}
        return args, kwargs
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return args, kwargs
    if not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        args = args[: sum(each.kind in places for each in parameters)]
    if kwargs and not any(each.kind is each.VAR_KEYWORD for each in parameters):
        taken = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
        kwargs = {name: value for name, value in kwargs.items() if name in taken}
    return args, kwargs


def relaxed_call(func: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Call a function and drop the arguments that it does not take."""
    args, kwargs = _relaxed(func, args, kwargs)
    return func(*args, **kwargs)


def relaxed_wrap(func: Callable[..., R]) -> Callable[..., R]:
    """A function that can be called with surplus arguments."""

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> R:
        return relaxed_call(func, *args, **kwargs)

    return wrapper


def run_js(code: str, /) -> Any:
    """Refused: there is no JavaScript engine in this process.

    Raises: TypeError for an argument that is no string, else NotImplementedError with the code.
    """
    if not isinstance(code, str):
        raise TypeError(f"argument should have type 'string' not type '{type(code).__name__}'")
    raise NotImplementedError(
        f"pyflare has no JavaScript engine, so run_js cannot run {code!r}. "
        "Use the names of the js module from Python instead."
    )
