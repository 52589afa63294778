"""A shop that uses one of everything."""

import json
from urllib.parse import parse_qs, urlparse

from js import Date, caches, console
from js import Response as JsResponse
from workers import DurableObject, Response, WorkerEntrypoint, fetch

CART_LIFETIME_MS = 30 * 60 * 1000


class Cart(DurableObject):
    async def add(self, item):
        items = await self.ctx.storage.get("items") or []
        items = [*items, item]
        await self.ctx.storage.put("items", items)
        await self.ctx.storage.setAlarm(Date.now() + CART_LIFETIME_MS)
        return len(items)

    async def items(self):
        return list(await self.ctx.storage.get("items") or [])

    async def alarm(self, info=None):
        await self.ctx.storage.deleteAll()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlparse(request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        match [request.method, *url.path.strip("/").split("/")]:
            case ["GET", ""]:
                return Response(f"a shop in {self.env.CURRENCY}")
            case ["POST", "orders"]:
                return await self.order(json.loads(await request.text())["item"])
            case ["GET", "orders", number]:
                return await self.show(int(number))
            case ["POST", "cart", name]:
                return Response(str(await self.env.CARTS.getByName(name).add(query["item"])))
            case ["GET", "cart", name]:
                return Response(json.dumps(await self.env.CARTS.getByName(name).items()))
            case ["PUT", "pictures", name]:
                await self.env.PICTURES.put(name, await request.bytes())
                return Response("", status=201)
            case ["GET", "pictures", name]:
                return await self.picture(name)
            case ["POST", "login"]:
                return await self.login(query["name"])
            case ["GET", "me"]:
                return await self.me(request)
            case ["GET", "rate"]:
                return await self.rate(request.url)
            case ["GET", "limited"]:
                outcome = await self.env.LIMIT.limit({"key": query.get("who", "x")})
                return Response("", status=200 if outcome.success else 429)
            case ["POST", "receipt"]:
                return await self.receipt(query["to"])
            case ["GET", "visit"]:
                self.env.VISITS.writeDataPoint({"blobs": ["visit"], "indexes": ["shop"]})
                console.log("a visit")
                return Response("")
            case ["GET", "later"]:
                self.ctx.waitUntil(self.env.SESSIONS.put("later", "done"))
                return Response("soon")
            case ["GET", "breaks"]:
                return Response(json.dumps(self.broken(query)))
        return Response("no such page", status=404)

    def broken(self, query):
        return query["missing"]

    async def order(self, item):
        try:
            price = await self.env.PRICES.of(item)
        except Exception:
            return Response(f"no {item} here", status=422)
        made = await self.env.DB.prepare(
            "INSERT INTO orders (item, price, state) VALUES (?, ?, 'new') RETURNING id"
        ).bind(item, price).first()
        await self.env.ORDERS.send({"id": made.id, "item": item})
        return Response(json.dumps({"id": made.id, "price": price}), status=201)

    async def show(self, number):
        row = await self.env.DB.prepare("SELECT item, state FROM orders WHERE id = ?").bind(number).first()
        if row is None:
            return Response("no such order", status=404)
        return Response(json.dumps({"item": row.item, "state": row.state}))

    async def picture(self, name):
        found = await self.env.PICTURES.get(name)
        if found is None:
            return Response("", status=404)
        return Response(found.body, headers={"ETag": found.httpEtag})

    async def login(self, name):
        await self.env.SESSIONS.put(f"session:{name}", name, expirationTtl=3600)
        return Response("", status=303, headers={"Location": "/me", "Set-Cookie": f"who={name}; Path=/"})

    async def me(self, request):
        name = (request.headers.get("cookie") or "").removeprefix("who=")
        known = await self.env.SESSIONS.get(f"session:{name}")
        return Response(f"hello {known}" if known else "who are you?", status=200 if known else 401)

    async def rate(self, key):
        cached = await caches.default.match(key)
        if cached is not None:
            return Response(await cached.text(), headers={"X-Cache": "hit"})
        answer = await fetch("https://rates.test/eur")
        if answer.status != 200:
            return Response("no rate now", status=502)
        rate = json.loads(await answer.text())["rate"]
        kept = JsResponse.new(str(rate), headers={"Cache-Control": "max-age=60"}.items())
        await caches.default.put(key, kept)
        return Response(str(rate), headers={"X-Cache": "miss"})

    async def receipt(self, to):
        await self.env.MAIL.send({"from": "shop@shop.test", "to": to, "subject": "Receipt", "text": "Thank you."})
        return Response("", status=202)

    async def queue(self, batch):
        for message in batch.messages:
            if message.body["item"] == "book":
                message.retry()
                continue
            await self.env.DB.prepare("UPDATE orders SET state = 'packed' WHERE id = ?").bind(
                message.body["id"]
            ).run()
            message.ack()

    async def scheduled(self, controller):
        await self.env.DB.prepare("DELETE FROM orders WHERE state = 'packed'").run()

    async def email(self, message):
        if message.to != "orders@shop.test":
            message.setReject("no such address")
            return
        await self.env.SESSIONS.put("mail", message.headers.get("subject"))

    async def count(self):
        return (await self.env.DB.prepare("SELECT count(*) AS n FROM orders").first()).n
