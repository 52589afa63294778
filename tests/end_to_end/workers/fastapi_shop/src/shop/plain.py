"""Paths, queries, headers and cookies."""

import datetime as dt
import enum
import uuid
from typing import Annotated

from fastapi import APIRouter, Cookie, FastAPI, Header, Path, Query, Request

router = APIRouter()
mounted = FastAPI()


class Size(enum.StrEnum):
    small = "S"
    large = "L"


@router.get("/")
async def root(request: Request):
    return {"currency": request.scope["env"].CURRENCY, "opened": request.state.opened}


@router.get("/sync")
def synchronous(request: Request):
    from pyodide.ffi import run_sync

    row = run_sync(request.scope["env"].DB.prepare("SELECT 7 AS seven").first())
    return {"seven": row["seven"]}


@router.get("/integer/{number}")
async def integer(number: Annotated[int, Path(ge=1, le=100)]):
    return {"number": number}


@router.get("/size/{size}")
async def size(size: Size):
    return {"size": size.name}


@router.get("/identifier/{identifier}")
async def identifier(identifier: uuid.UUID):
    return {"version": identifier.version}


@router.get("/day/{day}")
async def day(day: dt.date):
    return {"weekday": day.isoweekday(), "after": day + dt.timedelta(days=1)}


@router.get("/file/{path:path}")
async def file(path: str):
    return {"path": path}


@router.get("/query")
async def query(
    word: Annotated[str, Query(min_length=2, pattern="^[a-z]+$")],
    tag: Annotated[list[str], Query()] = [],  # noqa: B006
    limit: int = 10,
    exact: bool = False,
):
    return {"word": word, "tag": tag, "limit": limit, "exact": exact}


@router.get("/header")
async def header(user_agent: Annotated[str, Header()], x_token: Annotated[list[str], Header()]):
    return {"agent": user_agent, "token": x_token}


@router.get("/cookie")
async def cookie(theme: Annotated[str | None, Cookie()] = None):
    return {"theme": theme}


@router.get("/where")
async def where(request: Request):
    return {"url": str(request.url), "path": request.url.path, "client": request.client}


@router.api_route("/method", methods=["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
async def method(request: Request):
    return {"method": request.method}


@mounted.get("/inside")
async def inside(request: Request):
    return {"root": request.scope["root_path"]}
