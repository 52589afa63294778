"""``env.HYPERDRIVE``: the address of a PostgreSQL or MySQL database.

Source: https://developers.cloudflare.com/hyperdrive/ and the checks of ``packages/miniflare``. Production gives the
name of a proxy that only its own runtime resolves; here it is the real address, for drivers that open real sockets.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from pyflare.js.error import Error
from pyflare.js.value import JsInstance

__all__ = ["Hyperdrive", "HyperdriveAddress", "HyperdriveError"]

_DEFAULT_PORTS: Final = {"postgres": 5432, "postgresql": 5432, "mysql": 3306}
_VARIABLE: Final = "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_"


class HyperdriveError(ValueError):
    """A connection string that cannot be used; `str()` says why, and never shows the string."""


class HyperdriveAddress:
    """The parts of a connection string, percent-decoded. Raises HyperdriveError."""

    __slots__ = ("database", "host", "password", "port", "scheme", "text", "user")

    def __init__(self, text: str) -> None:
        try:
            parts: SplitResult = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise HyperdriveError(f"The connection string is no URL: {error}.") from None
        if parts.scheme not in _DEFAULT_PORTS:
            raise HyperdriveError(
                "Only PostgreSQL-compatible or MySQL-compatible databases are currently supported."
            )
        self.text = text
        self.scheme = parts.scheme
        self.host = _required(
            parts.hostname,
            "a hostname or IP address in your connection string - e.g. "
            "'user:password@database-hostname.example.com:5432/databasename'",
        )
        self.port = _DEFAULT_PORTS[parts.scheme] if port is None else port
        self.database = _required(
            parts.path.removeprefix("/"), "a database name as the path component - e.g. /postgres"
        )
        self.user = _required(
            parts.username,
            "a username - e.g. 'user:password@database.example.com:5432/databasename'",
        )
        self.password = _required(
            parts.password,
            "a password - e.g. 'user:password@database.example.com:5432/databasename'",
        )


def _required(part: str | None, what: str) -> str:
    if not part:
        raise HyperdriveError(f"You must provide {what}")
    return unquote(part)


class Hyperdrive(JsInstance, js_name="Hyperdrive"):
    """The binding. Without an address every part raises an Error that asks for one."""

    def __init__(self, binding: str, connection_string: str | None) -> None:
        self._binding = binding
        self._text = connection_string
        self._parsed: HyperdriveAddress | None = None

    @property
    def _address(self) -> HyperdriveAddress:
        if self._parsed is None:
            if not self._text:
                raise Error(
                    f'The Hyperdrive binding "{self._binding}" has no local database. Set '
                    f'"localConnectionString" in its configuration, or the environment variable '
                    f"{_VARIABLE}{self._binding}, to e.g. postgres://user:password@localhost:5432/name"
                )
            try:
                self._parsed = HyperdriveAddress(self._text)
            except HyperdriveError as error:
                raise Error(f'The Hyperdrive binding "{self._binding}": {error}') from None
        return self._parsed

    @property
    def connectionString(self) -> str:
        """The connection string as it was configured."""
        return self._address.text

    @property
    def host(self) -> str:
        """Host name or address."""
        return self._address.host

    @property
    def port(self) -> int:
        """Port, by default that of the kind of database."""
        return self._address.port

    @property
    def user(self) -> str:
        """User name."""
        return self._address.user

    @property
    def password(self) -> str:
        """Password."""
        return self._address.password

    @property
    def database(self) -> str:
        """Name of the database."""
        return self._address.database

    def connect(self, *_: Any) -> None:
        """Refused: ``cloudflare:sockets`` is not emulated."""
        address = self._address
        raise Error(
            "Hyperdrive connect() is not emulated; give connectionString to a driver such as asyncpg, or use "
            f'asyncio.open_connection("{address.host}", {address.port}).'
        )
