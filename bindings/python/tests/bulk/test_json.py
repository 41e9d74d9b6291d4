"""Strings in documents of JSON: credentials of Kratos, and others."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import BCRYPT, Bulk, Policies, Server, run
from pyarrow import parquet

from saltern import PasswordHasher, string_in_json
from saltern.bulk import Rewrite

ROWS = 300
POINTER = "/config/hashed_password"
KINDS = ["text", "json", "jsonb"]


def document(stored: str | None, number: int) -> str:
    """As Kratos has it, with members beside the string; some of them are hard to keep."""
    hash = "" if stored is None else f'"hashed_password":{json.dumps(stored)},'
    more = f'"n": {number}.50, "text":"a\\u0301 \\"q\\" \\\\ {number}"'
    return f'{{"config": {{{hash}"use_password_migration_hook":false}},   {more}}}'


def given(hasher: PasswordHasher) -> tuple[list[str | None], dict[int, str]]:
    """Documents, and the passwords of those that have a string."""
    own = hasher.hash_many([f"password {n}" for n in range(ROWS)])
    strings: list[str | None] = [
        None if n % 50 == 0 else BCRYPT[0] if n % 3 == 0 else str(own[n]) for n in range(ROWS)
    ]
    known = {
        n: BCRYPT[1] if text == BCRYPT[0] else f"password {n}"
        for n, text in enumerate(strings) if text is not None
    }
    return [document(text, n) for n, text in enumerate(strings)], known


def fill(server: Server, kind: str, documents: list[str | None]) -> None:
    with server.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS users")
        connection.execute("DROP SCHEMA IF EXISTS saltern_bulk CASCADE")
        connection.execute(f"CREATE TABLE users (id bigint PRIMARY KEY, password_hash {kind})")
        for row in enumerate(documents):
            connection.execute(f"INSERT INTO users VALUES (%s, %s::{kind})", row)
        connection.execute("GRANT SELECT, UPDATE ON users TO worker")


def content(server: Server) -> dict[int, str]:
    with server.connect() as connection:
        return dict(connection.execute("SELECT id, password_hash::text FROM users").fetchall())


def verify_all(
    rows: dict[int, str], hasher: PasswordHasher, known: dict[int, str], **accounts: Any
) -> None:
    stored = [string_in_json(rows[n], POINTER) for n in known]
    assert hasher.verify_many(stored, list(known.values()), **accounts) == [True] * len(known)


def others(text: str) -> str:
    """All of a document but its string, byte for byte."""
    stored = string_in_json(text, POINTER)
    return text if stored is None else text.replace(json.dumps(stored), '"…"')


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_kratos_is_moved(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path, kind: str
) -> None:
    documents, known = given(policies.hasher("a"))
    fill(server, kind, documents)
    before, where = content(server), ("--json-key", POINTER)
    old = sum(password == BCRYPT[1] for password in known.values())
    ran = bulk("wrap", policies.file("a"), *where, "--range-rows", 70)
    assert (ran.status, ran.report["changed"]) == (0, old), ran.said
    moved = bulk("rekey", policies.file("b"), *where)
    assert (moved.status, moved.report["changed"]) == (0, len(known)), moved.said
    again = bulk("rekey", policies.file("b"), *where).report
    assert again["outcomes"] == {"same": len(known), "empty": ROWS - len(known)}
    rows = content(server)
    verify_all(rows, policies.hasher("b"), known)
    assert {n: others(text) for n, text in rows.items()} == {
        n: others(text) for n, text in before.items()
    }
    counts = bulk("census", policies.file("b"), *where).report
    assert (counts["accounts"], counts["without_string"]) == (len(known), ROWS - len(known))
    assert (counts["needs_rekey"], counts["needs_wrap"], counts["bad"]) == (0, 0, 0)
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    wrong = {**known, 1: "wrong", 0: "none"}
    lines = (json.dumps({"id": n, "password": text}) for n, text in wrong.items())
    passwords.write_text("\n".join(lines))
    sample = bulk("verify-sample", policies.file("b"), *where, "--passwords", passwords)
    assert sample.report["passwords"] == {
        "match": len(known) - 1, "mismatch": 1, "missing": 0, "without_string": 1, "error": 0,
    }, sample.said
    assert sample.report["outcomes"] == {"same": len(known), "empty": ROWS - len(known)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_sealed(server: Server, policies: Policies, bulk: Bulk, kind: str) -> None:
    documents, known = given(policies.hasher("b"))
    fill(server, kind, documents)
    where = ("--json-key", POINTER)
    ran = bulk("seal", policies.sealing("b"), *where)
    assert ran.report["changed"] == len(known), ran.said
    hasher = PasswordHasher.from_policy(policies.sealing("b", required=True))
    verify_all(content(server), hasher, known, accounts=[str(n) for n in known])
    assert bulk("census", policies.sealing("b", required=True), *where).report["tampered"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_meanwhile_stays(
    server: Server, policies: Policies, bulk: Bulk, meanwhile: Callable[..., None], kind: str
) -> None:
    hasher = policies.hasher("a")
    documents = [document(hasher.hash("first"), n) for n in range(3)]
    fill(server, kind, [*documents])
    login = document(hasher.hash("second"), 0)
    # One changes the password, the other something beside it.
    beside = documents[1].replace("false", "true")

    def writes() -> None:
        with server.connect() as connection:
            for row in ((login, 0), (beside, 1)):
                connection.execute(f"UPDATE users SET password_hash = %s::{kind} WHERE id = %s", row)

    meanwhile(writes)
    ran = bulk("rekey", policies.file("b"), "--json-key", POINTER)
    assert ran.status == 0 and ran.report["conflicts"] == 2, ran.said
    rows, reader = content(server), policies.hasher("b")
    verify_all(rows, reader, {0: "second", 1: "first", 2: "first"})
    strings = [string_in_json(text, POINTER) for text in rows.values()]
    assert all(text is not None and text.startswith("{key=b+") for text in strings)
    assert json.loads(rows[1])["config"]["use_password_migration_hook"] is True


def test_a_job_belongs_to_its_key(server: Server, policies: Policies, bulk: Bulk) -> None:
    stored = policies.hasher("a").hash("x")
    fill(server, "jsonb", [json.dumps({"a": stored, "b": stored})] * 20)
    server.admin("ALTER TABLE users ADD CHECK (id <> 15 OR password_hash ->> 'a' !~ 'key=b')")
    more = ("--range-rows", 5)
    assert bulk("rekey", policies.file("b"), "--json-key", "a", *more).status == 2
    other = bulk("rekey", policies.file("b"), "--json-key", "b", *more)
    assert other.report["changed"] == 20, other.said
    server.admin("ALTER TABLE users DROP CONSTRAINT users_check")
    rest = bulk("rekey", policies.file("b"), "--json-key", "a", *more)
    assert rest.report["changed"] == 20 and "goes on" in rest.said, rest.said


def test_what_cannot_be_read_stays(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path
) -> None:
    stored = policies.hasher("a").hash("x")
    wrong: list[str | None] = [
        "no document", '{"config":{"hashed_password":7}}', f'{{"other":"{stored}"}}',
        '{"config":{"hashed_password":"garbage"}}', None, "{}", document(stored, 1),
    ]
    fill(server, "text", wrong)
    before = content(server)
    ran = bulk("rekey", policies.file("b"), "--json-key", POINTER, "--most-errors", 9)
    assert ran.report["outcomes"] == {"bad": 4, "null": 1, "empty": 1, "changed": 1}, ran.said
    assert stored not in ran.said + json.dumps(ran.report)
    rows = content(server)
    assert {n for n in rows if rows[n] != before[n]} == {6}
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    passwords.write_text('{"id":0,"password":"x"}')
    sample = bulk("verify-sample", policies.file("b"), "--json-key", POINTER, "--passwords", passwords)
    assert sample.report["passwords"]["error"] == 1, sample.said


def test_columns_that_do_not_fit(server: Server, policies: Policies, bulk: Bulk) -> None:
    for kind, more, said in [
        ("jsonb", [], "--json-key says where the string is"),
        ("varchar(900)", ["--json-key", "/a"], "expected json, jsonb or text"),
    ]:
        fill(server, kind, [])
        ran = bulk("rekey", policies.file("b"), *more)
        assert ran.status == 2 and said in ran.said, ran.said


def test_a_file(policies: Policies, tmp_path: Path) -> None:
    documents, known = given(policies.hasher("a"))
    table = pa.table({"id": range(ROWS), "config": documents})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    policy, out = policies.file("a"), tmp_path / "out.parquet"
    line = [sys.executable, "-m", "saltern.bulk", "wrap", "--policy", policy, "--hash", "config"]
    files = ["--parquet", tmp_path / "in.parquet", "--out", out, "--json-key", POINTER, "--json"]
    ran = run([*map(str, [*line, *files])])
    assert ran.status == 0, ran.said
    rows = dict(enumerate(parquet.read_table(out)["config"].to_pylist()))
    verify_all(rows, policies.hasher("a"), known)
    assert [others(text) for text in rows.values()] == [others(str(text)) for text in documents]
    strings = [string_in_json(text, POINTER) or "{over=" for text in rows.values()]
    assert all(text.startswith(("{over=", "{key=a+")) for text in strings)
    census = run([*map(str, [*line[:3], "census", *line[4:], "--parquet", out, *files[4:]])])
    assert census.report["needs_wrap"] == 0 and census.report["accounts"] == len(known)
    moved = Rewrite(policies.file("b"), "rekey", "config", json_key=POINTER)(table)
    own = [n for n in known if n % 3]
    assert all('"{key=b+' in moved["config"][n].as_py() for n in own)
