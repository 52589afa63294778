from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "POST":
            return Response.json(await request.json())
        return Response("Hello, World!")
