"""Files of Parquet, and the function that every engine calls."""

from __future__ import annotations

import datetime
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Policies, accounts, wait_for
from conftest import run as in_process
from pyarrow import parquet

from saltern.bulk import Refused, Rewrite


def run(operation: str, policy: Path, *more: object) -> tuple[int, dict[str, Any], str]:
    arguments = [operation, "--policy", policy, "--hash", "hash", "--json", *more]
    ran = in_process([sys.executable, "-m", "saltern.bulk", *map(str, arguments)])
    return ran.status, ran.report, ran.said


@pytest.fixture
def exported(policies: Policies, tmp_path: Path) -> Path:
    stored, _ = accounts(policies.hasher("a"), 1000)
    table = pa.table(
        {"id": range(1000), "hash": pa.array(stored, pa.large_string()), "more": [{"a": 1}] * 1000}
    ).replace_schema_metadata({"site": "example"})
    file = tmp_path / "users.parquet"
    parquet.write_table(table, file, row_group_size=300, compression="zstd")
    return file


@pytest.mark.parametrize("operation", ["rekey", "wrap"])
def test_a_file(policies: Policies, exported: Path, tmp_path: Path, operation: str) -> None:
    hasher, out = policies.hasher("b"), tmp_path / "out.parquet"
    more = ("--parquet", exported, "--out", out, "--id", "id", "--most-errors", 1000)
    status, report, said = run(operation, policies.file("b"), *more)
    assert status == 2 and report["ended"] == "done", said
    before, after = parquet.ParquetFile(exported), parquet.ParquetFile(out)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.num_row_groups == before.num_row_groups == 4
    assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    old, new = before.read(), after.read()
    assert new.drop_columns("hash").equals(old.drop_columns("hash"))
    changed = 0
    for was, text in zip(old["hash"].to_pylist(), new["hash"].to_pylist(), strict=True):
        changed += was != text
        if operation == "rekey":
            wanted = was and was not in ("garbage",) and hasher.rekey(was)
            assert text == (wanted or was)
    assert changed == report["outcomes"]["changed"] > 0
    assert stat_mode(out) == 0o600
    status, report, _ = run(operation, policies.file("b"), "--parquet", out, "--out",
                            tmp_path / "again.parquet", "--most-errors", 1000)
    assert "changed" not in report["outcomes"]
    # Nothing is written over, and nothing is left behind.
    status, _, said = run(operation, policies.file("b"), *more)
    assert status == 2 and "is there already" in said
    names = {file.name for file in tmp_path.iterdir() if "parquet" in file.name}
    assert names == {"users.parquet", "out.parquet", "again.parquet"}


def stat_mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_what_is_refused(policies: Policies, exported: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    for more, expected in (
        (["--parquet", exported, "--out", out, "--most-errors", 3], "--most-errors 3"),
        (["--parquet", tmp_path / "none", "--out", out], "none"),
        (["--parquet", exported, "--out", out, "--hash", "id"], "is of type int64"),
        (["--parquet", exported, "--out", out, "--hash", "other"], "has no column other"),
        (["--parquet", exported], "needs --out"),
        (["--parquet", exported, "--out", exported], "is there already"),
    ):
        status, _, said = run("rekey", policies.file("b"), *more)
        assert status == 2 and expected in said, said
        assert not out.exists()


def test_a_census_of_a_file(policies: Policies, exported: Path) -> None:
    _, report, _ = run("census", policies.file("b"), "--parquet", exported)
    stored = parquet.read_table(exported)["hash"].to_pylist()
    counts, _ = policies.hasher("b").count_many(stored)
    assert {name: report[name] for name in counts} == counts


def test_the_function_of_batches(policies: Policies) -> None:
    stored, _ = accounts(policies.hasher("a"), 500)
    rewrite = Rewrite(policies.file("b"), "rekey", "hash", outcome="outcome")
    expected = pa.array(policies.hasher("b").rekey_many(stored))
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.string_view(),
                 pa.dictionary(pa.int32(), pa.string())):
        batch = pa.record_batch({"n": range(500), "hash": pa.array(stored).cast(kind)})
        for given in (batch, pa.table(batch)):
            made = rewrite(given)
            assert type(made) is type(given)
            assert made.schema.field("hash").type == kind
            assert made["outcome"].to_pylist() == expected.field("outcome").to_pylist()
            for new, old, row in zip(
                made["hash"].cast(pa.string()).to_pylist(), stored, expected.to_pylist(),
                strict=True,
            ):
                assert new == (row["hash"] or old)
    # What is sent to other machines has neither keys nor a hasher.
    rewrite(batch)
    sent = pickle.dumps(rewrite)
    assert len(sent) < 1000 and policies.key("b") not in sent
    assert pickle.loads(sent)(batch).equals(made.to_batches()[0])


def test_a_signal_throws_the_file_away(policies: Policies, tmp_path: Path) -> None:
    stored, _ = accounts(policies.hasher("a"), 1000)
    file, out = tmp_path / "users.parquet", tmp_path / "out.parquet"
    parquet.write_table(pa.table({"hash": stored * 100}), file, row_group_size=500)
    command = [sys.executable, "-m", "saltern.bulk", "rekey", "--policy", policies.file("b"),
               "--hash", "hash", "--parquet", file, "--out", out, "--most-errors", "100000"]
    job = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL)
    wait_for(lambda: any(name.startswith(".out") for name in os.listdir(tmp_path)))
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 143
    assert not any("out.parquet" in name for name in os.listdir(tmp_path))


@pytest.mark.parametrize(("at", "status", "ended"), [(0, 130, "stopped"), (1, 0, "done")])
def test_a_signal_after_the_last_row_group(
    policies: Policies,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: int,
    status: int,
    ended: str,
) -> None:
    """The report says whether the file is there."""
    out, calls, fsync = tmp_path / "out.parquet", iter(range(9)), os.fsync

    def interrupted(descriptor: int) -> None:
        if next(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    arguments = ["--parquet", exported, "--out", out, "--most-errors", 100000]
    ran = run("rekey", policies.file("b"), *arguments)
    assert (ran[1]["ended"], out.exists()) == (ended, ended == "done")
    assert ran[0] == (status or 2)


def test_a_census_of_no_rows(policies: Policies, tmp_path: Path) -> None:
    """A file may have no row group."""
    file = tmp_path / "empty.parquet"
    parquet.ParquetWriter(file, pa.schema([("hash", pa.string())])).close()
    assert parquet.ParquetFile(file).num_row_groups == 0
    status, report, _ = run("census", policies.file("b"), "--parquet", file)
    counts, _ = policies.hasher("b").count_many([])
    assert status == 0 and {name: report[name] for name in counts} == counts


def test_row_groups_of_several_pieces(
    policies: Policies, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one column of Arrow has room for is less than what a row group may have."""
    from saltern.bulk import parquet as files

    outs = []
    table = parquet.read_table(exported)
    coded = table.set_column(1, "hash", table["hash"].cast(pa.string()).dictionary_encode())
    source = tmp_path / "coded.parquet"
    parquet.write_table(coded, source, row_group_size=300)
    for size in (50_000, 70):
        monkeypatch.setattr(files, "SLICE", size)
        out = tmp_path / f"{size}.parquet"
        status, report, said = run("wrap", policies.file(None), "--parquet", source, "--out", out,
                                   "--most-errors", 1000)
        assert report["ended"] == "done" and report["rows"] == 1000, said
        outs.append(parquet.ParquetFile(out))
        _, counted, said = run("census", policies.file(None), "--parquet", out)
        assert counted.get("rows") == 1000, said
    assert [out.num_row_groups for out in outs] == [4, 4]
    assert outs[1].schema_arrow == outs[0].schema_arrow == coded.schema
    wrapped = outs[1].read()["hash"].to_pylist()
    assert [bool(text) for text in wrapped] == [bool(text) for text in table["hash"].to_pylist()]


def test_codecs_of_columns_stay(policies: Policies, exported: Path, tmp_path: Path) -> None:
    table, source, out = parquet.read_table(exported), tmp_path / "in.parquet", tmp_path / "out"
    codecs = {"id": "gzip", "hash": "none", "more.a": "zstd"}
    parquet.write_table(table, source, compression=codecs)
    run("rekey", policies.file("b"), "--parquet", source, "--out", out, "--most-errors", 1000)
    group = parquet.ParquetFile(out).metadata.row_group(0)
    found = {group.column(at).path_in_schema: group.column(at).compression for at in range(3)}
    assert found == {"id": "GZIP", "hash": "UNCOMPRESSED", "more.a": "ZSTD"}


def test_old_timestamps_are_refused(policies: Policies, tmp_path: Path) -> None:
    file, out = tmp_path / "users.parquet", tmp_path / "out.parquet"
    last = pa.array([datetime.datetime(9999, 12, 31)], pa.timestamp("us"))
    table = pa.table({"seen": last, "hash": [policies.hasher("a").hash("x")]})
    parquet.write_table(table, file, use_deprecated_int96_timestamps=True)
    status, _, said = run("rekey", policies.file("b"), "--parquet", file, "--out", out)
    assert status == 2 and "seen has timestamps of the old type INT96" in said
    assert not out.exists()
    assert run("census", policies.file("b"), "--parquet", file)[0] == 0


def test_a_file_system_without_links(
    policies: Policies, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known before anything is computed."""
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    out = tmp_path / "out.parquet"
    status, report, said = run("rekey", policies.file("b"), "--parquet", exported, "--out", out)
    assert status == 2 and "files cannot have two names there (Operation not" in said
    assert not report and not any(".out" in name for name in os.listdir(tmp_path))


def test_defects_have_a_status(
    policies: Policies, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from saltern.bulk import parquet as files

    def broken(*_: object) -> None:
        raise RuntimeError("alice:$y$")

    monkeypatch.setattr(files, "rewritten", broken)
    status, report, said = run("rekey", policies.file("b"), "--parquet", exported, "--out",
                               tmp_path / "out.parquet")
    assert status == 2 and not report
    assert "RuntimeError in" in said and "this is a defect" in said and "$y$" not in said
    assert said.count("\n") == 1


def test_columns_of_results_have_room(policies: Policies) -> None:
    rows = pa.array(policies.hasher("b").check_many(["secret"]))
    assert {field.type for field in rows.type} == {pa.large_string()}


def test_what_the_function_refuses(policies: Policies) -> None:
    batch = pa.table({"hash": ["x"], "outcome": ["of another job"]})
    with pytest.raises(Refused, match="outcome='outcome': the batch has a column of that name"):
        Rewrite(policies.file("b"), "rekey", "hash", outcome="outcome")(batch)
    with pytest.raises(Refused, match="no column password"):
        Rewrite(policies.file("b"), "rekey", "password")(batch)


def test_columns_say_what_they_are(policies: Policies) -> None:
    rows = policies.hasher("b").check_many(["x", None])
    assert repr(rows) == "<saltern.Rows of 2 strings: pyarrow.array(rows) has them>"
