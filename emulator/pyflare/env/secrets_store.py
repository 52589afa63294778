"""``env.SECRET`` of a ``secrets_store_secrets`` block.

Source: https://developers.cloudflare.com/secrets-store/integrations/workers/
"""

from __future__ import annotations

from typing import Any

from pyflare.js.departure import start
from pyflare.js.error import Error
from pyflare.js.promise import JsPromise
from pyflare.js.value import JsInstance
from pyflare_bindings.secrets_store import SecretError, SecretsStore
from pyflare_bindings.storage.errors import ClosedError, StateError

__all__ = ["SecretsStoreSecret"]


class SecretsStoreSecret(JsInstance, js_name="SecretsStoreSecret"):
    """The binding: one secret of one store."""

    def __init__(self, store: SecretsStore, name: str) -> None:
        self._store = store
        self._name = name

    def get(self, *_: Any) -> JsPromise:
        """A promise of the value. Rejects: Error when the store has no such secret."""
        return start(self._get())

    async def _get(self) -> str:
        try:
            return await self._store.get(self._name)
        except SecretError as error:
            failure = Error(str(error))
            failure.add_note(
                f"Store it with `await registry.secrets_store({self._store.id!r}).put({self._name!r}, ...)`."
            )
            raise failure from None
        except (StateError, ClosedError) as error:
            raise Error(f'Secret "{self._name}" could not be read: {error}') from None
