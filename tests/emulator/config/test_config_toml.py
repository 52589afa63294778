"""TOML: values come from the standard reader, places from a scan beside it."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.config.toml_positions import scan

DOCUMENT = '''\
name = "app" # [not.a.table]
a.b."c d" = 1

[vars]
LONG = """
[fake]
x = "1"
"""
RAW = \'\'\'
y = 2\'\'\'
LIST = [ 1, [2, 3], # ]
  { inner = "}", other.deep = true } ]
WHEN = 1979-05-27 07:32:00

[[kv_namespaces]]
binding = "A"

[[kv_namespaces]]
binding = "B"

[env.staging]
[[env.staging.kv_namespaces]]
"binding" = "C"
[env.staging.vars]
'quoted' = 'x'
'''


def line_of(path: tuple[str | int, ...]) -> int:
    return DOCUMENT.count("\n", 0, scan(DOCUMENT)[path]) + 1


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 1),
        (("a", "b", "c d"), 2),
        (("vars",), 4),
        (("vars", "LONG"), 5),
        (("vars", "RAW"), 9),
        (("vars", "LIST", 1, 0), 11),
        (("vars", "LIST", 2, "inner"), 12),
        (("vars", "LIST", 2, "other", "deep"), 12),
        (("vars", "WHEN"), 13),
        (("kv_namespaces", 0, "binding"), 16),
        (("kv_namespaces", 1), 18),
        (("kv_namespaces", 1, "binding"), 19),
        (("env", "staging", "kv_namespaces", 0, "binding"), 23),
        (("env", "staging", "vars", "quoted"), 25),
    ],
)
def test_finds_the_line_of(path, line):
    tomllib.loads(DOCUMENT)
    assert line_of(path) == line


def test_text_inside_long_strings_is_no_key():
    assert ("fake",) not in scan(DOCUMENT)
    assert ("vars", "x") not in scan(DOCUMENT)


@given(st.dictionaries(st.text(max_size=5), st.text() | st.integers(), max_size=5))
def test_finds_every_key_of_a_generated_table(table):
    def toml(value: object) -> str:
        return json.dumps(value).replace("\x7f", "\\u007f")

    table = {k.encode("utf-8", "replace").decode(): v for k, v in table.items()}
    table = {
        k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v
        for k, v in table.items()
    }
    text = "".join(
        f"{json.dumps(k, ensure_ascii=False) if k.isprintable() else toml(k)} = "
        f"{json.dumps(v, ensure_ascii=False) if str(v).isprintable() else toml(v)}\n"
        for k, v in table.items()
    )
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(scan(text)) == {(key,) for key in parsed}


@given(st.text(alphabet="[]{}=\"'#,.\na1 \\", max_size=40))
def test_scanning_never_fails(text):
    scan(text)
