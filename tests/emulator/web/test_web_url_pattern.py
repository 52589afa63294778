"""URLPattern: construction, normal form, matching. Checked against Node where it has one."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from pyflare.js.error import JsException
from pyflare.js.globals import resolve
from pyflare.js.url_pattern import URLPattern
from pyflare.js.value import jsnull

COMPONENTS = [
    "protocol",
    "username",
    "password",
    "hostname",
    "port",
    "pathname",
    "search",
    "hash",
]


def sources(pattern: URLPattern) -> dict[str, str]:
    """The components that are no full wildcards."""
    found = {name: getattr(pattern, name) for name in COMPONENTS}
    return {name: source for name, source in found.items() if source != "*"}


def groups(pattern: URLPattern, given: Any, component: str = "pathname") -> Any:
    found = pattern.exec(given)
    return None if found is jsnull else dict(getattr(found, component).groups.__dict__)


@pytest.mark.parametrize(
    ("text", "components"),
    [
        (
            "https://example.com/books/:id",
            {"protocol": "https", "hostname": "example.com", "port": "", "pathname": "/books/:id"},
        ),
        (
            "http{s}?://*.example.com:8080/",
            {"protocol": "http{s}?", "hostname": "*.example.com", "port": "8080", "pathname": "/"},
        ),
        (
            "https://u\\:p@example.com?q=:v#top",
            {
                "protocol": "https",
                "username": "u",
                "password": "p",
                "hostname": "example.com",
                "port": "",
                "pathname": "/",
                "search": "q=:v",
                "hash": "top",
            },
        ),
        (
            "https://[\\:\\:1]:80/",
            {"protocol": "https", "hostname": "[\\:\\:1]", "port": "80", "pathname": "/"},
        ),
        ("data\\:a:b", {"protocol": "data", "hostname": "", "port": "", "pathname": "a:b"}),
        (
            "https://example.com/a\\?b",
            {
                "protocol": "https",
                "hostname": "example.com",
                "port": "",
                "pathname": "/a",
                "search": "b",
            },
        ),
        (
            "https://EXAMPLE.com:443/é",
            {"protocol": "https", "hostname": "example.com", "port": "", "pathname": "/%C3%A9"},
        ),
    ],
)
def test_a_whole_pattern_is_cut_into_components(text: str, components: dict[str, str]) -> None:
    assert sources(URLPattern.new(text)) == components


def test_components_may_be_given_in_every_way_that_objects_can_be() -> None:
    expected = {"pathname": "/a/:b"}
    assert sources(URLPattern.new({"pathname": "/a/:b"})) == expected
    assert sources(URLPattern.new(pathname="/a/:b")) == expected
    assert (
        sources(URLPattern.new(resolve("Object").fromEntries([["pathname", "/a/:b"]]))) == expected
    )
    assert sources(URLPattern.new()) == {}


def test_what_a_pattern_leaves_open_comes_from_its_base() -> None:
    base = "https://example.com:8080/shop/cart?x#y"
    assert sources(URLPattern.new("item/:id", base)) == {
        "protocol": "https",
        "hostname": "example.com",
        "port": "8080",
        "pathname": "/shop/item/:id",
    }
    assert sources(URLPattern.new({"search": "q", "baseURL": base})) == {
        "protocol": "https",
        "hostname": "example.com",
        "port": "8080",
        "pathname": "/shop/cart",
        "search": "q",
    }


def test_signs_in_a_base_are_no_patterns() -> None:
    pattern = URLPattern.new({"search": "*", "baseURL": "https://example.com/a(b)*"})
    assert pattern.pathname == "/a\\(b\\)\\*"
    assert pattern.test("https://example.com/a(b)*?x")


@pytest.mark.parametrize(
    ("source", "path", "expected"),
    [
        ("/books/:id", "/books/12", {"id": "12"}),
        ("/books/:id", "/books/1/2", None),
        ("/books/:id", "/books/", None),
        ("/books/:id?", "/books", {"id": None}),
        ("/books/:id?", "/books/", None),
        ("/books/:id+", "/books/1/2/3", {"id": "1/2/3"}),
        ("/books/:id*", "/books", {"id": None}),
        ("/files/*", "/files/a/b", {"0": "a/b"}),
        ("/files/*", "/files", None),
        ("/*/*", "/a/b/c", {"0": "a/b", "1": "c"}),
        ("/(a|b)", "/b", {"0": "b"}),
        ("/:n(\\d+)", "/12", {"n": "12"}),
        ("/:n(\\d+)", "/x", None),
        ("/:a-:b", "/x-y", {"a": "x", "b": "y"}),
        ("/:a.:b", "/x.tar", {"a": "x", "b": "tar"}),
        ("/img{/:size}?", "/img", {"size": None}),
        ("/img{/:size}?", "/img/large", {"size": "large"}),
        ("/a{b}?c", "/ac", {}),
        ("/a{b}*c", "/abbc", {}),
        ("/é", "/%C3%A9", {}),
        ("/a\\:b", "/a:b", {}),
        ("*{}**?", "/x", {"0": "/x", "1": None}),
    ],
)
def test_path_patterns(source: str, path: str, expected: Any) -> None:
    assert groups(URLPattern.new(pathname=source), f"https://example.com{path}") == expected


@pytest.mark.parametrize(
    ("source", "host", "expected"),
    [
        ("*.example.com", "a.b.example.com", {"0": "a.b"}),
        ("*.example.com", "example.com", None),
        ("{*.}?example.com", "example.com", {"0": None}),
        (":sub.example.com", "a.example.com", {"sub": "a"}),
        (":sub.example.com", "a.b.example.com", None),
        ("EXAMPLE.com", "example.com", {}),
        ("é.com", "xn--9ca.com", {}),
    ],
)
def test_host_patterns(source: str, host: str, expected: Any) -> None:
    assert groups(URLPattern.new(hostname=source), f"https://{host}/", "hostname") == expected


def test_a_match_tells_of_every_component() -> None:
    pattern = URLPattern.new("https://*.example.com/:page?", "https://example.com")
    found = pattern.exec("/home?q=1#top", "https://www.example.com/x")
    assert list(found.inputs) == ["/home?q=1#top", "https://www.example.com/x"]
    assert found.hostname.input == "www.example.com"
    assert dict(found.hostname.groups.__dict__) == {"0": "www"}
    assert found.pathname.input == "/home"
    assert found.pathname.groups.page == "home"
    assert (found.search.input, found.hash.input, found.port.input) == ("q=1", "top", "")
    assert found.protocol.input == "https"


def test_components_can_be_matched_by_themselves() -> None:
    pattern = URLPattern.new(pathname="/a/:b", search="x=:y")
    found = pattern.exec({"pathname": "/a/é", "search": "?x=1"})
    assert found.pathname.groups.b == "%C3%A9"
    assert found.search.groups.y == "1"
    assert found.inputs[0].pathname == "/a/é"
    assert pattern.test({"pathname": "../a/b", "search": "x=1", "baseURL": "https://h/c/d"})
    assert not pattern.test({"pathname": "/a/b"})
    assert not pattern.test({"pathname": "/a/b", "search": "x=1", "port": "no port"})
    assert not pattern.test({"baseURL": "no address"})


def test_a_relative_text_is_matched_by_what_it_has() -> None:
    pattern = URLPattern.new(pathname="/a/:b")
    assert groups(pattern, "/a/x?q") == {"b": "x"}
    assert not pattern.test("https:")
    assert not URLPattern.new("https://example.com/*").test("/a")


def test_what_is_no_address_matches_nothing() -> None:
    pattern = URLPattern.new()
    assert not pattern.test("https://a b/")
    assert pattern.exec("https://a b/") is jsnull
    assert not pattern.test("/x", "no base")


def test_case_can_be_ignored_in_path_query_and_fragment() -> None:
    text = "https://example.com/Foo?Bar#Baz"
    pattern = URLPattern.new(text, {"ignoreCase": True})
    assert pattern.test("https://example.com/foo?bar#baz")
    assert not URLPattern.new(text).test("https://example.com/foo?bar#baz")
    assert URLPattern.new("/Foo", "https://example.com", ignoreCase=True).test(
        "https://example.com/fOO"
    )


def test_whether_there_are_regular_expressions() -> None:
    assert URLPattern.new(pathname="/:a(x)").hasRegExpGroups
    assert not URLPattern.new(pathname="/:a/*").hasRegExpGroups
    assert not URLPattern.new(pathname="/(.*)").hasRegExpGroups


@pytest.mark.parametrize(
    ("source", "normal"),
    [
        ("/:a{/:b}?", "/:a/:b?"),
        ("/{:a}b", "/{:a}b"),
        ("/{:a}-", "/{:a}-"),
        ("/(.*)", "/*"),
        ("/([^\\/]+?)", "/([^\\/]+?)"),
        ("/{x}", "/x"),
        ("/{x}?", "/{x}?"),
        ("{/:x}*", "/:x*"),
        ("/:x{y}", "{/:x}y"),
        ("/{:x}(y)", "/{:x}(y)"),
        ("/**", "/**"),
    ],
)
def test_the_normal_form_of_a_pattern(source: str, normal: str) -> None:
    assert URLPattern.new(pathname=source).pathname == normal


@pytest.mark.parametrize(
    "arguments",
    [
        ("(",),
        ("/:",),
        ("https://example.com/{",),
        ("https://example.com/}",),
        ("https://example.com/((a))",),
        ("https://example.com/(?a)",),
        ("https://example.com/(é)",),
        ("https://example.com/()",),
        ("https://example.com/:a/:a",),
        ("https://example.com/([)",),
        ("https://example.com/\\",),
        ("/a",),
        ("/a", "no base"),
        ({"pathname": "/a"}, "https://example.com"),
        ({"pathname": "/a", "baseURL": "no base"},),
        ({"port": "abc"},),
        ({"port": "99999"},),
        ({"protocol": "a b"},),
        ({"hostname": "bad host"},),
        ({"hostname": "[xyz"},),
    ],
)
def test_what_is_no_pattern_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(JsException) as caught:
        URLPattern.new(*arguments)
    assert str(caught.value) == "TypeError: Failed to construct URLPattern"


def test_an_object_and_a_base_cannot_go_together() -> None:
    pattern = URLPattern.new()
    for method in ("test", "exec"):
        with pytest.raises(JsException) as caught:
            getattr(pattern, method)({}, "https://example.com")
        assert str(caught.value) == f"TypeError: Failed to {method} URLPattern"


NODE = shutil.which("node")

PIECES = [
    "/",
    ":a",
    ":b",
    "*",
    "{",
    "}",
    "(x)",
    "(\\d+)",
    "?",
    "+",
    "b",
    "é",
    "\\",
    "\\:",
    "#",
    "@",
]
PIECES += ["https://", "h.com", ":80", ".", "-"]
ADDRESSES = [
    "https://h.com/b",
    "https://h.com:80/x/12",
    "http://b/é?b#x",
    "https://x@h.com/-",
    "foo:b",
    "/b/x",
    "",
]


def test_generated_patterns_mean_what_node_says() -> None:
    if NODE is None:
        pytest.skip("node is not on PATH")
    choose = random.Random(20260811)
    patterns = ["".join(choose.choices(PIECES, k=choose.randint(1, 7))) for _ in range(400)]
    program = """
        if (typeof URLPattern === "undefined") { process.stdout.write("null"); process.exit() }
        const {patterns, addresses, names} = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const describe = (text) => {
          try { var pattern = new URLPattern(text, "https://h.com/b") } catch { return null }
          const match = (found) => found && names.map((name) => [found[name].input,
            Object.entries(found[name].groups).map(([k, v]) => [k, v ?? null]).sort()]);
          return [names.map((name) => pattern[name]),
            addresses.map((address) => match(pattern.exec(address, "https://h.com")))];
        };
        process.stdout.write(JSON.stringify(patterns.map(describe)));
    """
    given = {"patterns": patterns, "addresses": ADDRESSES, "names": COMPONENTS}
    result = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    expected = json.loads(result.stdout)
    if expected is None:
        pytest.skip("this node has no URLPattern")
    assert [describe(text) for text in patterns] == expected


def describe(text: str) -> Any:
    try:
        pattern = URLPattern.new(text, "https://h.com/b")
    except JsException:
        return None

    def match(found: Any) -> Any:
        if found is jsnull:
            return None
        parts = [getattr(found, name) for name in COMPONENTS]
        return [[p.input, sorted([k, v] for k, v in p.groups.__dict__.items())] for p in parts]

    matches = [match(pattern.exec(address, "https://h.com")) for address in ADDRESSES]
    return [[getattr(pattern, name) for name in COMPONENTS], matches]
