"""What may happen while a job runs: logins, kills, restarts, locks, and two jobs at once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import (
    ROWS, SHORT, Begun, Bulk, Logins, Policies, Ran, Server, accounts, command, content, fill,
    ranges_done, slow, started, verify_all, wait_for,
)

from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Done
from saltern.bulk.refusal import Superseded


def test_what_logins_write_meanwhile_stays(
    server: Server, policies: Policies, meanwhile: Callable[..., None]
) -> None:
    old, new = policies.hasher("a"), policies.hasher("b")
    fill(server, "users", [old.hash("first")] * 100)
    begun = Begun(server, policies.file("b"))
    under_new, under_old = new.hash("changed"), old.hash("of an old server")
    same = new.rekey(str(content(server)[12][0]))
    again = old.hash("and again")

    def first() -> None:
        server.admin(
            f"UPDATE users SET password_hash = '{under_new}' WHERE id = 0;"
            f"UPDATE users SET password_hash = '{under_old}' WHERE id IN (3, 6);"
            "DELETE FROM users WHERE id = 9;"
            f"UPDATE users SET password_hash = '{same}' WHERE id = 12;"
            "UPDATE users SET password_hash = NULL WHERE id = 15"
        )

    meanwhile(first, lambda: server.admin(
        f"UPDATE users SET password_hash = '{again}' WHERE id = 6"
    ))
    done = begun.worker().do(begun.pending()[0])
    rows = content(server)
    assert rows[0][0] == under_new
    assert rows[3][0] == new.rekey(under_old), "read again in the same range"
    assert rows[6][0] == again, "written to twice: left for the next run"
    assert 9 not in rows
    assert (rows[12][0], rows[15][0]) == (same, None)
    # 0, 3, 6, 9, 15 at first; then 6 again. 12 is as it is to be.
    totals = begun.totals()
    assert (totals["changed"], totals["conflicts"], totals["done"]) == (95, 6, 1)
    assert totals["outcomes"] == {
        "changed": 95, "conflict": 1, "gone": 1, "null": 1, "same": 2,
    }
    assert (done.changed, done.conflicts, sum(done.outcomes.values())) == (95, 6, 100)


def test_a_range_that_two_have_is_counted_once(
    server: Server, policies: Policies, meanwhile: Callable[..., None]
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 250)
    begun = Begun(server, policies.file("b"))
    wanted, others = begun.pending()[0], begun.worker()
    results: list[Done] = []
    meanwhile(lambda: results.append(others.do(wanted)))
    with pytest.raises(Superseded):
        begun.worker().do(wanted)
    assert results[0].changed == 100
    assert (begun.totals()["changed"], begun.totals()["conflicts"]) == (100, 0)
    assert begun.worker().do(wanted).accounts == 0, "it is done"


def test_an_orphan_of_a_replaced_job_writes_nothing(
    server: Server, policies: Policies, meanwhile: Callable[..., None], bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    begun = Begun(server, policies.file("b"))
    newer = policies.file("c", "abc")
    meanwhile(lambda: check(bulk("rekey", newer)))
    with pytest.raises(Superseded):
        begun.worker().do(Range(0))
    assert all("{key=c+" in str(hash) for hash, _ in content(server).values())
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 2 and "older policy" in ran.said
    assert all("{key=c+" in str(hash) for hash, _ in content(server).values())


def check(ran: Ran) -> None:
    assert ran.status == 0, ran.said


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("conflict", [True, False])
def test_a_connection_that_is_lost_at_the_commit(
    server: Server,
    policies: Policies,
    meanwhile: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,
    conflict: bool,
) -> None:
    """Nobody knows then whether it took place; the counts are right either way."""
    old = policies.hasher("a")
    fill(server, "users", [old.hash("x")] * 100)
    begun = Begun(server, policies.file("b"))
    changed = old.hash("y")
    if conflict:
        write = f"UPDATE users SET password_hash = '{changed}' WHERE id = 0"
        meanwhile(lambda: server.admin(write))
    lost: list[bool] = []
    transaction = psycopg.Connection.transaction

    def losing(self: Any, *arguments: Any, **more: Any) -> Any:
        return Losing(self, transaction(self, *arguments, **more))

    class Losing:
        def __init__(self, connection: Any, inner: Any) -> None:
            self.connection, self.inner = connection, inner

        def __enter__(self) -> Any:
            return self.inner.__enter__()

        def __exit__(self, *failure: Any) -> Any:
            if lost or failure[0] is not None:
                return self.inner.__exit__(*failure)
            lost.append(True)
            if committed:
                self.inner.__exit__(*failure)
            pid = self.connection.info.backend_pid
            server.admin(f"SELECT pg_terminate_backend({pid})")
            wait_for(lambda: gone(server, pid))
            return self.connection.execute("SELECT 1") and None

    monkeypatch.setattr(psycopg.Connection, "transaction", losing)
    begun.worker().do(Range(0))
    totals = begun.totals()
    assert lost
    assert (totals["changed"], totals["done"]) == (100, 1)
    assert totals["conflicts"] == int(conflict)
    assert all("{key=b+" in str(hash) for hash, _ in content(server).values())


def gone(server: Server, pid: int) -> bool:
    with server.connect() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        return connection.execute(query, [pid]).fetchone() == (0,)


def test_a_lock_of_a_stranger(server: Server, policies: Policies) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    begun = Begun(server, policies.file("b"), retry_for=1.0)
    with server.connect() as stranger:
        with stranger.transaction():
            stranger.execute("SELECT FROM users WHERE id = 30 FOR UPDATE")
            done = begun.worker().do(Range(0))
        # The others do not wait for it.
        assert (done.changed, done.conflicts) == (99, 1)
        totals = begun.totals()
        assert (totals["done"], totals["outcomes"]) == (1, {"changed": 99, "conflict": 1})


def test_a_second_job_is_refused(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    with server.connect() as stranger:
        # The first one waits for this lock.
        stranger.execute("BEGIN; LOCK TABLE users IN SHARE MODE")
        first = subprocess.Popen(
            command("rekey", policies.file("b"), server.dsn()), stdout=subprocess.PIPE
        )
        wait_for(lambda: locks(server) == 1)
        second = bulk("rekey", policies.file("b"))
        assert second.status == 2 and "another job is at work on public.users" in second.said
        stranger.execute("ROLLBACK")
    assert first.wait(60) == 0


def locks(server: Server) -> int:
    with server.connect() as connection:
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def test_signals(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * ROWS)
    slow(server)
    for number in (signal.SIGTERM,) if SHORT else (signal.SIGTERM, signal.SIGINT):
        job = started(server, policies.file("b"))
        before = ranges_done(server)
        wait_for(lambda: ranges_done(server) > before)
        job.send_signal(number)
        output, said = job.communicate(timeout=60)
        assert job.returncode == 128 + number, said
        report = json.loads(output)
        assert report["ended"] == "stopped" and 0 < report["ranges_done"] < report["ranges"]
        assert "the same command goes on" in said
    ran = bulk("rekey", policies.file("b"))
    assert "goes on" in ran.said
    assert (ran.status, ran.report["changed"], ran.report["conflicts"]) == (0, ROWS, 0)


def test_killed_again_and_again_counts_are_exact(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    stored, known = accounts(policies.hasher("a"), ROWS)
    fill(server, "users", stored)
    slow(server)
    new, chosen = policies.hasher("b"), random.Random(3)
    more = ("--most-errors", ROWS)
    for _ in range(2 if SHORT else 4):
        job = started(server, policies.file("b"), *more)
        before = ranges_done(server)
        goal = before + chosen.randrange(20)
        wait_for(lambda goal=goal: ranges_done(server) > goal)
        job.kill()
        job.communicate()
    assert 0 < ranges_done(server) < 200
    ran = bulk("rekey", policies.file("b"), *more)
    expected = sum(1 for hash in stored if hash and "{key=a+" in hash)
    assert (ran.report["changed"], ran.report["conflicts"]) == (expected, 0)
    assert ran.report["job_rows"] == ROWS
    verify_all(server, new, known)
    after = content(server)
    assert bulk("rekey", policies.file("b"), *more).report["changed"] == 0
    assert content(server) == after


def test_logins_kills_and_restarts(server: Server, policies: Policies, bulk: Bulk) -> None:
    stored, known = accounts(policies.hasher("a"), ROWS)
    fill(server, "users", stored)
    new, more = policies.hasher("b"), ("--most-errors", ROWS, "--retry-for", 30)
    with Logins(server, new, known) as logins:
        job = started(server, policies.file("b"), *more)
        wait_for(lambda: ranges_done(server) > 20)
        job.kill()
        job.communicate()
        job = started(server, policies.file("b"), *more)
        wait_for(lambda: ranges_done(server) > 60)
        server.stop("immediate")
        time.sleep(0.5)
        server.start()
        output, said = job.communicate(timeout=120)
        assert job.returncode == 2, said  # because of the bad ones
        report = json.loads(output)
        assert report["ended"] == "done" and report["ranges_done"] == report["ranges"], said
        assert "connection" not in said, "the job's own connections were lost, too"
    assert logins.updates > 0 and logins.changes > 0
    verify_all(server, new, known)
    after = content(server)
    ran = bulk("rekey", policies.file("b"), *more)
    assert (ran.report["changed"], ran.report["conflicts"]) == (0, 0)
    assert content(server) == after
