"""What the program says and prints, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Policies, Ran, Server, command, fill
from pyarrow import parquet

from saltern.bulk.ledger import Ledger
from saltern.bulk.lock import JobLock

Bulk = Callable[..., Ran]


@pytest.mark.parametrize(("of", "name"), [(JobLock, "__exit__"), (Ledger, "finish")])
def test_a_signal_after_the_last_range(
    server: Server,
    policies: Policies,
    bulk: Bulk,
    monkeypatch: pytest.MonkeyPatch,
    of: type,
    name: str,
) -> None:
    """There is still a report, while connections are closed and after that."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    function = getattr(of, name)

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return function(*arguments)

    monkeypatch.setattr(of, name, interrupted)
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["changed"]) == (0, 20), ran.said


def test_a_signal_before_the_first_range(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)

    def interrupted(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Ledger, "prepare", interrupted)
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.said) == (130, "saltern.bulk: ended by SIGINT\n")


def without(library: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The program where a library is not installed."""
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from saltern.bulk.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    line = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True)


@pytest.mark.parametrize("library", ["psycopg", "pyarrow"])
def test_without_the_libraries(policies: Policies, tmp_path: Path, library: str) -> None:
    shown = without(library, "--help")
    assert shown.returncode == 0 and "verify-sample" in shown.stdout, shown.stderr
    arguments = command("rekey", policies.file("b"), "host=/nowhere")[3:]
    ran = without(library, *arguments)
    assert ran.returncode == 2 and "pip install 'saltern[bulk]'" in ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr


def test_files_need_no_database(policies: Policies, tmp_path: Path) -> None:
    file = tmp_path / "users.parquet"
    parquet.write_table(pa.table({"hash": [policies.hasher("a").hash("x")]}), file)
    arguments = ["census", "--policy", policies.file("b"), "--parquet", file, "--hash", "hash"]
    ran = without("psycopg", *arguments)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
