"""The first request of a process imports httpx, and everybody else goes on meanwhile."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import asyncio, sys

from pyflare.js.fetch import fetch

assert "httpx" not in sys.modules


async def main():
    turns = 0

    async def others():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += "httpx" not in sys.modules

    async def answer(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 204 No Content\\r\\nconnection: close\\r\\n\\r\\n")
        writer.close()

    task = asyncio.create_task(others())
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        first = asyncio.gather(fetch(url), fetch(url))
        await asyncio.sleep(0)
        turns = 0
        print([answer.status for answer in await first], turns > 5)
    task.cancel()


asyncio.run(main())
"""


def test_others_run_while_httpx_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("[204, 204] True\n", "")
