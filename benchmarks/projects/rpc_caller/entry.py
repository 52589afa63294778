from time import perf_counter

from workers import WorkerEntrypoint

ORDER = {"id": 7, "name": "seven", "tags": ["a", "b"], "paid": True, "note": None}


class Default(WorkerEntrypoint):
    """Every method gives the seconds that `count` calls took."""

    async def numbers(self, count):
        add = self.env.CALLEE.add
        started = perf_counter()
        for number in range(count):
            await add(number, 2)
        return perf_counter() - started

    async def order(self, count):
        echo = self.env.CALLEE.echo
        started = perf_counter()
        for _ in range(count):
            await echo(ORDER)
        return perf_counter() - started

    async def object(self, count):
        add = self.env.OBJECT.getByName("one").add
        await add(1, 2)
        started = perf_counter()
        for number in range(count):
            await add(number, 2)
        return perf_counter() - started

    async def fetch_many(self, count):
        fetch = self.env.CALLEE.fetch
        started = perf_counter()
        for _ in range(count):
            answer = await fetch("http://callee/")
            if answer.status != 200:
                raise RuntimeError(answer.status)
        return perf_counter() - started
