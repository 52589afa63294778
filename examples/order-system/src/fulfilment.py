"""Ships orders: takes them from the queue, charges the card, puts a receipt into R2.

A message may come more than once, so every step can be repeated: the receipt has the order's name, and an order that is
through is passed over.
"""

import json

import orders
from workers import WorkerEntrypoint

# What happens with the cards of this example: a stand-in for a payment service that has bad days.
#   good       is charged
#   flaky      fails twice, then is charged
#   crash      breaks the handler at the first attempt
#   declined   never works


class CardDeclined(Exception):
    pass


def charge(card, attempts):
    if card == "declined" or (card == "flaky" and attempts <= 2):
        raise CardDeclined(card)
    if card == "crash" and attempts == 1:
        raise RuntimeError("the payment service fell over")


class Default(WorkerEntrypoint):
    async def queue(self, batch, env, ctx):
        handle = self.bury if batch.queue == "dead-orders" else self.ship
        for message in batch.messages:
            try:
                await handle(message.body["id"], message.attempts)
            except CardDeclined:
                message.retry(delaySeconds=1)
            else:
                # By name, so that it stays done if a later message of the batch breaks the handler.
                message.ack()

    async def ship(self, id, attempts):
        order = await orders.find(self.env.DB, id)
        if order.state in ("shipped", "dead"):
            return
        charge(order.card, attempts)
        receipt = {"order": id, "customer": order.customer, "cents": order.cents}
        await self.put(orders.receipt_key(id), receipt)
        await orders.finish(self.env.DB, id, "shipped")

    async def bury(self, id, attempts):
        """The retries are used up: the order becomes a dead letter for a person to look at."""
        order = await orders.find(self.env.DB, id)
        if order.state in ("shipped", "dead"):
            return
        if await self.env.RECEIPTS.head(orders.receipt_key(id)) is not None:
            # Shipped, but stopped before the table knew.
            await orders.finish(self.env.DB, id, "shipped")
            return
        await self.put(orders.dead_letter_key(id), {"order": id, "card": order.card})
        await orders.finish(self.env.DB, id, "dead")

    async def put(self, key, content):
        kind = {"contentType": "application/json"}
        await self.env.RECEIPTS.put(key, json.dumps(content), httpMetadata=kind)
