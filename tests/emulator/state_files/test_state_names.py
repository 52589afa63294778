"""The names of files in wrangler's state, against names that a running wrangler has given."""

import pytest

from pyflare.state_files.names import D1, KV, R2, Plugin, blob_directories


@pytest.mark.parametrize(
    ("plugin", "name", "digits"),
    [
        (KV, "kvprev", "b9f9c2b601f585a3c9f7327e2220a6455404bdb95a922b736227001b7cc12774"),
        (D1, "dbid-1", "fec4b6b5d8b22c1605b16d7f4949623213b257cea46d4a70f7a1ce6301b444bf"),
        (R2, "my-bucket", "fec9bf90462227cae0d8c2e4a1e8e8dd42ecf9f10ff15615fe473049dba5a24c"),
        (
            Plugin("do", "w1-Counter"),
            "a",
            "7a47903dc52d849184ea8916f9b8a9cc0fb334841177577614aa12a235b47387",
        ),
    ],
)
def test_a_database_is_named_after_the_hash_of_its_resource(
    plugin: Plugin, name: str, digits: str
) -> None:
    assert plugin.digits(name) == digits


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("plain-name_1", "plain-name_1"),
        ("..", "__"),
        ("a/../b", "a____b"),
        ("...", "___"),
        ("a.b", "a.b"),
        ("?<>*\"'^/\\:|", "___________"),
        ("tab\there", "tab_here"),
        ("con", "_"),
        ("COM1.txt", "_"),
        ("console", "console"),
        ("  padded ", "__padded_"),
        ("x" * 300, "x" * 255),
    ],
)
def test_the_directory_of_contents_has_a_harmless_name(name: str, directory: str) -> None:
    assert blob_directories(name)[0] == directory


def test_the_directory_of_contents_may_be_percent_encoded() -> None:
    assert blob_directories("a b") == ["a b", "a%20b"]
