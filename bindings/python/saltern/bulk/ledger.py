"""The record of finished work, in tables beside the one being processed.

The ledger makes a job resumable, and its counts exact: a range's results and its entry here are
written in one transaction. It holds no string, no key and no DSN.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import psycopg
from psycopg import sql

from saltern.bulk.database import Connection, quoted, told
from saltern.bulk.outcome import named
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.site import Site
from saltern.bulk.table import Table, held
from saltern.bulk.trust import refuse_additions, refuse_strangers

DEFINITION = """
CREATE TABLE {schema}.jobs (
  job bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  relation text NOT NULL,
  mark text NOT NULL,
  id_column text NOT NULL,
  hash_column text NOT NULL,
  operation text NOT NULL,
  policy text NOT NULL,
  site jsonb NOT NULL,
  nonce text NOT NULL DEFAULT gen_random_uuid(),
  state text NOT NULL DEFAULT 'running',
  accounts bigint NOT NULL DEFAULT 0,
  began timestamptz NOT NULL DEFAULT now(),
  ended timestamptz
);
CREATE TABLE {schema}.ranges (
  job bigint NOT NULL REFERENCES {schema}.jobs ON DELETE CASCADE,
  number integer NOT NULL,
  low text,
  high text,
  claim text,
  done timestamptz,
  accounts bigint NOT NULL DEFAULT 0,
  changed bigint NOT NULL DEFAULT 0,
  conflicts bigint NOT NULL DEFAULT 0,
  outcomes jsonb NOT NULL DEFAULT '{{}}',
  PRIMARY KEY (job, number)
);
CREATE TABLE {schema}.errors (
  job bigint NOT NULL REFERENCES {schema}.jobs ON DELETE CASCADE,
  number integer NOT NULL,
  id text NOT NULL,
  outcome text NOT NULL,
  why text
);
CREATE INDEX ON {schema}.errors (job, number);
"""
"""Who may make no schemas has this done by somebody who may: docs/bulk.md shows it."""

TABLES = ("jobs", "ranges", "errors")


@dataclass(frozen=True)
class Range:
    """Ids from `low` up to but not including `high`, as text; `None` means unbounded."""

    number: int
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class Begun:
    """A job to run."""

    job: int
    nonce: str
    """What workers compare: the ledger of another database has another one."""
    resumed: bool
    note: str | None = None
    """What people should know about it."""


@dataclass
class Part:
    """What a transaction adds to a range's entry."""

    changed: int = 0
    conflicts: int = 0


@dataclass(frozen=True)
class _Job:
    """An entry of the ledger."""

    job: int
    operation: str
    policy: str
    state: str
    id: str
    mark: str
    began: str
    wrote: bool


@dataclass
class Whole:
    """The contents of a range's entry when it is done."""

    accounts: int
    outcomes: dict[str, int]
    errors: list[tuple[str, str, str | None]]
    """Of the first ones: id, outcome, why."""


@dataclass
class Totals:
    """The sums of a job."""

    ranges: int
    done: int
    accounts: int
    changed: int
    conflicts: int
    outcomes: dict[str, int]


class Ledger:
    """The tables of the ledger, in one schema."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    def _sql(self, text: str, **names: sql.Composable) -> sql.Composed:
        statement = sql.SQL(text)  # type: ignore[arg-type, unused-ignore]
        return statement.format(schema=quoted(self.schema), **names)

    def prepare(self, connection: Connection, table: Table) -> None:
        """Creates the tables if they do not exist, and refuses those that cannot be used, or that
        would have us run what others have put there."""
        try:
            there = [self._exists(connection, name) for name in TABLES]
        except psycopg.errors.InsufficientPrivilege:
            raise Refused(
                f"the role lacks USAGE on the schema {self.schema} of the ledger: "
                f"GRANT USAGE ON SCHEMA {self.schema} TO …"
            ) from None
        refuse_strangers(connection, self.schema, TABLES, table.oid)
        if not any(there):
            self._make(connection)
            refuse_strangers(connection, self.schema, TABLES, table.oid)
        for name in TABLES:
            rights = "SELECT, INSERT" if name == "errors" else "SELECT, INSERT, UPDATE"
            for right in rights.split(", "):
                query = "SELECT has_table_privilege(to_regclass(%s), %s)"
                quoted_name = sql.Identifier(self.schema, name).as_string(connection)
                if connection.execute(query, [quoted_name, right]).fetchone() != (True,):
                    raise Refused(
                        f"the role lacks {right} on the ledger {self.schema}.{name}, or it is "
                        f"not there: GRANT {rights} ON {self.schema}.{name} TO …"
                    )
        definition = Ledger("pg_temp")._sql(DEFINITION)
        refuse_additions(connection, self.schema, TABLES, definition)

    def _exists(self, connection: Connection, table: str) -> bool:
        name = sql.Identifier(self.schema, table).as_string(connection)
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [name]).fetchone()
        return row == (True,)

    def _make(self, connection: Connection) -> None:
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('saltern.bulk ledger'))")
                if self._exists(connection, TABLES[0]):
                    return
                name = sql.Identifier(self.schema).as_string(connection)
                row = connection.execute("SELECT to_regnamespace(%s) IS NULL", [name])
                if row.fetchone() == (True,):
                    connection.execute(self._sql("CREATE SCHEMA {schema}"), [])
                connection.execute(self._sql(DEFINITION), [])
        except psycopg.Error as error:
            raise Refused(
                f"the ledger {self.schema} cannot be made: {told(error)}. Have it made by a role "
                "that may (docs/bulk.md shows the statements), or name another --ledger-schema"
            ) from None

    def begin(
        self, connection: Connection, table: Table, operation: str, site: Site, size: int
    ) -> Begun:
        """The job to run: one begun before, or a new one, whose ranges are created here."""
        jobs = self._jobs(connection, table)
        self._refuse_older(jobs, table, site)
        mine = [
            job for job in jobs
            if (job.operation, job.policy, job.id) == (operation, site.digest, table.id)
            and (job.state == "running" or job.state == "replaced" and self._above(job, jobs))
        ]
        with held(connection, table):
            # A worker for another policy, or for a dropped table of this name, stops at the end
            # of its range.
            replace = self._sql(
                "UPDATE {schema}.jobs SET state = 'replaced', ended = now() WHERE relation = %s "
                "AND hash_column = %s AND state = 'running' AND (policy <> %s OR mark <> %s)"
            )
            connection.execute(replace, [table.label, table.place, site.digest, table.mark])
            if mine and mine[0].mark == table.mark:
                # Another policy that changed nothing may have taken over meanwhile.
                again = self._sql(
                    "UPDATE {schema}.jobs SET state = 'running', ended = NULL WHERE job = %s"
                )
                connection.execute(again, [mine[0].job])
                return Begun(mine[0].job, self._nonce(connection, mine[0].job), True)
            job = self._add(connection, table, operation, site, size)
        note = None
        if mine and mine[0].state == "running":
            note = (
                f"{table.label} is not the one that job {mine[0].job} was begun with: it was "
                f"restored, emptied or written anew (TRUNCATE, VACUUM FULL). Job {job} does all "
                "of it"
            )
        return Begun(job, self._nonce(connection, job), False, note)

    def _jobs(self, connection: Connection, table: Table) -> list[_Job]:
        """The jobs on a table and column of these names, latest first."""
        query = self._sql(
            "SELECT job, operation, policy, state, id_column, mark, began::timestamptz(0)::text, "
            "EXISTS (SELECT FROM {schema}.ranges r WHERE r.job = j.job AND r.changed > 0) "
            "FROM {schema}.jobs j WHERE relation = %s AND hash_column = %s ORDER BY job DESC"
        )
        rows = connection.execute(query, [table.label, table.place]).fetchall()
        return [_Job(*row) for row in rows]  # type: ignore[arg-type]

    def _above(self, job: _Job, jobs: list[_Job]) -> bool:
        """Whether the job that has replaced this one is known: then that one has changed nothing.
        If its entry was removed, this cannot be determined."""
        return any(other.job > job.job and other.policy != job.policy for other in jobs)

    def _nonce(self, connection: Connection, job: int) -> str:
        query = self._sql("SELECT nonce FROM {schema}.jobs WHERE job = %s")
        row = connection.execute(query, [job]).fetchone()
        assert row is not None
        return str(row[0])

    def _refuse_older(self, jobs: list[_Job], table: Table, site: Site) -> None:
        """Refuses a policy that was followed by another one. A later one that changed no row is
        ignored: it may have been a mistake."""
        last = next((job for job in jobs if job.wrote), None)
        if last is None or last.policy == site.digest:
            return
        mine = [job for job in jobs if job.policy == site.digest and job.job < last.job]
        if mine:
            raise Refused(
                f"this policy was at work on {table.label} at {mine[0].began}, and another one "
                f"since {last.began}: this is an older policy. Use the one that servers have now; "
                "to go back on purpose, give the policy a new key; and if the other one was a "
                f"mistake, have its job forgotten by the ledger's owner: DELETE FROM "
                f"{self.schema}.jobs WHERE job = {last.job}"
            )

    def _add(
        self, connection: Connection, table: Table, operation: str, site: Site, size: int
    ) -> int:
        insert = self._sql(
            "INSERT INTO {schema}.jobs "
            "(relation, mark, id_column, hash_column, operation, policy, site) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING job"
        )
        named = [table.label, table.mark, table.id, table.place, operation, site.digest]
        row = connection.execute(insert, [*named, json.dumps(site.description)]).fetchone()
        assert row is not None and isinstance(row[0], int)
        job = row[0]
        ranges = self._sql(
            "INSERT INTO {schema}.ranges (job, number, low, high) "
            "SELECT %(job)s, number, CASE WHEN number > 0 THEN low::text END, high::text FROM ("
            + BOUNDARIES
            + ") AS b",
            **table.names(),
        )
        connection.execute(ranges, {"job": job, "size": size})
        # An empty table has one range, into which rows may be inserted meanwhile.
        one = "INSERT INTO {schema}.ranges (job, number) VALUES (%s, 0) ON CONFLICT DO NOTHING"
        connection.execute(self._sql(one), [job])
        count = self._sql(
            "UPDATE {schema}.jobs SET accounts = (SELECT count(*) FROM {table}) WHERE job = %s",
            **table.names(),
        )
        connection.execute(count, [job])
        return job

    def accounts(self, connection: Connection, job: int) -> int:
        """The number of rows in the table when the job was begun."""
        query = self._sql("SELECT accounts FROM {schema}.jobs WHERE job = %s")
        return _number(connection.execute(query, [job]).fetchone())

    def pending(self, connection: Connection, job: int) -> list[Range]:
        """The unfinished ranges, in the order of their ids."""
        query = self._sql(
            "SELECT number, low, high FROM {schema}.ranges WHERE job = %s AND done IS NULL "
            "ORDER BY number"
        )
        return [Range(*row) for row in connection.execute(query, [job])]  # type: ignore[arg-type]

    def claim(
        self, connection: Connection, job: int, number: int, claim: str, nonce: str
    ) -> bool:
        """Claims a range, whoever had it before; returns False if it is done."""
        query = self._sql("SELECT FROM {schema}.jobs WHERE job = %s AND nonce = %s")
        if connection.execute(query, [job, nonce]).fetchone() is None:
            raise Refused(
                f"job {job} is not in the ledger {self.schema} that was reached: the DSN leads to "
                "another database here (PGDATABASE, PGHOST, a service file)"
            )
        update = self._sql(
            "UPDATE {schema}.ranges r SET claim = %s FROM {schema}.jobs j "
            "WHERE r.job = %s AND r.number = %s AND r.done IS NULL AND j.job = r.job "
            "AND j.state = 'running'"
        )
        if connection.execute(update, [claim, job, number]).rowcount:
            return True
        query = self._sql(
            "SELECT done IS NOT NULL FROM {schema}.ranges WHERE job = %s AND number = %s"
        )
        if connection.execute(query, [job, number]).fetchone() == (True,):
            return False
        raise Superseded(f"job {job} has been replaced")

    def hold(self, connection: Connection, job: int, number: int, claim: str) -> int:
        """Locks the entry of a range until the end of the transaction, if the claim still holds;
        and that of the job, so that nobody replaces it meanwhile. Returns how many rows of the
        range were changed before, perhaps by a worker that was then killed."""
        query = self._sql(
            "SELECT r.changed FROM {schema}.ranges r JOIN {schema}.jobs j USING (job) "
            "WHERE r.job = %s AND r.number = %s AND r.claim = %s AND r.done IS NULL "
            "AND j.state = 'running' FOR UPDATE OF r FOR SHARE OF j"
        )
        row = connection.execute(query, [job, number, claim]).fetchone()
        if row is None:
            raise Superseded(f"range {number} of job {job} is another's by now")
        return _number(row)

    def add(self, connection: Connection, job: int, number: int, claim: str, part: Part) -> None:
        """Adds to the entry of a range, within the transaction that holds it. From then on the
        range has another claim: the transaction cannot be repeated."""
        update = self._sql(
            "UPDATE {schema}.ranges SET changed = changed + %s, conflicts = conflicts + %s, "
            "claim = %s WHERE job = %s AND number = %s"
        )
        connection.execute(update, [part.changed, part.conflicts, claim, job, number])

    def close(self, connection: Connection, job: int, number: int, whole: Whole) -> None:
        """Marks a range as done, within the transaction that holds it."""
        update = self._sql(
            "UPDATE {schema}.ranges SET done = now(), accounts = %s, outcomes = %s "
            "WHERE job = %s AND number = %s"
        )
        outcomes = json.dumps(whole.outcomes)
        connection.execute(update, [whole.accounts, outcomes, job, number])
        if whole.errors:
            insert = self._sql("INSERT INTO {schema}.errors VALUES (%s, %s, %s, %s, %s)")
            rows = [(job, number, *error) for error in whole.errors]
            connection.cursor().executemany(insert, rows)

    def finish(self, connection: Connection, job: int) -> bool:
        """Marks a job as done, if all of its ranges are."""
        update = self._sql(
            "UPDATE {schema}.jobs j SET state = 'done', ended = now() WHERE job = %s "
            "AND NOT EXISTS "
            "(SELECT FROM {schema}.ranges r WHERE r.job = j.job AND r.done IS NULL)"
        )
        return connection.execute(update, [job]).rowcount == 1

    def totals(self, connection: Connection, job: int) -> Totals:
        """The finished part of a job, over all runs."""
        query = self._sql(
            "SELECT count(*), count(done), coalesce(sum(accounts), 0)::bigint, "
            "coalesce(sum(changed), 0)::bigint, coalesce(sum(conflicts), 0)::bigint "
            "FROM {schema}.ranges WHERE job = %s"
        )
        row = connection.execute(query, [job]).fetchone()
        assert row is not None
        query = self._sql(
            "SELECT o.key, sum(o.value::bigint)::bigint FROM {schema}.ranges, "
            "jsonb_each_text(outcomes) AS o WHERE job = %s GROUP BY 1 ORDER BY 1"
        )
        counts = connection.execute(query, [job]).fetchall()
        outcomes = {str(name): _number((count,)) for name, count in counts}
        ranges, done, accounts, changed, conflicts = (_number((count,)) for count in row)
        return Totals(ranges, done, accounts, changed, conflicts, outcomes)

    def errors(self, connection: Connection, job: int, most: int) -> list[dict[str, object]]:
        """The first rows in error."""
        query = self._sql(
            "SELECT id, outcome, why FROM {schema}.errors WHERE job = %s ORDER BY number LIMIT %s"
        )
        rows = connection.execute(query, [job, most]).fetchall()
        return named(rows)


BOUNDARIES = """
SELECT (n / %(size)s)::integer AS number, id AS low, lead(id) OVER (ORDER BY n) AS high
FROM (SELECT {id} AS id, row_number() OVER (ORDER BY {id}::{type} USING {less}) - 1 AS n
      FROM {table}) AS numbered
WHERE n %% %(size)s = 0
"""
"""The first id of every so many rows, in the order of the ids."""


def boundaries(connection: Connection, table: Table, size: int) -> list[Range]:
    """The same ranges for work that writes nothing and keeps no ledger."""
    text = (
        "SELECT number, CASE WHEN number > 0 THEN low::text END, high::text FROM ("
        + BOUNDARIES
        + ") AS b ORDER BY 1"
    )
    query = sql.SQL(text).format(**table.names())  # type: ignore[arg-type, unused-ignore]
    with held(connection, table):
        rows = connection.execute(query, {"size": size}).fetchall()
    return [Range(*row) for row in rows] or [Range(0)]  # type: ignore[arg-type]


def _number(row: tuple[object, ...] | None) -> int:
    assert row is not None and isinstance(row[0], int)
    return row[0]
