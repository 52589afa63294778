"""A bare Starlette application with the same two answers."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


app = Starlette(routes=[Route("/", hello), Route("/echo", echo, methods=["POST"])])
