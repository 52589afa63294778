"""`json.dumps` inside the runtime: JavaScript's null is written as null, as production's own `json` does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.js.value import jsnull
from pyflare.workers.standard_library import install, uninstall


class Sets(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return sorted(o) if isinstance(o, set) else super().default(o)


@pytest.fixture
def installed() -> Iterator[None]:
    install()
    yield
    uninstall()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, '{"a": null, "b": [null, {"c": null}]}'),
        (
            {"indent": 0, "separators": (",", ":")},
            '{\n"a":null,\n"b":[\nnull,\n{\n"c":null\n}\n]\n}',
        ),
        ({"cls": Sets}, '{"a": null, "b": [null, {"c": null}]}'),
        ({"default": str}, '{"a": null, "b": [null, {"c": null}]}'),
    ],
)
def test_null_is_written_at_every_depth(options: dict[str, Any], expected: str) -> None:
    value = {"a": jsnull, "b": [jsnull, {"c": jsnull}]}

    assert json.dumps(value, **options) == expected


@pytest.mark.usefixtures("installed")
def test_null_alone() -> None:
    assert json.dumps(jsnull) == "null"


@pytest.mark.usefixtures("installed")
def test_what_an_encoder_adds_is_still_asked() -> None:
    assert json.dumps({"a": {2, 1}}, cls=Sets) == '{"a": [1, 2]}'


@pytest.mark.usefixtures("installed")
def test_what_cannot_be_written_is_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
        json.dumps(object())


def test_outside_the_runtime_nothing_is_changed() -> None:
    install()
    uninstall()

    with pytest.raises(TypeError, match="JsNull is not JSON serializable"):
        json.dumps(jsnull)
