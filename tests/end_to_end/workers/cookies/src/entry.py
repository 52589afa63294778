from http.cookies import SimpleCookie
from urllib.parse import urlparse

from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        seen = SimpleCookie(request.headers.get("cookie", ""))
        match urlparse(request.url).path:
            case "/login":
                session = SimpleCookie()
                session["session"] = "a b,c"
                session["session"]["httponly"] = True
                session["session"]["path"] = "/"
                session["theme"] = "dark"
                session["theme"]["max-age"] = 60
                cookies = [("Set-Cookie", each.OutputString()) for each in session.values()]
                return Response("welcome", headers=[("X-Before", "1"), *cookies, ("X-After", "2")])
            case "/logout":
                response = Response(None, status=303, headers={"Location": "/"})
                response.js_object.headers.append("Set-Cookie", "session=; Max-Age=0")
                response.js_object.headers.append("Set-Cookie", "theme=; Max-Age=0")
                return response
        return Response.json({name: each.value for name, each in seen.items()})
