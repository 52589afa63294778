"""The HTTP side: the ASGI application, the error page, the request log and the start-up table."""
