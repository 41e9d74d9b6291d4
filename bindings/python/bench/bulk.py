#!/usr/bin/env python3
"""How fast saltern.bulk is, beside what it is made of: the functions of columns, and the pool.

    python bindings/python/bench/bulk.py [--rows 1000000] [--wrap-rows 20000] [--rounds 3] > record.json

Needs the wheel (`scripts/wheel`), bindings/python/tests/bulk/requirements.txt, and PostgreSQL, of which it
starts a server of its own with the settings that Debian has. What is compared is measured in turns,
and each number in the record is a median, with the lowest and the highest beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "bulk"))

import pyarrow as pa
from conftest import Policies, Server, accounts, command, fill, verify_all

import saltern


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--wrap-rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    began = time.time()
    with Server() as server:
        # As a site has it: the tests trade safety for time.
        server.admin("ALTER SYSTEM RESET ALL")
        conf = server.data / "postgresql.conf"
        text = conf.read_text()
        for line in ("fsync = off", "full_page_writes = off", "autovacuum = off"):
            text = text.replace(line, "")
        conf.write_text(text)
        server.stop()
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(server, Policies(Path(folder)), options.rounds)
            record = {
                "schema": 1,
                "command": " ".join(sys.argv),
                "unix_time": int(began),
                "machine": machine(server),
                "rekey": bench.rekey(options.rows),
                "wrap": bench.wrap(options.wrap_rows),
            }
    record["seconds"] = round(time.time() - began, 1)
    print(json.dumps(record, indent=2))


def machine(server: Server) -> dict[str, Any]:
    with server.connect() as connection:
        version = connection.execute("SHOW server_version").fetchone()
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return {
        "processor": models[0].split(":")[1].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "saltern": saltern.__version__,
        "postgresql": version[0] if version else None,
        "load_at_the_start": os.getloadavg()[0],
    }


def numbers(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 1),
        "lowest": round(ordered[0], 1),
        "highest": round(ordered[-1], 1),
    }


class Bench:
    def __init__(self, server: Server, policies: Policies, rounds: int) -> None:
        self.server, self.policies, self.rounds = server, policies, rounds

    def job(self, operation: str, policy: Path, *more: object) -> dict[str, Any]:
        arguments = command(operation, policy, self.server.dsn(), "--most-errors", 10**9,
                            "--list-errors", 0, *more)
        ran = subprocess.run(arguments, capture_output=True, text=True)
        assert ran.stdout, ran.stderr
        report: dict[str, Any] = json.loads(ran.stdout)
        assert report["ended"] == "done", ran.stderr
        print(operation, *more, report["rows_per_second"], file=sys.stderr, flush=True)
        return report

    def wal(self, work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
        """What it takes of the log of the database, for each row that changes."""
        def position() -> int:
            with self.server.connect() as connection:
                row = connection.execute(
                    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
                ).fetchone()
            assert row is not None
            return int(row[0])

        self.server.admin("CHECKPOINT")
        before = position()
        report = work()
        return report, (position() - before) / max(report["changed"], 1)

    def rekey(self, rows: int) -> dict[str, Any]:
        stored, known = accounts(self.policies.hasher("a"), rows)
        fill(self.server, "users", stored)
        self.server.admin("VACUUM ANALYZE users")
        column = pa.array(stored)
        memory, table, again, ray = [], [], [], {1: [], 2: []}
        log: list[float] = []
        # Each round moves all to another key, since going back is refused.
        names = [chr(ord("b") + at) for at in range(3 * self.rounds)]
        every = "a" + "".join(names)
        left = iter(names)
        for _ in range(self.rounds):
            policy = self.policies.file(next(left), every)
            hasher = saltern.PasswordHasher.from_policy(policy)
            start = time.monotonic()
            hasher.rekey_many(column)
            memory.append(rows / (time.monotonic() - start))
            report, bytes_of_log = self.wal(lambda policy=policy: self.job("rekey", policy))
            table.append(report["rows_per_second"])
            log.append(bytes_of_log)
            second = self.job("rekey", policy)
            assert second["changed"] == second["conflicts"] == 0
            again.append(second["rows_per_second"])
            self.server.admin("VACUUM users")
            for workers in ray:
                more = ("--address", "local", "--workers", workers)
                report = self.job("rekey", self.policies.file(next(left), every), *more)
                ray[workers].append(report["steady_rows_per_second"])
                self.server.admin("VACUUM users")
        verify_all(self.server, saltern.PasswordHasher.from_policy(policy), known)
        return {
            "rows": rows,
            "all_verify_afterwards": True,
            "column_in_memory_rows_per_second": numbers(memory),
            "table_rows_per_second": numbers(table),
            "ratio": numbers([100 * a / b for a, b in zip(table, memory, strict=True)]),
            "second_run_rows_per_second": numbers(again),
            "log_bytes_per_changed_row": numbers(log),
            "ray_rows_per_second": {str(n): numbers(rates) for n, rates in ray.items()},
        }

    def wrap(self, rows: int) -> dict[str, Any]:
        def policy(threads: int) -> Path:
            text = 'schemes = ["yescrypt", "hex"]\n[params]\ncost = 2\n'
            text += f"[pool]\nthreads = {threads}\n"
            file = self.policies.folder / f"wrap{threads}.toml"
            file.write_text(text)
            return file

        digest = ["5ebe2294ecd0e0f08eab7690d2a6ee69"] * rows
        both = saltern.PasswordHasher.from_policy(policy(os.cpu_count() or 1))
        pool, table, log = [], [], []
        ray: dict[int, list[float]] = {1: [], 2: []}
        sample = ["x" * 16] * (rows // 4)
        both.hash_many(sample[:100])
        for _ in range(self.rounds):
            start = time.monotonic()
            both.hash_many(sample)
            pool.append(len(sample) / (time.monotonic() - start))
            fill(self.server, "users", list(digest))
            report, bytes_of_log = self.wal(lambda: self.job("wrap", policy(os.cpu_count() or 1)))
            table.append(report["rows_per_second"])
            log.append(bytes_of_log)
            start = time.monotonic()
            both.hash_many(sample)
            pool.append(len(sample) / (time.monotonic() - start))
            for workers in ray:
                fill(self.server, "users", list(digest))
                more = ("--address", "local", "--workers", workers, "--range-rows", 500)
                ray[workers].append(self.job("wrap", policy(1), *more)["steady_rows_per_second"])
        pairs = [(pool[2 * at] + pool[2 * at + 1]) / 2 for at in range(self.rounds)]
        return {
            "rows": rows,
            "cost": 2,
            "pool_rows_per_second": numbers(pool),
            "table_rows_per_second": numbers(table),
            "ratio": numbers([100 * a / b for a, b in zip(table, pairs, strict=True)]),
            "log_bytes_per_changed_row": numbers(log),
            "ray_rows_per_second_with_one_thread_each": {
                str(n): numbers(rates) for n, rates in ray.items()
            },
        }


if __name__ == "__main__":
    main()
