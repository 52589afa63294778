from workers import DurableObject, Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")

    def add(self, left, right):
        return left + right

    def echo(self, value):
        return value


class Object(DurableObject):
    def add(self, left, right):
        return left + right
