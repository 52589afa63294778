"""Wakes Durable Objects at their alarms, and tells a person about it. ``docs/alarms.md`` has the whole story."""
