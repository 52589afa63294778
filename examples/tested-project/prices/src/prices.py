from workers import Response, WorkerEntrypoint

PRICES = {"pen": 2, "book": 12}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("prices")

    async def of(self, item):
        if item not in PRICES:
            raise LookupError(f"nobody sells a {item}")
        return PRICES[item]
