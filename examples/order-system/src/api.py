"""Takes orders: writes them to D1 and sends them to the queue.

POST /orders            {"customer": "Ada", "cents": 1250, "card": "good", "id": optional}
GET  /orders/<id>       the order and its state
GET  /receipts/<id>     its receipt
GET  /report            what the cron Worker wrote last
"""

import time
import uuid
from urllib.parse import urlsplit

import orders
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        match request.method, urlsplit(request.url).path.strip("/").split("/"):
            case "POST", ["orders"]:
                return await self.accept(await request.json())
            case "GET", ["orders", id]:
                await orders.prepare(self.env.DB)
                order = await orders.find(self.env.DB, id)
                return not_found() if order is None else Response.json(order)
            case "GET", ["receipts", id]:
                receipt = await self.env.RECEIPTS.get(orders.receipt_key(id))
                return not_found() if receipt is None else Response(await receipt.text())
            case "GET", ["report"]:
                report = await self.env.REPORTS.get("latest")
                return not_found() if report is None else Response(report)
        return not_found()

    async def accept(self, order):
        """The answer is given when the order is both in the table and in the queue.

        A client that got no answer asks again with the same id: nothing is done twice.
        """
        id = str(order.get("id") or uuid.uuid4())
        db = self.env.DB
        await orders.prepare(db)
        insert = "INSERT OR IGNORE INTO orders (id, customer, cents, card, accepted) VALUES (?, ?, ?, ?, ?)"
        values = (id, order["customer"], order["cents"], order["card"], int(time.time() * 1000))
        await db.prepare(insert).bind(*values).run()
        await self.env.ORDERS.send({"id": id})
        await orders.mark_queued(db, [id])
        return Response.json({"id": id}, status=202)


def not_found():
    return Response("Not found", status=404)
