"""Static assets: which file answers a path, with which headers, and the bytes of it.

Plain Python without a server and without JavaScript values: the server and ``env.ASSETS`` are its faces.
"""
