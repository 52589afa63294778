"""The binding of a class: ids, names, stubs, and what is refused."""

import pytest

from pyflare.js.error import JsException
from pyflare.js.value import jsnull

SOURCE = """
    class Thing(DurableObject):
        async def fetch(self, request):
            return Response(self.ctx.id.toString())

    class Other(DurableObject):
        pass
"""


@pytest.fixture
def in_namespace(with_objects):
    """Gives what ``function(THING, OTHER)`` gives."""

    def go(function):
        async def program(env, flare):
            result = function(env.THING, env.OTHER)
            return await result if hasattr(result, "__await__") else result

        return with_objects(SOURCE, program, "Thing", "Other")

    return go


def test_the_id_of_a_name_is_always_the_same_and_the_classes_own(in_namespace):
    def ids(thing, other):
        return [
            thing.idFromName("a"),
            thing.idFromName("a"),
            thing.idFromName("b"),
            other.idFromName("a"),
        ]

    first, again, another, elsewhere = in_namespace(ids)
    assert first.toString() == again.toString()
    assert first.equals(again)
    assert not first.equals(another)
    assert not first.equals(elsewhere)
    assert (first.name, len(first.toString())) == ("a", 64)


def test_an_id_is_derived_as_production_derives_it(in_namespace):
    import hashlib
    import hmac

    key = hashlib.sha256(b"w-Thing").digest()
    base = hmac.new(key, b"a", "sha256").digest()[:16]
    expected = (base + hmac.new(key, base, "sha256").digest()[:16]).hex()
    assert in_namespace(lambda thing, other: thing.idFromName("a").toString()) == expected


def test_unique_ids_differ_and_have_no_name(in_namespace):
    first, second = in_namespace(lambda thing, other: [thing.newUniqueId(), thing.newUniqueId()])
    assert first.toString() != second.toString()
    assert (first.name, second.name) == (None, None)


def test_an_id_from_text_equals_the_one_it_was_made_from(in_namespace):
    def ids(thing, other):
        named = thing.idFromName("a")
        return named, thing.idFromString(named.toString().upper())

    named, read = in_namespace(ids)
    assert read.equals(named)
    assert read.name is None
    assert read.toString() == named.toString()


REFUSED = [
    (
        lambda t, o: t.idFromString("abc"),
        "TypeError: Invalid Durable Object ID: must be 64 hex digits",
    ),
    (
        lambda t, o: t.idFromString("g" * 64),
        "TypeError: Invalid Durable Object ID: must be 64 hex digits",
    ),
    (
        lambda t, o: t.idFromString("0" * 64),
        "TypeError: Durable Object ID is not valid for this namespace.",
    ),
    (
        lambda t, o: t.idFromString(o.idFromName("a").toString()),
        "TypeError: Durable Object ID is not valid for this namespace.",
    ),
    (
        lambda t, o: t.newUniqueId({"jurisdiction": "eu"}),
        "Error: Jurisdiction restrictions are not implemented in workerd.",
    ),
    (
        lambda t, o: t.newUniqueId(jurisdiction="eu"),
        "Error: Jurisdiction restrictions are not implemented in workerd.",
    ),
    (
        lambda t, o: t.jurisdiction("eu"),
        "Error: Jurisdiction restrictions are not implemented in workerd.",
    ),
    (lambda t, o: t.getByName("a", {"routingMode": "x"}), "RangeError: unknown routingMode: x"),
    (lambda t, o: t.get(t.newUniqueId(), routingMode="x"), "RangeError: unknown routingMode: x"),
    (
        lambda t, o: t.get("a"),
        "TypeError: Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type "
        "'DurableObjectId'.",
    ),
    (
        lambda t, o: t.idFromName("a").equals("a"),
        "TypeError: Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'.",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(in_namespace, call, text):
    with pytest.raises(JsException) as caught:
        in_namespace(call)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.getByName("a", {"locationHint": "weur"}),
        lambda t: t.getByName("a", locationHint="weur"),
        lambda t: t.getByName("a", {"routingMode": "primary-only"}),
        lambda t: t.get(t.idFromName("a")),
        lambda t: t.jurisdiction(None).getByName("a"),
        lambda t: t.jurisdiction(jsnull).getByName("a"),
        lambda t: t.get(t.idFromString(t.idFromName("a").toString())),
    ],
)
def test_ways_to_a_stub(in_namespace, call):
    async def same(thing, other):
        answer = await call(thing).fetch("http://x/")
        return await answer.text() == thing.idFromName("a").toString()

    assert in_namespace(same)


def test_a_stub_shows_its_id_and_name(in_namespace):
    def look(thing, other):
        stub = thing.getByName("a")
        return stub.id.toString() == thing.idFromName("a").toString(), stub.name

    assert in_namespace(look) == (True, "a")


def test_its_constructor_is_what_the_sdk_looks_for(with_objects):
    async def program(env, flare):
        binding = flare.loaded().definition.environment.THING
        return binding.constructor.name, binding.getByName("a").constructor.name

    assert with_objects(SOURCE, program, "Thing", "Other") == (
        "DurableObjectNamespace",
        "DurableObject",
    )


MISSING = "TypeError: Failed to execute '{}' on 'DurableObjectNamespace': parameter {} is not of type '{}'."


@pytest.mark.parametrize(
    ("call", "method", "position", "kind"),
    [
        (lambda thing: thing.idFromName(), "idFromName", 1, "string"),
        (lambda thing: thing.idFromString(), "idFromString", 1, "string"),
        (lambda thing: thing.getByName(), "getByName", 1, "string"),
        (lambda thing: thing.get(), "get", 1, "DurableObjectId"),
        (lambda thing: thing.newUniqueId(5), "newUniqueId", 1, "NewUniqueIdOptions"),
        (lambda thing: thing.getByName("a", 5), "getByName", 2, "GetDurableObjectOptions"),
        (
            lambda thing: thing.get(thing.idFromName("a"), "x"),
            "get",
            2,
            "GetDurableObjectOptions",
        ),
    ],
)
def test_an_argument_that_is_missing_or_wrong_is_named(in_namespace, call, method, position, kind):
    def refused(thing, other):
        with pytest.raises(JsException) as caught:
            call(thing)
        return str(caught.value)

    assert in_namespace(refused) == MISSING.format(method, position, kind)


def test_a_stub_has_two_properties_of_its_own(in_namespace):
    keys = in_namespace(lambda thing, other: list(thing.getByName("a")._binding.object_keys()))
    assert keys == ["id", "name"]
