"""Django's own ASGI handler in a Worker: ordinary views, which want threads, run at once on the loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker

pytest.importorskip("django")

SETTINGS = """
    SECRET_KEY = "secret"
    ALLOWED_HOSTS = ["*"]
    ROOT_URLCONF = "views"
    MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
"""
VIEWS = """
    import threading

    from asgiref.sync import sync_to_async
    from django.http import HttpResponse, StreamingHttpResponse
    from django.urls import path
    from pyodide.ffi import run_sync
    from workers import env

    HERE = threading.get_ident()


    def plain(request):
        run_sync(env.KV.put("a", "b"))
        return HttpResponse(f"{run_sync(env.KV.get('a'))} {threading.get_ident() == HERE}")


    async def asynchronous(request):
        await env.KV.put("a", "c")
        here = [await sync_to_async(threading.get_ident, thread_sensitive=sensitive)() == HERE
                for sensitive in (True, False)]
        return HttpResponse(f"{await env.KV.get('a')} {here}")


    def streaming(request):
        return StreamingHttpResponse(
            str(run_sync(env.KV.get("a"))) + str(threading.get_ident() == HERE) for _ in range(2)
        )


    def failing(request):
        raise LookupError("in a view")


    urlpatterns = [path(view.__name__, view) for view in (plain, asynchronous, streaming, failing)]
"""
ENTRY = """
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")

    import asgi
    from django.core.asgi import get_asgi_application

    Default = asgi.entrypoint(get_asgi_application())
"""


def ask(run: Runner, folder: Path, *paths: str) -> list[Any]:
    path = write_worker(
        folder,
        {"src/entry.py": ENTRY, "src/settings.py": SETTINGS, "src/views.py": VIEWS},
        kv_namespaces=[{"binding": "KV", "id": "1"}],
    )

    async def program(flare: Any) -> Any:
        answers = await asyncio.gather(*(request(flare, f"/{each}") for each in paths))
        flare.log.flush()
        return answers

    answers: list[Any] = run(program, path)
    return answers


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("plain", "b True"),
        ("asynchronous", "c [True, True]"),
        ("streaming", "NoneTrueNoneTrue"),
    ],
)
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning")
def test_views_reach_their_bindings(run: Runner, tmp_path: Path, view: str, expected: str) -> None:
    (answer,) = ask(run, tmp_path, view)

    assert answer.text == expected
    assert run.err.text == ""


def test_a_failing_view_is_answered_by_django(run: Runner, tmp_path: Path) -> None:
    (answer,) = ask(run, tmp_path, "failing")

    assert answer.status == 500
    assert "Server Error (500)" in answer.text


def test_many_requests_at_a_time(run: Runner, tmp_path: Path) -> None:
    answers = ask(run, tmp_path, *(["plain", "asynchronous"] * 5))

    assert {answer.status for answer in answers} == {200}
