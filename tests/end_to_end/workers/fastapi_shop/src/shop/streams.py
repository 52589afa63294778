"""Responses that come piece by piece."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

router = APIRouter(prefix="/stream")
EVENTS = []


@router.get("/async")
async def asynchronous():
    async def pieces():
        for number in range(3):
            yield f"piece {number}\n"
            await asyncio.sleep(0)

    return StreamingResponse(pieces(), media_type="text/plain")


@router.get("/sync")
async def synchronous():
    return StreamingResponse(bytes([65 + number]) * 3 for number in range(3))


@router.get("/events")
async def events():
    async def pieces():
        for number in range(2):
            yield f"id: {number}\ndata: tick\n\n"

    return StreamingResponse(pieces(), media_type="text/event-stream")


@router.get("/long")
async def long(size: int):
    async def pieces():
        try:
            for _ in range(size // 65536):
                yield bytes(range(256)) * 256
        finally:
            EVENTS.append("ended")

    return StreamingResponse(pieces(), media_type="application/octet-stream")


@router.get("/fails")
async def fails():
    async def pieces():
        yield b"begun"
        raise RuntimeError("half way")

    return StreamingResponse(pieces())
