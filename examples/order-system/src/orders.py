"""What the three Workers share: the table of orders and the states an order goes through.

    new -> queued -> shipped      there is a receipt in R2
                  -> dead         there is a dead letter in R2
"""

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    cents INTEGER NOT NULL,
    card TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'new',
    accepted INTEGER NOT NULL
)
"""


async def prepare(db):
    """Create the table at the first use."""
    await db.prepare(SCHEMA).run()


async def find(db, id):
    """One order, None when there is none."""
    return await db.prepare("SELECT * FROM orders WHERE id = ?").bind(id).first()


async def mark_queued(db, ids):
    """The messages of these orders are in the queue. Orders that have got further stay where they are."""
    update = "UPDATE orders SET state = 'queued' WHERE id = ? AND state = 'new'"
    await db.batch([db.prepare(update).bind(id) for id in ids])


async def finish(db, id, state):
    """An order is `shipped` or `dead`."""
    await db.prepare("UPDATE orders SET state = ? WHERE id = ?").bind(state, id).run()


def receipt_key(id):
    return f"receipts/{id}.json"


def dead_letter_key(id):
    return f"dead-letters/{id}.json"
