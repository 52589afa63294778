"""Two Django projects with one settings module name in one process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.workers.standard_library import install, uninstall

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

ENTRY = """
import io
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
import django
django.setup()
from django.core.handlers.wsgi import WSGIHandler

application = WSGIHandler()

def get(path):
    started = []
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "localhost",
        "SERVER_PORT": "80", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http",
    }
    body = b"".join(application(environ, lambda status, headers: started.append(status)))
    return started[0], body.decode()
"""

SETTINGS = """
NAME = {name!r}
SECRET_KEY = "not a secret"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "project.urls"
INSTALLED_APPS = ["shop"]
DATABASES = {{}}
USE_TZ = True
"""

URLS = """
from django.urls import path
from shop.views import show
urlpatterns = [path("", show)]
"""

VIEWS = """
import asyncio
from django.apps import apps
from django.conf import settings
from django.http import HttpResponse
from pyflare.workers.suspend import run_sync

def show(request):
    run_sync(asyncio.sleep(0))
    from shop.labels import LABEL
    return HttpResponse(f"{settings.NAME} {apps.get_app_config('shop').path[-9:-5]} {LABEL}")
"""


def test_each_project_has_its_own_settings_apps_and_urls(workers: Any) -> None:
    pytest.importorskip("django")
    install()
    try:
        scopes = [
            workers.start(
                name,
                {
                    "entry.py": ENTRY,
                    "project/__init__.py": "",
                    "project/settings.py": SETTINGS.format(name=name),
                    "project/urls.py": URLS,
                    "shop/__init__.py": "",
                    "shop/views.py": VIEWS,
                    "shop/labels.py": f"LABEL = 'label of {name}'\n",
                },
            )
            for name in ("left", "rite")
        ]

        async def main() -> list[Any]:
            return await asyncio.gather(*(workers.event(scope, "get", "/") for scope in scopes * 5))

        answers = workers.run(main())
    finally:
        uninstall()
    assert (
        answers
        == [
            ("200 OK", "left left label of left"),
            ("200 OK", "rite rite label of rite"),
        ]
        * 5
    )
