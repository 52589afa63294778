"""Remote procedure calls: stubs, promises of results, what crosses and how.

Source: https://developers.cloudflare.com/workers/runtime-apis/rpc/ and workerd ``api/worker-rpc.c++``.
"""
