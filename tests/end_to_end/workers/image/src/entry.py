from io import BytesIO
from urllib.parse import parse_qs, urlparse

from PIL import Image, ImageDraw
from workers import Response, WorkerEntrypoint


def draw(word):
    image = Image.new("RGB", (160, 40), "white")
    pen = ImageDraw.Draw(image)
    pen.rectangle((2, 2, 157, 37), outline="navy")
    pen.text((10, 12), word, fill="black")
    return image


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        query = parse_qs(urlparse(request.url).query)
        image = draw(query.get("text", ["Hello"])[0])
        picture = BytesIO()
        image.save(picture, format="PNG")
        return Response(
            picture.getvalue(),
            headers={"Content-Type": "image/png", "Cache-Control": "max-age=60"},
        )
