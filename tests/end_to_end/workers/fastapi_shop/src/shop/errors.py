"""Exception handlers and middleware."""

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse


class OutOfStock(Exception):
    def __init__(self, name):
        self.name = name


def install(app):
    @app.exception_handler(OutOfStock)
    async def out_of_stock(request: Request, error: OutOfStock):
        return JSONResponse({"sold out": error.name}, status_code=409)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError):
        found = [[".".join(map(str, each["loc"])), each["type"]] for each in error.errors()]
        return JSONResponse({"invalid": found}, status_code=422)

    @app.middleware("http")
    async def mark(request: Request, call_next):
        response = await call_next(request)
        response.headers["x-served-by"] = "shop"
        return response

    app.add_middleware(CORSMiddleware, allow_origins=["https://shop.example"])
