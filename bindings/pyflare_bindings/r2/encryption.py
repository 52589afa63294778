"""Customer keys (SSE-C): who may read an object. Nothing is encrypted on the developer's disk.

Source: https://developers.cloudflare.com/r2/examples/ssec/
"""

from __future__ import annotations

from .checksums import md5_hex
from .errors import access_denied, invalid_argument


def check_customer_key(given: bytes | None, key_md5: str | None) -> None:
    """Raises R2Error when `given` is not the key that an object or upload was made with.

    In: `key_md5`, what is stored of that key; None where there is none.
    """
    if given is None and key_md5 is None:
        return
    if key_md5 is None:
        raise invalid_argument("The encryption parameters are not applicable to this object.")
    if given is None:
        raise invalid_argument("The object has a customer key, which this request does not give.")
    if md5_hex(given) != key_md5:
        raise access_denied()
