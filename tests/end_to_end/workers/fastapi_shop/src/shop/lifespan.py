"""What is made before the application answers."""

from contextlib import asynccontextmanager

EVENTS = []


@asynccontextmanager
async def lifespan(app):
    EVENTS.append("startup")
    yield {"opened": "yes"}
    EVENTS.append("shutdown")
