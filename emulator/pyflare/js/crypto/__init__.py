"""``crypto.subtle``: one module per family of algorithms, imported when a worker first uses it.

``subtle`` is the face that workers call; ``key`` what a key is; ``parameters``, ``usages`` and ``jwk`` read arguments;
``registry`` finds the module of an algorithm. What the standard library can do (digests, HMAC, HKDF, PBKDF2) needs no
further package, the rest needs the extra ``pyflare[crypto]``.
"""
