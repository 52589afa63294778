"""TextEncoder, TextDecoder, atob, btoa."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.js.buffer import Uint8Array
from pyflare.js.encoding import TextDecoder, TextEncoder, atob, btoa
from pyflare.js.error import JsException


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("é☃😀", "é☃😀".encode()),
        ("\ud83d\ude00", "😀".encode()),
        ("a\ud83d", b"a\xef\xbf\xbd"),
        (None, b""),
        (5, b"5"),
    ],
)
def test_encoding(text: Any, data: bytes) -> None:
    assert TextEncoder.new().encode(text).to_bytes() == data


def test_encoding_into_a_buffer_writes_whole_characters() -> None:
    target = Uint8Array.new(6)
    result = TextEncoder.new().encodeInto("a😀é", target)
    assert (result.read, result.written, target.to_bytes()) == (3, 5, "a😀".encode() + b"\0")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (None, "utf-8"),
        (" UTF8 ", "utf-8"),
        ("latin1", "windows-1252"),
        ("Unicode", "utf-16le"),
        ("gb2312", "gbk"),
    ],
)
def test_labels(label: str | None, name: str) -> None:
    assert TextDecoder.new(label).encoding == name


@pytest.mark.parametrize("label", ["nonsense", "", "replacement", "utf-7"])
def test_unknown_labels_are_refused(label: str) -> None:
    with pytest.raises(JsException) as caught:
        TextDecoder.new(label)
    assert str(caught.value) == f'RangeError: "{label}" is not a valid encoding.'


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", b"\xef\xbb\xbfa", "a"),
        ("utf-8", b"a\xe2\x98", "a\ufffd"),
        ("utf-8", b"\xf0\x9f\x98a", "\ufffda"),
        ("utf-16le", b"\xff\xfea\0", "a"),
        ("utf-16be", b"\0a\xd8\x3d\xde\x00", "a😀"),
        ("windows-1252", b"\x80\x81\xe9", "€\x81é"),
        ("iso-8859-1", b"\x80", "€"),
        ("windows-1253", b"\xd2", "\ufffd"),
        ("shift_jis", b"\x83\x65\x83\x58\x83\x67", "テスト"),
        ("euc-kr", b"\xc7\xd1", "한"),
        ("koi8-r", b"\xc1", "а"),
    ],
)
def test_decoding(label: str, data: bytes, text: str) -> None:
    assert TextDecoder.new(label).decode(Uint8Array.from_bytes(data)) == text


def test_the_byte_order_mark_can_be_kept() -> None:
    assert (
        TextDecoder.new("utf-8", ignoreBOM=True).decode(Uint8Array.from_bytes(b"\xef\xbb\xbfa"))
        == "\ufeffa"
    )


@pytest.mark.parametrize(
    ("label", "data"), [("utf-8", b"\xff"), ("utf-8", b"\xe2\x98"), ("windows-1253", b"\xd2")]
)
def test_bad_bytes_are_an_error_when_fatal(label: str, data: bytes) -> None:
    decoder = TextDecoder.new(label, {"fatal": True})
    with pytest.raises(JsException) as caught:
        decoder.decode(Uint8Array.from_bytes(data))
    assert str(caught.value) == "TypeError: Failed to decode input."
    assert decoder.decode(Uint8Array.from_bytes(b"a")) == "a"


def test_decoding_needs_a_buffer() -> None:
    with pytest.raises(JsException) as caught:
        TextDecoder.new().decode("text")
    assert str(caught.value) == (
        "TypeError: Failed to execute 'decode' on 'TextDecoder': parameter 1 is not of type 'Array'."
    )


@given(st.text(), st.integers(0, 200), st.sampled_from(["utf-8", "utf-16le", "utf-16be"]))
def test_decoding_in_parts_is_decoding_at_once(text: str, cut: int, label: str) -> None:
    data = Uint8Array.from_bytes(text.encode(label))
    decoder = TextDecoder.new(label, ignoreBOM=True)
    first = decoder.decode(data.subarray(0, cut), {"stream": True})
    assert first + decoder.decode(data.subarray(cut)) == text


@given(st.binary())
def test_base64_goes_both_ways(data: bytes) -> None:
    assert atob(btoa(data.decode("latin-1"))).encode("latin-1") == data


@pytest.mark.parametrize(
    ("text", "decoded"), [("YQ", "a"), ("YQ==", "a"), (" Y\nQ = =", "a"), ("", ""), ("YR==", "a")]
)
def test_forgiving_base64(text: str, decoded: str) -> None:
    assert atob(text) == decoded


@pytest.mark.parametrize("text", ["Y", "YQ=", "YQ===", "Y*==", "=", "YWI=YQ==", "é"])
def test_bad_base64_is_refused(text: str) -> None:
    with pytest.raises(JsException) as caught:
        atob(text)
    assert caught.value.name == "InvalidCharacterError"
    assert caught.value.message.startswith("atob() called with invalid base64-encoded data.")


def test_btoa_takes_bytes_only() -> None:
    with pytest.raises(JsException) as caught:
        btoa("☃")
    assert str(caught.value) == (
        "InvalidCharacterError: btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range."
    )
