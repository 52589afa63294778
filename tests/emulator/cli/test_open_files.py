"""A server may have as many files open as the system allows."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, {before})
from pyflare.cli.open_files import raise_limit
raise_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [((256, 1000), "1000 1000"), ((1000, 1000), "1000 1000"), ((300, 300), "300 300")],
)
def test_the_limit_is_raised_to_the_highest_that_is_allowed(
    before: tuple[int, int], after: str
) -> None:
    program = PROGRAM.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == after
