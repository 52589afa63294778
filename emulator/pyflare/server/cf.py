"""``request.cf``: what production knows about the connection, with fixed local values.

Nothing is ever asked from the network. Source: https://developers.cloudflare.com/workers/runtime-apis/request/ and the
fallback that the JavaScript emulator uses without a network.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["FIXED", "cf_properties"]

FIXED: Final[dict[str, Any]] = {
    "asn": 395747,
    "asOrganization": "",
    "colo": "DFW",
    "city": "Austin",
    "region": "Texas",
    "regionCode": "TX",
    "metroCode": "635",
    "postalCode": "78701",
    "country": "US",
    "continent": "NA",
    "timezone": "America/Chicago",
    "latitude": "30.27130",
    "longitude": "-97.74260",
    "clientTcpRtt": 0,
    "clientAcceptEncoding": "",
    "httpProtocol": "HTTP/1.1",
    "requestPriority": "weight=192;exclusive=0",
    "edgeRequestKeepAliveStatus": 0,
    "tlsVersion": "TLSv1.3",
    "tlsCipher": "AEAD-AES128-GCM-SHA256",
    "tlsClientAuth": {
        "certPresented": "0",
        "certVerified": "NONE",
        "certRevoked": "",
        "certIssuerDN": "",
        "certSubjectDN": "",
        "certIssuerDNRFC2253": "",
        "certSubjectDNRFC2253": "",
        "certIssuerDNLegacy": "",
        "certSubjectDNLegacy": "",
        "certSerial": "",
        "certIssuerSerial": "",
        "certSKI": "",
        "certIssuerSKI": "",
        "certFingerprintSHA1": "",
        "certFingerprintSHA256": "",
        "certNotBefore": "",
        "certNotAfter": "",
    },
    "clientTrustScore": 99,
    "botManagement": {
        "corporateProxy": False,
        "verifiedBot": False,
        "staticResource": False,
        "detectionIds": [],
        "ja3Hash": "00000000000000000000000000000000",
        "score": 99,
    },
}


def cf_properties(accept_encoding: str, http_version: str) -> Any:
    """A fresh ``request.cf`` object for a request with this ``Accept-Encoding`` and HTTP version (``1.1``, ``2``)."""
    own = {"clientAcceptEncoding": accept_encoding, "httpProtocol": f"HTTP/{http_version}"}
    return _adopt({**FIXED, **own})


def _adopt(value: Any) -> Any:
    from pyflare.js.array import JsArray
    from pyflare.js.value import JsObject

    match value:
        case dict():
            return JsObject.adopt({key: _adopt(item) for key, item in value.items()})
        case list():
            return JsArray.adopt([_adopt(item) for item in value])
        case _:
            return value
