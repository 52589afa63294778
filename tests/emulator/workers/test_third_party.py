"""Installed packages that would use threads run their work inline inside a worker."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.workers.current import WorkerScope
from pyflare.workers.standard_library import install, uninstall

ANYIO = """
import asyncio, threading
import anyio.to_thread
from pyflare.workers.suspend import run_sync

def blocking(value):
    run_sync(asyncio.sleep(0))
    return value, threading.get_ident()

async def inline():
    return await anyio.to_thread.run_sync(blocking, 1, abandon_on_cancel=True)
"""

ASGIREF = """
import asyncio, threading
from asgiref.sync import sync_to_async
from pyflare.workers.suspend import run_sync

def blocking(value):
    run_sync(asyncio.sleep(0))
    return value, threading.get_ident()

async def inline():
    return await sync_to_async(blocking)(1)
"""


@pytest.fixture
def adapted() -> Iterator[None]:
    install()
    yield
    uninstall()


@pytest.fixture(params=["loaded before", "loaded by the worker"])
def anyio_state(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anyio")
    import anyio.to_thread

    if request.param == "loaded by the worker":
        monkeypatch.setattr(anyio, "to_thread", anyio.to_thread)
        monkeypatch.delitem(sys.modules, "anyio.to_thread")


def test_anyio_runs_a_workers_function_inline(
    anyio_state: None, adapted: None, workers: Any
) -> None:
    scope: WorkerScope = workers.start("worker", {"entry.py": ANYIO})

    assert workers.call(scope, "inline") == (1, threading.get_ident())


def test_anyio_uses_threads_for_everybody_else(adapted: None) -> None:
    to_thread = pytest.importorskip("anyio.to_thread")

    assert asyncio.run(to_thread.run_sync(threading.get_ident)) != threading.get_ident()


def test_anyio_is_as_before_afterwards() -> None:
    to_thread = pytest.importorskip("anyio.to_thread")
    before = to_thread.run_sync

    install()
    during = to_thread.run_sync
    uninstall()

    assert during is not before
    assert to_thread.run_sync is before


def test_asgiref_runs_a_workers_function_inline(adapted: None, workers: Any) -> None:
    pytest.importorskip("asgiref")
    scope: WorkerScope = workers.start("worker", {"entry.py": ASGIREF})

    assert workers.call(scope, "inline") == (1, threading.get_ident())


def test_a_plain_route_of_fastapi_runs_inline_and_may_wait(adapted: None, workers: Any) -> None:
    pytest.importorskip("fastapi")
    entry = """
        import asyncio, threading
        from fastapi import FastAPI
        from pyflare.workers.suspend import run_sync

        app = FastAPI()

        @app.get("/thread")
        def thread():
            run_sync(asyncio.sleep(0))
            return threading.get_ident()

        async def request():
            sent = []
            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}
            async def send(message):
                sent.append(message)
            await app(
                {
                    "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
                    "method": "GET", "path": "/thread", "raw_path": b"/thread", "root_path": "",
                    "query_string": b"", "scheme": "http", "headers": [],
                    "server": ("localhost", 80), "client": ("localhost", 1),
                },
                receive,
                send,
            )
            return b"".join(message.get("body", b"") for message in sent)
        """
    scope = workers.start("worker", {"entry.py": entry})

    assert workers.call(scope, "request") == str(threading.get_ident()).encode()
