"""`pyflare r2 object`."""

import os
from pathlib import Path

import pytest

from .conftest import Cli

KEYS = ["a.txt", "deep/er/ä.txt", "a b", "a%20b", "/lead", "q?x#y", "😀"]


def put(cli: Cli, project: Path, path: str, data: bytes, *words: str) -> None:
    (project / "upload").write_bytes(data)
    done = cli("r2", "object", "put", path, "--file", "upload", *words)
    assert done.code == 0, done.err


@pytest.mark.parametrize("key", KEYS)
def test_an_object_is_put_got_and_deleted_under_its_literal_key(
    cli: Cli, project: Path, key: str
) -> None:
    data = os.urandom(5000)
    put(cli, project, f"my-bucket/{key}", data)
    assert cli("r2", "object", "get", f"my-bucket/{key}", "--pipe").raw == data
    assert [each["key"] for each in cli("r2", "object", "list", "my-bucket", "--json").json] == [
        key
    ]
    done = cli("r2", "object", "delete", f"my-bucket/{key}")
    assert done.out == f'Deleting object "{key}" from bucket "my-bucket".\nDelete complete.\n'
    assert cli("r2", "object", "list", "my-bucket", "--json").json == []


def test_what_is_said_while_an_object_moves(cli: Cli, project: Path) -> None:
    (project / "upload").write_bytes(b"x")
    done = cli("r2", "object", "put", "my-bucket/k", "--file", "upload", "-s", "InfrequentAccess")
    assert done.out == (
        'Creating object "k" with InfrequentAccess storage class in bucket "my-bucket".\n'
        "Upload complete.\n"
    )
    done = cli("r2", "object", "get", "my-bucket/k")
    assert done.out == 'Downloading "k" from "my-bucket".\nDownload complete.\n'
    assert (project / "k").read_bytes() == b"x"


def test_a_jurisdiction_is_shown_with_the_bucket_and_changes_nothing(
    cli: Cli, project: Path
) -> None:
    (project / "upload").write_bytes(b"x")
    (project / "list.json").write_text('[{"key": "k", "file": "upload"}]')
    eu = ("-J", "eu")
    done = cli("r2", "object", "put", "my-bucket/k", "--file", "upload", *eu)
    assert done.out == 'Creating object "k" in bucket "my-bucket (eu)".\nUpload complete.\n'
    done = cli("r2", "bulk", "put", "my-bucket", "-f", "list.json", *eu)
    assert done.out.startswith("Starting bulk upload of 1 objects to bucket my-bucket (eu) using ")
    done = cli("r2", "object", "get", "my-bucket/k", "--jurisdiction", "eu")
    assert done.out == 'Downloading "k" from "my-bucket (eu)".\nDownload complete.\n'
    assert cli("r2", "object", "get", "my-bucket/k", "--pipe").out == "x"
    done = cli("r2", "object", "delete", "my-bucket/k", *eu)
    assert done.out == 'Deleting object "k" from bucket "my-bucket (eu)".\nDelete complete.\n'


@pytest.mark.parametrize("flag", ["--force", "-y", "--force=false", "--no-force"])
def test_what_writes_takes_the_flag_against_questions(cli: Cli, project: Path, flag: str) -> None:
    (project / "upload").write_bytes(b"x")
    (project / "list.json").write_text('[{"key": "l", "file": "upload"}]')
    assert cli("r2", "object", "put", flag, "my-bucket/k", "--file", "upload").code == 0
    assert cli("r2", "bulk", "put", flag, "my-bucket", "-f", "list.json").code == 0
    assert cli("r2", "object", "delete", flag, "my-bucket/k").code == 0
    assert [each["key"] for each in cli("r2", "object", "list", "my-bucket").json] == ["l"]


def test_a_large_object_survives_and_goes_to_the_named_file(cli: Cli, project: Path) -> None:
    data = os.urandom(3 * 1024 * 1024 + 7)
    put(cli, project, "my-bucket/big", data)
    cli("r2", "object", "get", "my-bucket/big", "--file", "new/folder/file")
    assert (project / "new" / "folder" / "file").read_bytes() == data


def test_headers_are_stored(cli: Cli, project: Path) -> None:
    put(cli, project, "my-bucket/k", b"", "--content-type", "text/plain", "--cc", "no-store",
        "--expires", "2030-01-01T00:00:00Z")  # fmt: skip
    (found,) = cli("r2", "object", "list", "my-bucket", "--json").json
    assert found["content_type"] == "text/plain"
    assert found["size"] == 0


def test_a_listing_goes_by_prefix_and_folder(cli: Cli, project: Path) -> None:
    for key in ("a/1", "a/2", "b", "c/3"):
        put(cli, project, f"my-bucket/{key}", b"")
    found = cli("r2", "object", "list", "my-bucket", "--delimiter", "/").json
    assert found["delimitedPrefixes"] == ["a/", "c/"]
    assert [each["key"] for each in found["objects"]] == ["b"]
    found = cli("r2", "object", "list", "BUCKET", "--prefix", "a/").json
    assert [each["key"] for each in found] == ["a/1", "a/2"]


def test_a_missing_object_leaves_no_file(cli: Cli, project: Path) -> None:
    failed = cli("r2", "object", "get", "my-bucket/none", "--file", "none")
    assert failed.code == 1
    assert "The specified key does not exist." in failed.err
    assert not (project / "none").exists()


def test_a_bucket_that_is_not_configured_is_used_with_a_warning(cli: Cli, project: Path) -> None:
    (project / "upload").write_bytes(b"x")
    done = cli("r2", "object", "put", "other-bucket/k", "--file", "upload")
    assert done.code == 0
    assert 'The R2 bucket "other-bucket" is not in wrangler.json' in done.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("put", "my-bucket/k", "--file", "none"), 'The file "none" does not exist.'),
        (("get", "No_Bucket/k"), 'The bucket name "No_Bucket" is invalid.'),
        (("delete", "my-bucket/" + "k" * 1025), "The specified object name is not valid."),
    ],
)
def test_what_cannot_be_done_is_refused(cli: Cli, words: tuple[str, ...], text: str) -> None:
    failed = cli("r2", "object", *words)
    assert failed.code == 1
    assert text in failed.err


def test_a_key_never_names_a_file_outside(cli: Cli, project: Path) -> None:
    for key in ("../outside", "/etc/outside"):
        put(cli, project, f"my-bucket/{key}", b"x")
        failed = cli("r2", "object", "get", f"my-bucket/{key}")
        assert failed.code == 1
        assert "cannot be the name of a file here" in failed.err
    assert not (project.parent / "outside").exists()


@pytest.mark.parametrize("flag", [("--expires", "soon"), ("-s", "Cold")])
def test_bad_flags_end_with_usage(
    cli: Cli, flag: tuple[str, str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with pytest.raises(SystemExit) as raised:
        cli("r2", "object", "put", "my-bucket/k", "--pipe", *flag)
    assert raised.value.code == 2
    assert flag[1].encode() in capfdbinary.readouterr().err


def test_many_objects_are_put_from_a_list(cli: Cli, project: Path) -> None:
    (project / "a").write_bytes(b"one")
    (project / "list.json").write_text('[{"key": "x/1", "file": "a"}, {"key": "ä", "file": "a"}]')
    done = cli("r2", "bulk", "put", "my-bucket", "--filename", "list.json", "--ct", "text/plain")
    assert done.out == (
        "Starting bulk upload of 2 objects to bucket my-bucket using a concurrency of 20\n"
        "Uploaded 100% (2 out of 2)\n"
    )
    found = cli("r2", "object", "list", "my-bucket", "--json").json
    assert [(each["key"], each["content_type"]) for each in found] == [
        ("x/1", "text/plain"),
        ("ä", "text/plain"),
    ]
    assert cli("r2", "object", "get", "my-bucket/ä", "--pipe").raw == b"one"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, 'The file "list.json" does not exist.'),
        ("{", 'The file "list.json" is not a valid JSON.'),
        ("[NaN]", 'The file "list.json" is not a valid JSON.'),
        ("[" * 100_000, 'The file "list.json" is not a valid JSON.'),
        ("{}", 'The file "list.json" must contain an array of entries.'),
        ('[{"key": 1, "file": "a"}]', 'Each entry in the file "list.json" must be an object with'),
        ('[{"key": "k", "file": "a"}, {"key": "l", "file": "no"}]', 'The file "no" does not exist'),
        ('[{"key": "k", "file": "."}]', 'The path "." is not a file.'),
    ],
)
def test_a_list_that_cannot_be_used_uploads_nothing(
    cli: Cli, project: Path, text: str | None, told: str
) -> None:
    (project / "a").write_bytes(b"one")
    if text is not None:
        (project / "list.json").write_text(text)
    failed = cli("r2", "bulk", "put", "my-bucket", "-f", "list.json")
    assert failed.code == 1
    assert told in failed.err
    assert cli("r2", "object", "list", "my-bucket", "--json").json == []
