"""Durable Objects as workers see them: namespaces, ids, stubs, and ``ctx`` inside an object."""
