"""The SQL of the queues."""

from __future__ import annotations

from typing import Final

# A delivery changes a message's row several times, and SQLite then writes all of it: long bodies
# are kept apart. Short ones come last, so that looking at the other columns reads past them.
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS queue (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS message (
    number INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    sent_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    lease TEXT,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    body BLOB
);
CREATE TABLE IF NOT EXISTS long_body (
    number INTEGER PRIMARY KEY REFERENCES message (number) ON DELETE CASCADE,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS message_by_time ON message (queue, visible_at, number);
CREATE INDEX IF NOT EXISTS message_by_lease ON message (lease) WHERE lease IS NOT NULL;
"""
# A delivery that the end of the process cut off stays counted. The message goes to where it was:
# in front of everything sent after it.
RELEASE_PUSHED: Final = (
    "UPDATE message SET lease = NULL, visible_at = sent_at"
    " WHERE lease IS NOT NULL AND lease >= 'push ' AND lease < 'push!'"
)
COUNT_ALL: Final = (
    "SELECT name, queue.number, count(message.number), coalesce(sum(size), 0),"
    " coalesce(min(message.number), 0)"
    " FROM queue LEFT JOIN message ON message.queue = queue.number"
    " GROUP BY queue.number ORDER BY name"
)
ADD_QUEUE: Final = "INSERT OR IGNORE INTO queue (name) VALUES (?)"
NUMBER_OF: Final = "SELECT number FROM queue WHERE name = ?"

INSERT: Final = (
    "INSERT INTO message (queue, visible_at, id, sent_at, attempts, content_type, size, body)"
    " VALUES (?, ?, ?, ?, 0, ?, ?, ?) RETURNING number"
)
INSERT_BODY: Final = "INSERT INTO long_body (number, body) VALUES (?, ?)"
BODY: Final = "coalesce(body, (SELECT body FROM long_body WHERE long_body.number = message.number))"
READY: Final = (
    f"SELECT number, id, sent_at, attempts + 1, content_type, {BODY} FROM message"
    " WHERE queue = ? AND visible_at <= ? ORDER BY visible_at, number LIMIT ?"
)
LEASE: Final = (
    "UPDATE message SET attempts = attempts + 1, visible_at = ?, lease = ?"
    " WHERE number IN (SELECT value FROM json_each(?))"
)
CHOSEN: Final = "WHERE number IN (SELECT value FROM json_each(?)) AND lease = ? RETURNING number"
DELETE: Final = f"DELETE FROM message {CHOSEN}"
RETRY: Final = f"UPDATE message SET lease = NULL, visible_at = ? {CHOSEN}"
MOVE: Final = f"UPDATE message SET lease = NULL, attempts = 0, queue = ?, visible_at = ? {CHOSEN}"
RELEASE: Final = (
    "UPDATE message SET lease = NULL, attempts = attempts - 1, visible_at = sent_at"
    " WHERE lease = ? RETURNING number"
)
COUNT_READY: Final = (
    "SELECT count(*), min(visible_at) FROM (SELECT visible_at FROM message"
    " WHERE queue = ? AND visible_at <= ? ORDER BY visible_at LIMIT ?)"
)
NEXT: Final = (
    "SELECT visible_at FROM message WHERE queue = ? AND visible_at > ? ORDER BY visible_at LIMIT 1"
)
# Numbers grow in the order of sending. An index by them would cost every message, while a search
# from the last oldest one on passes each foreign message once.
OLDEST: Final = (
    "SELECT number, sent_at FROM message NOT INDEXED"
    " WHERE number >= ? AND queue = ? AND lease IS NOT ? ORDER BY number LIMIT 1"
)
LIST: Final = (
    f"SELECT number, id, sent_at, attempts, content_type, {BODY}, visible_at,"
    " lease IS NOT NULL AND visible_at > ? FROM message"
    " WHERE queue = ? AND (visible_at, number) > (?, ?) ORDER BY visible_at, number LIMIT ?"
)
LAST: Final = "SELECT max(number) FROM message"
PURGE: Final = (
    "DELETE FROM message WHERE number IN (SELECT number FROM message"
    " WHERE queue = ? AND number <= ? LIMIT ?) RETURNING size"
)
