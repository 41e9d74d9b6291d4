"""What the program says and prints, and how it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Policies, Ran, Server, fill

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
