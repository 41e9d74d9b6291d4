"""What the tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saltern import PasswordHasher

PASSWORD = "correct horse"

# In the background of a shell it is ignored, and would be by the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository that the package was built from."""
    return Path(os.environ.get("SALTERN_REPOSITORY", Path(__file__).parents[3]))


@pytest.fixture(scope="session")
def hasher() -> PasswordHasher:
    """A cheap one."""
    return PasswordHasher(1)


@pytest.fixture(scope="session")
def stored(hasher: PasswordHasher) -> str:
    return hasher.hash(PASSWORD)


@pytest.fixture
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in a Python of its own, at most for a minute: a deadlock is a failure."""

    def run(program: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, **kwargs
        )  # type: ignore[call-overload,no-any-return]

    return run
