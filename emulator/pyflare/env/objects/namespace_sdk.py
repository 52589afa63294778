"""``env.COUNTER`` as a Python Worker sees it: the SDK's wrapper of the namespace, whose stubs take the shorter way."""

from __future__ import annotations

from typing import Any

from workers.rpc import _DurableObjectNamespaceWrapper

from ..service import ServiceWrapper

__all__ = ["NamespaceWrapper"]


class NamespaceWrapper(_DurableObjectNamespaceWrapper):  # type: ignore[misc]
    """Ids come as they are; stubs are wrapped so that their calls take and give Python values."""

    def get(self, *args: Any, **kwargs: Any) -> ServiceWrapper:
        return ServiceWrapper(self._binding.get(*args, **kwargs))

    def getByName(self, *args: Any, **kwargs: Any) -> ServiceWrapper:
        return ServiceWrapper(self._binding.getByName(*args, **kwargs))

    def jurisdiction(self, *args: Any, **kwargs: Any) -> NamespaceWrapper:
        return NamespaceWrapper(self._binding.jurisdiction(*args, **kwargs))
