"""The arguments of ``python -m saltern.bulk``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saltern.bulk.refusal import Refused
from saltern.bulk.site import OPERATIONS

DESCRIPTION = """\
Work on a whole table of stored strings. No password is needed.

  rekey          move every string to the active key of the policy
  wrap           put a hash of ours over strings of other schemes
  census         count what is there, and what is to be done
  verify-sample  check random rows: strings, keys and ROMs; and passwords, if there are any

A job can be stopped at any time and started again by the same command. Logins go on meanwhile: a
row that a login has written to is left as the login has it."""

EPILOG = """\
Passwords of databases do not belong into arguments: use PGPASSWORD, ~/.pgpass or service=NAME.

exit status: 0 all is as it is to be; 1 something is left over (rows that logins wrote to meanwhile,
passwords that do not match); 2 rows in error, a refusal, or an error; 130 and 143 after SIGINT and
SIGTERM."""


@dataclass(frozen=True)
class Options:
    """What was asked for."""

    operation: str
    policy: str
    dsn: str | None
    table: str | None
    id: str | None
    hash: str
    parquet: Path | None
    out: Path | None
    address: str | None
    workers: int | None
    range_rows: int | None
    most_errors: int | None
    list_errors: int
    triggers_fire: bool
    retry_for: float
    ledger_schema: str
    sample: int
    passwords: Path | None
    as_json: bool


def parse(arguments: Sequence[str] | None) -> Options:
    """The options; ends the program with status 2 for those that cannot be."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    options = Options(**given)
    problem = contradiction(options)
    if problem is not None:
        parser.error(problem)
    return options


def contradiction(options: Options) -> str | None:
    """What cannot be together, if anything."""
    writes = options.operation in ("rekey", "wrap")
    if (options.dsn is None) == (options.parquet is None):
        return "one of --dsn and --parquet is needed"
    if options.dsn is not None and (options.table is None or options.id is None):
        return "--dsn needs --table and --id"
    if options.parquet is not None and writes and options.out is None:
        return "--parquet needs --out, the file to be written"
    if options.out is not None and (options.parquet is None or not writes):
        return "--out goes with --parquet, and with rekey or wrap"
    if options.parquet is not None and options.address is not None:
        return "--parquet is for one machine: examples/bulk/ray_data.py does it on a cluster"
    if options.operation == "verify-sample" and (options.parquet or options.address):
        return "verify-sample needs --dsn, and is for one machine"
    if options.passwords is not None and options.operation != "verify-sample":
        return "--passwords goes with verify-sample"
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m saltern.bulk",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("operation", choices=OPERATIONS)
    add = parser.add_argument
    add("--policy", required=True, metavar="FILE", help="the policy; on a cluster, of every node")
    add("--dsn", metavar="DSN", help="the database: postgresql://host/name, without a password")
    add("--table", metavar="NAME", help="the table, perhaps with its schema before it and a dot")
    add("--id", metavar="COLUMN", help="a column that is NOT NULL and unique")
    add("--hash", required=True, metavar="COLUMN", help="the column of stored strings")
    add("--parquet", type=Path, metavar="FILE", help="a file of Parquet instead of a database")
    add("--out", type=Path, metavar="FILE", help="the file to be written, which must not exist")
    add("--address", metavar="ADDRESS", help="a Ray cluster; `local` starts Ray on this machine")
    add("--workers", type=_positive, metavar="N", help="threads (2); with Ray, actors (one a node)")
    add("--range-rows", type=_positive, metavar="N", help="rows of a range (by what they cost)")
    add("--most-errors", type=_natural, metavar="N",
        help="end when more rows are in error than this (100, or 1%% of the rows if that is more)")
    add("--list-errors", type=_natural, default=100, metavar="N",
        help="rows in error that the report lists by id (100)")
    add("--triggers-fire", action="store_true",
        help="triggers that an UPDATE fires are to fire; without it, such a table is refused")
    add("--retry-for", type=float, default=60.0, metavar="SECONDS",
        help="how long a database that is away, or a row that is locked, is waited for (60)")
    add("--ledger-schema", default="saltern_bulk", metavar="NAME",
        help="the schema with the tables of what is done (saltern_bulk)")
    add("--sample", type=_positive, default=1000, metavar="K", help="verify-sample: rows (1000)")
    add("--passwords", type=Path, metavar="FILE",
        help='verify-sample: lines {"id": …, "password": …}, a file that only its owner reads')
    add("--json", dest="as_json", action="store_true", help="the report as one object of JSON")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("at least 0")
    return number


def needed(value: str | None, name: str) -> str:
    """An option that the operation needs."""
    if value is None:
        raise Refused(f"{name} is needed")
    return value
