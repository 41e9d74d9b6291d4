"""Jobs on a table of PostgreSQL, on one machine: what they do, and what they count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROWS, Bulk, Policies, Server, accounts, content, fill, verify_all

import saltern
from saltern import PasswordHasher
from saltern.bulk.database import listed, spelled
from saltern.bulk.table import Key, Table


def kinds(stored: list[str | None], hasher: PasswordHasher) -> dict[str, int]:
    """What rekey has to find, by the function for a single string."""
    counts = {"changed": 0, "same": 0, "locked": 0, "empty": 0, "null": 0, "bad": 0}
    for text in stored:
        if not text:
            counts["null" if text is None else "empty"] += 1
        elif text == "*LK*":
            counts["locked"] += 1
        elif text == "garbage":
            counts["bad"] += 1
        else:
            counts["same" if hasher.rekey(text) is None else "changed"] += 1
    return counts


def test_rekey_and_once_more(server: Server, policies: Policies, bulk: Bulk) -> None:
    old, new = policies.hasher("a"), policies.hasher("b")
    stored, known = accounts(old, ROWS)
    fill(server, "users", stored)
    expected, before = kinds(stored, new), content(server)

    ran = bulk("rekey", policies.file("b"), "--most-errors", ROWS, "--list-errors", 5)
    assert ran.status == 2, ran.said  # because of the bad ones
    assert ran.report["ended"] == "done"
    assert ran.report["outcomes"] == expected
    assert ran.report["job_rows"] == ROWS
    assert ran.report["changed"] == expected["changed"]
    assert ran.report["conflicts"] == 0
    assert len(ran.report["listed"]) == 5
    after = content(server)
    assert {entry["id"] for entry in ran.report["listed"]} <= {
        str(id) for id, (hash, _) in before.items() if hash == "garbage"
    }
    for id, (hash, xmin) in before.items():
        wanted = hash if hash in (None, "", "*LK*", "garbage") else new.rekey(hash) or hash
        assert after[id][0] == wanted
        if wanted == hash:
            assert after[id][1] == xmin, "a row was written that did not change"
    verify_all(server, new, known)

    ran = bulk("rekey", policies.file("b"), "--most-errors", ROWS)
    assert ran.report["changed"] == ran.report["conflicts"] == 0
    assert content(server) == after, "the second run has written"
    # What was said about rows in error holds no string.
    assert "garbage" not in ran.said and "garbage" not in json.dumps(ran.report)


def test_wrap(server: Server, policies: Policies, bulk: Bulk) -> None:
    new = policies.hasher("a")
    stored, known = accounts(new, min(ROWS, 3000))
    fill(server, "users", stored)
    foreign = sum(text is not None and new.wrap(text) is not None
                  for text in stored if text not in ("", "garbage"))
    ran = bulk("wrap", policies.file("a"), "--most-errors", ROWS)
    assert ran.report["changed"] == foreign > 0
    verify_all(server, new, known)
    after = content(server)
    ran = bulk("wrap", policies.file("a"), "--most-errors", ROWS)
    assert ran.report["changed"] == 0
    assert content(server) == after


@pytest.mark.parametrize("kind", ["uuid", "text"])
def test_ids_of_other_types(server: Server, policies: Policies, bulk: Bulk, kind: str) -> None:
    stored: list[str | None] = [policies.hasher("a").hash("x")] * 500
    fill(server, "users", stored, kind)
    if kind == "text":
        # In an order that is not that of the bytes, and with what CSV has to quote.
        server.admin(
            'ALTER TABLE users ALTER COLUMN id TYPE text COLLATE "en-x-icu";'
            "UPDATE users SET id = E'Zoë \"quoted\",\\n\\\\.\\n' WHERE id = 'user 7';"
            "UPDATE users SET id = upper(id) WHERE id LIKE '%3'"
        )
    ran = bulk("rekey", policies.file("b"), "--range-rows", 50)
    assert (ran.status, ran.report["changed"], ran.report["ranges"]) == (0, 500, 10), ran.said
    assert all("{key=b+" in str(hash) for hash, _ in content(server).values())


def test_rows_that_come_later_belong_to_a_range(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 100)
    stopped = bulk("rekey", policies.file("b"), "--range-rows", 10, "--most-errors", 0)
    assert stopped.status == 0
    # As if the first and the last range had not been done yet.
    server.admin(
        "UPDATE saltern_bulk.ranges SET done = NULL WHERE low IS NULL OR high IS NULL;"
        "UPDATE saltern_bulk.jobs SET state = 'running'"
    )
    with server.connect() as connection:
        hash = policies.hasher("a").hash("y")
        for id in (-5, 10_000):
            connection.execute("INSERT INTO users VALUES (%s, 'late', %s)", [id, hash])
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["ranges_done"]) == (0, 10)
    rows = content(server)
    assert "{key=b+" in str(rows[-5][0]) and "{key=b+" in str(rows[10_000][0])


def test_a_table_without_rows(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [])
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["job_rows"], ran.report["ranges_done"]) == (0, 0, 1)


def test_census(server: Server, policies: Policies, bulk: Bulk) -> None:
    old = policies.hasher("a")
    stored, _ = accounts(old, 2000)
    fill(server, "users", stored)
    before = content(server)
    ran = bulk("census", policies.file("b"), "--range-rows", 300)
    report = ran.report
    found = kinds(stored, policies.hasher("b"))
    assert ran.status == 2
    assert report["accounts"] == 2000 - found["null"] - found["empty"] - found["bad"]
    assert report["without_string"] == found["null"] + found["empty"]
    assert (report["bad"], report["needs_rekey"]) == (found["bad"], found["changed"])
    assert report["keys"] == {"a": found["changed"]}
    assert report["needs_wrap"] == sum(
        report["schemes"].get(scheme, 0) for scheme in ("bcrypt", "sha-crypt", "hex")
    )
    assert content(server) == before
    # The same as the whole in one call.
    counts, _ = policies.hasher("b").count_many(stored)
    assert {name: report[name] for name in counts} == counts


def test_verify_sample(server: Server, policies: Policies, bulk: Bulk, tmp_path: Path) -> None:
    hasher = policies.hasher("a")
    fill(server, "users", [hasher.hash(f"word {number}") for number in range(50)])
    file = tmp_path / "passwords"
    lines = [{"id": 3 * n, "password": f"word {n}"} for n in range(20)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused = bulk("verify-sample", policies.file("a"), "--passwords", file)
    assert refused.status == 2 and "chmod 600" in refused.said
    file.chmod(0o600)
    ran = bulk("verify-sample", policies.file("a"), "--passwords", file, "--sample", 30)
    assert ran.status == 0, ran.said
    assert (ran.report["rows"], ran.report["passwords"]["match"]) == (30, 20)
    file.write_text('{"id": 3, "password": "wrong"}\n{"id": 999, "password": "x"}\n')
    ran = bulk("verify-sample", policies.file("a"), "--passwords", file)
    assert ran.status == 1
    assert [entry["id"] for entry in ran.report["listed"]] == ["3", "999"]
    file.write_text('{"id": 3, "password": "geheim"\n')
    ran = bulk("verify-sample", policies.file("a"), "--passwords", file)
    assert ran.status == 2 and "geheim" not in ran.said
    # A key that is not there is found without a password.
    ran = bulk("verify-sample", policies.file("b", names="b"), "--sample", 50)
    assert ran.status == 2 and ran.report["outcomes"] == {"unavailable": 50}


def test_too_many_errors_end_the_job(server: Server, policies: Policies, bulk: Bulk) -> None:
    hasher = policies.hasher("a")
    fill(server, "users", [hasher.hash("x")] * 2000)
    # A policy that lacks the key of all strings.
    ran = bulk("rekey", policies.file("b", names="b"), "--range-rows", 100, "--workers", 1)
    assert ran.status == 2 and "--most-errors" in ran.said
    assert ran.report["ended"] == "failed"
    assert ran.report["ranges_done"] < ran.report["ranges"]
    assert ran.report["changed"] == 0


def test_partitions(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 300)
    server.admin(
        "ALTER TABLE users RENAME TO plain;"
        "CREATE TABLE users (id bigint PRIMARY KEY, name text, password_hash text)"
        " PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF users FOR VALUES FROM (0) TO (400);"
        "CREATE TABLE rest PARTITION OF users DEFAULT;"
        "INSERT INTO users SELECT * FROM plain; DROP TABLE plain;"
        "GRANT SELECT, UPDATE ON users TO worker"
    )
    ran = bulk("rekey", policies.file("b"), "--table", "public.users")
    assert (ran.status, ran.report["changed"]) == (0, 300), ran.said


def test_names_that_need_quotes(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        'DROP SCHEMA IF EXISTS "My ""app" CASCADE; CREATE SCHEMA "My ""app";'
        'ALTER TABLE users SET SCHEMA "My ""app"; ALTER TABLE "My ""app".users RENAME TO "Us%ers";'
        'ALTER TABLE "My ""app"."Us%ers" RENAME password_hash TO "hash {x} %s";'
        'GRANT USAGE ON SCHEMA "My ""app" TO worker'
    )
    names = ("--table", 'My "app.Us%ers', "--hash", "hash {x} %s", "--ledger-schema", 'My "ledger%')
    ran = bulk("rekey", policies.file("b"), *names)
    assert (ran.status, ran.report.get("changed")) == (0, 10), ran.said
    server.admin('DROP SCHEMA "My ""app" CASCADE; DROP SCHEMA "My ""ledger%" CASCADE')


def test_no_secret_is_kept_or_said(server: Server, policies: Policies, bulk: Bulk) -> None:
    hasher = policies.hasher("a")
    hash = hasher.hash("x")
    fill(server, "users", [hash] * 10)
    # The server would show the whole row in the detail of this error.
    server.admin("ALTER TABLE users ADD CHECK (password_hash NOT LIKE '{key=b+%')")
    ran = bulk("rekey", policies.file("b"))
    assert ran.status == 2 and "CheckViolation (23514)" in ran.said
    digest = hash.rsplit("$", 1)[1]
    with server.connect() as connection:
        ledger = [
            str(row)
            for table in ("jobs", "ranges", "errors")
            for row in connection.execute(f"SELECT * FROM saltern_bulk.{table}")
        ]
    told = ran.said + json.dumps(ran.report) + "".join(ledger)
    for secret in (digest, policies.key("a").hex(), policies.key("b").hex(), str(policies.folder)):
        assert secret not in told


def test_the_functions_of_columns(policies: Policies) -> None:
    import pyarrow as pa

    hasher = policies.hasher("b")
    stored, _ = accounts(policies.hasher("a"), 1500)
    pieces = pa.chunked_array([stored[:700], stored[700:]], pa.large_string())
    for column in (stored, pieces, pieces.cast(pa.binary()), pieces.cast(pa.string_view())):
        rows: list[dict[str, Any]] = pa.array(hasher.rekey_many(column)).to_pylist()
        for text, row in zip(stored, rows, strict=True):
            try:
                expected = hasher.rekey(text) if text else None
            except saltern.InvalidHashError as error:
                assert (row["outcome"], row["why"]) == ("bad", str(error))
                expected = None
            assert row["hash"] == expected
    rows = pa.array(hasher.rekey_many([b"\xff", "\ud800", None, ""])).to_pylist()
    assert [row["outcome"] for row in rows] == ["bad", "bad", "null", "empty"]
    with pytest.raises(TypeError):
        hasher.rekey_many([1])


def test_names_that_are_joined_can_be_told_apart() -> None:
    """In the ledger, where a job is found again by them."""
    def table(schema: str, name: str, id: list[str], hash: str, key: str | None = None) -> Table:
        keys = tuple(Key(column, "text") for column in id)
        return Table(1, schema, name, keys, (hash,), json_key=key)

    for one, other in (
        (table("a", "b.c", ["x"], "h"), table("a.b", "c", ["x"], "h")),
        (table("a", "b", ["x,y"], "h"), table("a", "b", ["x", "y"], "h")),
        (table("a", "b", ["x"], "h k"), table("a", "b", ["x"], "h", "k")),
    ):
        assert (one.label, one.id_columns, one.place) != (other.label, other.id_columns, other.place)
    for names in (["a b", 'c"'], ['"'], ['"a"', "b"], ["a", "b"]):
        assert spelled(listed(names, " "), " ") == names
