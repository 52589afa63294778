"""Ordinary synchronous code, far from the handler."""

import asyncio

from pyodide.ffi import run_sync


async def later(value):
    await asyncio.sleep(0)
    return value


class Record:
    def __init__(self, value):
        self.value = run_sync(later(value))

    def __getattr__(self, name):
        return run_sync(later(name.upper()))

    def __lt__(self, other):
        return run_sync(later(self.value < other.value))

    def __enter__(self):
        return run_sync(later(self))

    def __exit__(self, *error):
        run_sync(later(None))


def numbers(count):
    for number in range(count):
        yield run_sync(later(number))


AT_IMPORT = run_sync(later("imported"))
