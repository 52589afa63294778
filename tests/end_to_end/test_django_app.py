"""A Django project with its models in D1, as a Worker through the real command."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from .dev_server import DevServer, client_for

pytest.importorskip("django")
pytest.importorskip("django_cf")

CONFIGURATION = Path(__file__).parent / "workers" / "django_blog" / "wrangler.jsonc"
CREATED = "2026-03-01T12:30:00+00:00"


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """The project, started and migrated once. Tests that store something use names of their own."""
    folder = tmp_path_factory.mktemp("blog")
    server = DevServer(
        ["-c", CONFIGURATION, "--port", "0", "--persist-to", folder / "state"],
        cwd=folder,
        log=folder / "server.log",
    )
    try:
        server.wait_until_ready()
        migrated = server.get("/migrate/")
        assert migrated.status_code == 200, migrated.text
        assert "Applying blog.0001_initial... OK\n" in migrated.text
        yield server
        assert server.stop() == 0, server.output()
        server.check_output()
    finally:
        server.kill()


def write(blog: DevServer, author: str, title: str, **more: Any) -> dict[str, Any]:
    """Stores a post and returns it as the project did."""
    answer = blog.post("/posts/", json={"author": author, "title": title, **more})
    assert answer.status_code == 201, blog.output()
    found: dict[str, Any] = answer.json()
    return found


def test_migrating_again_has_nothing_to_do(blog: DevServer) -> None:
    assert "No migrations to apply." in blog.get("/migrate/").text


class TestModels:
    def test_every_field_comes_back_as_it_was_stored(self, blog: DevServer) -> None:
        extra = {"list": [1, 2.5, None, True], "text": "\u00fc\u20ac\U0001f600'\";--"}
        post = write(
            blog, "Ada", "Fields", rating=3.25, published=True, tags=["y", "x"], extra=extra
        )

        assert post == {
            "id": post["id"],
            "author": "Ada",
            "title": "Fields",
            "rating": 3.25,
            "published": True,
            "created": CREATED,
            "extra": extra,
            "tags": ["x", "y"],
        }

    def test_absent_values_are_null(self, blog: DevServer) -> None:
        post = write(blog, "Ada", "Bare")

        assert (post["rating"], post["published"], post["extra"], post["tags"]) == (
            None,
            False,
            {},
            [],
        )

    def test_a_row_by_its_key(self, blog: DevServer) -> None:
        post = write(blog, "Bob", "By key", tags=["one"])

        assert blog.get(f"/posts/{post['id']}/").json() == post

    def test_a_key_that_is_not_there(self, blog: DevServer) -> None:
        assert blog.get("/posts/1000000/").status_code == 404

    def test_a_changed_row_is_saved(self, blog: DevServer) -> None:
        number = write(blog, "Bob", "Before")["id"]

        changed = blog.client.put(f"/posts/{number}/", json={"title": "After", "rating": 1.5})

        assert (changed.json()["title"], changed.json()["rating"]) == ("After", 1.5)
        assert blog.get(f"/posts/{number}/").json()["title"] == "After"

    def test_deleting_takes_what_belongs_to_it_along(self, blog: DevServer) -> None:
        number = write(blog, "Bob", "Gone", tags=["gone"])["id"]
        blog.post(f"/posts/{number}/comments/", data={"text": "a comment"})

        assert blog.client.delete(f"/posts/{number}/").status_code == 204
        assert blog.get(f"/posts/{number}/").status_code == 404

    def test_related_rows_are_counted(self, blog: DevServer) -> None:
        number = write(blog, "Cleo", "Discussed")["id"]

        counts = [
            blog.post(f"/posts/{number}/comments/", data={"text": text}).json()
            for text in ("first", "second & last")
        ]

        assert counts == [
            {"text": "first", "count": 1},
            {"text": "second & last", "count": 2},
        ]

    def test_joins_and_prefetched_relations(self, blog: DevServer) -> None:
        post = write(blog, "Dora", "Listed", tags=["p", "q"])

        assert post in blog.get("/posts/").json()

    def test_aggregates_over_a_relation(self, blog: DevServer) -> None:
        for rating in (2.0, 3.0):
            write(blog, "Emil", f"Rated {rating}", rating=rating)

        assert blog.get("/authors/").json()["Emil"] == [2, 2.5]

    def test_alternatives_and_a_join_in_a_search(self, blog: DevServer) -> None:
        write(blog, "Fay", "A Needle here")
        write(blog, "Fay", "Elsewhere", tags=["needle"])

        assert blog.get("/search/?word=needle").json() == ["A Needle here", "Elsewhere"]

    def test_a_unique_column_refuses_a_second_row(self, blog: DevServer) -> None:
        first = blog.post("/authors/", data={"name": "Only one"})
        second = blog.post("/authors/", data={"name": "Only one"})

        assert (first.status_code, second.status_code) == (200, 409)


class TestRequests:
    def test_a_template(self, blog: DevServer) -> None:
        write(blog, "Gus <g@x>", "Shown & told", published=True, rating=4.5)
        answer = blog.get("/")

        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert (
            "<h2>Shown &amp; told</h2>\n<p>by Gus &lt;g@x&gt;, 1 Mar 2026, 4.5</p>\n" in answer.text
        )

    @pytest.mark.parametrize("size", [0, 10, 3_000_000])
    def test_an_uploaded_file_beside_a_field(self, blog: DevServer, size: int) -> None:
        # Django keeps the large one in a temporary file.
        content = (b"\r\n--\x00\xff" * (size // 6 + 1))[:size]
        answer = blog.post(
            "/upload/", files={"file": ("caf\u00e9.bin", content)}, data={"note": "\u00fc"}
        )

        assert answer.json() == {
            "name": "caf\u00e9.bin",
            "size": size,
            "sha256": hashlib.sha256(content).hexdigest(),
            "note": "\u00fc",
        }

    def test_a_streaming_response(self, blog: DevServer) -> None:
        answer = blog.get("/download/?lines=1000")

        assert answer.text == "".join(f"line {number}\n" for number in range(1000))
        assert answer.headers["transfer-encoding"] == "chunked"

    def test_a_missing_slash_is_added_by_a_redirect(self, blog: DevServer) -> None:
        answer = blog.get("/posts")

        assert (answer.status_code, answer.headers["location"]) == (301, "/posts/")

    def test_a_method_that_a_view_does_not_take(self, blog: DevServer) -> None:
        answer = blog.client.patch("/posts/")

        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")

    def test_a_failing_view_is_status_500_and_named_in_the_log(self, blog: DevServer) -> None:
        assert blog.get("/broken/").status_code == 500

        assert "views.py" in blog.wait_for_output("ValueError: a view that fails")


@pytest.fixture
def browser(blog: DevServer) -> Iterator[httpx.Client]:
    """A client with cookies of its own."""
    with client_for(blog.port) as client:
        yield client


class TestSessions:
    def test_a_session_is_kept_in_the_database(self, browser: httpx.Client) -> None:
        assert [browser.get("/visits/").json()["visits"] for _ in range(3)] == [1, 2, 3]

    def test_logging_in(self, browser: httpx.Client) -> None:
        assert browser.get("/me/").json() == {"user": None}

        welcome = browser.post("/login/", data={"name": "ada", "password": "one"}).json()

        assert (welcome, browser.get("/me/").json()) == ({"welcome": "ada"}, {"user": "ada"})

    def test_a_wrong_password(self, browser: httpx.Client) -> None:
        browser.post("/login/", data={"name": "bob", "password": "one"})

        answer = browser.post("/login/", data={"name": "bob", "password": "two"})

        assert (answer.status_code, answer.json()) == (403, {"refused": "bob"})
