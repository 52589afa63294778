"""`pyflare kv key` and `pyflare kv bulk`."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import SETTINGS, Cli

KV = ("--binding", "KV")
ODD_KEYS = ["/t", "//t", "a\x1fb", "a\nb", "^", "...", "%2F", "a b", "ä", "😀"]


def names(cli: Cli, *words: str) -> list[str]:
    return [each["name"] for each in cli("kv", "key", "list", *KV, *words).json]


def bulk(cli: Cli, project: Path, what: str, entries: Any) -> Any:
    (project / "bulk.json").write_text(json.dumps(entries))
    return cli("kv", "bulk", what, "bulk.json", *KV)


def test_a_value_is_put_got_and_deleted(cli: Cli) -> None:
    done = cli("kv", "key", "put", "foo", "bar", *KV)
    where = 'namespace binding: "KV" (id: "kvid")'
    assert done.out == f'Writing the value "bar" to key "foo" on {where}.\n'
    assert cli("kv", "key", "get", "foo", *KV).out == "bar"
    assert cli("kv", "key", "get", "foo", "--text", *KV).out == "bar\n"
    assert cli("kv", "key", "delete", "foo", *KV).out == f'Deleting the key "foo" on {where}.\n'
    assert names(cli) == []


@pytest.mark.parametrize("value", ["v2", "", "-5", "a b"])
def test_a_value_is_found_behind_options(cli: Cli, value: str) -> None:
    assert cli("kv", "key", "put", "k", *KV, value).code == 0
    assert cli("kv", "key", "get", *KV, "k").out == value


def test_what_is_written_is_told_as_wrangler_does(cli: Cli, project: Path) -> None:
    (project / "value").write_text("v")
    done = cli("kv", "key", "put", "k", "v", "--metadata", '{"a": 1}', "--namespace-id", "kvid")
    assert done.out == (
        'Writing the value "v" to key "k" on namespace id: "kvid" with metadata "{"a":1}".\n'
    )
    done = cli("kv", "key", "put", "k", "--path", "value", *KV)
    assert done.out == (
        'Writing the contents of value to the key "k" on namespace binding: "KV" (id: "kvid").\n'
    )


def test_a_missing_value_says_so_beside_the_data_and_exits_with_0(cli: Cli) -> None:
    found = cli("kv", "key", "get", "none", *KV)
    assert (found.code, found.out, found.err) == (0, "", "Value not found\n")


@pytest.mark.parametrize("key", ODD_KEYS)
def test_keys_are_taken_as_they_are(cli: Cli, key: str) -> None:
    cli("kv", "key", "put", key, "value", *KV)
    cli("kv", "key", "put", f"{key}!", "neighbour", *KV)
    assert cli("kv", "key", "get", key, *KV).out == "value"
    assert names(cli) == sorted([key, f"{key}!"], key=str.encode)
    cli("kv", "key", "delete", key, *KV)
    assert names(cli) == [f"{key}!"]


def test_a_prefix_has_no_wildcards(cli: Cli, project: Path) -> None:
    keys = ["rex", "rexa", "re%", "re_", "*", "q'"]
    bulk(cli, project, "put", [{"key": key, "value": "v"} for key in keys])
    found = {prefix: names(cli, "--prefix", prefix) for prefix in ("rex", "re%", "re_", "*", "q'")}
    assert found == {
        "rex": ["rex", "rexa"],
        "re%": ["re%"],
        "re_": ["re_"],
        "*": ["*"],
        "q'": ["q'"],
    }


def test_metadata_and_expiration_come_back_as_they_were(cli: Cli) -> None:
    at = int(time.time()) + 3600
    cli("kv", "key", "put", "k", "v", "--metadata", '{"a": ["b", 1]}', "--expiration", str(at), *KV)
    found = cli("kv", "key", "list", *KV).json
    assert found == [{"name": "k", "expiration": at, "metadata": {"a": ["b", 1]}}]


@pytest.mark.parametrize("text", ["[1]", "5", '"x"', "null", "true"])
def test_metadata_is_an_object(cli: Cli, text: str) -> None:
    failed = cli("kv", "key", "put", "k", "v", "--metadata", text, *KV)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err == f"✘ [ERROR] --metadata must be a JSON object. Received: {text}\n"
    assert names(cli) == []


@pytest.mark.parametrize("text", ["xx", "", "{'a': 1}", '{"a": NaN}', "Infinity", "[" * 100_000])
def test_metadata_is_json(cli: Cli, text: str) -> None:
    failed = cli("kv", "key", "put", "k", "v", "--metadata", text, *KV)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err == f"✘ [ERROR] --metadata must be valid JSON. Received: {text}\n"
    assert names(cli) == []


def test_metadata_is_kept_as_javascript_writes_it(cli: Cli) -> None:
    text = (
        '{"one": 1.0, "much": 1e400, "half": "\\ud800", "id": 12345678901234567890, "a": 1, "a": 2}'
    )
    done = cli("kv", "key", "put", "k", "v", "--metadata", text, *KV)
    shown = '{"one":1,"much":null,"half":"\\ud800","id":12345678901234567000,"a":2}'
    assert f' with metadata "{shown}".' in done.out
    (found,) = cli("kv", "key", "list", *KV).json
    assert (found["metadata"]["one"], found["metadata"]["much"]) == (1, None)


@pytest.mark.parametrize("text", ["4000000000.9", "4e9", "+4000000000", "4000000000."])
def test_seconds_are_numbers_without_their_fraction(cli: Cli, text: str) -> None:
    cli("kv", "key", "put", "k", "v", "--expiration", text, *KV)
    assert cli("kv", "key", "list", *KV).json == [{"name": "k", "expiration": 4_000_000_000}]


@pytest.mark.parametrize("option", ["--ttl", "--expiration"])
@pytest.mark.parametrize("text", ["soon", "", "1_000", "nan", "1e400", "٣"])
def test_seconds_that_are_no_number_end_with_usage(
    cli: Cli, option: str, text: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(SystemExit) as raised:
        cli("kv", "key", "put", "k", "v", option, text, *KV)
    assert raised.value.code == 2
    told = f"argument {option}: {text!r} is not a number of seconds"
    assert told in capfdbinary.readouterr().err.decode()


def test_more_keys_than_a_page_are_listed(cli: Cli, project: Path) -> None:
    keys = [f"{n:05}" for n in range(2300)]
    assert (
        bulk(cli, project, "put", [{"key": key, "value": ""} for key in keys]).out == "Success!\n"
    )
    assert names(cli) == keys


def test_bytes_survive_files_and_base64(cli: Cli, project: Path) -> None:
    data = bytes(range(256)) * 300
    (project / "value").write_bytes(data)
    cli("kv", "key", "put", "file", "--path", "value", *KV)
    bulk(
        cli,
        project,
        "put",
        [{"key": "bulk", "value": base64.b64encode(data).decode(), "base64": True}],
    )
    assert cli("kv", "key", "get", "file", *KV).raw == data
    assert cli("kv", "key", "get", "bulk", *KV).raw == data


@pytest.mark.parametrize("value", ["_-8=", "_-8", "/+8", "_+8", " _-\n8=\n"])
def test_base64_has_two_alphabets_and_may_be_without_padding(
    cli: Cli, project: Path, value: str
) -> None:
    done = bulk(cli, project, "put", [{"key": "k", "value": value, "base64": True}])
    assert done.code == 0, done.err
    assert cli("kv", "key", "get", "k", *KV).raw == b"\xff\xef"


@pytest.mark.parametrize("value", ["A", "AAAAA", "AA=", "=", "AA==AA==", "AAAÄ", "A.AA"])
def test_what_is_not_base64_is_refused(cli: Cli, project: Path, value: str) -> None:
    failed = bulk(cli, project, "put", [{"key": "k", "value": value, "base64": True}])
    assert failed.code == 1
    assert 'index 0 ("k") has a "value" that is not base64.' in failed.err
    assert names(cli) == []


@pytest.mark.parametrize("depth", [600, 100_000])
def test_metadata_that_is_nested_too_deep_is_refused(cli: Cli, project: Path, depth: int) -> None:
    deep = '{"a": ' + "[" * depth + "]" * depth + "}"
    failed = cli("kv", "key", "put", "k", "v", "--metadata", deep, *KV)
    assert failed.code == 1
    assert "--metadata must be valid JSON." in failed.err
    (project / "bulk.json").write_text(f'[{{"key": "k", "value": "v", "metadata": {deep}}}]')
    failed = cli("kv", "bulk", "put", "bulk.json", *KV)
    assert failed.code == 1
    assert "JSON: it is nested too deep" in failed.err
    assert names(cli) == []


@pytest.mark.parametrize("metadata", [5, 1.5, "x", True, False])
def test_metadata_of_an_entry_that_is_no_object_is_refused(
    cli: Cli, project: Path, metadata: object
) -> None:
    failed = bulk(cli, project, "put", [{"key": "k", "value": "v", "metadata": metadata}])
    assert failed.code == 1
    assert 'index 0 ("k") has "metadata" that is not an object.' in failed.err
    assert names(cli) == []


@pytest.mark.parametrize(
    ("metadata", "listed"),
    [({"a": 1.0}, {"metadata": {"a": 1}}), ([1], {"metadata": [1]}), (None, {})],
)
def test_metadata_of_an_entry_is_what_javascript_calls_an_object(
    cli: Cli, project: Path, metadata: object, listed: dict[str, object]
) -> None:
    done = bulk(cli, project, "put", [{"key": "k", "value": "v", "metadata": metadata}])
    assert done.code == 0, done.err
    assert cli("kv", "key", "list", *KV).json == [{"name": "k", **listed}]


def test_times_of_an_entry_are_numbers_without_their_fraction(cli: Cli, project: Path) -> None:
    entry = {"key": "k", "value": "v"}
    assert bulk(cli, project, "put", [{**entry, "expiration": 4_000_000_000.5}]).code == 0
    assert cli("kv", "key", "list", *KV).json == [{"name": "k", "expiration": 4_000_000_000}]
    before = time.time()
    assert bulk(cli, project, "put", [{**entry, "expiration_ttl": 100.0}]).code == 0
    (found,) = cli("kv", "key", "list", *KV).json
    assert before + 98 < found["expiration"] <= time.time() + 100


@pytest.mark.parametrize("name", ["expiration", "expiration_ttl"])
@pytest.mark.parametrize("value", ["100", True, "null", "1e400", [100]])
def test_a_time_of_an_entry_that_is_no_number_is_refused(
    cli: Cli, project: Path, name: str, value: object
) -> None:
    written = value if value in ("null", "1e400") else json.dumps(value)
    (project / "bulk.json").write_text(f'[{{"key": "k", "value": "v", "{name}": {written}}}]')
    failed = cli("kv", "bulk", "put", "bulk.json", *KV)
    assert failed.code == 1
    assert f'index 0 ("k") has a "{name}" that is not a number of seconds.' in failed.err
    assert names(cli) == []


def test_bulk_put_takes_the_options_of_a_single_put_without_using_them(
    cli: Cli, project: Path
) -> None:
    (project / "bulk.json").write_text('[{"key": "k", "value": "v"}]')
    options = ("--ttl", "60", "--expiration", "4000000000", "--metadata", '{"a": 1}')
    done = cli("kv", "bulk", "put", "bulk.json", *options, *KV)
    assert (done.code, done.out) == (0, "Success!\n")
    assert done.err.splitlines() == [
        '▲ [WARNING] --ttl has no effect here. Give each entry its "expiration_ttl".',
        '▲ [WARNING] --expiration has no effect here. Give each entry its "expiration".',
        '▲ [WARNING] --metadata has no effect here. Give each entry its "metadata".',
    ]
    assert cli("kv", "key", "list", *KV).json == [{"name": "k"}]
    failed = cli("kv", "bulk", "put", "bulk.json", "--metadata", "5", *KV)
    assert failed.err == "✘ [ERROR] --metadata must be a JSON object. Received: 5\n"


def test_bulk_get_gives_text_and_null_for_what_is_missing(cli: Cli, project: Path) -> None:
    bulk(cli, project, "put", [{"key": "a", "value": "x", "metadata": [1]}])
    cli("kv", "key", "put", "b", "--path", "bulk.json", *KV)
    found = bulk(cli, project, "get", ["a", {"name": "none"}])
    assert found.json == {"a": {"value": "x", "metadata": [1]}, "none": {"value": None}}
    assert found.err == "Success!\n"


def test_bulk_delete_takes_names_and_listings(cli: Cli, project: Path) -> None:
    bulk(cli, project, "put", [{"key": key, "value": ""} for key in "abc"])
    bulk(cli, project, "delete", ["a", {"name": "b"}])
    assert names(cli) == ["c"]


def test_a_value_that_is_too_long_is_refused_and_the_old_one_stays(cli: Cli, project: Path) -> None:
    cli("kv", "key", "put", "k", "old", *KV)
    (project / "big").write_bytes(b"x" * (25 * 1024 * 1024 + 1))
    failed = cli("kv", "key", "put", "k", "--path", "big", *KV)
    assert failed.code == 1
    assert "exceeds limit of 26214400" in failed.err
    assert cli("kv", "key", "get", "k", *KV).out == "old"


def test_the_namespace_is_the_one_that_dev_uses_unless_preview_says_otherwise(
    cli: Cli, project: Path
) -> None:
    namespaces = [{"binding": "KV", "id": "real", "preview_id": "preview"}]
    (project / "wrangler.json").write_text(json.dumps({**SETTINGS, "kv_namespaces": namespaces}))
    cli("kv", "key", "put", "k", "dev", *KV)
    cli("kv", "key", "put", "k", "id", *KV, "--preview", "false")
    assert cli("kv", "key", "get", "k", "--namespace-id", "preview").out == "dev"
    assert cli("kv", "key", "get", "k", "--namespace-id", "real").out == "id"
    assert cli("kv", "key", "get", "k", *KV, "--preview").out == "dev"
    assert cli("kv", "key", "get", *KV, "--no-preview", "k").out == "id"


@pytest.mark.parametrize(
    ("namespace", "id"),
    [
        ({"binding": "K3"}, "K3"),
        ({"binding": "K3", "id": "real"}, "real"),
        ({"binding": "K3", "preview_id": "preview"}, "preview"),
        ({"binding": "K3", "id": "real", "preview_id": "preview"}, "real"),
    ],
)
def test_every_id_of_the_configuration_is_used_without_a_warning(
    cli: Cli, project: Path, namespace: dict[str, str], id: str
) -> None:
    (project / "wrangler.json").write_text(json.dumps({**SETTINGS, "kv_namespaces": [namespace]}))
    done = cli("kv", "key", "put", "k", "v", "--namespace-id", id)
    assert (done.code, done.err) == (0, "")
    if id != "real" or "preview_id" not in namespace:
        assert cli("kv", "key", "get", "k", "--binding", "K3").out == "v"


def test_a_binding_that_has_an_id_is_no_id(cli: Cli) -> None:
    done = cli("kv", "key", "list", "--namespace-id", "KV")
    assert 'The KV namespace "KV" is not in wrangler.json' in done.err


def test_an_id_that_is_not_configured_is_used_with_a_warning(cli: Cli) -> None:
    done = cli("kv", "key", "put", "k", "v", "--namespace-id", "other")
    assert done.code == 0
    assert 'The KV namespace "other" is not in wrangler.json' in done.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("key", "get", "k", "--binding", "NO"), 'binding name "NO" was not found'),
        (("key", "get", "k", *KV, "--preview"), 'has no "preview_id"'),
        (("key", "put", "k", "--path", "none", *KV), "none cannot be read"),
        (("key", "put", "k", "v", "--ttl", "10", *KV), "Expiration TTL must be at least 60."),
        (("key", "put", "..", "v", *KV), 'Illegal key name ".."'),
        (("key", "put", "x" * 513, "v", *KV), "exceeds key length limit of 512"),
        (("bulk", "put", "none.json", *KV), "none.json cannot be read"),
        (("bulk", "put", "text.txt", *KV), "text.txt is not JSON"),
        (("bulk", "put", "constant.json", *KV), "constant.json is not JSON: NaN is no JSON"),
        (("bulk", "put", "deep.json", *KV), "deep.json is not JSON: it is nested too deep"),
        (("bulk", "put", "object.json", *KV), "Expected an array but got dict."),
        (("bulk", "put", "entries.json", *KV), 'index 1 has no text as its "key".'),
        (("bulk", "put", "entries.json", *KV), 'index 2 ("c") has a "value" that is not base64.'),
        (("bulk", "put", "entries.json", *KV), 'index 3 ("d") has a "expiration_ttl" that is not'),
        (("bulk", "delete", "entries.json", *KV), "index 4 is neither a text nor an object"),
    ],
)
def test_what_cannot_be_done_is_refused(
    cli: Cli, project: Path, words: tuple[str, ...], text: str
) -> None:
    (project / "text.txt").write_text("no")
    (project / "constant.json").write_text("[NaN]")
    (project / "deep.json").write_text("[" * 100_000)
    (project / "object.json").write_text("{}")
    entries = [
        {"key": "a", "value": "v"},
        {"value": "v"},
        {"key": "c", "value": "?", "base64": True},
        {"key": "d", "value": "v", "expiration_ttl": "soon"},
        5,
    ]
    (project / "entries.json").write_text(json.dumps(entries))
    failed = cli("kv", *words)
    assert failed.code == 1
    assert text in failed.err
    assert names(cli) == []


@pytest.mark.parametrize(
    "words",
    [
        ("kv", "key", "list", "--namespace-id", "slip-of-the-pen"),
        ("kv", "key", "get", "k", "--namespace-id", "slip-of-the-pen"),
        ("kv", "key", "list", *KV),
        ("r2", "object", "list", "slip-of-the-pen"),
        ("r2", "object", "get", "slip-of-the-pen/k", "--pipe"),
    ],
)
def test_a_look_at_what_is_not_there_leaves_nothing(
    cli: Cli, project: Path, words: tuple[str, ...]
) -> None:
    cli(*words)
    assert [each.name for each in (project / ".pyflare").rglob("*.sqlite")] == []
    assert "slip-of-the-pen" not in cli("kv", "key", "list", *KV).out
