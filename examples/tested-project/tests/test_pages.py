"""Requests, variables, redirects, cookies: no await needed."""

import pytest


def test_the_front_page_names_the_currency(pyflare):
    assert pyflare.fetch("/").text == "a shop in EUR"


@pytest.mark.pyflare(vars={"CURRENCY": "CHF"})
def test_a_variable_can_be_another_for_one_test(pyflare):
    assert pyflare.fetch("/").text == "a shop in CHF"


@pytest.mark.parametrize("path", ["/nothing", "/orders", "/pictures", "/cart/a/b"])
def test_an_unknown_page_is_404(pyflare, path):
    assert pyflare.fetch(path).status_code == 404


def test_a_login_redirects_and_is_remembered(pyflare):
    response = pyflare.fetch("/login?name=ann", method="POST")
    assert (response.status_code, response.headers["location"]) == (303, "/me")
    cookie = response.headers["set-cookie"].partition(";")[0]
    assert pyflare.fetch("/me", headers={"Cookie": cookie}).text == "hello ann"


def test_without_a_login_nobody_is_known(pyflare):
    assert pyflare.fetch("/me").status_code == 401


def test_an_exception_of_the_worker_is_raised_in_the_test(pyflare):
    with pytest.raises(KeyError, match="missing"):
        pyflare.fetch("/breaks")


def test_clients_get_a_500(pyflare):
    assert pyflare.fetch("/breaks", raise_failures=False).status_code == 500


def test_a_request_to_the_other_worker(pyflare):
    assert pyflare.worker("prices").fetch("/").text == "prices"


def test_what_was_logged_is_kept(pyflare, pyflare_logs):
    pyflare.fetch("/visit")
    assert pyflare_logs.texts == ["a visit"]
    assert [line.status for line in pyflare_logs.requests] == [200]


def test_a_stand_in_takes_the_place_of_a_binding(pyflare_options, request):
    written = []

    class Visits:
        def writeDataPoint(self, point):  # noqa: N802
            written.append(point)

    request.node.add_marker(pytest.mark.pyflare(bindings={"VISITS": Visits()}))
    request.getfixturevalue("pyflare").fetch("/visit")
    assert len(written) == 1
