"""Items in the database, with bodies that are validated."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, HTTPException, Request, status
from pydantic import BaseModel, Field, field_validator

from .errors import OutOfStock


class Item(BaseModel):
    name: str = Field(min_length=1, max_length=20)
    price: float = Field(gt=0)
    tags: set[str] = set()
    stock: int = 0

    @field_validator("name")
    @classmethod
    def tidy(cls, name):
        return name.strip().capitalize()


class Stored(Item):
    id: int


async def database(request: Request):
    db = request.scope["env"].DB
    await db.exec(
        "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price REAL, "
        "tags TEXT, stock INTEGER)"
    )
    return db


Database = Annotated[object, Depends(database)]
router = APIRouter(prefix="/items", tags=["items"])


def stored(row):
    tags = set(filter(None, row["tags"].split(",")))
    return Stored(id=row["id"], name=row["name"], price=row["price"], tags=tags, stock=row["stock"])


async def one(number: int, db: Database):
    row = await db.prepare("SELECT * FROM items WHERE id = ?").bind(number).first()
    if row is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"no item {number}")
    return stored(row)


One = Annotated[Stored, Depends(one)]


@router.post("", status_code=201)
async def add(item: Item, db: Database) -> Stored:
    row = (
        await db.prepare(
            "INSERT INTO items (name, price, tags, stock) VALUES (?, ?, ?, ?) RETURNING *"
        )
        .bind(item.name, item.price, ",".join(sorted(item.tags)), item.stock)
        .first()
    )
    return stored(row)


@router.get("")
async def every(db: Database) -> list[Stored]:
    found = await db.prepare("SELECT * FROM items ORDER BY id").all()
    return [stored(row) for row in found.results]


@router.get("/{number}")
async def get(item: One) -> Stored:
    return item


@router.put("/{number}/price")
async def reprice(item: One, price: Annotated[float, Body(embed=True, gt=0)], db: Database):
    await db.prepare("UPDATE items SET price = ? WHERE id = ?").bind(price, item.id).run()
    return {"from": item.price, "to": price}


@router.post("/{number}/sale")
async def sell(item: One, db: Database):
    if item.stock < 1:
        raise OutOfStock(item.name)
    await db.prepare("UPDATE items SET stock = stock - 1 WHERE id = ?").bind(item.id).run()
    return {"left": item.stock - 1}


@router.delete("/{number}", status_code=204)
async def delete(item: One, db: Database):
    await db.prepare("DELETE FROM items WHERE id = ?").bind(item.id).run()
