"""What would do harm without a word: tables that are restored, triggers, ids, other databases,
strangers in the way of logins."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import BCRYPT, Begun, Bulk, Policies, Server, command, content, fill, run
from pyarrow import parquet

from saltern.bulk import job as jobs
from saltern.bulk import ranges
from saltern.bulk.database import Source, connect
from saltern.bulk.ranges import Done
from saltern.bulk.ray_driver import problem


def refill(server: Server, stored: list[str], how: str) -> None:
    """The table as a backup has it."""
    with server.connect() as connection:
        if how == "drop":
            connection.execute("DROP TABLE users")
            connection.execute(
                "CREATE TABLE users (id bigint PRIMARY KEY, name text, password_hash text);"
                "GRANT SELECT, UPDATE ON users TO worker"
            )
        else:
            connection.execute("TRUNCATE users")
        for number, hash in enumerate(stored):
            connection.execute("INSERT INTO users VALUES (%s, '', %s)", [3 * number, hash])


@pytest.mark.parametrize("how", ["drop", "truncate"])
def test_a_table_that_is_restored_is_done_again(
    server: Server, policies: Policies, bulk: Bulk, how: str
) -> None:
    stored = [policies.hasher("a").hash("x")] * 40
    fill(server, "users", [*stored])
    assert bulk("rekey", policies.file("b"), "--range-rows", 10).status == 0
    # As if one range had not been done yet.
    server.admin(
        "UPDATE saltern_bulk.ranges SET done = NULL WHERE number = 1;"
        "UPDATE saltern_bulk.jobs SET state = 'running'"
    )
    refill(server, stored, how)
    ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["changed"]) == (0, 40), ran.said
    assert "is not the one that job 1 was begun with" in ran.said
    assert all("{key=b+" in str(hash) for hash, _ in content(server).values())


@pytest.mark.parametrize("how", ["drop", "truncate", "hide"])
def test_a_census_of_a_table_that_is_replaced_meanwhile_is_not_done(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    stored = [policies.hasher("a").hash("x")] * 40

    class Late(jobs.LocalEngine):
        def results(self, assignment: Any, ranges: Any) -> Any:
            if how == "hide":
                server.admin("ALTER TABLE users ENABLE ROW LEVEL SECURITY")
            else:
                refill(server, stored[:1], how)
            yield from super().results(assignment, ranges)

    fill(server, "users", [*stored])
    monkeypatch.setattr(jobs, "LocalEngine", Late)
    ran = bulk("census", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["ended"]) == (2, "failed"), ran.said
    assert ("row-level security" if how == "hide" else "was replaced, emptied") in ran.said


@pytest.mark.parametrize("how", ["drop", "truncate"])
def test_a_table_that_is_replaced_meanwhile_is_not_done(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    stored = [policies.hasher("a").hash("x")] * 40

    class Late(jobs.LocalEngine):
        def results(self, assignment: Any, ranges: Any) -> Any:
            yield from super().results(assignment, ranges)
            refill(server, stored, how)

    fill(server, "users", [*stored])
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "LocalEngine", Late)
        ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["ended"], ran.report["ranges_done"]) == (2, "failed", 4)
    assert "was replaced, emptied, rewritten or hidden" in ran.said
    ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["changed"]) == (0, 40), ran.said
    assert all("{key=b+" in str(hash) for hash, _ in content(server).values())


def test_a_table_that_is_hidden_meanwhile_is_not_done(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(jobs.LocalEngine):
        def results(self, assignment: Any, ranges: Any) -> Any:
            server.admin("ALTER TABLE users ENABLE ROW LEVEL SECURITY")
            yield from super().results(assignment, ranges)

    fill(server, "users", [policies.hasher("a").hash("x")] * 40)
    monkeypatch.setattr(jobs, "LocalEngine", Late)
    ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["ended"]) == (2, "failed"), ran.said


def test_what_the_ledger_does_not_say_is_not_done(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Idle:
        def __init__(self, *_: object) -> None:
            pass

        def results(self, assignment: Any, ranges: Any) -> Any:
            yield from (Done(wanted.number) for wanted in ranges)

    monkeypatch.setattr(jobs, "LocalEngine", Idle)
    fill(server, "users", [policies.hasher("a").hash("x")] * 40)
    ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    assert (ran.status, ran.report["ended"], ran.report["ranges_done"]) == (2, "failed", 0)
    assert "the ledger has 0 of 4 ranges as done" in ran.said


CHANGES = {
    "shortens": "NEW.password_hash := left(NEW.password_hash, 30); RETURN NEW",
    "quiet": "RETURN NEW",
    "quotes": "RAISE 'bad row %', NEW",
    "quotes as the server": "RAISE insufficient_privilege USING MESSAGE = 'bad row ' || NEW::text",
}


def trigger(server: Server, body: str, table: str = "users") -> None:
    server.admin(
        f"CREATE OR REPLACE FUNCTION told() RETURNS trigger LANGUAGE plpgsql "
        "SET search_path = public, pg_temp AS "
        f"$_$ BEGIN {body}; END $_$;"
        f"CREATE TRIGGER told BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION told()"
    )


@pytest.mark.parametrize("change", CHANGES)
def test_triggers(server: Server, policies: Policies, bulk: Bulk, change: str) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    trigger(server, CHANGES[change])
    before = content(server)
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 2 and "told" in ran.said and "--triggers-fire" in ran.said
    assert content(server) == before
    ran = bulk("rekey", policies.file("b"), "--triggers-fire")
    assert "$y$" not in ran.said and "bad row" not in ran.said
    if change == "quiet":
        assert (ran.status, ran.report["changed"]) == (0, 10)
    else:
        assert ran.status == 2 and content(server) == before
        codes = {"quotes": "P0001", "quotes as the server": "42501"}
        assert codes.get(change, "made something else") in ran.said


def test_triggers_of_partitions_are_seen(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [])
    server.admin(
        "DROP TABLE users; CREATE TABLE users (id bigint PRIMARY KEY, password_hash text)"
        " PARTITION BY RANGE (id); CREATE TABLE rest PARTITION OF users DEFAULT;"
        "GRANT SELECT, UPDATE ON users TO worker"
    )
    trigger(server, "RETURN NEW", "rest")
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 2 and "told" in ran.said


def test_an_id_that_begins_with_a_mark_of_order(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 3, "text")
    server.admin("UPDATE users SET id = U&'\\FEFF' || 'alice' WHERE id = 'user 0'")
    ran = bulk("rekey", policies.file("b"), "--range-rows", 1)
    assert (ran.status, ran.report["changed"], ran.report["conflicts"]) == (0, 3, 0), ran.report
    assert all("{key=b+" in str(hash) for hash, _ in content(server).values())


def test_a_mistaken_policy_that_changed_nothing(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 40)
    right, mistaken = policies.file("b"), policies.file("b", "b")
    begun = Begun(server, right)
    begun.worker().do(begun.pending()[0])
    assert bulk("rekey", mistaken, "--most-errors", 0).report["changed"] == 0
    ran = bulk("rekey", right)
    assert (ran.status, ran.report["job"]) == (0, begun.job), ran.said
    # One that has changed something counts.
    server.admin(f"UPDATE users SET password_hash = '{policies.hasher('a').hash('y')}'")
    other = policies.file("c", "abc")
    assert bulk("rekey", other).report["changed"] == 40
    ran = bulk("rekey", right)
    assert ran.status == 2 and "this is an older policy" in ran.said
    assert "DELETE FROM saltern_bulk.jobs WHERE job = 3" in ran.said, ran.said


def test_a_stranger_does_not_stop_logins(server: Server, policies: Policies) -> None:
    old = policies.hasher("a")
    fill(server, "users", [old.hash("x")] * 100)
    begun = Begun(server, policies.file("b"))
    begun.source = replace(Source(server.dsn()), retry_for=4.0)
    begun.assignment = replace(begun.assignment, source=begun.source)
    waited = 0.0
    with server.connect() as stranger, server.connect() as login:
        with stranger.transaction():
            stranger.execute("SELECT FROM users WHERE id = 30 FOR UPDATE")
            work = threading.Thread(target=lambda: begun.worker().do(begun.pending()[0]))
            work.start()
            until = time.monotonic() + 2.0
            while time.monotonic() < until:
                before = time.monotonic()
                login.execute("UPDATE users SET name = 'seen' WHERE id = 0")
                waited = max(waited, time.monotonic() - before)
                time.sleep(0.01)
            rows = content(server)
            moved = sum("{key=b+" in str(hash) for hash, _ in rows.values())
        work.join()
    assert waited < 1.0
    assert moved == 99, "the other rows do not wait"
    totals = begun.totals()
    assert (totals["changed"], totals["conflicts"], totals["done"]) == (100, 0, 1)
    assert totals["outcomes"] == {"changed": 100}


def test_a_node_that_reaches_another_database(
    server: Server, policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    begun = Begun(server, policies.file("b"))
    dsn = server.dsn().replace("dbname=postgres", "")
    monkeypatch.setenv("PGDATABASE", "postgres")
    here = replace(begun.assignment, source=Source(dsn))
    assert problem(here) is None
    with server.connect() as connection:
        connection.execute("CREATE DATABASE second TEMPLATE template0")
    try:
        monkeypatch.setenv("PGDATABASE", "second")
        found = problem(here)
        assert found is not None and "second instead of postgres" in found
        monkeypatch.setenv("PGDATABASE", "postgres")
        found = problem(replace(begun.assignment, source=Source(server.dsn("owner"))))
        assert found is not None and "owner instead of worker" in found
    finally:
        server.admin("DROP DATABASE second")


def test_a_ledger_of_another_database(server: Server, policies: Policies) -> None:
    """What a node does whose address leads elsewhere after it was asked."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    begun = Begun(server, policies.file("b"))
    server.admin("UPDATE saltern_bulk.jobs SET nonce = 'of another database'")
    with pytest.raises(Exception, match="another database"):
        begun.worker().do(begun.pending()[0])


def test_settings_of_connections(server: Server) -> None:
    server.admin(
        "ALTER ROLE worker SET default_transaction_isolation = 'repeatable read';"
        "ALTER ROLE worker SET intervalstyle = 'sql_standard';"
        "ALTER ROLE worker SET bytea_output = 'escape'"
    )
    try:
        connection = connect(Source(server.dsn()))
    finally:
        server.admin("ALTER ROLE worker RESET ALL")
    given = connection.info.get_parameters()
    for name, value in (
        ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "4"),
        ("tcp_user_timeout", "30000"),
    ):
        assert given[name] == value
    for name, value in (
        ("transaction_isolation", "read committed"), ("intervalstyle", "postgres"),
        ("bytea_output", "hex"),
    ):
        row = connection.execute(f"SHOW {name}").fetchone()
        assert row == (value,)
    connection.close()


def test_a_census_with_rows_that_nobody_can_verify(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path
) -> None:
    """Of a table and of a file alike."""
    costly = BCRYPT[0].replace("$05$", "$31$")
    file, policy = tmp_path / "users.parquet", policies.file("b", "b")
    for stored, kind in ((policies.hasher("a").hash("x"), "unavailable"), (costly, "refused")):
        fill(server, "users", [stored])
        parquet.write_table(pa.table({"hash": [stored]}), file)
        line = ["census", "--policy", policy, "--parquet", file, "--hash", "hash", "--json"]
        for ran in (bulk("census", policy), run(["", "", "", *map(str, line)])):
            assert (ran.status, ran.report["in_error"]) == (2, 1), ran.report
            assert ran.report["listed"][0]["outcome"] == kind


def test_a_full_queue_is_waited_for(server: Server, policies: Policies) -> None:
    fill(server, "users", [BCRYPT[0]] * 400)
    policy = policies.file("b", more="[pool]\nqueue = 1\nthreads = 1\n")
    line = command("wrap", policy, server.dsn(), "--workers", 8, "--range-rows", 10)
    ran = subprocess.run(line, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["outcomes"] == {"changed": 400}


def test_outcomes_are_exact_after_half_a_range(
    server: Server, policies: Policies, meanwhile: Callable[..., None]
) -> None:
    old = policies.hasher("a")
    fill(server, "users", [old.hash("x")] * 100)
    begun = Begun(server, policies.file("b"))
    login = f"UPDATE users SET password_hash = '{old.hash('y')}' WHERE id = 3"

    class Killed(Exception):
        pass

    def kill() -> None:
        raise Killed

    meanwhile(lambda: server.admin(login), kill)
    with pytest.raises(Killed):
        begun.worker().do(begun.pending()[0])
    begun.worker().do(begun.pending()[0])
    totals = begun.totals()
    assert (totals["changed"], totals["outcomes"]) == (100, {"changed": 100})


def test_a_row_whose_id_is_not_found_again_is_not_done(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever makes another id of it on the way, or whoever gave it another one meanwhile."""
    fill(server, "users", [policies.hasher("a").hash(f"{n}") for n in range(4)], "text")
    batched = ranges.batched

    def mangled(rows: Any) -> Any:
        batch = batched(rows)
        ids = [b"user 11" if id == b"user 1" else id for id in batch.column("id").to_pylist()]
        return batch.set_column(0, "id", pa.array(ids, pa.binary()))

    monkeypatch.setattr(ranges, "batched", mangled)
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 1 and "run it again" in ran.said
    assert ran.report["outcomes"] == {"changed": 3, "conflict": 1}


def test_ranges_that_lack_rows_are_named(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 300)
    Begun(server, policies.file("b"))
    server.admin("DELETE FROM users WHERE id > 300")
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 0 and "the ranges had 101 rows, and the table 300" in ran.said
    assert "the ranges had" not in bulk("rekey", policies.file("b")).said


def test_functions_of_the_table_that_look_for_others(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")])
    server.admin(
        "CREATE FUNCTION public.inner_one() RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        "CREATE FUNCTION public.outer_one() RETURNS boolean LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN inner_one(); END $$;"
        "ALTER TABLE users ADD CHECK (outer_one())"
    )
    try:
        ran = bulk("rekey", policies.file("b"))
        assert ran.status == 2 and "ALTER FUNCTION … SET search_path" in ran.said
        server.admin("ALTER FUNCTION public.outer_one() SET search_path = public, pg_temp")
        assert bulk("rekey", policies.file("b")).report["changed"] == 1
    finally:
        server.admin("DROP TABLE users; DROP FUNCTION public.outer_one, public.inner_one")
