"""Bindings and stubs before they had methods of the other side, by compatibility date and flag."""

from typing import Any

import pytest

from .conftest import Workers

CALLEE = """
from urllib.parse import urlsplit

async def answer(self, request):
    url = urlsplit(request.url)
    if url.path == "/gone":
        return Response("none", status=410)
    if url.path == "/broken":
        return Response("broken", status=503)
    body = await request.text()
    return Response(f'["{request.method}", "{url.query}", "{body}"]')

class Default(WorkerEntrypoint):
    fetch = on_fetch = answer
    def add(self, a, b): return a + b
    def get(self, a): return f"got {a}"

class Room(DurableObject):
    fetch = on_fetch = answer
    def add(self, a, b): return a + b
"""

#: With a Pyodide that has the names which these Workers import.
FLAGS = ["python_workers", "python_workers_20250116"]
BEFORE_RPC = {"compatibility_date": "2024-04-02", "compatibility_flags": FLAGS}
WITHOUT_FLAG = {
    "compatibility_date": "2025-07-01",
    "compatibility_flags": [*FLAGS, "no_rpc"],
}
OLDEST = {"compatibility_date": "2024-03-25", "compatibility_flags": FLAGS}
SHORTCUTS_BESIDE_RPC = {
    "compatibility_flags": ["python_workers", "fetcher_has_get_put_delete"],
}


def run(workers: Workers, body: str, **config: Any) -> Any:
    lines = "\n".join(f"                {line}" for line in body.strip().splitlines())
    workers.add(
        "a",
        f"""
        class Default(WorkerEntrypoint):
            async def test(self):
                env = self.env
{lines}
        """,
        {"B": "b"},
        durable_objects={"bindings": [{"name": "ROOMS", "class_name": "Room", "script_name": "b"}]},
        **config,
    )
    workers.add(
        "b",
        "from workers import DurableObject\n" + CALLEE,
        durable_objects={"bindings": [{"name": "ROOMS", "class_name": "Room"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Room"]}],
    )
    return workers.call()


STUBS = ["env.B", "env.B._binding", "env.ROOMS.getByName('x')", "env.ROOMS.getByName('x')._binding"]


@pytest.mark.parametrize("config", [BEFORE_RPC, WITHOUT_FLAG, OLDEST])
@pytest.mark.parametrize("stub", STUBS)
def test_there_are_no_methods_before_they_came(
    workers: Workers, stub: str, config: dict[str, Any]
) -> None:
    assert run(workers, f"return hasattr({stub}, 'add')", **config) is False


def test_whoever_misses_a_method_is_told_what_brings_it(workers: Workers) -> None:
    body = """
try:
    await env.B.add(1, 2)
except AttributeError as error:
    return str(error), error.__notes__
"""
    text, notes = run(workers, body, **BEFORE_RPC)
    assert text == "add"
    assert notes == [
        "Bindings and stubs have methods of the other side with a compatibility date of 2024-04-03 or later, or the "
        'flag "rpc"; this Worker has neither.'
    ]


@pytest.mark.parametrize("stub", STUBS)
def test_requests_need_no_methods(workers: Workers, stub: str) -> None:
    body = f"return await (await {stub}.fetch('http://x/?q')).text()"
    assert run(workers, body, **WITHOUT_FLAG) == '["GET", "q", ""]'


@pytest.mark.parametrize("flags", [[*FLAGS, "rpc"], [*FLAGS, "no_rpc", "experimental"]])
def test_flags_bring_methods_whatever_the_date(workers: Workers, flags: list[str]) -> None:
    config = {**BEFORE_RPC, "compatibility_flags": flags}
    assert run(workers, "return await env.B.add(1, 2)", **config) == 3


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("get('http://x/')", '["GET", "", ""]'),
        ("get('http://x/', 'text')", '["GET", "", ""]'),
        ("get('http://x/gone')", None),
        ("put('http://x/', 'new')", None),
        ("delete('http://x/')", None),
    ],
)
def test_get_put_and_delete_were_requests(
    workers: Workers, stub: str, call: str, expected: str | None
) -> None:
    body = f"answer = await {stub}.{call}\nreturn answer or None"
    assert run(workers, body, **OLDEST) == expected


def test_get_reads_json_when_asked_to(workers: Workers) -> None:
    body = "return list(await env.B._binding.get('http://x/', 'json'))"
    assert run(workers, body, **OLDEST) == ["GET", "", ""]


def test_get_reads_bytes_when_asked_to(workers: Workers) -> None:
    body = "return (await env.B._binding.get('http://x/', 'arrayBuffer')).to_bytes()"
    assert run(workers, body, **OLDEST) == b'["GET", "", ""]'


def test_get_gives_a_stream_when_asked_to(workers: Workers) -> None:
    body = """
stream = await env.B._binding.get('http://x/', 'stream')
return await js.Response.new(stream).text()
"""
    assert run(workers, body, **OLDEST) == '["GET", "", ""]'


def test_put_passes_options_on_in_the_address(workers: Workers) -> None:
    workers.add(
        "a",
        """
        class Default(WorkerEntrypoint):
            async def test(self):
                options = to_js({"expiration": 5, "expirationTtl": 60}, dict_converter=Object.fromEntries)
                await self.env.SELF.put("http://x/?a=b", "new", options)
                return helper.SEEN
            async def on_fetch(self, request):
                helper.SEEN.append((request.method, request.url, await request.text()))
                return Response("")
        """,
        {"SELF": "a"},
        **OLDEST,
    )
    assert workers.call() == [("PUT", "http://x/?a=b&expiration=5&expiration_ttl=60", "new")]


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_a_status_that_is_no_success_is_an_error(workers: Workers, method: str) -> None:
    body = f"""
try:
    await env.B.{method}("http://x/broken")
except Exception as error:
    return str(error)
"""
    assert run(workers, body, **OLDEST) == (
        f"Error: HTTP {method.upper()} request failed: 503 Service Unavailable"
    )


def test_get_refuses_an_unknown_kind(workers: Workers) -> None:
    body = """
try:
    await env.B.get("http://x/", "blob")
except Exception as error:
    return str(error)
"""
    assert run(workers, body, **OLDEST) == (
        'TypeError: Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".'
    )


def test_the_shortcuts_shadow_methods_of_the_other_side(workers: Workers) -> None:
    body = "return [await env.B.get('http://x/'), await env.B.add(1, 2)]"
    assert run(workers, body, **SHORTCUTS_BESIDE_RPC) == ['["GET", "", ""]', 3]


def test_a_method_of_such_a_name_is_called_since(workers: Workers) -> None:
    assert run(workers, "return await env.B.get('x')") == "got x"
