"""Strings that are sealed for the ids of their rows."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import (
    Bulk, Logins, Policies, Server, accounts, content, fill, ranges_done, run, started, verify_all,
    wait_for,
)
from conftest import ROWS as ROWS_OF_A_LARGE_TABLE
from pyarrow import parquet

from saltern import PasswordHasher, TamperedError
from saltern.bulk import Rewrite

ROWS = 300


@pytest.mark.parametrize("kind", ["bigint", "uuid", "text"])
def test_a_table_is_sealed(server: Server, policies: Policies, bulk: Bulk, kind: str) -> None:
    old = policies.hasher("b")
    stored: list[str | None] = [*old.hash_many([f"password {n}" for n in range(ROWS)]), "!", None]
    fill(server, "users", stored, kind)
    policy = policies.sealing("b")
    report = bulk("seal", policy, "--range-rows", 50).report
    assert report["outcomes"] == {"changed": ROWS, "locked": 1, "null": 1}
    rows = content(server)
    hasher = PasswordHasher.from_policy(policies.sealing("b", required=True))
    sealed = {str(id): hash for id, (hash, _) in rows.items() if hash not in ("!", None)}
    assert all(hash.startswith("{seal=seal+") for hash in sealed.values() if hash)
    # A login gives the id as the database prints it.
    answers = hasher.verify_many(list(sealed.values()), ["x"] * ROWS, accounts=list(sealed))
    assert answers == [False] * ROWS
    again = bulk("seal", policy).report
    assert again["outcomes"] == {"same": ROWS, "locked": 1, "null": 1}
    assert content(server) == rows
    counts = bulk("census", policies.sealing("b", required=True)).report
    assert (counts["sealed"], counts["tampered"]) == (ROWS, 0)
    # Two rows change places, one loses its seal.
    first, second, third = list(sealed)[:3]
    plain = str(sealed[third]).split("}", 1)[1]
    for id, hash in ((first, sealed[second]), (second, sealed[first]), (third, plain)):
        with server.connect() as connection:
            connection.execute("UPDATE users SET password_hash = %s WHERE id::text = %s", [hash, id])
    census = bulk("census", policies.sealing("b", required=True))
    assert census.report["tampered"] == 3 and census.status == 2
    assert sorted(row["id"] for row in census.report["listed"]) == sorted([first, second, third])
    moved = bulk("rekey", policies.sealing("a", required=True), "--most-errors", 5)
    assert moved.report["outcomes"]["tampered"] == 3
    with pytest.raises(TamperedError):
        hasher.verify(sealed[second], "x", account=first)


def test_rows_are_rekeyed_with_their_seals(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    hasher = PasswordHasher.from_policy(policies.sealing("a", required=True))
    ids = [str(3 * n) for n in range(ROWS)]
    fill(server, "users", hasher.hash_many(["secret"] * ROWS, accounts=ids))
    policy = policies.sealing("b", required=True)
    assert bulk("rekey", policy).report["changed"] == ROWS
    rows = {str(id): hash for id, (hash, _) in content(server).items()}
    new = PasswordHasher.from_policy(policy)
    answers = new.verify_many(list(rows.values()), ["secret"] * ROWS, accounts=list(rows))
    assert answers == [True] * ROWS
    assert not any(new.check_needs_rehash(str(hash)) for hash in rows.values())


def test_sealed_once_whatever_is_killed_while_people_log_in(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    stored, known = accounts(policies.hasher("b"), ROWS_OF_A_LARGE_TABLE)
    fill(server, "users", stored)
    policy, more = policies.sealing("b"), ("--most-errors", ROWS_OF_A_LARGE_TABLE)
    hasher, chosen = PasswordHasher.from_policy(policy), random.Random(5)
    with Logins(server, hasher, known) as logins:
        for _ in range(2):
            job = started(server, policy, *more, operation="seal")
            goal = ranges_done(server) + chosen.randrange(40)
            wait_for(lambda goal=goal: ranges_done(server) > goal)
            job.kill()
            job.communicate()
        while bulk("seal", policy, *more).report["outcomes"].get("conflict"):
            pass
    assert logins.updates > 0 and logins.changes > 0
    required = policies.sealing("b", required=True)
    counts = bulk("census", required).report
    assert counts["sealed"] > 0 and counts["tampered"] == stored.count("garbage")
    # What is left is no string at all.
    left = [hash for hash, _ in content(server).values() if hash and "{seal=" not in hash]
    assert set(left) <= {"*LK*", "garbage"}
    # One seal each, and no password lost.
    assert all(str(hash).count("{seal=") <= 1 for hash, _ in content(server).values())
    verify_all(server, PasswordHasher.from_policy(required), known)
    after = content(server)
    assert bulk("seal", policy, *more).report["changed"] == 0
    assert content(server) == after


def test_a_file_is_sealed(policies: Policies, tmp_path: Path) -> None:
    hasher = policies.hasher("b")
    hashes = hasher.hash_many(["secret"] * 20)
    table = pa.table({"id": pa.array(range(20)), "hash": hashes})
    parquet.write_table(table, tmp_path / "in.parquet")
    policy = policies.sealing("b")
    line = ["", "", "", "seal", "--policy", policy, "--hash", "hash", "--id", "id", "--json"]
    files = ["--parquet", tmp_path / "in.parquet", "--out", tmp_path / "out.parquet"]
    assert run([*map(str, [*line, *files])]).report["changed"] == 20
    sealed = parquet.read_table(tmp_path / "out.parquet")["hash"].to_pylist()
    batch = Rewrite(policy, "seal", "hash", account="id")(table)
    assert batch["hash"].to_pylist() == sealed
    reader = PasswordHasher.from_policy(policies.sealing("b", required=True))
    assert reader.verify(sealed[7], "secret", account="7")
    with pytest.raises(ValueError, match="account"):
        Rewrite(policy, "seal", "hash")


def test_a_policy_without_a_key_for_seals(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("b").hash("x")])
    ran = bulk("seal", policies.file("b"))
    assert ran.status == 2 and "no active key for seals" in ran.said
