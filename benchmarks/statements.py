"""The SQL that both sides run: bare apsw, and `env.DB` inside a worker."""

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL)",
    "CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, item INTEGER, note TEXT NOT NULL)",
)
ROWS = 5000
BATCH = 500
NOTE = "a note of some forty characters, more or less"

FILL = "INSERT INTO items (name, price) VALUES (?, ?)"
SELECT = "SELECT id, name, price FROM items WHERE id = ?"
INSERT = "INSERT INTO log (item, note) VALUES (?, ?)"
SCAN = f"SELECT id, name, price FROM items LIMIT {ROWS}"
CLEAR = "DELETE FROM log"


def items() -> list[tuple[str, float]]:
    """The rows of `items`: a text of 10 characters and a price that is no whole number."""
    return [(f"item {index:05d}", index + 0.25) for index in range(ROWS)]
