"""What a database's administrator asks of a job: to leave the server's tools alone, and to be held
back."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

import pytest
from conftest import Bulk, Policies, Server, command, content, fill, ranges_done, wait_for


def entries(server: Server) -> int:
    """How many statements the server has counted of the job's role."""
    with server.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_statements AS s JOIN pg_roles AS r ON r.oid = s.userid "
            "WHERE rolname = 'worker'"
        ).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.parametrize("operation", ["rekey", "wrap", "seal", "census", "verify-sample"])
def test_statements_are_constant(
    server: Server, policies: Policies, bulk: Bulk, operation: str
) -> None:
    server.admin("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    policy = policies.sealing("b") if operation == "seal" else policies.file("b")
    counts = []
    for rows in (40, 2000):
        pair = [policies.hasher("a").hash("x"), "5ebe2294ecd0e0f08eab7690d2a6ee69"]
        fill(server, "users", pair * (rows // 2))
        server.admin("SELECT pg_stat_statements_reset()")
        more = () if operation == "verify-sample" else ("--range-rows", 10)
        ran = bulk(operation, policy, *more)
        assert ran.status == 0, ran.said
        if operation in ("rekey", "wrap", "seal"):
            assert ran.report["changed"] >= rows // 2 and ran.report["ranges"] == rows // 10
        counts.append(entries(server))
    assert max(counts) <= 20, counts


def test_the_catalogue_does_not_grow_with_the_ranges(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    def written() -> dict[str, int]:
        with server.connect() as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            return dict(connection.execute(
                "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_sys_tables "
                "WHERE relname IN ('pg_class', 'pg_attribute', 'pg_type', 'pg_depend')"
            ).fetchall())

    grown = []
    for rows in (40, 4000):
        fill(server, "users", [policies.hasher("a").hash("x")] * rows)
        assert bulk("rekey", policies.file("b"), "--range-rows", 10).report["changed"] == rows
        server.admin("UPDATE users SET password_hash = password_hash")
        before = written()
        ran = bulk("rekey", policies.file("c", "abc"), "--range-rows", 10)
        assert ran.report["changed"] == rows, ran.said
        after = written()
        grown.append(sum(after[name] - before[name] for name in after))
    assert grown[0] == pytest.approx(grown[1], abs=40), grown


@pytest.mark.parametrize("change", ["RETURN NULL", "NEW.name := NULL; RETURN NULL"])
def test_a_trigger_that_keeps_rows_is_named(
    server: Server, policies: Policies, bulk: Bulk, change: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        "CREATE OR REPLACE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql "
        f"SET search_path = public, pg_temp AS $_$ BEGIN {change}; END $_$;"
        "CREATE TRIGGER keeper BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION kept()"
    )
    before = content(server)
    ran = bulk("rekey", policies.file("b"), "--triggers-fire")
    assert ran.status == 2 and content(server) == before
    assert "has kept 10 rows from being written (it returned NULL): keeper" in ran.said, ran.said


def test_all_that_is_refused_of_a_table_is_said(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        "REVOKE UPDATE (password_hash) ON users FROM worker;"
        "CREATE RULE ruled AS ON UPDATE TO users DO ALSO NOTHING;"
        "ALTER TABLE users DROP CONSTRAINT users_pkey"
    )
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 2 and ran.said.count("\n") == 3, ran.said
    for expected in ("lacks UPDATE (password_hash)", "has rules", "may be null or occur twice"):
        assert expected in ran.said


def test_a_key_of_several_columns(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 300)
    server.admin(
        "ALTER TABLE users ADD tenant text NOT NULL DEFAULT 'x', DROP CONSTRAINT users_pkey;"
        "UPDATE users SET tenant = CASE WHEN id % 2 = 0 THEN 'a,\"b\\' ELSE 'c d' END, id = id / 6;"
        "ALTER TABLE users ADD PRIMARY KEY (tenant, id); GRANT SELECT (tenant) ON users TO worker"
    )
    ran = bulk("rekey", policies.file("b"), "--id", "id,tenant", "--range-rows", 20)
    assert (ran.status, ran.report.get("changed"), ran.report.get("ranges")) == (0, 300, 15), ran.said
    with server.connect() as connection:
        left = connection.execute("SELECT FROM users WHERE password_hash NOT LIKE '{key=b+%'")
        assert not left.fetchall()
    server.admin("DROP TABLE users")


def test_names_with_dots(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        'DROP SCHEMA IF EXISTS "my.app" CASCADE; CREATE SCHEMA "my.app";'
        'ALTER TABLE users SET SCHEMA "my.app"; ALTER TABLE "my.app".users RENAME TO "us.ers";'
        'ALTER TABLE "my.app"."us.ers" RENAME id TO "i,d"; GRANT USAGE ON SCHEMA "my.app" TO worker'
    )
    ran = bulk("rekey", policies.file("b"), "--table", '"my.app"."us.ers"', "--id", '"i,d"')
    server.admin('DROP SCHEMA "my.app" CASCADE')
    assert (ran.status, ran.report.get("changed")) == (0, 10), ran.said


def test_a_rate_that_is_changed_meanwhile(server: Server, policies: Policies) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 400)
    line = command("rekey", policies.file("b"), server.dsn(), "--range-rows", 10, "--max-rate", 40)
    began = time.monotonic()
    job = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: ranges_done(server) >= 8)
    assert time.monotonic() - began > 1.0
    server.admin("UPDATE saltern_bulk.limits SET max_rate = 0")
    time.sleep(1.5)
    held = ranges_done(server)
    time.sleep(1.5)
    assert ranges_done(server) == held < 40
    server.admin("UPDATE saltern_bulk.limits SET max_rate = NULL")
    output, _ = job.communicate(timeout=20)
    assert job.returncode == 0 and json.loads(output)["changed"] == 400


def test_a_job_that_is_held_back_is_stopped_softly(server: Server, policies: Policies) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    line = command("rekey", policies.file("b"), server.dsn(), "--range-rows", 10, "--max-rate", 0)
    job = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: locked(server))
    time.sleep(1.0)
    job.terminate()
    output, said = job.communicate(timeout=10)
    assert job.returncode == 143 and "the same command goes on" in said, said
    assert json.loads(output)["ranges_done"] == 0


def locked(server: Server) -> bool:
    with server.connect() as connection:
        return bool(connection.execute("SELECT FROM pg_locks WHERE locktype = 'advisory'").fetchall())


def test_the_log_holds_a_job_back(server: Server, policies: Policies) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    server.admin("GRANT pg_monitor TO worker")
    line = command("rekey", policies.file("b"), server.dsn(), "--range-rows", 10, "--max-wal", "1kB")
    job = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(3.0)
        assert ranges_done(server) == 0 and job.poll() is None
        server.admin("UPDATE saltern_bulk.limits SET max_wal = NULL")
        output, _ = job.communicate(timeout=20)
        assert job.returncode == 0 and json.loads(output)["changed"] == 100
    finally:
        job.kill()
        server.admin("REVOKE pg_monitor FROM worker")


def test_an_idle_transaction_that_is_ended(
    server: Server, policies: Policies, meanwhile: Callable[..., None], bulk: Bulk,
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    meanwhile(lambda: server.admin(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'"
    ))
    server.admin("ALTER ROLE worker SET idle_in_transaction_session_timeout = '50ms'")
    try:
        ran = bulk("rekey", policies.file("b"), "--range-rows", 10)
    finally:
        server.admin("ALTER ROLE worker RESET ALL")
    assert (ran.status, ran.report["changed"]) == (0, 100), ran.said
