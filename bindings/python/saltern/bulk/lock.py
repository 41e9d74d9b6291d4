"""One job at a time on a table: a lock held by the driver's connection, and lost with it."""

from __future__ import annotations

import threading
import time

import psycopg

from saltern.bulk.database import Connection, Source, connect
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.table import Table

EVERY = 2.0
"""Seconds between looks at whether the lock is still there."""


class JobLock:
    """An advisory lock for a table."""

    def __init__(self, source: Source, table: Table) -> None:
        self._source, self._table = source, table
        self._connection: Connection | None = None
        self._looked = 0.0
        self._lost: float | None = None
        self.doubt = threading.Event()
        """Set while the lock may be another's: no range is to be begun."""

    def __enter__(self) -> JobLock:
        if not self._take():
            raise Refused(
                f"another job is at work on {self._table.label}: wait for it, or end it first"
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def keep(self) -> None:
        """Takes the lock again if the database was unavailable. Workers wait for that."""
        now = time.monotonic()
        if now - self._looked < EVERY:
            return
        self._looked = now
        failure: psycopg.Error | Superseded
        try:
            if self._connection is not None and not self._connection.closed:
                self._connection.execute("SELECT 1")
                self._settle()
                return
            if self._take():
                self._settle()
                return
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

    def _settle(self) -> None:
        self._lost = None
        self.doubt.clear()

    def _take(self) -> bool:
        self._connection = connect(self._source)
        # A partition has the lock of the whole table.
        query = "SELECT coalesce(pg_partition_root(%(oid)s::oid), %(oid)s::oid)::oid::bigint"
        row = self._connection.execute(query, {"oid": self._table.oid}).fetchone()
        oid = int(str(row[0])) if row else self._table.oid
        # As a signed number: oids go up to 2^32.
        oid = oid - (1 << 32) if oid >= 1 << 31 else oid
        query = "SELECT pg_try_advisory_lock(hashtext('saltern.bulk'), %s::bigint::int4)"
        if self._connection.execute(query, [oid]).fetchone() == (True,):
            return True
        self._connection.close()
        return False
