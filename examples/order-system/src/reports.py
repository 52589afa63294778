"""Runs every minute: sends again what got stuck, and writes a report to KV."""

import json
import time

import orders
from workers import WorkerEntrypoint

STUCK_MILLISECONDS = 5000
COUNT = "SELECT state, count(*) AS orders, sum(cents) AS cents FROM orders GROUP BY state"


class Default(WorkerEntrypoint):
    async def scheduled(self, controller, env, ctx):
        await orders.prepare(self.env.DB)
        again = await self.send_again()
        rows = (await self.env.DB.prepare(COUNT).run()).results
        counted = {row.state: row.orders for row in rows}
        report = {
            "at": int(controller.scheduledTime),
            "orders": sum(counted.values()),
            "waiting": counted.get("new", 0) + counted.get("queued", 0),
            "shipped": counted.get("shipped", 0),
            "dead": counted.get("dead", 0),
            "turnover": sum(row.cents for row in rows if row.state == "shipped"),
            "sent_again": again,
        }
        await self.env.REPORTS.put("latest", json.dumps(report))

    async def send_again(self):
        """Orders whose API Worker was stopped between the table and the queue."""
        before = int(time.time() * 1000) - STUCK_MILLISECONDS
        query = "SELECT id FROM orders WHERE state = 'new' AND accepted < ? LIMIT 100"
        stuck = (await self.env.DB.prepare(query).bind(before).run()).results
        ids = [row.id for row in stuck]
        if ids:
            await self.env.ORDERS.sendBatch([{"body": {"id": id}} for id in ids])
            await orders.mark_queued(self.env.DB, ids)
        return len(ids)
