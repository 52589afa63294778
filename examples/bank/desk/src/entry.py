from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    """The accounts are defined in another Worker; this one only makes transfers."""

    async def fetch(self, request):
        given = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
        payer = self.env.ACCOUNTS.getByName(given["from"])
        done = await payer.transfer(given["id"], given["to"], int(given["cents"]))
        return Response("done\n" if done else "not enough\n", status=200 if done else 409)
