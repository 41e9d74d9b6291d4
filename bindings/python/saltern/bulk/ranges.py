"""The work of a worker: one range after the other, each read, computed and written by itself."""

from __future__ import annotations

import io
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyarrow import csv

from saltern.bulk.columns import found_errors, outcomes, rewritten, same_site
from saltern.bulk.database import Connection, Session, Source, fetched
from saltern.bulk.ledger import Ledger, Part, Range, Whole
from saltern.bulk.outcome import KEPT_ERRORS
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.site import Site
from saltern.bulk.table import Table, held

T = TypeVar("T")


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


STAGED = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS saltern_staged (id text, old text, new text) "
    "ON COMMIT DELETE ROWS"
)
"""One for each connection: the catalogue does not grow with the number of ranges."""

READ = "SELECT textsend({id}), textsend({stored}::text) FROM {table} AS t WHERE {within}"
"""The rows of a range. What the id and the string are made of, if they are not text already, needs
not be UTF-8."""

# Byte for byte, whatever the column's collation considers equal. Without the bounds, the whole
# table would be read if that looks cheaper than looking up every id.
SAME = '{same_id} AND {stored}::text COLLATE "C" = s.old COLLATE "C" AND {within}'


def _written(but: str = "") -> str:
    return (
        "written AS (UPDATE {table} AS t SET {set} FROM pg_temp.saltern_staged AS s WHERE " + SAME
        + but + ' RETURNING {stored}::text COLLATE "C" = {new}::text COLLATE "C" AS right) '
        "SELECT count(*), count(*) FILTER (WHERE written.right IS NOT TRUE) FROM written"
    )


UPDATE = "WITH " + _written()
UPDATE_FREE = (
    "WITH free AS MATERIALIZED (SELECT s.id FROM {table} AS t, pg_temp.saltern_staged AS s WHERE "
    + SAME + " FOR NO KEY UPDATE OF t SKIP LOCKED), "
    + _written(" AND s.id IN (SELECT id FROM free)")
)
"""The same without the rows that others have locked."""

OTHERS = (
    "SELECT CASE WHEN {there} THEN textsend({id}) END, textsend({stored}::text), "
    '{stored}::text COLLATE "C" = s.old COLLATE "C" '
    "FROM pg_temp.saltern_staged AS s LEFT JOIN {table} AS t ON {same_id} AND {within} "
    'WHERE ({there}) IS NOT TRUE OR '
    '{stored}::text COLLATE "C" IS DISTINCT FROM {new}::text COLLATE "C"'
)
"""The staged rows whose string is not the new one, or that are gone; and whether it is the old one.
Somebody else may have written the same: that is not a conflict."""

ASTRAY = (
    'SELECT count(*) FROM {table} AS t WHERE {stored}::text COLLATE "C" IN ('
    'SELECT s.old COLLATE "C" FROM pg_temp.saltern_staged AS s WHERE NOT EXISTS ('
    "SELECT FROM {table} AS u WHERE {same_id_u} AND {within_u})) AND {within}"
)
"""The rows whose string still exists but whose id is gone: the id has changed, or did not survive
the round trip. The next run processes them."""


@dataclass(frozen=True)
class Staged:
    """What was computed of rows."""

    kinds: dict[str, int]
    """The number of each outcome."""
    rows: int
    """Those that change."""
    text: bytes
    """Their ids, old and new strings, as CSV."""


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

    def __init__(
        self, assignment: Assignment, site: Site | None = None, stop: threading.Event | None = None
    ) -> None:
        self.assignment = assignment
        self.site = site or same_site(assignment.policy, assignment.description)
        self.session = Session(assignment.source)
        self.ledger = Ledger(assignment.ledger)
        self.stop = stop or threading.Event()
        self.names = assignment.table.names()
        self._rated = False
        """Whether the job has a rate."""
        self._prepared: Connection | None = None
        """The connection that has the temporary table."""

    def do(self, wanted: Range) -> Done | None:
        """Processes a range. Work that is done twice, by any workers, is counted once. None once it
        is stopped while the limits of the job hold it back."""
        if self.assignment.operation == "census":
            return self._count(wanted)
        if not self._allowed():
            return None
        done = self._rewrite(wanted)
        if self._rated:
            job, rows = self.assignment.job, done.accounts
            self.session.run(lambda connection: self.ledger.charge(connection, job, rows))
        return done

    def close(self) -> None:
        """Closes its connection."""
        self.session.close()

    def _allowed(self) -> bool:
        """Waits for the limits of the job, which others may change meanwhile."""
        job = self.assignment.job
        while not self.stop.is_set():
            pace = self.session.run(lambda connection: self.ledger.pace(connection, job))
            self._rated = pace.rated
            if not pace.wait:
                return True
            self.stop.wait(min(pace.wait, 1.0))
        return False

    def _sql(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(**self.names)  # type: ignore[arg-type, unused-ignore]

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
        while written.locked and not self.stop.is_set() and time.monotonic() + pause < until:
            assert written.others is not None
            # Nobody waits for us meanwhile, since no transaction is open.
            self.stop.wait(pause)
            pause = min(2 * pause, 5.0)
            written = self._write(wanted, written.claim, written.others, done, last=False)
        if written.others is not None:
            # Logins have written meanwhile, perhaps under an older policy: do these rows again.
            self._write(wanted, written.claim, written.others, done, last=True)
        return done

    def _read(self, connection: Connection, wanted: Range) -> pa.RecordBatch:
        """The rows of a range, as text. The snapshot is released with the last of them."""
        with held(connection, self.assignment.table):
            return batched(fetched(connection, self._sql(READ), bounds(wanted)))

    def _computed(self, batch: pa.RecordBatch, done: Done) -> Staged:
        """Computes rows, before a transaction waits for it."""
        old, ids = batch.column("old"), batch.column("id")
        operation, table = self.assignment.operation, self.assignment.table
        rows = rewritten(self.site.hasher, operation, old, ids, table.json_key, table.keycloak)
        kinds = outcomes(rows)
        if kinds.get("failed"):
            # Such a range remains unfinished.
            why = rows.filter(pc.equal(rows.field("outcome"), "failed"))[0]["why"].as_py()
            raise Refused(f"{kinds['failed']} strings could not be computed: {why}")
        done.errors += found_errors(batch, rows)
        staged = pa.table([ids, old, rows.field("hash")], names=["id", "old", "new"])
        staged, text = staged.filter(pc.is_valid(rows.field("hash"))), io.BytesIO()
        options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
        csv.write_csv(staged, text, options)
        return Staged(kinds, staged.num_rows, text.getvalue())

    def _write(
        self, wanted: Range, claim: str, batch: pa.RecordBatch, done: Done, *, last: bool
    ) -> Written:
        """Computes rows, and writes what has changed and the entry of the ledger in one
        transaction. With that the range is done, unless others have written meanwhile."""
        staged = self._computed(batch, done)
        before = Counter(done.outcomes) + Counter(staged.kinds)
        job, number, nonce = self.assignment.job, wanted.number, self.assignment.nonce

        def transaction(connection: Connection, update: str) -> Written:
            written, whole = Written(claim=claim + "+"), None
            with held(connection, self.assignment.table, writing=True):
                earlier = self.ledger.hold(connection, job, number, claim, written.claim, nonce)
                if staged.rows:
                    self._replace(connection, wanted, staged, written, last, update)
                if written.others is None:
                    sums = written.corrected(before, staged.rows)
                    _count_earlier(sums, earlier + written.changed)
                    whole = Whole(done.accounts, sums, done.errors[:KEPT_ERRORS])
                part = Part(written.changed, written.conflicts)
                self.ledger.record(connection, job, number, part, whole)
            return written

        written = self._unlocked(transaction)
        done.outcomes = written.corrected(before, staged.rows)
        done.changed += written.changed
        done.conflicts += written.conflicts
        return written

    def _unlocked(self, transaction: Callable[[Connection, str], T]) -> T:
        """Runs a transaction with an update; with one that leaves out the rows that others have
        locked if they keep them."""
        def work(connection: Connection) -> T:
            if self._prepared is not connection:
                # Not within a transaction, which might take it back.
                connection.execute(STAGED)
                self._prepared = connection
            try:
                return transaction(connection, UPDATE)
            except psycopg.errors.LockNotAvailable:
                return transaction(connection, UPDATE_FREE)

        return self.session.run(work)

    def _replace(
        self, connection: Connection, wanted: Range, staged: Staged, written: Written,
        last: bool, update: str,
    ) -> None:
        self._stage(connection, staged.text)
        row = connection.execute(self._sql(update), bounds(wanted)).fetchone()
        written.changed, wrong = (int(str(count)) for count in row or ())
        if wrong:
            raise Refused(
                f"a trigger of {self.assignment.table.label} has made something else of {wrong} "
                "new strings: this range is rolled back. Disable it for the job, or mend it"
            )
        if written.changed == staged.rows:
            return
        others = fetched(connection, self._sql(OTHERS), bounds(wanted))
        there = [row[:2] for row in others if row[0] is not None]
        untouched = sum(bool(row[2]) for row in others if row[0] is not None)
        self._refuse_kept(untouched if update == UPDATE else 0)
        if update == UPDATE_FREE and not last:
            written.locked = untouched
        written.conflicts, gone = len(others) - written.locked, len(others) - len(there)
        row = connection.execute(self._sql(ASTRAY), bounds(wanted)).fetchone() if gone else None
        astray = min(gone, int(str(row[0]))) if row else 0
        written.gone, written.left_over = gone - astray, astray
        if last:
            written.left_over += len(there)
        elif there:
            written.others = batched(there)

    def _refuse_kept(self, rows: int) -> None:
        """Refuses triggers that keep rows as they were: no further run would change them."""
        table = self.assignment.table
        kept = [name for name, before in table.triggers if before]
        if rows and kept:
            raise Refused(
                f"a trigger of {table.label} has kept {rows} rows from being written (it returned "
                f"NULL): {' or '.join(kept)}. This range is rolled back. Disable it for the job "
                f"(ALTER TABLE … DISABLE TRIGGER …), or mend it"
            )

    def _stage(self, connection: Connection, text: bytes) -> None:
        with connection.cursor().copy("COPY pg_temp.saltern_staged FROM STDIN (FORMAT csv)") as copy:
            copy.write(text)


def _count_earlier(sums: dict[str, int], changed: int) -> None:
    """Rows that were changed when the range was half done, and are the same now."""
    moved = min(changed - sums.get("changed", 0), sums.get("same", 0))
    if moved > 0:
        sums["changed"] = sums.get("changed", 0) + moved
        sums["same"] -= moved
        if not sums["same"]:
            del sums["same"]


def bounds(wanted: Range) -> dict[str, str | None]:
    """The parameters of statements about a range."""
    return {"low": wanted.low, "high": wanted.high}


def batched(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows as a batch of `id` and `old`."""
    columns = zip(*rows, strict=True) if rows else ((), ())
    arrays = [pa.array(column, pa.binary()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names=["id", "old"])
