"""An account is a Durable Object; a transfer touches two of them, and no money is lost whatever fails in between."""

from workers import DurableObject

SCHEMA = """
    CREATE TABLE IF NOT EXISTS balance (cents INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS outgoing (id TEXT PRIMARY KEY, target TEXT, cents INTEGER, sent INTEGER DEFAULT 0);
    CREATE TABLE IF NOT EXISTS incoming (id TEXT PRIMARY KEY);
"""


class Account(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.sql = ctx.storage.sql
        self.sql.exec(SCHEMA)

    async def open(self, cents):
        if not self.sql.exec("SELECT cents FROM balance").toArray():
            self.sql.exec("INSERT INTO balance VALUES (?)", cents)

    async def balance(self):
        return self.sql.exec("SELECT cents FROM balance").one().cents

    async def transfer(self, id, target, cents):
        """Whether there was enough. A transfer that has been made before is not made again."""

        def book():
            if self.sql.exec("SELECT id FROM outgoing WHERE id = ?", id).toArray():
                return True
            if self.sql.exec("SELECT cents FROM balance").one().cents < cents:
                return False
            self.sql.exec("UPDATE balance SET cents = cents - ?", cents)
            self.sql.exec(
                "INSERT INTO outgoing (id, target, cents) VALUES (?, ?, ?)", id, target, cents
            )
            return True

        # The money leaves and is noted as under way in one step.
        enough = self.ctx.storage.transactionSync(book)
        await self.settle()
        return enough

    async def settle(self):
        """Send what is still under way, again if nobody knows whether it arrived."""
        for row in self.sql.exec("SELECT * FROM outgoing WHERE sent = 0").toArray():
            await self.env.ACCOUNTS.getByName(row.target).deposit(row.id, row.cents)
            self.sql.exec("UPDATE outgoing SET sent = 1 WHERE id = ?", row.id)

    async def deposit(self, id, cents):
        """Take money in, once for each transfer."""
        if not self.sql.exec("SELECT id FROM incoming WHERE id = ?", id).toArray():
            self.sql.exec("INSERT INTO incoming VALUES (?)", id)
            self.sql.exec("UPDATE balance SET cents = cents + ?", cents)
