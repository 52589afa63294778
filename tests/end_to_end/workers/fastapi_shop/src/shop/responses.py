"""Every kind of response, and work after it."""

import asyncio
from pathlib import Path

from fastapi import APIRouter, BackgroundTasks, Response
from fastapi.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
)

router = APIRouter()
DONE = []


@router.get("/html", response_class=HTMLResponse)
async def html():
    return "<b>caf\u00e9</b>"


@router.get("/text")
async def text():
    return PlainTextResponse("teapot", status_code=418)


@router.get("/redirect")
async def redirect():
    return RedirectResponse("/items", status_code=307)


@router.get("/download")
async def download():
    return FileResponse(Path(__file__).parent / "list.txt", filename="pr\u00e9is.csv")


@router.get("/set-cookies")
async def set_cookies(response: Response):
    response.set_cookie("a", "1", httponly=True)
    response.set_cookie("b", "2", max_age=60, secure=True)
    return


@router.get("/broken")
async def broken():
    raise ValueError("not handled")


async def note(word):
    await asyncio.sleep(0)
    DONE.append(word)


@router.post("/background")
async def background(tasks: BackgroundTasks):
    tasks.add_task(note, "async")
    tasks.add_task(DONE.append, "sync")
    return {"accepted": True}


@router.get("/background")
async def done():
    return list(DONE)
