"""One job at a time on a table: a lock held by the driver's connection, and lost with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

from saltern.bulk.database import Connection, Source, connect
from saltern.bulk.ledger import Pace
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.table import Table

EVERY = 2.0
"""Seconds between looks at whether the lock is still there."""

LOCK = """
SELECT pg_try_advisory_lock(hashtext('saltern.bulk'),
                            coalesce(pg_partition_root(%(oid)s::oid)::oid, %(oid)s::oid)::int4)
"""
"""A partition has the lock of the whole table. Oids go up to 2^32: as numbers with a sign."""


class JobLock:
    """An advisory lock for a table."""

    def __init__(self, source: Source, table: Table) -> None:
        self._source, self._table = source, table
        self._connection: Connection | None = None
        self._looked = 0.0
        self._lost: float | None = None
        self._why: str | None = None
        self.doubt = threading.Event()
        """Set while the lock may be another's: no range is to be begun."""
        self.pace: Callable[[Connection], Pace] = lambda connection: Pace()

    def __enter__(self) -> JobLock:
        if not self._take():
            raise Refused(
                f"another job is at work on {self._table.label}: wait for it, or end it first"
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def keep(self) -> str | None:
        """Takes the lock again if the database was unavailable. Workers wait for that. Returns what
        they wait for if the limits of the job hold them back."""
        now = time.monotonic()
        if now - self._looked < EVERY:
            return self._why
        self._looked = now
        failure: psycopg.Error | Superseded
        try:
            there = self._connection is not None and not self._connection.closed
            if there or self._take():
                assert self._connection is not None
                self._why = self.pace(self._connection).why
                self._lost = None
                self.doubt.clear()
                return self._why
            # The database may not have noticed yet that the old connection is gone.
            failure = Superseded(f"another job has taken {self._table.label} over")
        except psycopg.OperationalError as error:
            failure = error
            if self._connection is not None:
                self._connection.close()
        self.doubt.set()
        self._lost = now if self._lost is None else self._lost
        if now - self._lost > self._source.retry_for:
            raise failure
        return None

    def _take(self) -> bool:
        self._connection = connect(self._source)
        row = self._connection.execute(LOCK, {"oid": self._table.oid}).fetchone()
        if row == (True,):
            return True
        self._connection.close()
        return False
