from importlib import resources
from pathlib import Path
from urllib.parse import urlparse

import parts
from workers import Response, WorkerEntrypoint

HERE = Path(__file__).parent
AT_IMPORT = (HERE / "greeting.txt").read_text(encoding="utf-8")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match urlparse(request.url).path:
            case "/":
                page = (HERE / "index.html").read_bytes()
                return Response(page, headers={"Content-Type": "text/html; charset=utf-8"})
            case "/greeting":
                return Response(AT_IMPORT)
            case "/data":
                return Response((Path(parts.__file__).parent / "table.bin").read_bytes())
            case "/resource":
                return Response(resources.files(parts).joinpath("note.txt").read_text())
            case "/open":
                with open(HERE / "greeting.txt", encoding="utf-8") as file:
                    return Response.json([line.strip() for line in file])
        return Response("not found", status=404)
