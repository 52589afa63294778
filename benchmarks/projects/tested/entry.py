from workers import DurableObject, Response, WorkerEntrypoint


class Counter(DurableObject):
    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
