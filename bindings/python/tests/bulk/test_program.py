"""What the program says and prints, and how it ends."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import REPOSITORY, Bulk, Policies, Server, command, fill, run, wait_for
from pyarrow import parquet

import saltern
from saltern.bulk import local
from saltern.bulk.__main__ import main
from saltern.bulk.database import Session
from saltern.bulk.job import Job
from saltern.bulk.ledger import Ledger
from saltern.bulk.lock import JobLock
from saltern.bulk.ranges import Worker
from saltern.bulk.report import Progress, show
from saltern.bulk.site import OPERATIONS


@pytest.mark.parametrize(("of", "name"), [(JobLock, "__exit__"), (Job, "_is_same")])
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


KEYCLOAK = ["--dsn", "host=/nowhere", "--table", "users", "--id", "id", "--keycloak"]
DSN = [*KEYCLOAK[:-1], "--hash", "hash"]
FILE = ["--parquet", "in.parquet", "--hash", "hash"]
ARGUMENTS = {
    "rekey": "one of --dsn and --parquet is needed",
    "rekey --dsn x --parquet y": "--dsn or --parquet, not both",
    "rekey --dsn x": "--dsn needs --table and --id",
    "rekey DSN --out x": "--out goes with --parquet: --dsn has no use for it",
    "rekey DSN --sample 9": "--sample is for verify-sample: rekey has no use for it",
    "wrap DSN --passwords x": "--passwords is for verify-sample: wrap has no use for it",
    "verify-sample DSN --range-rows 9": "--range-rows is for rekey, wrap, seal and census: verify-",
    "verify-sample DSN --workers 9": "--workers is for rekey, wrap, seal and census: verify-",
    "verify-sample FILE": "verify-sample needs --dsn",
    "seal FILE --out x": "seal needs --id, the column that the seals are for",
    "census DSN --most-errors 9": "--most-errors is for rekey, wrap and seal: census has no use",
    "census DSN --ledger-schema x": "--ledger-schema is for rekey, wrap and seal",
    "rekey FILE": "--parquet needs --out, the file to be written",
    "census FILE --out x": "--out is for rekey, wrap and seal: census has no use for it",
    "census FILE --table x": "--table goes with --dsn: --parquet has no use for it",
    "census FILE --workers 2": "--workers goes with --dsn",
    "census FILE --range-rows 2": "--range-rows goes with --dsn",
    "census FILE --retry-for 2": "--retry-for goes with --dsn",
    "rekey FILE --out x --ledger-schema x": "--ledger-schema goes with --dsn",
    "census FILE --address local": "--parquet is for one machine",
    "rekey DSN --workers 0": "--workers 0: expected whole numbers, at least 1",
    "rekey DSN --workers two": "--workers two: expected whole numbers, at least 1",
    "rekey DSN --most-errors -1": "--most-errors -1: expected whole numbers, at least 0",
    "rekey DSN --retry-for nan": "--retry-for nan: expected seconds, at least 0",
    "rekey DSN --retry-for -1": "--retry-for -1: expected seconds, at least 0",
    "rekey DSN --keycloak": "one of --hash and --keycloak is needed",
    "rekey --dsn x --table users --id id": "one of --hash and --keycloak is needed",
    "rekey KEYCLOAK --json-key x": "--json-key goes with --hash: --keycloak has no use for it",
    "rekey FILE --keycloak --out x": "--keycloak goes with --dsn",
    "rekey DSN --nothing": "unrecognized arguments: --nothing",
    "remove DSN": "operation: invalid choice: 'remove'",
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(capsys: pytest.CaptureFixture[str], case: str) -> None:
    line = ["--policy", "p.toml"]
    for word in case.split():
        line += {"DSN": DSN, "FILE": FILE, "KEYCLOAK": KEYCLOAK}.get(word, [word])
    with pytest.raises(SystemExit) as end:
        main(line)
    said = capsys.readouterr().err
    assert end.value.code == 2
    assert said.startswith("saltern.bulk: ") and ARGUMENTS[case] in said
    assert said.count("\n") == 1, said


def test_ranges_of_a_job_that_goes_on(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    server.admin("ALTER TABLE users ADD CHECK (id <> 30 OR password_hash !~ 'key=b')")
    assert bulk("rekey", policies.file("b"), "--range-rows", 5).status == 2
    server.admin("ALTER TABLE users DROP CONSTRAINT users_check")
    ran = bulk("rekey", policies.file("b"), "--range-rows", 7)
    assert ran.status == 0 and ran.report["ranges"] == 4
    assert "--range-rows is for new jobs" in ran.said


def test_many_errors_in_a_range(server: Server, policies: Policies, bulk: Bulk) -> None:
    """All are counted, and a hundred of each range kept."""
    fill(server, "users", ["garbage"] * 250)
    more = ("--range-rows", 125, "--most-errors", 1000, "--list-errors", 1000)
    report = bulk("rekey", policies.file("b"), *more).report
    assert (report["in_error"], len(report["listed"])) == (250, 200)


def test_the_page_has_all_names_of_reports(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20 + ["garbage"])
    file, policy = tmp_path / "users.parquet", policies.sealing("b")
    parquet.write_table(pa.table({"hash": ["garbage"]}), file)
    on_file = ["--policy", policy, "--hash", "hash", "--json", "--parquet", file]
    reports = [bulk(operation, policy).report for operation in OPERATIONS] + [
        run([*map(str, ["", "", "", "census", *on_file])]).report,
        run([*map(str, ["", "", "", "rekey", *on_file, "--out", tmp_path / "out"])]).report,
    ]
    page = (REPOSITORY / "docs" / "bulk.md").read_text()
    described = set(re.findall(r"`([a-z_]+)`", page.split("## The report")[1].split("\n## ")[0]))
    counts, _ = policies.hasher("b").count_many([])
    for report in reports:
        assert not report.keys() - counts.keys() - described
        head = ["operation", "table", "ended", "policy", "active_key", "seconds", "rows"]
        assert list(report)[: len(head)] == head
    # The same names as `saltern census --json`, which a test of that program sees to.
    types = Path(saltern.__file__).with_name("_saltern.pyi").read_text()
    names = types.split("class _Census(TypedDict):\n")[1].split("\n\n")[0]
    assert set(re.findall(r"^    (\w+):", names, re.MULTILINE)) == counts.keys()


def test_progress_in_lines() -> None:
    now, stream = [100.0], io.StringIO()
    progress = Progress("rekey", 10, stream, lambda: now[0])
    for seconds in (4, 5, 11):
        now[0] = 100.0 + seconds
        progress.add(1000, {"changed": 900, "bad": 1, "same": 99}, 2)
    progress.end()
    assert stream.getvalue() == (
        "rekey: 3 of 10 ranges, 3,000 rows, 273 a second, 2,700 changed, 6 conflicts, 3 in error, "
        "about 0 min 26 s left\n"
    )
    assert progress.steady == 2000 / 7


def test_progress_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    now, stream = [0.0], Terminal()
    progress = Progress("wrap", 4, stream, lambda: now[0])
    for seconds in (0.1, 3600.0):
        now[0] = seconds
        progress.add(10, {"changed": 10})
    progress.end()
    first, line = stream.getvalue().removesuffix("\r\x1b[K").split("\r")
    assert not first and line == (
        "wrap: 2 of 4 ranges, 20 rows, 0 a second, 20 changed, 0 conflicts, 0 in error, "
        "about 1 h 0 min left\x1b[K"
    )


def test_a_report_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    report = {
        "operation": "rekey", "active_key": None, "steady_rows_per_second": 12.5, "changed": 0,
        "outcomes": {"same": 3, "bad": 1}, "notes": [],
        "listed": [{"id": "7", "outcome": "bad", "why": None}],
    }
    show(report, as_json=False)
    assert capsys.readouterr().out == """\
operation              rekey
steady_rows_per_second 12.5
changed                0
outcomes
             1  bad
             3  same
listed
  id 7, outcome bad
"""


def test_a_second_signal_ends_it_at_once(server: Server, policies: Policies) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    with server.connect() as stranger:
        # The first range waits for this lock.
        stranger.execute("BEGIN; LOCK TABLE users IN SHARE MODE")
        line = command("rekey", policies.file("b"), server.dsn(), "--retry-for", 300)
        job = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        assert job.stderr is not None
        wait_for(lambda: waiting(server))
        job.send_signal(signal.SIGINT)
        while "once more ends it at once" not in job.stderr.readline():
            assert job.poll() is None
        job.send_signal(signal.SIGTERM)
        assert job.wait(10) == 143
        stranger.execute("ROLLBACK")


def waiting(server: Server) -> bool:
    with server.connect() as connection:
        query = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass"
        return connection.execute(query).rowcount > 0


def test_connections_of_workers_are_closed(
    server: Server, policies: Policies, bulk: Bulk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    made: list[Session] = []
    closed: list[Session] = []

    class Noted(Worker):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self.session)

    monkeypatch.setattr(local, "Worker", Noted)
    monkeypatch.setattr(Session, "close", lambda session: closed.append(session))
    assert bulk("rekey", policies.file("b"), "--range-rows", 2).status == 0
    assert made and all(session in closed for session in made)
