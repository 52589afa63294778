import asyncio
import functools
import time
from urllib.parse import urlparse

from js import Promise, setTimeout
from lines import AT_IMPORT, Record, later, numbers
from pyodide.ffi import can_run_sync, create_once_callable, create_proxy, run_sync
from workers import Response, WorkerEntrypoint


def in_comparisons():
    return [record.value for record in sorted(map(Record, (3, 1, 2)))]


def in_attributes():
    with Record(1) as record:
        return record.colour


def in_a_generator():
    return sum(numbers(5))


def in_a_reduction():
    return functools.reduce(lambda left, right: run_sync(later(left + right)), "abc")


def in_a_coroutine_run_from_synchronous_code():
    async def outer():
        await asyncio.sleep(0)
        return run_sync(later("inside"))

    return asyncio.run(outer())


def in_sleep():
    began = time.monotonic()
    time.sleep(0.01)
    return time.monotonic() - began >= 0.01


def gathered():
    return run_sync(asyncio.gather(later(1), later(2)))


def as_an_exception():
    async def fail():
        await asyncio.sleep(0)
        raise LookupError("nothing there")

    try:
        run_sync(fail())
    except LookupError as error:
        return str(error)


async def in_a_task():
    async def work():
        return in_a_generator()

    return await asyncio.create_task(work())


async def in_a_timer():
    done = asyncio.Future()
    setTimeout(create_once_callable(lambda: done.set_result(in_a_generator())), 1)
    return await done


async def in_a_then():
    return await Promise.resolve(2).then(create_proxy(lambda two: two + in_a_generator()))


SYNCHRONOUS = {
    function.__name__: function
    for function in (
        in_comparisons,
        in_attributes,
        in_a_generator,
        in_a_reduction,
        in_a_coroutine_run_from_synchronous_code,
        in_sleep,
        gathered,
        as_an_exception,
        can_run_sync,
    )
}
ASYNCHRONOUS = {function.__name__: function for function in (in_a_task, in_a_timer, in_a_then)}


class Default(WorkerEntrypoint):
    def fetch(self, request):
        name = urlparse(request.url).path[1:]
        if name == "at_import":
            return Response.json(AT_IMPORT)
        if name in SYNCHRONOUS:
            return Response.json(SYNCHRONOUS[name]())
        if name in ASYNCHRONOUS:
            return Response.json(run_sync(ASYNCHRONOUS[name]()))
        if name == "body":
            return Response(run_sync(request.text())[::-1])
        return Response("not found", status=404)
