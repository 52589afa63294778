"""The emulator on the loops of pytest-asyncio, one fixture for each loop scope. Loaded only where that is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from .settings import base_options

__all__ = ["loop_scope"]


def loop_scope(node: pytest.Item) -> str:
    """The scope of the loop that a test runs on."""
    marker = node.get_closest_marker("asyncio")
    given = {} if marker is None else marker.kwargs
    default: str = node.config.getini("asyncio_default_test_loop_scope") or "function"
    return given.get("loop_scope") or given.get("scope") or default


def _own(scope: Any) -> Any:
    @pytest_asyncio.fixture(name=f"_pyflare_asyncio_{scope}", loop_scope=scope)
    async def emulator(_pyflare_arguments: dict[str, Any]) -> AsyncIterator[Any]:
        from .pyflare_in_test import running

        async with running(_pyflare_arguments) as flare:
            yield flare

    return emulator


def _shared(scope: Any) -> Any:
    @pytest_asyncio.fixture(name=f"_pyflare_asyncio_{scope}_shared", loop_scope=scope, scope=scope)
    async def emulator(
        request: pytest.FixtureRequest, pyflare_options: dict[str, Any]
    ) -> AsyncIterator[Any]:
        from .pyflare_in_test import running

        if scope == "function":
            pytest.fail(
                "pyflare_shared lives as long as the loop of its tests: mark them with "
                'pytest.mark.asyncio(loop_scope="module") or a longer scope.',
                pytrace=False,
            )
        async with running(base_options(request.config, pyflare_options)) as flare:
            yield flare

    return emulator


in_function, in_class, in_module, in_package, in_session = map(
    _own, ("function", "class", "module", "package", "session")
)
for_function, for_class, for_module, for_package, for_session = map(
    _shared, ("function", "class", "module", "package", "session")
)
