"""Pages come from public/; this answers what is no file there, and notes the time once a minute."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if urlsplit(request.url).path == "/api/last-run":
            return Response.json({"lastRun": await self.env.KV.get("last-run")})
        # What is neither a file nor an address of ours: the page for missing files.
        return await self.env.ASSETS.fetch(request)

    async def scheduled(self, controller, env, ctx):
        at = datetime.fromtimestamp(controller.scheduledTime / 1000, UTC)
        await self.env.KV.put("last-run", f"{controller.cron} at {at:%H:%M} UTC")
