"""The format of .dev.vars and .env files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.config.dotenv import expand, parse


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("  A  =  spaced out  \n", {"A": "spaced out"}),
        ("export A=1", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A: yaml style", {"A": "yaml style"}),
        ("# comment\n\nA=1 # trailing\n", {"A": "1"}),
        ("A=x#y", {"A": "x"}),
        ('A="x # y" # z', {"A": "x # y"}),
        ("A='x # y'", {"A": "x # y"}),
        ('A=`it\'s "fine"`', {"A": 'it\'s "fine"'}),
        ('A="one\\ntwo\\rthree"', {"A": "one\ntwo\rthree"}),
        ("A='one\\ntwo'", {"A": "one\\ntwo"}),
        ('A="say \\"hi\\""', {"A": 'say \\"hi\\"'}),
        ('A="line one\nline two"\nB=2', {"A": "line one\nline two", "B": "2"}),
        ("A=a=b=c", {"A": "a=b=c"}),
        ("A=${B}", {"A": "${B}"}),
        ("a.b-c_1=x", {"a.b-c_1": "x"}),
        ("A='", {"A": "'"}),
        ('A={"json": [1, 2]}', {"A": '{"json": [1, 2]}'}),
        ('A="{"type":"x"}"', {"A": '{"type":"x"}'}),
        ('A="say "hi"" # why\nB=2', {"A": 'say "hi"', "B": "2"}),
        ("A='{\"k\":'v'}'", {"A": "{\"k\":'v'}"}),
        ("A='it''s'", {"A": "it''s"}),
        ('A="C:\\dir\\"\nB="x"', {"A": "C:\\dir\\", "B": "x"}),
        ('A="C:\\dir # 1\\" # 2', {"A": "C:\\dir # 1\\"}),
        ('A=\n"below"\nB\n=2', {"A": "below", "B": "2"}),
        ("A=\nB=2", {"A": "", "B": "2"}),
    ],
)
def test_reads(text, values):
    assert parse(text).values == values


def test_tells_the_lines_that_are_no_assignment():
    assert parse('A="x\ny"\nnonsense\n\n# fine\nB C\n').unread == (3, 6)


def test_tells_where_a_quote_is_never_closed_and_reads_on():
    found = parse('A=1\nB="open\nC=3\n')
    assert found.unclosed == (2,)
    assert found.values == {"A": "1", "B": '"open', "C": "3"}


def test_knows_the_line_of_each_value():
    assert parse('A="x\ny"\nB=2\n').lines == {"A": 1, "B": 3}


@pytest.mark.parametrize(
    ("values", "environ", "expanded"),
    [
        ({"A": "1", "B": "$A-${A}"}, {}, {"A": "1", "B": "1-1"}),
        ({"B": "$A", "A": "1"}, {}, {"B": "", "A": "1"}),
        ({"B": "$HOME_"}, {"HOME_": "/h"}, {"B": "/h"}),
        ({"A": "file"}, {"A": "process"}, {"A": "process"}),
        ({"A": "${NO:-default}"}, {}, {"A": "default"}),
        ({"E": "", "A": "${E:-x}", "B": "${E-x}"}, {}, {"E": "", "A": "x", "B": ""}),
        ({"E": "1", "A": "${E:+x}", "B": "${NO:+x}"}, {}, {"E": "1", "A": "x", "B": ""}),
        ({"A": r"cost \$5"}, {}, {"A": "cost $5"}),
        ({"A": "100$"}, {}, {"A": "100$"}),
    ],
)
def test_expands(values, environ, expanded):
    assert expand(values, environ) == expanded


@given(st.text(alphabet="A=\"'`#$\\{}:-+ \nexport", max_size=40))
def test_never_fails(text):
    expand(parse(text).values, {})
