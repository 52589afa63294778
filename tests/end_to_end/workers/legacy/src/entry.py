from js import Headers, Response


async def on_fetch(request, env):
    headers = Headers.new({"X-Greeting": "from a module"}.items())
    return Response.new(f"{request.method} {env.GREETING}", headers=headers)
