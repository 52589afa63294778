from workers import File, Response, WorkerEntrypoint

PAGE = """<form method="post" enctype="multipart/form-data">
<input name="title"><input type="file" name="photo" multiple><button>Send</button></form>
"""


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "GET":
            return Response(PAGE, headers={"Content-Type": "text/html"})
        form = await request.form_data()
        shown = []
        for name in dict.fromkeys(form.keys()):
            for value in form.get_all(name):
                if isinstance(value, File):
                    content = await value.bytes()
                    shown.append([name, value.name, value.content_type, content.hex()])
                else:
                    shown.append([name, value])
        return Response.json(shown)
