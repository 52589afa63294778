"""The example with files, an API and a cron trigger does what its README says."""

from .conftest import Serve
from .projects import EXAMPLES


def test_the_website(serve: Serve) -> None:
    server = serve(EXAMPLES / "website" / "wrangler.jsonc", arguments=("--no-cron",))

    assert "A website" in server.get("/").text
    assert server.get("/api/last-run").json() == {"lastRun": None}
    path = "/cdn-cgi/handler/scheduled?cron=by+hand&time=1767225600000"
    assert server.get(path).text == "ok"
    assert server.get("/api/last-run").json() == {"lastRun": "by hand at 00:00 UTC"}
    style = server.get("/style.css").headers
    assert style["cache-control"] == "public, max-age=3600"
    assert style["x-content-type-options"] == "nosniff"
    assert server.get("/home").headers["location"] == "/"
    assert server.get("/blog/first").headers["location"] == "https://blog.example.com/first"
    missing = server.get("/nothing/here")
    assert (missing.status_code, "no such page" in missing.text) == (404, True)
