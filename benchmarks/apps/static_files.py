"""Starlette's static files, from the directory that the environment names."""

import os

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

DIRECTORY = "BENCHMARK_ASSETS"

app = Starlette(
    routes=[
        Mount("/", StaticFiles(directory=os.environ.get(DIRECTORY), check_dir=False, html=True))
    ]
)
