"""Applications of other frameworks with pyflare mounted in them; a server imports this module.

`PYFLARE_TEST_CONFIG` names the configuration, `PYFLARE_TEST_STATE` the directory for state.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from pyflare import Pyflare


def _flare(name: str) -> Pyflare:
    state = os.environ["PYFLARE_TEST_STATE"]
    return Pyflare(os.environ["PYFLARE_TEST_CONFIG"], persist_to=os.path.join(state, name))


def plain() -> Pyflare:
    """Nothing around it."""
    return _flare("one")


def fastapi() -> FastAPI:
    """FastAPI with its own lifespan, which starts two instances."""
    first, second = _flare("one"), _flare("two")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with first.lifespan(), second.lifespan():
            print("host: started", flush=True)
            yield
            print("host: stopping", flush=True)
        print("host: stopped", flush=True)

    app = FastAPI(lifespan=lifespan)

    @app.get("/")
    def home() -> dict[str, str]:
        return {"host": "fastapi"}

    app.mount("/edge", first)
    app.mount("/second", second)
    return app


def without_lifespan() -> Starlette:
    """Starlette tells what is mounted in it nothing of its own start and end."""

    async def home(_: Any) -> PlainTextResponse:
        return PlainTextResponse("home")

    return Starlette(routes=[Route("/", home), Mount("/edge", app=_flare("one"))])


def django() -> Any:
    """Django cannot mount ASGI applications, and raises at a lifespan event."""
    import django
    from django.conf import settings
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def home(_: HttpRequest) -> HttpResponse:
        return HttpResponse("django")

    urls = type("Urls", (), {"urlpatterns": (path("", home),)})
    settings.configure(DEBUG=False, SECRET_KEY="s", ALLOWED_HOSTS=["*"], ROOT_URLCONF=urls)
    django.setup()
    from django.core.asgi import get_asgi_application

    return _flare("one").mount("/edge", get_asgi_application())
