import pytest

many = pytest.mark.parametrize("number", range(60))


@many
def test_without(number):
    pass


@many
def test_idle(pyflare, number):
    pass


@many
def test_used(pyflare, number):
    env = pyflare.env()
    env.DB.prepare("CREATE TABLE t (v)").run()
    env.KV.put("k", "v")
    assert env.COUNTER.getByName("a").add() == 1
