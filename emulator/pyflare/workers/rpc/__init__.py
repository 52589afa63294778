"""Calls into workers: entrypoints behind service bindings, the dispatch on an instance, what outlives a call."""
