"""A job, from its checks to its report."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import psycopg

import saltern
from saltern.bulk.arguments import Options
from saltern.bulk.counts import added
from saltern.bulk.database import Connection, Session, Source, checked, connect, told
from saltern.bulk.engine import Engine
from saltern.bulk.ledger import Ledger, Limits, Totals, boundaries
from saltern.bulk.local import LocalEngine
from saltern.bulk.lock import JobLock
from saltern.bulk.outcome import errors, most_errors, named
from saltern.bulk.ranges import Assignment, Done
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.report import Progress, head, say, show, status
from saltern.bulk.signals import Signals
from saltern.bulk.site import WRITES, Site
from saltern.bulk.table import Table, inspect, place, refuse_narrow

REKEY_ROWS = 10_000
"""Rows of a range where a row costs microseconds: a tenth of a second of hashing, some of SQL."""
FEW_ERRORS = 50
"""Of fewer rows of one range, nobody can tell."""
WRAP_SECONDS = 15.0
"""What a range takes where a row costs a hash: what is lost if a worker dies."""

DIVIDING = "dividing the table into ranges, which reads all ids once"

FAILURES = (psycopg.Error, saltern.SalternError, Refused, Superseded)
"""What ends a job, after which there is a report: none of these holds a string."""


def run(options: Options, site: Site) -> int:
    """Runs the job; returns the exit status."""
    assert options.dsn is not None
    source = Source(checked(options.dsn), options.retry_for)
    try:
        with closing(connect(source, patient=True)) as connection, ExitStack() as whole:
            job = Job(options, site, source, connection, whole)
            if options.operation == "verify-sample":
                from saltern.bulk import sample

                return sample.run(options, site, connection, job.table)
            return job.count() if options.operation == "census" else job.rewrite()
    except psycopg.Error as error:
        raise Refused(told(error)) from None


def refuse_wrong(done: Done) -> None:
    """Ends a job when most of a range is in error: one percent of a large table is many rows."""
    wrong = errors(done.outcomes)
    if wrong >= FEW_ERRORS and 2 * wrong > done.accounts:
        raise Refused(
            f"{wrong} of {done.accounts} rows of a range are in error: is this the right policy? "
            "They are untouched. If it is, --most-errors says how many there may be"
        )


class Job:
    """A job on a database table."""

    def __init__(
        self,
        options: Options,
        site: Site,
        source: Source,
        connection: Connection,
        whole: ExitStack,
    ) -> None:
        self.options, self.site, self.source = options, site, source
        self.connection, self.whole = connection, whole
        assert options.table is not None and options.id is not None
        self.writes = options.operation in WRITES
        self.table: Table = inspect(
            connection, options.table, options.id, options.hash, json_key=options.json_key,
            writes=self.writes, triggers_fire=options.triggers_fire,
        )
        ray = options.address is not None
        what = "giving up the ranges at hand" if ray else "finishing the ranges at hand"
        self.signals = Signals(f"{what}; once more ends it at once")
        self.began = time.monotonic()

    def count(self) -> int:
        """A census: nothing is written, and no ledger is kept."""
        say(DIVIDING)
        ranges = boundaries(self.connection, self.table, self.options.range_rows or 50_000)
        with ExitStack() as stack:
            assignment = self._assignment()
            engine = self._engine(stack, assignment)
            progress = Progress("census", len(ranges))
            self.whole.enter_context(self.signals)
            census: dict[str, Any] = {}
            listed: list[dict[str, object]] = []
            results = stack.enter_context(closing(engine.results(assignment, ranges)))
            failure: Exception | None = None
            try:
                for done in self._told(results, progress):
                    census = added(census, done.census or {})
                    listed += named(done.errors[: self.options.list_errors - len(listed)])
            except FAILURES as error:
                failure = error
        ended = self._ended(progress, failure)
        if ended == "done":
            session = Session(self.source)
            with closing(session):
                same = session.run(lambda connection: self._is_same(connection, assignment.place))
            if not same:
                ended = "failed"
                say(f"{self.table.replaced}: the counts are not those of a whole table")
        report = {
            **self._head(ended, progress),
            **census,
            "in_error": progress.errors,
            "listed": listed,
        }
        show(report, self.options.as_json)
        return status(ended, self.signals.number, progress.errors)

    def rewrite(self) -> int:
        """rekey, wrap or seal."""
        options, ledger = self.options, Ledger(self.options.ledger_schema)
        for note in self.table.notes:
            say(note)
        if self.table.width is not None:
            example = self.site.hasher.hash("x", account="x")
            description = self.site.description
            seals = options.operation == "seal"
            key = description["active_seal_key" if seals else "active_key"]
            refuse_narrow(self.connection, self.table, options.operation, key, example)
        with ExitStack() as stack:
            lock = stack.enter_context(JobLock(self.source, self.table))
            ledger.prepare(self.connection, self.table, self.site)
            assignment = self._assignment()
            engine = self._engine(stack, assignment, lock.doubt)
            size = options.range_rows or self._range_rows()
            say(f"{DIVIDING}, unless that is in the ledger")
            with Session(self.source, patient=True) as session:
                begun = session.run(
                    lambda c: ledger.begin(c, self.table, options.operation, self.site, size)
                )
                job = begun.job
                limits = Limits(options.max_rate, options.max_lag, options.max_wal)
                if limits != Limits():
                    session.run(lambda c: ledger.limit(c, job, limits))
                before = session.run(lambda c: ledger.totals(c, job))
            lock.pace = lambda c: ledger.pace(c, job)
            if begun.note is not None:
                say(begun.note)
            pending = before.pending
            most = most_errors(options.most_errors, before.at_begin)
            if begun.resumed:
                say(f"job {job} goes on: {before.done} of {before.ranges} ranges are done")
                if options.range_rows is not None:
                    say("--range-rows is for new jobs: this one has its ranges")
            progress = Progress(options.operation, len(pending))
            progress.errors = errors(before.outcomes)
            self.whole.enter_context(self.signals)
            todo = replace(assignment, ledger=ledger.schema, job=job, nonce=begun.nonce)
            results = stack.enter_context(closing(engine.results(todo, pending)))
            failure: Exception | None = None
            try:
                for done in self._told(results, progress, lock):
                    if options.most_errors is None:
                        refuse_wrong(done)
                    if progress.errors > most:
                        raise Refused(
                            f"{progress.errors} rows are in error, more than --most-errors {most}: "
                            "is this the right policy? They are untouched"
                        )
            except FAILURES as error:
                failure = error
        return self._finish(ledger, job, progress, failure, assignment.place)

    def _finish(
        self,
        ledger: Ledger,
        job: int,
        progress: Progress,
        failure: Exception | None,
        began_at: dict[str, str],
    ) -> int:
        def finish(connection: Connection) -> tuple[Totals, bool]:
            totals = ledger.totals(connection, job, self.options.list_errors, finish=True)
            return totals, self._is_same(connection, began_at)

        # The database may be, or have been, unavailable: use a separate connection.
        session = Session(self.source)
        try:
            totals, same = session.run(finish)
        except psycopg.Error as error:
            self._ended(progress, failure)
            raise Refused(
                f"{told(error)}. In this run {progress.done} of {progress.ranges} ranges were "
                f"done, and {progress.changed} rows changed: the same command goes on"
            ) from None
        finally:
            session.close()
        done, accounts = not totals.pending, totals.at_begin
        ended = self._ended(progress, failure)
        if done and not same:
            ended = "failed"
            say(f"{self.table.replaced}: the same command does all of it again")
        elif done:
            ended = "done"
        elif ended == "done":
            # Whatever the workers have reported.
            ended = "failed"
            say(f"the ledger has {totals.done} of {totals.ranges} ranges as done")
        report = self._head(ended, progress) | {
            "job": job,
            "ranges": totals.ranges,
            "ranges_done": totals.done,
            "job_rows": totals.accounts,
            "changed": totals.changed,
            "conflicts": totals.conflicts,
            "in_error": errors(totals.outcomes),
            "outcomes": totals.outcomes,
            "listed": totals.listed,
            "notes": self.table.notes,
        }
        show(report, self.options.as_json)
        if done and abs(totals.accounts - accounts) > max(100, accounts // 100):
            say(
                f"the ranges had {totals.accounts} rows, and the table {accounts} when the job "
                "began: if so many have not come or gone, something is wrong"
            )
        if not done:
            say("the same command goes on from here")
        left = totals.outcomes.get("conflict", 0)
        if left:
            say(
                f"{left} rows were written to twice while they were worked on, or locked, or have "
                "another id by now: run it again"
            )
        return status(ended, self.signals.number, errors(totals.outcomes), left)

    def _is_same(self, connection: Connection, began_at: dict[str, str]) -> bool:
        """Whether the table is the one that the job was begun with, and all of it can be seen."""
        return place(connection, self.table) == {**began_at, "mark": self.table.mark}

    def _head(self, ended: str, progress: Progress) -> dict[str, Any]:
        steady = progress.steady
        label, rows = self.table.label, progress.rows
        return {
            **head(self.options.operation, label, ended, self.site, self.began, rows),
            "rows_per_second": round(progress.rate, 1),
            "steady_rows_per_second": None if steady is None else round(steady, 1),
        }

    def _ended(self, progress: Progress, failure: Exception | None) -> str:
        progress.end()
        if failure is not None:
            text = told(failure) if isinstance(failure, psycopg.Error) else str(failure)
            say(text)
            return "failed"
        if self.signals.stop.is_set():
            return "stopped"
        return "done" if progress.done == progress.ranges else "failed"

    def _assignment(self) -> Assignment:
        return Assignment(
            source=self.source,
            table=self.table,
            operation=self.options.operation,
            # The same name on every node, whatever the working directory of its workers.
            policy=os.path.abspath(self.options.policy),
            description=self.site.description,
            place=place(self.connection, self.table),
        )

    def _engine(
        self, stack: ExitStack, assignment: Assignment, doubt: threading.Event | None = None
    ) -> Engine:
        if self.options.address is None:
            return LocalEngine(self.site, self.options.workers or 2, self.signals.stop, doubt)
        from saltern.bulk.ray_engine import RayEngine

        engine = RayEngine(self.options.address, self.options.workers, self.signals.stop)
        stack.enter_context(engine)
        engine.check(assignment)
        return engine

    def _told(
        self, results: Iterator[Done | None], progress: Progress, lock: JobLock | None = None
    ) -> Iterator[Done]:
        for done in results:
            if lock is not None:
                progress.why = lock.keep()
            if done is None:
                progress.tick()
                continue
            progress.add(done.accounts, done.outcomes, done.conflicts)
            yield done

    def _range_rows(self) -> int:
        """The number of rows for the intended time per range."""
        if self.options.operation in ("rekey", "seal"):
            return REKEY_ROWS
        hasher, count = self.site.hasher, 4 * self.site.hasher.threads
        examples = ["x"] * count
        hasher.hash_many(examples, accounts=examples)
        began = time.monotonic()
        hasher.hash_many(examples, accounts=examples)
        rate = count / max(time.monotonic() - began, 1e-9)
        return max(64, min(REKEY_ROWS, round(rate * WRAP_SECONDS)))
