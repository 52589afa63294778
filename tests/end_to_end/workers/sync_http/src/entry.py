import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlparse

import httpx
import requests
from workers import Response, WorkerEntrypoint


def by_urllib(address, body):
    request = urllib.request.Request(address, data=body, headers={"X-Client": "urllib"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers["x-answer"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["x-answer"], error.read()


def by_requests(address, body):
    answer = requests.request(
        "GET" if body is None else "POST",
        address,
        data=body,
        headers={"X-Client": "requests"},
        timeout=10,
    )
    return answer.status_code, answer.headers["x-answer"], answer.content


def by_httpx(address, body):
    with httpx.Client(trust_env=False) as client:
        answer = client.request(
            "GET" if body is None else "POST",
            address,
            content=body,
            headers={"X-Client": "httpx"},
            timeout=10,
        )
    return answer.status_code, answer.headers["x-answer"], answer.content


async def by_async_httpx(address, body):
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.request(
            "GET" if body is None else "POST",
            address,
            content=body,
            headers={"X-Client": "async httpx"},
            timeout=10,
        )
    return answer.status_code, answer.headers["x-answer"], answer.content


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlparse(request.url)
        query = parse_qs(url.query)
        address = query["of"][0]
        body = await request.bytes() if request.method == "POST" else None
        match url.path:
            case "/urllib":
                found = by_urllib(address, body)
            case "/requests":
                found = by_requests(address, body)
            case "/httpx":
                found = by_httpx(address, body)
            case "/async-httpx":
                found = await by_async_httpx(address, body)
        status, header, content = found
        return Response(content, status=status, headers={"x-answer": header})
