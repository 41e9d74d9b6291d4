"""The record of finished work, in tables beside the one being processed.

The ledger makes a job resumable, and its counts exact: a range's results and its entry here are
written in one transaction. It holds no string, no key and no DSN.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import psycopg
from psycopg import sql

from saltern.bulk.database import Connection, configure, facts, quoted, told
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.site import Site
from saltern.bulk.table import Table, held
from saltern.bulk.trust import LEDGER, refuse_additions, refuse_strangers

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
CREATE TABLE {schema}.limits (
  job bigint PRIMARY KEY REFERENCES {schema}.jobs ON DELETE CASCADE,
  max_rate bigint,
  max_lag double precision,
  max_wal bigint,
  since timestamptz NOT NULL DEFAULT now(),
  spent bigint NOT NULL DEFAULT 0
);
"""
"""Who may make no schemas has this done by somebody who may: docs/bulk.md shows it."""

TABLES = ("jobs", "ranges", "errors", "limits")

DEFINE = "DO $_$ BEGIN EXECUTE current_setting('saltern.statements'); END $_$"
"""One statement for all that make tables, whatever their schema."""

MAKE = """
DO $make$ BEGIN
PERFORM pg_advisory_xact_lock(hashtext('saltern.bulk ledger'));
IF to_regclass({jobs}) IS NULL THEN
  IF to_regnamespace({name}) IS NULL THEN CREATE SCHEMA {schema}; END IF;
""" + DEFINITION + "END IF; END $make$"
"""Unless somebody else has made it meanwhile."""


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


@dataclass(frozen=True)
class Part:
    """What a transaction adds to a range's entry."""

    changed: int = 0
    conflicts: int = 0


@dataclass(frozen=True)
class Limits:
    """What holds a job back; `None` is no limit."""

    max_rate: int | None = None
    """Rows a second."""
    max_lag: float | None = None
    """Seconds that a replica may be behind."""
    max_wal: int | None = None
    """Bytes of log on the server's disk."""


@dataclass(frozen=True)
class Pace:
    """What the limits of a job say now."""

    wait: float = 0.0
    """Seconds until a range may be begun, or until it is to be asked again."""
    why: str | None = None
    """What is waited for, unless it is the rate alone."""
    rated: bool = False
    """Whether there is a rate."""


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
    nonce: str
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
    """The sums of a job over all its runs, and what is left of it."""

    ranges: int
    done: int
    accounts: int
    changed: int
    conflicts: int
    outcomes: dict[str, int]
    at_begin: int
    """The number of rows in the table when the job was begun."""
    listed: list[dict[str, object]]
    """The first rows in error."""
    pending: list[Range]
    """The unfinished ranges, in the order of their ids."""


BOUNDARIES = """
SELECT (n / %(size)s)::integer AS number, CASE WHEN n > 0 THEN id END AS low,
       lead(id) OVER (ORDER BY n) AS high
FROM (SELECT {id} AS id, row_number() OVER (ORDER BY {order}) - 1 AS n
      FROM {table} AS t) AS numbered
WHERE n %% %(size)s = 0
"""
"""The first id of every so many rows, in the order of the ids."""

BEGIN = (
    "WITH job AS (INSERT INTO {schema}.jobs (relation, mark, id_column, hash_column, operation, "
    "policy, site, accounts) SELECT %(relation)s, %(mark)s, %(id)s, %(place)s, %(operation)s, "
    "%(policy)s, %(site)s, (SELECT count(*) FROM {table}) RETURNING job, nonce), "
    "ranges AS (INSERT INTO {schema}.ranges (job, number, low, high) "
    "SELECT job.job, b.number, b.low, b.high FROM job, (" + BOUNDARIES
    # An empty table has one range, into which rows may be inserted meanwhile.
    + "UNION ALL SELECT 0, NULL, NULL WHERE NOT EXISTS (SELECT FROM {table})) AS b), "
    "limits AS (INSERT INTO {schema}.limits (job) SELECT job FROM job) SELECT job, nonce FROM job"
)

CLAIM = """
WITH j AS (
  SELECT job FROM {schema}.jobs
  WHERE job = %(job)s AND nonce = %(nonce)s AND state = 'running' FOR SHARE
)
UPDATE {schema}.ranges AS r SET claim = %(claim)s FROM j
WHERE r.job = j.job AND r.number = %(number)s AND r.done IS NULL
  AND (%(held)s::text IS NULL OR r.claim = %(held)s)
RETURNING r.changed
"""

RECORD = """
WITH listed AS (
  INSERT INTO {schema}.errors
  SELECT %(job)s, %(number)s, e ->> 0, e ->> 1, e ->> 2 FROM jsonb_array_elements(%(errors)s) AS e
)
UPDATE {schema}.ranges SET changed = changed + %(changed)s, conflicts = conflicts + %(conflicts)s,
  accounts = %(accounts)s, outcomes = %(outcomes)s, done = CASE WHEN %(done)s THEN now() END
WHERE job = %(job)s AND number = %(number)s
"""

TOTALS = """
WITH finished AS (
  UPDATE {schema}.jobs AS j SET state = 'done', ended = now() WHERE job = %(job)s
  AND state <> 'done' AND %(finish)s
  AND NOT EXISTS (SELECT FROM {schema}.ranges AS r WHERE r.job = j.job AND r.done IS NULL)
), mine AS (SELECT * FROM {schema}.ranges WHERE job = %(job)s)
SELECT count(*), count(done), coalesce(sum(accounts), 0)::bigint,
  coalesce(sum(changed), 0)::bigint, coalesce(sum(conflicts), 0)::bigint,
  (SELECT coalesce(json_object_agg(key, number ORDER BY key), '{{}}') FROM (
     SELECT o.key, sum(o.value::bigint)::bigint AS number
     FROM mine, jsonb_each_text(outcomes) AS o GROUP BY 1) AS sums),
  (SELECT accounts FROM {schema}.jobs WHERE job = %(job)s),
  (SELECT coalesce(json_agg(row_to_json(e)), '[]') FROM (
     SELECT id, outcome, why FROM {schema}.errors WHERE job = %(job)s
     ORDER BY number LIMIT %(most)s) AS e),
  (SELECT coalesce(json_agg(json_build_array(number, low, high) ORDER BY number), '[]')
   FROM mine WHERE done IS NULL)
FROM mine
"""

PACE = """
SELECT greatest(spent / nullif(max_rate, 0)::float8
                - extract(epoch FROM clock_timestamp() - since)::float8, 0),
       max_rate, max_lag, max_wal,
       CASE WHEN max_lag IS NOT NULL THEN pg_has_role('pg_read_all_stats', 'USAGE') END,
       CASE WHEN max_wal IS NOT NULL THEN has_function_privilege('pg_ls_waldir()', 'EXECUTE') END,
       CASE WHEN max_lag IS NOT NULL THEN (
         SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication) END
FROM {schema}.limits WHERE job = %s
"""

LATE = "now() > since + spent / max_rate::float8 * interval '1 second'"
CHARGE = (
    "UPDATE {schema}.limits SET spent = CASE WHEN " + LATE + " THEN 0 ELSE spent END + %s, "
    "since = CASE WHEN " + LATE + " THEN now() ELSE since END WHERE job = %s AND max_rate > 0"
)
"""Rows that count from the time when all before them were due."""


class Ledger:
    """The tables of the ledger, in one schema."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    def _sql(self, text: str, **names: sql.Composable) -> sql.Composed:
        statement = sql.SQL(text)  # type: ignore[arg-type, unused-ignore]
        return statement.format(schema=quoted(self.schema), **names)

    def prepare(self, connection: Connection, table: Table, site: Site | None = None) -> None:
        """Creates the tables if they do not exist, and refuses those that cannot be used, or that
        would have us run what others have put there; and a policy that is older than another."""
        with connection.transaction():
            found = self._found(connection, table)
            if not found["tables"]:
                self._make(connection)
            # What it is to look like.
            self._define(connection, Ledger("pg_temp")._sql(DEFINITION))
            found = self._found(connection, table)
            names = ", ".join(f"pg_temp.{name}" for name in TABLES)
            self._define(connection, sql.SQL(f"DROP TABLE {names}"))  # type: ignore[arg-type, unused-ignore]
            missing = [
                f"the role lacks {right} on the ledger {self.schema}.{name}, or it is not there: "
                f"GRANT {right} ON {self.schema}.{name} TO …"
                for name in TABLES
                for right in ("SELECT", "INSERT", "UPDATE")[: 2 if name == "errors" else 3]
                if not any(row["name"] == name and row[right] for row in found["tables"])
            ]
            if missing:
                raise Refused(missing[0])
            refuse_additions(self.schema, found)
            if site is not None:
                self._refuse_older(self._jobs(connection, table), table, site)

    def _found(self, connection: Connection, table: Table) -> dict[str, list[dict[str, Any]]]:
        """What there is of it, unless others may change that."""
        schema = sql.Identifier(self.schema).as_string(connection)
        given = {"schema": schema, "tables": list(TABLES), "relation": table.oid}
        found = facts(connection, LEDGER, given)
        if [row for row in found["schema"] if not row["usable"]]:
            raise Refused(
                f"the role lacks USAGE on the schema {self.schema} of the ledger: "
                f"GRANT USAGE ON SCHEMA {self.schema} TO …"
            )
        refuse_strangers(found["strangers"], self.schema)
        return found

    def _define(self, connection: Connection, statements: sql.Composable) -> None:
        text = statements.as_string(connection).replace("%%", "%")
        configure(connection, {"saltern.statements": text}, local=True)
        connection.execute(DEFINE)

    def _make(self, connection: Connection) -> None:
        names = {
            "name": sql.Literal(sql.Identifier(self.schema).as_string(connection)),
            "jobs": sql.Literal(sql.Identifier(self.schema, TABLES[0]).as_string(connection)),
        }
        try:
            self._define(connection, self._sql(MAKE, **names))
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
        mine = [
            job for job in jobs
            if (job.operation, job.policy, job.id) == (operation, site.digest, table.id_columns)
            and (job.state == "running" or job.state == "replaced" and self._above(job, jobs))
        ]
        replaced = [
            job.job for job in jobs
            if job.state == "running" and (job.policy, job.mark) != (site.digest, table.mark)
        ]
        state = self._sql("UPDATE {schema}.jobs SET state = %s, ended = %s WHERE job = ANY(%s)")
        with held(connection, table):
            if replaced:
                # A worker for another policy, or for a dropped table of this name, stops at the
                # end of its range.
                connection.execute(state, ["replaced", datetime.now(timezone.utc), replaced])
            if mine and mine[0].mark == table.mark:
                # Another policy that changed nothing may have taken over meanwhile.
                if mine[0].state != "running":
                    connection.execute(state, ["running", None, [mine[0].job]])
                return Begun(mine[0].job, mine[0].nonce, True)
            given = {
                "relation": table.label, "mark": table.mark, "id": table.id_columns,
                "place": table.place, "operation": operation, "policy": site.digest,
                "site": json.dumps(site.description), "size": size,
            }
            row = connection.execute(self._sql(BEGIN, **table.names()), given).fetchone()
        assert row is not None and isinstance(row[0], int)
        note = None
        if mine and mine[0].state == "running":
            note = (
                f"{table.label} is not the one that job {mine[0].job} was begun with: it was "
                f"restored, emptied or written anew (TRUNCATE, VACUUM FULL). Job {row[0]} does all "
                "of it"
            )
        return Begun(row[0], str(row[1]), False, note)

    def _jobs(self, connection: Connection, table: Table) -> list[_Job]:
        """The jobs on a table and column of these names, latest first."""
        query = self._sql(
            "SELECT job, operation, policy, state, id_column, mark, began::timestamptz(0)::text, "
            "nonce, EXISTS (SELECT FROM {schema}.ranges r WHERE r.job = j.job AND r.changed > 0) "
            "FROM {schema}.jobs j WHERE relation = %s AND hash_column = %s ORDER BY job DESC"
        )
        rows = connection.execute(query, [table.label, table.place]).fetchall()
        return [_Job(*row) for row in rows]  # type: ignore[arg-type]

    def _above(self, job: _Job, jobs: list[_Job]) -> bool:
        """Whether the job that has replaced this one is known: then that one has changed nothing.
        If its entry was removed, this cannot be determined."""
        return any(other.job > job.job and other.policy != job.policy for other in jobs)

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

    def limit(self, connection: Connection, job: int, limits: Limits) -> None:
        """Sets the limits that are given; others stay as they are."""
        update = self._sql(
            "UPDATE {schema}.limits SET max_rate = coalesce(%s, max_rate), "
            "max_lag = coalesce(%s, max_lag), max_wal = coalesce(%s, max_wal) WHERE job = %s"
        )
        connection.execute(update, [limits.max_rate, limits.max_lag, limits.max_wal, job])

    def pace(self, connection: Connection, job: int) -> Pace:
        """Whether a range may be begun by now."""
        row: Any = connection.execute(self._sql(PACE), [job]).fetchone()
        if row is None:
            return Pace()
        wait, max_rate, max_lag, max_wal, sees_lag, sees_wal, lag = row
        why = None
        if max_rate is not None and max_rate <= 0:
            why = f"max_rate is {max_rate}"
        elif sees_lag is False or sees_wal is False:
            why = f"{'max_lag' if sees_lag is False else 'max_wal'} needs {MONITOR}"
        elif lag is not None and lag > max_lag:
            why = f"a replica is {lag:.1f} s behind, and max_lag is {max_lag:g} s"
        elif max_wal is not None:
            found = connection.execute("SELECT sum(size)::bigint FROM pg_ls_waldir()").fetchone()
            size = int(str(found[0])) if found else 0
            if size > max_wal:
                why = f"the log has {size:,} bytes, and max_wal is {max_wal:,}"
        return Pace(max(wait or 0.0, 1.0 if why else 0.0), why, max_rate is not None)

    def charge(self, connection: Connection, job: int, rows: int) -> None:
        """Counts rows towards the rate."""
        connection.execute(self._sql(CHARGE), [rows, job])

    def claim(
        self, connection: Connection, job: int, number: int, claim: str, nonce: str
    ) -> bool:
        """Claims a range, whoever had it before; returns False if it is done."""
        if self._claimed(connection, job, number, None, claim, nonce) is not None:
            return True
        query = self._sql(
            "SELECT nonce = %s, (SELECT done IS NOT NULL FROM {schema}.ranges r "
            "WHERE r.job = j.job AND number = %s) FROM {schema}.jobs j WHERE job = %s"
        )
        row = connection.execute(query, [nonce, number, job]).fetchone()
        if row is None or row[0] is not True:
            raise Refused(
                f"job {job} is not in the ledger {self.schema} that was reached: the DSN leads to "
                "another database here (PGDATABASE, PGHOST, a service file)"
            )
        if row[1] is True:
            return False
        raise Superseded(f"job {job} has been replaced")

    def hold(
        self, connection: Connection, job: int, number: int, held: str, claim: str, nonce: str
    ) -> int:
        """Locks the entry of a range until the end of the transaction, if its claim still holds;
        and that of the job, so that nobody replaces it meanwhile. From then on the range has
        another claim: the transaction cannot be repeated. Returns how many rows of the range were
        changed before, perhaps by a worker that was then killed."""
        changed = self._claimed(connection, job, number, held, claim, nonce)
        if changed is None:
            raise Superseded(f"range {number} of job {job} is another's by now")
        return changed

    def _claimed(
        self, connection: Connection, job: int, number: int, held: str | None, claim: str,
        nonce: str,
    ) -> int | None:
        given = {"job": job, "number": number, "held": held, "claim": claim, "nonce": nonce}
        row = connection.execute(self._sql(CLAIM), given).fetchone()
        return None if row is None else int(str(row[0]))

    def record(
        self, connection: Connection, job: int, number: int, part: Part, whole: Whole | None
    ) -> None:
        """Adds to the entry of a range, within the transaction that holds it; with `whole` the
        range is done."""
        done = whole or Whole(0, {}, [])
        given = {
            "job": job, "number": number, "changed": part.changed, "conflicts": part.conflicts,
            "accounts": done.accounts, "outcomes": json.dumps(done.outcomes),
            "errors": json.dumps(done.errors, ensure_ascii=False), "done": whole is not None,
        }
        connection.execute(self._sql(RECORD), given)

    def totals(
        self, connection: Connection, job: int, most: int = 0, *, finish: bool = False
    ) -> Totals:
        """What is done of a job and what is left, with `most` rows in error. With `finish` it is
        marked as done if all of its ranges are."""
        given = {"job": job, "most": most, "finish": finish}
        row: Any = connection.execute(self._sql(TOTALS), given).fetchone()
        return Totals(*[*row[:8], [Range(*values) for values in row[8]]])


MONITOR = "rights that the role lacks: GRANT pg_monitor TO …"


def boundaries(connection: Connection, table: Table, size: int) -> list[Range]:
    """The same ranges for work that writes nothing and keeps no ledger."""
    query = sql.SQL(BOUNDARIES + "ORDER BY 1").format(**table.names())
    with held(connection, table):
        rows = connection.execute(query, {"size": size}).fetchall()
    return [Range(*row) for row in rows] or [Range(0)]  # type: ignore[arg-type]
