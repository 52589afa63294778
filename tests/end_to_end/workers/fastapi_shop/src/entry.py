"""A shop: every kind of route that FastAPI has, over one D1 database."""

import asgi
from fastapi import FastAPI
from shop import errors, items, lifespan, plain, responses, secured, streams, uploads
from workers import WorkerEntrypoint

app = FastAPI(title="Shop", lifespan=lifespan.lifespan)
errors.install(app)
for module in (plain, items, secured, responses, streams, uploads):
    app.include_router(module.router)
app.mount("/mounted", plain.mounted)


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await asgi.fetch(app, request, self.env, self.ctx)
