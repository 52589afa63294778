"""One FastAPI application for both sides: bare uvicorn serves it, and a worker carries it through `asgi.fetch`."""

from fastapi import FastAPI
from pydantic import BaseModel


class Item(BaseModel):
    """What the route answers."""

    number: int
    word: str
    tags: list[str]


app = FastAPI()


@app.get("/items/{number}")
async def item(number: int, word: str = "none") -> Item:
    """A route with a path and a query parameter and a validated answer."""
    return Item(number=number, word=word, tags=["a", "b"])


@app.get("/")
async def root() -> dict[str, str]:
    """For whoever waits until the server answers."""
    return {"hello": "world"}
