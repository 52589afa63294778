"""A FastAPI application with every kind of route, as a Worker through the real command."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .dev_server import DevServer

CONFIGURATION = Path(__file__).parent / "workers" / "fastapi_shop" / "wrangler.jsonc"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """The application, started once. Tests that store something use names of their own."""
    folder = tmp_path_factory.mktemp("shop")
    server = DevServer(
        ["-c", CONFIGURATION, "--port", "0", "--persist-to", folder / "state"],
        cwd=folder,
        log=folder / "server.log",
    )
    try:
        server.wait_until_ready()
        yield server
        assert server.stop() == 0, server.output()
        server.check_output()
    finally:
        server.kill()


def add(shop: DevServer, **item: Any) -> dict[str, Any]:
    """Stores an item and returns it as the application did."""
    answer = shop.post("/items", json={"price": 2.5, **item})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


class TestParameters:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("/", {"currency": "EUR", "opened": "yes"}),
            ("/sync", {"seven": 7}),
            ("/integer/42", {"number": 42}),
            ("/size/L", {"size": "large"}),
            ("/identifier/12345678-1234-4234-8234-123456789abc", {"version": 4}),
            ("/day/2026-02-28", {"weekday": 6, "after": "2026-03-01"}),
            ("/file/a/b%2Fc%20d/%C3%A9.txt", {"path": "a/b/c d/\u00e9.txt"}),
            ("/query?word=abc", {"word": "abc", "tag": [], "limit": 10, "exact": False}),
            (
                "/query?word=ab&tag=x&tag=y+z&limit=3&exact=yes",
                {"word": "ab", "tag": ["x", "y z"], "limit": 3, "exact": True},
            ),
            ("/cookie", {"theme": None}),
            ("/mounted/inside", {"root": "/mounted"}),
        ],
    )
    def test_a_path_or_query_becomes_typed_values(
        self, shop: DevServer, path: str, found: Any
    ) -> None:
        answer = shop.get(path)

        assert (answer.status_code, answer.json()) == (200, found)

    @pytest.mark.parametrize(
        ("path", "invalid"),
        [
            ("/integer/0", [["path.number", "greater_than_equal"]]),
            ("/integer/x", [["path.number", "int_parsing"]]),
            ("/size/M", [["path.size", "enum"]]),
            ("/identifier/1", [["path.identifier", "uuid_parsing"]]),
            ("/day/2026-02-30", [["path.day", "date_from_datetime_parsing"]]),
            ("/query", [["query.word", "missing"]]),
            (
                "/query?word=A1&limit=x&exact=maybe",
                [
                    ["query.word", "string_pattern_mismatch"],
                    ["query.limit", "int_parsing"],
                    ["query.exact", "bool_parsing"],
                ],
            ),
            ("/header", [["header.x-token", "missing"]]),
        ],
    )
    def test_what_does_not_fit_is_answered_by_the_applications_own_handler(
        self, shop: DevServer, path: str, invalid: Any
    ) -> None:
        answer = shop.get(path)

        assert (answer.status_code, answer.json()) == (422, {"invalid": invalid})

    def test_headers(self, shop: DevServer) -> None:
        answer = shop.get("/header", headers=[("user-agent", "t/1"), ("x-token", "a")])

        assert answer.json() == {"agent": "t/1", "token": ["a"]}

    def test_cookies(self, shop: DevServer) -> None:
        assert shop.get("/cookie", headers={"cookie": "a=b; theme=dark"}).json() == {
            "theme": "dark"
        }

    def test_the_request_knows_its_url_and_no_client(self, shop: DevServer) -> None:
        assert shop.get("/where?a=%C3%A9").json() == {
            "url": f"http://127.0.0.1:{shop.port}/where?a=%C3%A9",
            "path": "/where",
            "client": None,
        }

    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
    def test_every_method(self, shop: DevServer, method: str) -> None:
        assert shop.client.request(method, "/method").json() == {"method": method}

    def test_head_has_the_headers_of_get_and_no_body(self, shop: DevServer) -> None:
        answer = shop.client.head("/method")

        assert (answer.content, answer.headers["content-type"]) == (b"", "application/json")

    def test_a_method_that_a_route_does_not_have(self, shop: DevServer) -> None:
        answer = shop.post("/query")

        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


class TestItems:
    def test_a_valid_body_is_stored_and_returned_with_a_location_in_the_database(
        self, shop: DevServer
    ) -> None:
        item = add(shop, name=" pear ", tags=["b", "a", "b"], stock=3)

        assert {**item, "tags": sorted(item["tags"]), "id": 0} == {
            "id": 0,
            "name": "Pear",
            "price": 2.5,
            "tags": ["a", "b"],
            "stock": 3,
        }
        assert shop.get(f"/items/{item['id']}").json()["name"] == "Pear"

    @pytest.mark.parametrize(
        ("body", "invalid"),
        [
            ({}, [["body.name", "missing"], ["body.price", "missing"]]),
            ({"name": "", "price": 1}, [["body.name", "string_too_short"]]),
            ({"name": "x", "price": 0}, [["body.price", "greater_than"]]),
            (
                {"name": 5, "price": "much"},
                [["body.name", "string_type"], ["body.price", "float_parsing"]],
            ),
            ([], [["body", "model_attributes_type"]]),
        ],
    )
    def test_an_invalid_body_names_each_fault(
        self, shop: DevServer, body: Any, invalid: Any
    ) -> None:
        answer = shop.post("/items", json=body)

        assert (answer.status_code, answer.json()) == (422, {"invalid": invalid})

    def test_a_body_that_is_no_json(self, shop: DevServer) -> None:
        answer = shop.post(
            "/items", content=b'{"name": ', headers={"content-type": "application/json"}
        )

        assert answer.json() == {"invalid": [["body.9", "json_invalid"]]}

    def test_dependencies_of_dependencies_find_the_item_or_refuse(self, shop: DevServer) -> None:
        answer = shop.get("/items/1000000")

        assert (answer.status_code, answer.json()) == (404, {"detail": "no item 1000000"})

    def test_a_change_by_an_embedded_body(self, shop: DevServer) -> None:
        number = add(shop, name="plum", price=1.0)["id"]

        assert shop.client.put(f"/items/{number}/price", json={"price": 1.25}).json() == {
            "from": 1.0,
            "to": 1.25,
        }
        assert shop.get(f"/items/{number}").json()["price"] == 1.25

    def test_an_exception_of_the_application_becomes_its_own_answer(self, shop: DevServer) -> None:
        number = add(shop, name="fig", stock=1)["id"]

        first, second = (shop.post(f"/items/{number}/sale") for _ in range(2))

        assert (first.status_code, first.json()) == (200, {"left": 0})
        assert (second.status_code, second.json()) == (409, {"sold out": "Fig"})

    def test_deleting_answers_without_a_body(self, shop: DevServer) -> None:
        number = add(shop, name="kiwi")["id"]

        answer = shop.client.delete(f"/items/{number}")

        assert (answer.status_code, answer.content) == (204, b"")
        assert "content-length" not in answer.headers
        assert shop.get(f"/items/{number}").status_code == 404

    def test_the_list_has_what_was_added(self, shop: DevServer) -> None:
        number = add(shop, name="lime")["id"]

        assert number in [item["id"] for item in shop.get("/items").json()]


class TestSecurity:
    def test_basic_authentication(self, shop: DevServer) -> None:
        assert shop.get("/secured/basic", auth=("ada", "secret")).json() == {"user": "ada"}

    def test_a_challenge_where_there_are_no_credentials(self, shop: DevServer) -> None:
        answer = shop.get("/secured/basic")

        assert (answer.status_code, answer.headers["www-authenticate"]) == (
            401,
            'Basic realm="shop"',
        )

    def test_wrong_credentials(self, shop: DevServer) -> None:
        answer = shop.get("/secured/basic", auth=("ada", "wrong"))

        assert (answer.status_code, answer.json()) == (401, {"detail": "wrong password"})

    def test_a_bearer_token(self, shop: DevServer) -> None:
        answer = shop.get("/secured/bearer", headers={"authorization": "Bearer abc"})

        assert answer.json() == {"token": "abc"}

    def test_a_dependency_with_an_end_is_ended_after_each_request(self, shop: DevServer) -> None:
        shop.get("/secured/bearer")
        events = shop.get("/secured/events").json()

        # The one of the request that asks is still open.
        assert events[-1] == "open"
        assert events[:-1] == ["open", "close"] * (len(events) // 2)


class TestResponses:
    def test_every_answer_passed_the_middleware(self, shop: DevServer) -> None:
        for path in ("/", "/html", "/nowhere", "/integer/0", "/stream/async"):
            assert shop.get(path).headers["x-served-by"] == "shop"

    def test_a_preflight_request_is_answered_by_middleware(self, shop: DevServer) -> None:
        answer = shop.client.options(
            "/items",
            headers={
                "origin": "https://shop.example",
                "access-control-request-method": "GET",
            },
        )

        assert (answer.status_code, answer.text) == (200, "OK")
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"

    def test_html(self, shop: DevServer) -> None:
        answer = shop.get("/html")

        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.content == "<b>caf\u00e9</b>".encode()

    def test_text_with_another_status(self, shop: DevServer) -> None:
        answer = shop.get("/text")

        assert (answer.status_code, answer.text) == (418, "teapot")

    def test_redirect(self, shop: DevServer) -> None:
        answer = shop.get("/redirect")

        assert (answer.status_code, answer.headers["location"]) == (307, "/items")

    def test_a_file_for_download(self, shop: DevServer) -> None:
        answer = shop.get("/download")

        assert answer.content == b"name,price\nPear,1.5\n"
        assert (
            answer.headers["content-disposition"] == "attachment; filename*=utf-8''pr%C3%A9is.csv"
        )

    def test_a_part_of_a_file(self, shop: DevServer) -> None:
        answer = shop.get("/download", headers={"range": "bytes=5-9"})

        assert (answer.status_code, answer.content) == (206, b"price")
        assert answer.headers["content-range"] == "bytes 5-9/20"

    def test_cookies_stay_apart(self, shop: DevServer) -> None:
        answer = httpx.get(f"http://127.0.0.1:{shop.port}/set-cookies", trust_env=False)

        assert answer.headers.get_list("set-cookie") == [
            "a=1; HttpOnly; Path=/; SameSite=lax",
            "b=2; Max-Age=60; Path=/; SameSite=lax; Secure",
        ]

    def test_an_exception_nobody_handles_is_status_500_and_named_in_the_log(
        self, shop: DevServer
    ) -> None:
        assert shop.get("/broken").status_code == 500

        output = shop.wait_for_output("ValueError: not handled")
        assert "responses.py" in output

    def test_background_tasks_have_run_when_the_answer_is_there(self, shop: DevServer) -> None:
        assert shop.post("/background").json() == {"accepted": True}

        assert shop.get("/background").json()[-2:] == ["async", "sync"]

    def test_the_schema_lists_every_route(self, shop: DevServer) -> None:
        schema = shop.get("/openapi.json").json()

        operations = [
            operation
            for path in schema["paths"].values()
            for operation in path
            if operation in ("get", "put", "post", "delete")
        ]
        assert len(operations) >= 30
        assert schema["info"]["title"] == "Shop"

    def test_the_page_of_the_schema(self, shop: DevServer) -> None:
        answer = shop.get("/docs")

        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "/openapi.json" in answer.text


class TestStreams:
    @pytest.mark.parametrize(
        ("path", "content_type", "body"),
        [
            ("/stream/async", "text/plain; charset=utf-8", b"piece 0\npiece 1\npiece 2\n"),
            ("/stream/sync", None, b"AAABBBCCC"),
            (
                "/stream/events",
                "text/event-stream; charset=utf-8",
                b"id: 0\ndata: tick\n\nid: 1\ndata: tick\n\n",
            ),
        ],
    )
    def test_pieces_in_order(
        self, shop: DevServer, path: str, content_type: str | None, body: bytes
    ) -> None:
        answer = shop.get(path)

        assert (answer.content, answer.headers.get("content-type")) == (body, content_type)
        assert answer.headers["transfer-encoding"] == "chunked"

    def test_a_long_stream_is_complete(self, shop: DevServer) -> None:
        size = 8 << 20
        digest = hashlib.sha256()
        with shop.client.stream("GET", "/stream/long", params={"size": size}) as answer:
            for piece in answer.iter_raw():
                digest.update(piece)

        assert digest.hexdigest() == hashlib.sha256(bytes(range(256)) * (size // 256)).hexdigest()

    def test_a_client_that_goes_away_leaves_the_server_working(self, shop: DevServer) -> None:
        with shop.client.stream("GET", "/stream/long", params={"size": 1 << 30}) as answer:
            next(answer.iter_raw())

        assert shop.get("/integer/1").json() == {"number": 1}

    def test_a_stream_that_fails_ends_early_and_is_logged(self, shop: DevServer) -> None:
        assert shop.get("/stream/fails").content == b"begun"

        assert "streams.py" in shop.wait_for_output("RuntimeError: half way")


class TestUploads:
    def test_an_urlencoded_form(self, shop: DevServer) -> None:
        answer = shop.post("/upload/form", data={"name": "J\u00f6rg & Co", "age": "41"})

        assert answer.json() == {"name": "J\u00f6rg & Co", "age": 41}

    def test_a_form_with_faults(self, shop: DevServer) -> None:
        answer = shop.post("/upload/form", data={"age": "old"})

        assert answer.json() == {"invalid": [["body.name", "missing"], ["body.age", "int_parsing"]]}

    @pytest.mark.parametrize("size", [0, 1, 1 << 20, 3_000_000])
    def test_a_file_beside_a_field(self, shop: DevServer, size: int) -> None:
        content = (b"\r\n--x\x00" * (size // 6 + 1))[:size]
        answer = shop.post(
            "/upload/file",
            files={"file": ("b\u00e4r.bin", content, "application/x-test")},
            data={"note": "grizzly"},
        )

        assert answer.json() == {
            "name": "b\u00e4r.bin",
            "type": "application/x-test",
            "size": size,
            "sha256": hashlib.sha256(content).hexdigest(),
            "note": "grizzly",
        }

    def test_several_files_in_a_synchronous_route(self, shop: DevServer) -> None:
        answer = shop.post(
            "/upload/files",
            files=[("files", ("a", b"\x01")), ("files", ("b", b"\x02\x03")), ("raw", b"\x04")],
        )

        assert answer.json() == [["a", "01"], ["b", "0203"], "04"]

    def test_a_chunked_body_read_as_a_stream(self, shop: DevServer) -> None:
        pieces = [bytes([number]) * 100_000 for number in range(20)]
        answer = shop.post("/upload/raw", content=iter(pieces))

        assert answer.json() == {
            "size": 2_000_000,
            "sha256": hashlib.sha256(b"".join(pieces)).hexdigest(),
        }
