"""`import_from_javascript`: the modules that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emulator.conftest import Runner, request, write_worker


def imported(run: Runner, folder: Path, name: str, expression: str) -> Any:
    """What an expression gives of `module`, imported at the top of a Worker."""
    source = f"""
        from workers import Response, WorkerEntrypoint, import_from_javascript

        module = import_from_javascript({name!r})


        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                return Response.json({expression})
    """

    async def program(flare: Any) -> Any:
        answer = await request(flare)
        return answer.json if answer.status == 200 else answer.text

    return run(program, write_worker(folder, source))


@pytest.mark.parametrize(
    ("name", "expression", "expected"),
    [
        (
            "cloudflare:vectorize",
            "module.DistanceMetric.to_py()",
            {"EUCLIDEAN": "euclidean", "COSINE": "cosine", "DOT_PRODUCT": "dot-product"},
        ),
        (
            "cloudflare:vectorize",
            "[module.DistanceMetric.COSINE, module.MetadataRetrievalLevel.ALL]",
            ["cosine", "all"],
        ),
        (
            "cloudflare:vectorize",
            'getattr(module.KnownModel, "@cf/baai/bge-base-en-v1.5")',
            "@cf/baai/bge-base-en-v1.5",
        ),
        (
            "cloudflare:workflows",
            '(lambda error: [error.name, error.message])(module.NonRetryableError.new("enough"))',
            ["NonRetryableError", "enough"],
        ),
        (
            "cloudflare:workflows",
            'module.NonRetryableError.new("enough", "Mine").name',
            "Mine",
        ),
        ("cloudflare:email", "module.EmailMessage.name", "EmailMessage"),
    ],
)
def test_a_module_that_is_there(
    run: Runner, tmp_path: Path, name: str, expression: str, expected: Any
) -> None:
    assert imported(run, tmp_path, name, expression) == expected


def test_what_one_import_is_given_is_its_own(run: Runner, tmp_path: Path) -> None:
    expression = (
        '[setattr(module.DistanceMetric, "COSINE", "x"), '
        'import_from_javascript("cloudflare:vectorize").DistanceMetric.COSINE][1]'
    )

    assert imported(run, tmp_path, "cloudflare:vectorize", expression) == "cosine"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cloudflare:ai", 'The module "cloudflare:ai" is not emulated.'),
        ("cloudflare:nothing", 'No such module "cloudflare:nothing".'),
        ("internal:util", 'No such module "internal:util".'),
    ],
)
def test_a_module_that_is_not_there(run: Runner, tmp_path: Path, name: str, text: str) -> None:
    answer = imported(run, tmp_path, name, "None")

    assert f"ImportError: Failed to import '{name}': Error: {text}" in answer
