"""The fixtures in tests without ``await``: threads, and bodies in parts."""

from __future__ import annotations

from .conftest import Project


def test_a_call_in_another_thread_says_where_pyflare_belongs_and_harms_nothing(
    project: Project,
) -> None:
    outcome = project.run(
        """
        from concurrent.futures import ThreadPoolExecutor
        import pytest

        CALLS = [
            lambda flare: flare.fetch("/"),
            lambda flare: flare.env().KV.get("k"),
            lambda flare: flare.clock.advance(1),
            lambda flare: flare.run(flare.flare.settle),
            lambda flare: flare.websocket("/echo").__enter__(),
        ]

        @pytest.mark.parametrize("call", CALLS)
        def test_threads(pyflare, call):
            assert pyflare.fetch("/").text == "none"
            with ThreadPoolExecutor(4, "mine") as pool:
                for each in [pool.submit(call, pyflare) for _ in range(8)]:
                    with pytest.raises(RuntimeError, match="called in the thread 'mine_.*thread of the test"):
                        each.result()
            assert pyflare.fetch("/").text == "none"
        """
    )
    assert outcome.counts == {"passed": 5}, outcome.text


def test_a_streamed_body_is_read_whole_in_parts_or_given_up(project: Project) -> None:
    outcome = project.run(
        """
        def test_read(pyflare):
            response = pyflare.fetch("/", stream=True)
            assert not response.is_closed
            assert response.read() == b"none"
            assert response.is_closed

        def test_parts(pyflare):
            assert b"".join(pyflare.fetch("/", stream=True).iter_bytes()) == b"none"

        def test_given_up(pyflare):
            response = pyflare.fetch("/", stream=True)
            response.close()
            assert response.is_closed
            assert pyflare.fetch("/").text == "none"
        """
    )
    assert outcome.counts == {"passed": 3}, outcome.text
