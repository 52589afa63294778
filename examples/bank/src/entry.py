from urllib.parse import parse_qs, urlsplit

from account import Account
from workers import Response, WorkerEntrypoint

__all__ = ["Account", "Default"]


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        address = urlsplit(request.url)
        given = {name: values[0] for name, values in parse_qs(address.query).items()}
        match request.method, address.path.split("/"):
            case "POST", ["", "accounts", name]:
                await self.env.ACCOUNTS.getByName(name).open(int(given["cents"]))
                return Response("opened\n")
            case "GET", ["", "accounts", name]:
                return Response.json({"cents": await self.env.ACCOUNTS.getByName(name).balance()})
            case "POST", ["", "settle", name]:
                await self.env.ACCOUNTS.getByName(name).settle()
                return Response("settled\n")
        return Response("POST or GET /accounts/<name>, POST /settle/<name>\n", status=404)
