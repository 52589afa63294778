"""Forms, files and raw bodies."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile

router = APIRouter(prefix="/upload")


@router.post("/form")
async def form(name: Annotated[str, Form()], age: Annotated[int, Form()]):
    return {"name": name, "age": age}


@router.post("/file")
async def file(file: UploadFile, note: Annotated[str, Form()] = ""):
    content = await file.read()
    return {
        "name": file.filename,
        "type": file.content_type,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "note": note,
    }


@router.post("/files")
def files(files: list[UploadFile], raw: Annotated[bytes, File()]):
    return [[each.filename, each.file.read().hex()] for each in files] + [raw.hex()]


@router.post("/raw")
async def raw(request: Request):
    digest = hashlib.sha256()
    size = 0
    async for piece in request.stream():
        digest.update(piece)
        size += len(piece)
    return {"size": size, "sha256": digest.hexdigest()}
