"""The SQL that the worker and the baseline of the Durable Objects benchmark both run."""

ROWS = 1000
NOTE = "a note of some forty characters, as notes go"
SCHEMA = "CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, number INTEGER, note TEXT)"
INSERT = "INSERT INTO rows (number, note) VALUES (?, ?)"
SELECT = "SELECT number, note FROM rows WHERE id = ?"
