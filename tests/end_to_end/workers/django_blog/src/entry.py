"""A Django project whose models live in D1."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
# Handlers run on the event loop; the database waits by run_sync, so the guard against blocking it is off.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

from django.core.wsgi import get_wsgi_application
from workers import WorkerEntrypoint, wsgi

application = get_wsgi_application()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await wsgi.fetch(application, request, self.env, self.ctx)
