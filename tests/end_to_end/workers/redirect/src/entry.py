import js
from workers import Response, WorkerEntrypoint

MOVED = {
    "/old": "https://example.com/new?a=1#top",
    "/caf%C3%A9": "https://example.com/\u00e9 \u00fc",
}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = js.URL.new(request.url)
        if url.pathname in MOVED:
            return Response.redirect(MOVED[url.pathname], 301)
        if url.pathname == "/found":
            return Response.redirect("https://example.com/")
        if url.pathname == "/bad":
            try:
                return Response.redirect("https://example.com/", 200)
            except ValueError as error:
                return Response(str(error), status=400)
        url.hostname = "www.example.com"
        url.port = ""
        url.searchParams.set("from", url.pathname)
        url.pathname = "/search"
        return Response(None, status=308, headers={"Location": url.href})
