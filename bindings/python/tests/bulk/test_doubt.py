"""Where something is in doubt: the lock, a cluster, a policy, an id of a list of passwords."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from conftest import Bulk, Policies, Ran, Server, content, fill

from saltern.bulk import Rewrite, local, ray_engine
from saltern.bulk.columns import rewritten
from saltern.bulk.database import Source, checked, connect
from saltern.bulk.ledger import Range
from saltern.bulk.lock import JobLock
from saltern.bulk.ranges import Done
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.site import open_site
from saltern.bulk.table import inspect


def test_no_range_is_begun_while_the_lock_is_in_doubt(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    class Idle:
        def __init__(self, *_: object) -> None:
            pass

        def close(self) -> None:
            pass

        def do(self, wanted: Range) -> Done:
            done.append(wanted.number)
            return Done(wanted.number)

    monkeypatch.setattr(local, "Worker", Idle)
    monkeypatch.setattr(local, "TICK", 0.01)
    doubt = threading.Event()
    engine = local.LocalEngine(open_site(policies.file("b")), 1, threading.Event(), doubt)
    results = engine.results(None, [Range(n) for n in range(5)])  # type: ignore[arg-type]
    assert next(results) is not None
    doubt.set()
    for _ in range(10):
        next(results)
    assert len(done) <= 2
    doubt.clear()
    assert len(list(filter(None, results))) + 1 >= 4 and done == [0, 1, 2, 3, 4]


def test_a_range_that_another_had_is_tried_again(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    class Taken:
        def __init__(self, *_: object) -> None:
            pass

        def close(self) -> None:
            pass

        def do(self, wanted: Range) -> Done:
            tried.append(wanted.number)
            if wanted.number == 1 and tried.count(1) == 1:
                raise Superseded("range 1 is another's by now")
            return Done(wanted.number)

    monkeypatch.setattr(local, "Worker", Taken)
    engine = local.LocalEngine(
        open_site(policies.file("b")), 1, threading.Event(), threading.Event()
    )
    results = engine.results(None, [Range(n) for n in range(4)])  # type: ignore[arg-type]
    assert [done.number for done in results if done is not None] == [0, 2, 3, 1]


def test_a_partition_and_its_table_have_one_lock(server: Server) -> None:
    fill(server, "users", [])
    server.admin(
        "DROP TABLE users; CREATE TABLE users (id bigint PRIMARY KEY, password_hash text)"
        " PARTITION BY RANGE (id); CREATE TABLE rest PARTITION OF users DEFAULT;"
        "GRANT SELECT, UPDATE ON users, rest TO worker"
    )
    source = Source(server.dsn())
    with connect(source) as connection:
        tables = [
            inspect(connection, name, "id", "password_hash", writes=True)
            for name in ("users", "rest")
        ]
    try:
        with JobLock(source, tables[0]):
            with pytest.raises(Refused, match="another job is at work"), JobLock(source, tables[1]):
                pass
    finally:
        server.admin("DROP TABLE users")


def test_a_cluster_that_lives_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "IDLE", 0.2)
    monkeypatch.setattr(ray_engine, "TICK", 0.01)
    engine = ray_engine.RayEngine("local", None, threading.Event())
    here, there = multiprocessing.Pipe()
    engine._pipe = here
    ended = threading.Event()

    def live() -> None:
        while not ended.wait(0.02):
            there.send({})

    thread = threading.Thread(target=live)
    thread.start()
    try:
        results = engine.results(None, [Range(0)])  # type: ignore[arg-type]
        with pytest.raises(Refused, match="has done no range"):
            for _ in range(500):
                next(results)
    finally:
        ended.set()
        thread.join()


def test_rows_of_a_range_that_are_nearly_all_in_error(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    good, bad = policies.hasher("b").hash("x"), policies.hasher("a").hash("x")
    # One percent of the table, and all of the first range.
    fill(server, "users", [bad] * 90 + [good] * 12_000)
    arguments = ("--range-rows", 90, "--workers", 1)
    ran = bulk("rekey", policies.file("b", "b"), *arguments)
    assert ran.status == 2 and "90 of 90 rows of a range are in error" in ran.said
    assert ran.report["ranges_done"] < 10
    ran = bulk("rekey", policies.file("b", "b"), *arguments, "--most-errors", 90)
    assert ran.report["ended"] == "done"


def test_ids_of_passwords_as_people_write_them(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path
) -> None:
    hasher = policies.hasher("a")
    fill(server, "users", [hasher.hash("x"), None], "uuid")
    id = next(str(id) for id, (hash, _) in content(server).items() if hash)
    empty = next(str(id) for id, (hash, _) in content(server).items() if not hash)
    file = tmp_path / "passwords"
    file.touch(0o600)

    def verify(*ids: str) -> Ran:
        file.write_text("".join(json.dumps({"id": id, "password": "x"}) + "\n" for id in ids))
        return bulk("verify-sample", policies.file("a"), "--passwords", file)

    ran = verify(id.upper())
    assert (ran.status, ran.report["passwords"]["match"]) == (0, 1), ran.report
    ran = verify(empty)
    assert (ran.status, ran.report["passwords"]["without_string"]) == (1, 1), ran.report
    ran = verify(id, empty, id)
    assert ran.status == 2 and "line 3 has the id of line 1" in ran.said


def test_no_dsn_with_a_secret() -> None:
    options = psycopg.pq.Conninfo.get_defaults()
    secrets = [option.keyword.decode() for option in options if option.dispchar == b"*"]
    assert {"password", "sslpassword"} < set(secrets), "no others are known here"
    for name in secrets:
        with pytest.raises(Refused, match="holds a password"):
            checked(f"host=localhost {name}=geheim")


def test_a_function_of_another_policy(policies: Policies, tmp_path: Path) -> None:
    """On a node whose file of the same name is another one."""
    policy = tmp_path / "policy.toml"
    policy.write_text(policies.text("b"))
    batch = pa.table({"hash": [policies.hasher("a").hash("x")]})
    rewrite = Rewrite(policy, "rekey", "hash")
    sent = tmp_path / "sent"
    sent.write_bytes(pickle.dumps((rewrite, batch)))
    code = (
        "import pickle, sys; rewrite, batch = pickle.load(open(sys.argv[1], 'rb'));"
        "print(rewrite(batch)['hash'][0])"
    )

    def elsewhere() -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", code, str(sent)]
        return subprocess.run(line, capture_output=True, text=True)

    assert "{key=b+" in elsewhere().stdout
    policy.write_text(policies.text("a"))
    ran = elsewhere()
    assert ran.returncode and "active_key is different" in ran.stderr


def test_a_function_whose_policy_lacks_the_keys(policies: Policies) -> None:
    batch = pa.table({"hash": [policies.hasher("a").hash("x"), "garbage"]})
    with pytest.raises(Refused, match="1 strings"):
        Rewrite(policies.file("b", "b"), "rekey", "hash")(batch)
    rows: Any = Rewrite(policies.file("b", "b"), "rekey", "hash", outcome="outcome")(batch)
    assert rows["outcome"].to_pylist() == ["unavailable", "bad"]


def test_that_planning_takes_its_time_is_said(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 3)
    for operation in ("rekey", "census"):
        assert "reads all ids once" in bulk(operation, policies.file("b")).said


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.large_binary()])
def test_what_could_not_be_computed_is_tried_again(policies: Policies, kind: pa.DataType) -> None:
    hasher, old = policies.hasher("b"), policies.hasher("a")

    class Busy:
        calls = 0

        def rekey_many(self, hashes: Any, **more: Any) -> Any:
            self.calls += 1
            made = pa.array(hasher.rekey_many(hashes, **more))
            rows = made.to_pylist()
            if self.calls < 3:
                rows[0] = {"hash": None, "outcome": "failed", "why": "try again later"}
            return pa.array(rows, made.type)

    stored = [old.hash("x"), old.hash("y"), "garbage"]
    rows = rewritten(Busy(), "rekey", pa.array(stored).cast(kind))  # type: ignore[arg-type]
    expected = pa.array(hasher.rekey_many(stored))
    assert rows.to_pylist() == expected.to_pylist()
