"""Dependencies: of the router, of each other, with an end, and of security."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from fastapi.security import HTTPBasic, HTTPBasicCredentials, OAuth2PasswordBearer

EVENTS = []
basic = HTTPBasic(realm="shop")
bearer = OAuth2PasswordBearer(tokenUrl="token")


async def opened():
    EVENTS.append("open")
    try:
        yield len(EVENTS)
    finally:
        EVENTS.append("close")


def user(credentials: Annotated[HTTPBasicCredentials, Depends(basic)]):
    if credentials.password != "secret":
        raise HTTPException(401, "wrong password", {"WWW-Authenticate": "Basic"})
    return credentials.username


router = APIRouter(prefix="/secured", dependencies=[Depends(opened)])


@router.get("/basic")
async def by_basic(name: Annotated[str, Depends(user)]):
    return {"user": name}


@router.get("/bearer")
async def by_bearer(token: Annotated[str, Depends(bearer)]):
    return {"token": token}


@router.get("/events")
async def events():
    return list(EVENTS)
