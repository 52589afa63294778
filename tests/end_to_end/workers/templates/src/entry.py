from pathlib import Path

import asgi
import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from workers import WorkerEntrypoint

PAGES = Path(__file__).parent / "pages"
app = FastAPI()
templates = Jinja2Templates(directory=PAGES)
environment = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), autoescape=True)


@app.get("/")
async def root(request: Request):
    return {"message": request.scope["env"].TITLE}


@app.get("/page", response_class=HTMLResponse)
async def page(request: Request, name: str = "Tom"):
    context = {"title": request.scope["env"].TITLE, "names": [name, "<Spike>"]}
    return templates.TemplateResponse(request, "list.html", context)


@app.get("/rendered", response_class=HTMLResponse)
def rendered(name: str):
    return environment.get_template("list.html").render(title="Names", names=name.split(","))


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return await asgi.fetch(app, request, self.env, self.ctx)
