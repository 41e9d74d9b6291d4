"""The work of a worker: one range after the other, each read, computed and written by itself."""

from __future__ import annotations

import io
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyarrow import csv

from saltern.bulk.columns import found_errors, outcomes, rewritten, same_site
from saltern.bulk.database import Connection, Session, Source, copied
from saltern.bulk.ledger import Ledger, Part, Range, Whole
from saltern.bulk.outcome import KEPT_ERRORS
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.site import Site
from saltern.bulk.table import Table, held


@dataclass(frozen=True)
class Assignment:
    """The parameters of a worker. Names and numbers only: keys and ROMs are on its own disks."""

    source: Source
    table: Table
    operation: str
    policy: str
    description: dict[str, Any]
    place: dict[str, str] = field(default_factory=dict)
    """Where the driver's connection leads: that of a worker leads there, too."""
    ledger: str = ""
    job: int = 0
    nonce: str = ""


@dataclass
class Done:
    """The result of a range."""

    number: int
    accounts: int = 0
    changed: int = 0
    conflicts: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    census: dict[str, Any] | None = None
    errors: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Of the first ones: id, outcome, why. For work without a ledger."""


@dataclass
class Written:
    """The result of a transaction."""

    claim: str
    """What the range's entry has from then on."""
    changed: int = 0
    conflicts: int = 0
    """Rows that others had written to, or deleted, since they were read."""
    locked: int = 0
    """Rows that a stranger has locked, which are tried again."""
    gone: int = 0
    left_over: int = 0
    others: pa.RecordBatch | None = None
    """The rows in conflict as they are now, if they are to be looked at again."""

    def corrected(self, kinds: Counter[str], staged: int) -> dict[str, int]:
        """The outcomes of strings, corrected by what happened to those that were to be written."""
        corrections = {
            "changed": self.changed - staged,
            "same": staged - self.changed - self.conflicts - self.locked,
            "gone": self.gone,
            "conflict": self.left_over,
        }
        sums = Counter(kinds)
        sums.update(corrections)
        return dict(+sums)


class Worker:
    """Processes ranges of one job with one connection, and with the pool of its process."""

    def __init__(self, assignment: Assignment, site: Site | None = None) -> None:
        self.assignment = assignment
        self.site = site or same_site(assignment.policy, assignment.description)
        self.session = Session(assignment.source)
        self.ledger = Ledger(assignment.ledger)

    def do(self, wanted: Range) -> Done:
        """Processes a range. Work that is done twice, by any workers, is counted once."""
        count = self.assignment.operation == "census"
        return self._count(wanted) if count else self._rewrite(wanted)

    def close(self) -> None:
        """Closes its connection."""
        self.session.close()

    def _count(self, wanted: Range) -> Done:
        table = self.assignment.table
        batch = self.session.run(lambda connection: self._read(connection, wanted))
        census, counted = self.site.hasher.count_many(
            batch.column("old"), accounts=batch.column("id"), json_key=table.json_key,
            keycloak=table.keycloak,
        )
        rows = pa.array(counted)
        errors = found_errors(batch, rows)
        return Done(wanted.number, batch.num_rows, 0, 0, outcomes(rows), dict(census), errors)

    def _rewrite(self, wanted: Range) -> Done:
        while True:
            losses = self.session.losses
            try:
                return self._attempt(wanted)
            except Superseded:
                # If the connection was lost, only the ledger shows whether the transaction was
                # committed.
                if self.session.losses == losses:
                    raise

    def _attempt(self, wanted: Range) -> Done:
        job, claim, nonce = self.assignment.job, uuid.uuid4().hex, self.assignment.nonce
        if not self.session.run(lambda c: self.ledger.claim(c, job, wanted.number, claim, nonce)):
            return Done(wanted.number)
        batch = self.session.run(lambda connection: self._read(connection, wanted))
        done = Done(wanted.number, batch.num_rows)
        until, pause = time.monotonic() + self.assignment.source.retry_for, 0.1
        written = self._write(wanted, claim, batch, done, last=False)
        while written.others is not None and written.locked and time.monotonic() + pause < until:
            # Nobody waits for us meanwhile, since no transaction is open.
            time.sleep(pause)
            pause = min(2 * pause, 5.0)
            written = self._write(wanted, written.claim, written.others, done, last=False)
        if written.others is not None:
            # Logins have written meanwhile, perhaps under an older policy: do these rows again.
            self._write(wanted, written.claim, written.others, done, last=True)
        return done

    def _read(self, connection: Connection, wanted: Range) -> pa.RecordBatch:
        """The rows of a range, as text. The snapshot is released with the last of them."""
        where, given = within("", wanted)
        query = sql.SQL(
            "COPY (SELECT {id}, {stored} FROM {table} AS t WHERE " + where + ") TO STDOUT (FORMAT csv)"
        )
        with held(connection, self.assignment.table):
            return parsed(copied(connection, query.format(**self._names()), given))

    def _write(
        self, wanted: Range, claim: str, batch: pa.RecordBatch, done: Done, *, last: bool
    ) -> Written:
        """Computes rows, and writes what has changed and the entry of the ledger in one
        transaction. With that the range is done, unless others have written meanwhile."""
        old, ids = batch.column("old"), batch.column("id")
        operation, table = self.assignment.operation, self.assignment.table
        rows = rewritten(self.site.hasher, operation, old, ids, table.json_key, table.keycloak)
        columns = [ids, old, rows.field("hash")]
        changed = pc.is_valid(rows.field("hash"))
        staged = pa.table(columns, names=["id", "old", "new"]).filter(changed)
        kinds = outcomes(rows)
        if kinds.get("failed"):
            # Such a range remains unfinished.
            why = rows.filter(pc.equal(rows.field("outcome"), "failed"))[0]["why"].as_py()
            raise Refused(f"{kinds['failed']} strings could not be computed: {why}")
        done.errors += found_errors(batch, rows)
        before = Counter(done.outcomes) + Counter(kinds)
        job, number = self.assignment.job, wanted.number

        def transaction(connection: Connection, *, waiting: bool) -> Written:
            written = Written(claim=claim + "+")
            with held(connection, self.assignment.table):
                earlier = self.ledger.hold(connection, job, number, claim)
                if staged.num_rows:
                    self._replace(connection, wanted, staged, written, last, waiting)
                part = Part(written.changed, written.conflicts)
                self.ledger.add(connection, job, number, written.claim, part)
                if written.others is None:
                    sums = written.corrected(before, staged.num_rows)
                    _count_earlier(sums, earlier + written.changed)
                    whole = Whole(done.accounts, sums, done.errors[:KEPT_ERRORS])
                    self.ledger.close(connection, job, number, whole)
            return written

        def work(connection: Connection) -> Written:
            try:
                return transaction(connection, waiting=True)
            except psycopg.errors.LockNotAvailable:
                # Rows that others have locked are left out.
                return transaction(connection, waiting=False)

        written = self.session.run(work)
        done.outcomes = written.corrected(before, staged.num_rows)
        done.changed += written.changed
        done.conflicts += written.conflicts
        return written

    def _replace(
        self,
        connection: Connection,
        wanted: Range,
        staged: pa.Table,
        written: Written,
        last: bool,
        waiting: bool,
    ) -> None:
        self._stage(connection, staged)
        written.changed = self._update(connection, wanted, waiting)
        if written.changed == staged.num_rows:
            return
        # Somebody else may have written the same: that is not a conflict.
        others, given = self._others(wanted)
        counts = (
            "SELECT count(*), count(t.{id}), "
            'count(*) FILTER (WHERE {stored}::text COLLATE "C" = s.old COLLATE "C") ' + others
        )
        row = connection.execute(sql.SQL(counts).format(**self._names()), given).fetchone()
        found, there, untouched = (int(str(count)) for count in row or ())
        if not waiting and not last:
            written.locked = untouched
        written.conflicts, gone = found - written.locked, found - there
        astray = min(gone, self._astray(connection, wanted)) if gone else 0
        written.gone, written.left_over = gone - astray, astray
        if last:
            written.left_over += there
        elif there:
            select = "SELECT t.{id}, {stored} " + others + "AND t.{id} IS NOT NULL"
            query = sql.SQL("COPY (" + select + ") TO STDOUT (FORMAT csv)").format(**self._names())
            written.others = parsed(copied(connection, query, given))

    def _astray(self, connection: Connection, wanted: Range) -> int:
        """The rows whose string still exists but whose id is gone: the id has changed, or did not
        survive the round trip. The next run processes them."""
        where, given = within("t.", wanted)
        inner, more = within("u.", wanted)
        query = sql.SQL(
            'SELECT count(*) FROM {table} AS t WHERE {stored}::text COLLATE "C" IN ('
            'SELECT s.old COLLATE "C" FROM pg_temp.saltern_staged AS s WHERE NOT EXISTS ('
            "SELECT FROM {table} AS u WHERE u.{id}::{type} {equal} s.id AND "
            + inner + ")) AND " + where
        )
        row = connection.execute(query.format(**self._names()), more + given).fetchone()
        return int(str(row[0])) if row else 0

    def _others(self, wanted: Range) -> tuple[str, list[str]]:
        """The staged rows whose string has changed meanwhile, or that are gone. Without the bounds,
        the whole table might be read for them, too."""
        where, given = within("t.", wanted)
        text = (
            "FROM pg_temp.saltern_staged AS s "
            "LEFT JOIN {table} AS t ON t.{id}::{type} {equal} s.id AND " + where
            + ' WHERE {stored}::text COLLATE "C" IS DISTINCT FROM {new}::text COLLATE "C" '
        )
        return text, given

    def _names(self) -> dict[str, sql.Composable]:
        return self.assignment.table.names()

    def _stage(self, connection: Connection, staged: pa.Table) -> None:
        create = sql.SQL(
            "CREATE TEMPORARY TABLE saltern_staged ON COMMIT DROP AS "
            "SELECT {id}::{type} AS id, {stored}::text AS old, {stored}::text AS new "
            "FROM {table} AS t WITH NO DATA"
        )
        connection.execute(create.format(**self._names()), [])
        text = io.BytesIO()
        options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
        csv.write_csv(staged, text, options)
        copy = connection.cursor().copy("COPY pg_temp.saltern_staged FROM STDIN (FORMAT csv)")
        with copy as target:
            target.write(text.getbuffer())

    def _update(self, connection: Connection, wanted: Range, waiting: bool) -> int:
        names = self._names()
        # Without the bounds, the whole table would be read if that looks cheaper than looking up
        # every id.
        where, given = within("t.", wanted)
        # Byte for byte, whatever the column's collation considers equal.
        same = (
            't.{id}::{type} {equal} s.id AND {stored}::text COLLATE "C" = s.old COLLATE "C" AND ' + where
        )
        only = ""
        if not waiting:
            free = sql.SQL(
                "CREATE TEMPORARY TABLE saltern_free ON COMMIT DROP AS "
                "SELECT s.id FROM {table} AS t, pg_temp.saltern_staged AS s "
                "WHERE " + same + " FOR NO KEY UPDATE OF t SKIP LOCKED"
            )
            connection.execute(free.format(**names), given)
            only = " AND s.id {equal} ANY (SELECT id FROM pg_temp.saltern_free)"
        update = sql.SQL(
            "WITH written AS (UPDATE {table} AS t SET {set} "
            "FROM pg_temp.saltern_staged AS s WHERE " + same + only + " "
            'RETURNING {stored}::text COLLATE "C" = {new}::text COLLATE "C" AS right) '
            "SELECT count(*), count(*) FILTER (WHERE written.right IS NOT TRUE) FROM written"
        )
        row = connection.execute(update.format(**names), given).fetchone()
        written, wrong = (int(str(count)) for count in row or ())
        if wrong:
            raise Refused(
                f"a trigger of {self.assignment.table.label} has made something else of {wrong} "
                "new strings: this range is rolled back. Disable it for the job, or mend it"
            )
        return written


def _count_earlier(sums: dict[str, int], changed: int) -> None:
    """Rows that were changed when the range was half done, and are the same now."""
    moved = min(changed - sums.get("changed", 0), sums.get("same", 0))
    if moved > 0:
        sums["changed"] = sums.get("changed", 0) + moved
        sums["same"] -= moved
        if not sums["same"]:
            del sums["same"]


def within(table: str, wanted: Range) -> tuple[str, list[str]]:
    """The condition that an id is in a range, and its parameters."""
    bounds = {
        "{id}::{type} {least} %s::{type}": wanted.low,
        "{id}::{type} {less} %s::{type}": wanted.high,
    }
    given = {table + text: bound for text, bound in bounds.items() if bound is not None}
    return " AND ".join(["true", *given]), list(given.values())


def parsed(text: bytes) -> pa.RecordBatch:
    """Rows of COPY as a batch: `id` and `old`, which need not be UTF-8. An empty field is a null,
    and `""` an empty string."""
    schema = pa.schema([("id", pa.binary()), ("old", pa.binary())])
    if not text:
        return pa.RecordBatch.from_pylist([], schema)
    # The reader drops a byte order mark from the beginning, and empty lines.
    text = b"\n" + text
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=schema.names, block_size=len(text) + 1, use_threads=False),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        # Its text would contain the row.
        raise Refused("rows that COPY has given cannot be read: this is a defect") from None
    return table.combine_chunks().to_batches()[0]
