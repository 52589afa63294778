from pathlib import Path

import pytest

from pyflare.testing import apply_d1_migrations, read_d1_migrations

MIGRATIONS = read_d1_migrations(Path(__file__).parents[1] / "shop" / "migrations")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def shop(pyflare):
    """The shop with its tables, for tests without ``await``."""
    pyflare.run(apply_d1_migrations, pyflare.env("shop").DB, MIGRATIONS)
    return pyflare


@pytest.fixture
def order(shop):
    """Orders an item; gives its number."""

    def place(item="pen"):
        return shop.fetch("/orders", json={"item": item}).json()["id"]

    return place
