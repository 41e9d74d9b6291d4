"""verify-sample: checks the strings of random rows, and accounts with known passwords."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from psycopg import sql

from saltern import SalternError, string_in_json
from saltern.bulk.arguments import Options
from saltern.bulk.columns import found_errors, outcomes
from saltern.bulk.database import Connection, fetched
from saltern.bulk.outcome import errors, named
from saltern.bulk.ranges import batched
from saltern.bulk.refusal import Refused
from saltern.bulk.report import head, show, status
from saltern.bulk.site import Site
from saltern.bulk.table import Table, held


def run(options: Options, site: Site, connection: Connection, table: Table) -> int:
    """Checks and reports; returns the exit status."""
    began = time.monotonic()
    passwords = {} if options.passwords is None else known(options.passwords)
    query = sql.SQL(
        "SELECT textsend({id}), textsend({stored}::text) FROM {table} AS t ORDER BY random() "
        "LIMIT %(rows)s"
    ).format(**table.names())
    with held(connection, table):
        batch = batched(fetched(connection, query, {"rows": options.sample}))
    old, ids = batch.column("old"), batch.column("id")
    checked = site.hasher.check_many(
        old, accounts=ids, json_key=table.json_key, keycloak=table.keycloak
    )
    rows = pa.array(checked)
    kinds = outcomes(rows)
    verified = _verified(site, connection, table, passwords)
    left = verified["mismatch"] + verified["missing"] + verified["without_string"]
    report: dict[str, Any] = {
        **head("verify-sample", table.label, "done", site, began, batch.num_rows),
        "outcomes": kinds,
        "in_error": errors(kinds),
        "passwords_verified": len(passwords),
        "passwords": {name: len(ids) for name, ids in verified.items()},
        "listed": named(found_errors(batch, rows)[: options.list_errors])
        + named(
            (id, outcome, None)
            for outcome, ids in verified.items()
            if outcome != "match"
            for id in ids[: options.list_errors]
        ),
    }
    show(report, options.as_json)
    return status("done", None, errors(kinds) + len(verified["error"]), len(left))


def known(file: Path) -> dict[str, str]:
    """Passwords by id, from a file that only its owner may read."""
    try:
        with file.open(encoding="utf-8") as lines:
            status = os.fstat(lines.fileno())
            if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) & 0o177:
                raise Refused(f"--passwords {file}: others may read or write it: chmod 600")
            entries = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--passwords {file}: {type(error).__name__}") from None
    passwords: dict[str, str] = {}
    lines_of: dict[str, int] = {}
    for number, line in entries:
        try:
            entry = json.loads(line)
            id, password = str(entry["id"]), entry["password"]
        except (ValueError, KeyError, TypeError):
            password = None
        if not isinstance(password, str):
            # Without the line, which holds a password.
            raise Refused(f'--passwords {file}: line {number} is no {{"id": …, "password": "…"}}')
        if id in lines_of:
            raise Refused(
                f"--passwords {file}: line {number} has the id of line {lines_of[id]}: give each "
                "account once"
            )
        passwords[id], lines_of[id] = password, number
    return passwords


def _verified(
    site: Site, connection: Connection, table: Table, passwords: dict[str, str]
) -> dict[str, list[str]]:
    """The ids of accounts by the result of checking their password."""
    kinds = ("match", "mismatch", "missing", "without_string", "error")
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    if not passwords:
        return found
    # Ids as people write them, which may differ from the database's form.
    query = sql.SQL(
        "SELECT s.id, CASE WHEN {there} THEN {id} END, {stored}::text "
        "FROM unnest(%s::text[]) AS s (id) LEFT JOIN {table} AS t ON {same_id}"
    )
    with held(connection, table):
        rows = connection.execute(query.format(**table.names()), [list(passwords)]).fetchall()
    stored: dict[str, str] = {}
    accounts: list[str] = []
    for id, account, hash in rows:
        if hash is not None and (table.keycloak or table.json_key is not None):
            try:
                hash = string_in_json(str(hash), table.json_key, keycloak=table.keycloak)
            except SalternError:
                found["error"].append(str(id))
                continue
        if hash is None:
            found["missing" if account is None else "without_string"].append(str(id))
        else:
            stored[str(id)] = str(hash)
            accounts.append(str(account))
    answers = site.hasher.verify_many(
        list(stored.values()), [passwords[id] for id in stored], accounts=accounts
    )
    for id, answer in zip(stored, answers, strict=True):
        kind = "error" if isinstance(answer, Exception) else "match" if answer else "mismatch"
        found[kind].append(id)
    return found
