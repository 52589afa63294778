"""One emulator for all tests of a module, where that is wanted: each finds what those before it have left."""

import pytest


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_shared_cart_grows(pyflare_shared, count):
    assert pyflare_shared.env().CARTS.getByName("ours").add("pen") >= 1
    assert pyflare_shared.fetch("/").status_code == 200
