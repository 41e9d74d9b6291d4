"""The arguments of ``python -m saltern.bulk``."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from saltern.bulk.site import OPERATIONS, WRITES

DESCRIPTION = """\
Work on a whole table of stored strings. No password is needed.

  rekey          move every string to the active key of the policy
  wrap           put a hash of ours over strings of other schemes
  seal           bind every string to its account, given by --id as text, with the key for seals
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
    """The parsed options."""

    operation: str
    policy: str
    hash: str | None = None
    keycloak: bool = False
    """Without `hash`."""
    json_key: str | None = None
    dsn: str | None = None
    table: str | None = None
    id: str | None = None
    parquet: Path | None = None
    out: Path | None = None
    address: str | None = None
    workers: int | None = None
    range_rows: int | None = None
    most_errors: int | None = None
    list_errors: int = 100
    triggers_fire: bool = False
    retry_for: float = 60.0
    ledger_schema: str = "saltern_bulk"
    max_rate: int | None = None
    max_lag: float | None = None
    max_wal: int | None = None
    sample: int = 1000
    passwords: Path | None = None
    as_json: bool = False


RANGES = (*WRITES, "census")
OPERATIONS_WITH = {
    "out": WRITES,
    "most_errors": WRITES,
    "ledger_schema": WRITES,
    "triggers_fire": WRITES,
    "max_rate": WRITES,
    "max_lag": WRITES,
    "max_wal": WRITES,
    "address": RANGES,
    "workers": RANGES,
    "range_rows": RANGES,
    "retry_for": RANGES,
    "sample": ("verify-sample",),
    "passwords": ("verify-sample",),
}
"""The options that not every operation has."""

DATABASE = (
    "table", "keycloak", "address", "workers", "range_rows", "triggers_fire", "retry_for",
    "ledger_schema", "max_rate", "max_lag", "max_wal",
)
"""The options that have no meaning for a file."""


def parse(arguments: Sequence[str] | None) -> Options:
    """The options; ends the program with status 2 and one line if they are invalid."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    problem = contradiction(given)
    if problem is not None:
        parser.error(problem)
    return Options(**given)


def contradiction(given: Mapping[str, object]) -> str | None:
    """The options that contradict each other or would do nothing, if any."""
    operation, file = given["operation"], "parquet" in given
    if "dsn" in given and file:
        return "--dsn or --parquet, not both"
    if "dsn" not in given and not file:
        return "one of --dsn and --parquet is needed"
    if file and operation == "verify-sample":
        return "--parquet is for rekey, wrap, seal and census: verify-sample needs --dsn"
    for name, operations in OPERATIONS_WITH.items():
        if name in given and operation not in operations:
            return f"{_option(name)} is for {_listed(operations)}: {operation} has no use for it"
    if file and "address" in given:
        return "--parquet is for one machine: examples/bulk/ray_data.py does it on a cluster"
    for name in DATABASE:
        if file and name in given:
            return f"{_option(name)} goes with --dsn: --parquet has no use for it"
    if not file and ("table" not in given or "id" not in given):
        return "--dsn needs --table and --id"
    if not file and "out" in given:
        return "--out goes with --parquet: --dsn has no use for it"
    if ("hash" in given) == ("keycloak" in given):
        return "one of --hash and --keycloak is needed"
    if "keycloak" in given and "json_key" in given:
        return "--json-key goes with --hash: --keycloak has no use for it"
    if file and operation == "seal" and "id" not in given:
        return "seal needs --id, the column that the seals are for"
    if file and operation in WRITES and "out" not in given:
        return "--parquet needs --out, the file to be written"
    return None


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        text = re.sub("^argument (--[a-z-]+): ", r"\1 ", message).removeprefix("argument ")
        self.exit(2, f"saltern.bulk: {text} (--help lists the options)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m saltern.bulk",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        # It matters whether an option was given; `Options` has the defaults.
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("operation", choices=OPERATIONS)
    add = parser.add_argument
    add("--policy", required=True, metavar="FILE", help="the policy; on a cluster, of every node")
    add("--dsn", metavar="DSN", help="the database: postgresql://host/name, without a password")
    add("--table", metavar="NAME", help="the table, perhaps with its schema before it and a dot")
    add("--id", metavar="COLUMN", help="a column that is NOT NULL and unique")
    add("--hash", metavar="COLUMN", help="the column of stored strings")
    add("--keycloak", action="store_true",
        help="the table `credential` of Keycloak, whose strings are in two columns of documents")
    add("--json-key", metavar="KEY",
        help="the column has documents of JSON, with the string under this key or JSON pointer")
    add("--parquet", type=Path, metavar="FILE", help="a file of Parquet instead of a database")
    add("--out", type=Path, metavar="FILE", help="the file to be written, which must not exist")
    add("--address", metavar="ADDRESS", help="a Ray cluster; `local` starts Ray on this machine")
    add("--workers", type=_positive, metavar="N", help="threads (2); with Ray, actors (one a node)")
    add("--range-rows", type=_positive, metavar="N",
        help="rows of a range of a new job (10 000; wrap: as many as take 15 s)")
    add("--most-errors", type=_natural, metavar="N",
        help="end when more rows are in error than this (100, or 1%% of the rows if that is more)")
    add("--list-errors", type=_natural, metavar="N",
        help="rows in error that the report lists by id (100); of a range 100 at most are kept")
    add("--triggers-fire", action="store_true",
        help="triggers that an UPDATE fires are to fire; without it, such a table is refused")
    add("--retry-for", type=_seconds, metavar="SECONDS",
        help="how long a database that is away, or a row that is locked, is waited for (60)")
    add("--ledger-schema", metavar="NAME",
        help="the schema with the tables of what is done (saltern_bulk)")
    add("--max-rate", type=_natural, metavar="N",
        help="rows a second at most, over all workers; 0 waits until the ledger says otherwise")
    add("--max-lag", type=_seconds, metavar="SECONDS",
        help="begin no range while a replica is further behind (needs pg_monitor)")
    add("--max-wal", type=_size, metavar="SIZE",
        help="begin no range while the server's log has more bytes, as 20GB (needs pg_monitor)")
    add("--sample", type=_positive, metavar="K", help="verify-sample: rows (1000)")
    add("--passwords", type=Path, metavar="FILE",
        help='verify-sample: lines {"id": …, "password": …}, a file that only its owner reads')
    add("--json", dest="as_json", action="store_true", help="the report as one object of JSON")
    return parser


def _positive(text: str) -> int:
    return _whole(text, 1)


def _natural(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text}: expected whole numbers, at least {least}")
    return int(text)


def _size(text: str) -> int:
    found = re.fullmatch("([0-9]+)(kB|MB|GB|TB|)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text}: expected bytes, or a number of kB, MB, GB or TB")
    return int(found[1]) << {"": 0, "kB": 10, "MB": 20, "GB": 30, "TB": 40}[found[2]]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise argparse.ArgumentTypeError(f"{text}: expected seconds, at least 0")
    return seconds
