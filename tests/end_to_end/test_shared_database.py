"""Two Workers that bind one database, in one process: nobody ever sees a lock error."""

from concurrent.futures import ThreadPoolExecutor

from .conftest import Serve
from .dev_server import DevServer
from .projects import EXAMPLES

CONFIGURATIONS = tuple(
    EXAMPLES / "shared-database" / name / "wrangler.jsonc" for name in ("people", "publisher")
)
ROUNDS = 20


def post(server: DevServer, worker: str, path: str) -> dict[str, object]:
    answer = server.post(path, headers={"host": f"{worker}.localhost"})
    assert answer.status_code == 200, answer.text
    content: dict[str, object] = answer.json()
    return content


def test_twenty_rounds_of_concurrent_writes_batches_and_scans_lose_nothing(serve: Serve) -> None:
    server = serve(*CONFIGURATIONS)

    def batches_and_scans(number: int) -> dict[str, object]:
        written = post(server, "people", f"/batch?round={number}")
        scanned = server.get("/scan", headers={"host": "publisher.localhost"})
        assert scanned.status_code == 200, scanned.text
        return written

    with ThreadPoolExecutor(3) as clients:
        for number in range(ROUNDS):
            people = clients.submit(post, server, "people", f"/write?round={number}")
            publisher = clients.submit(post, server, "publisher", f"/write?round={number}")
            third = clients.submit(batches_and_scans, number)
            assert people.result() == {"written": 200, "errors": []}
            assert publisher.result() == {"written": 200, "errors": []}
            assert third.result() == {"written": 500, "errors": []}

    counted = {"people": 4000, "publisher": 4000, "people-batch": 10_000}
    for worker in ("people", "publisher"):
        assert server.get("/count", headers={"host": f"{worker}.localhost"}).json() == counted


def test_the_first_configuration_answers_for_hosts_nobody_claims(serve: Serve) -> None:
    server = serve(*CONFIGURATIONS)
    server.post("/write?round=0")

    assert server.get("/count").json() == {"people": 200}
