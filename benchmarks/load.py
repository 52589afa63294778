"""The HTTP load client: raw non-blocking sockets over epoll, with requests encoded once.

Runs in a process of its own (`python -m benchmarks.load`), so that it shares no interpreter with a server. The first
answer is parsed and checked; every later one must be the same bytes, which is cheaper than parsing and also stricter.
"""

import json
import selectors
import socket
import sys
import time
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: `request` as it goes over the wire, `expected` the body that must come back."""

    port: int
    request: str
    expected: str
    connections: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Requests per second; latencies in microseconds; the share of one core the client used."""

    requests_per_second: float
    p50: float
    p99: float
    client_share: float


class UnexpectedAnswer(Exception):
    """The server answered something else than it was asked for."""


def first_answer(connection: socket.socket, request: bytes) -> bytes:
    """Sends `request` and reads one whole answer by its Content-Length.

    Raises `UnexpectedAnswer` when the server closes early or the answer names no length."""
    connection.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise UnexpectedAnswer(f"the server closed the connection after {data!r}")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        int(value)
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        if name.lower() == b"content-length"
    ]
    if not lengths:
        raise UnexpectedAnswer(f"an answer without Content-Length: {head!r}")
    while len(body) < lengths[0]:
        piece = connection.recv(65536)
        if not piece:
            raise UnexpectedAnswer(f"the server closed the connection inside a body: {data!r}")
        body += piece
    return head + b"\r\n\r\n" + body


def run(load: Load) -> Measured:
    """Keeps `load.connections` requests in flight for `load.seconds` and measures each."""
    request = load.request.encode()
    now = time.perf_counter
    selector = selectors.EpollSelector()
    connections = []
    answer = b""
    for _ in range(load.connections):
        connection = socket.create_connection(("127.0.0.1", load.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = first_answer(connection, request)
        if not answer.startswith(b"HTTP/1.1 200 ") or not answer.endswith(load.expected.encode()):
            raise UnexpectedAnswer(f"asked for {load.expected!r} and got {answer!r}")
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
        connections.append(connection)
    by_descriptor = {connection.fileno(): connection for connection in connections}
    pending = dict.fromkeys(by_descriptor, b"")
    latencies: list[float] = []
    record = latencies.append
    poll = selector._selector.poll  # type: ignore[attr-defined]  # the selector's own objects cost as much as the socket
    started = now()
    cpu_started = time.process_time()
    until = started + load.seconds
    sent = dict.fromkeys(by_descriptor, started)
    for connection in connections:
        connection.send(request)
    while (current := now()) < until:
        for descriptor, _ in poll(1.0, load.connections):
            connection = by_descriptor[descriptor]
            data = connection.recv(65536)
            if data != answer:
                data = pending[descriptor] + data
                if not answer.startswith(data):
                    raise UnexpectedAnswer(f"expected {answer!r} again and got {data!r}")
                pending[descriptor] = data
                if len(data) < len(answer):
                    continue
                pending[descriptor] = b""
            current = now()
            record(current - sent[descriptor])
            sent[descriptor] = current
            connection.send(request)
    elapsed = now() - started
    cpu = time.process_time() - cpu_started
    for connection in connections:
        connection.close()
    selector.close()
    latencies.sort()
    count = len(latencies)
    if not count:
        raise UnexpectedAnswer(f"no answer within {load.seconds} s")
    return Measured(
        requests_per_second=count / elapsed,
        p50=latencies[count // 2] * 1e6,
        p99=latencies[min(count - 1, count * 99 // 100)] * 1e6,
        client_share=cpu / elapsed,
    )


def main() -> int:
    load = Load(**json.load(sys.stdin))
    json.dump(asdict(run(load)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
