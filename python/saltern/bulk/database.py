"""Connections to PostgreSQL: what they may be told, and how they come back after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from saltern.bulk.refusal import Refused

Connection = psycopg.Connection[tuple[object, ...]]
T = TypeVar("T")

AGAIN = {
    "40001": "a serialization failure",
    "40P01": "a deadlock",
    "53300": "too many connections",
    "55P03": "a lock that others hold",
    "57P01": "a shutdown",
    "57P02": "a crash",
    "57P03": "a server that starts",
}
"""SQLSTATEs after which a transaction is tried again."""


@dataclass(frozen=True)
class Source:
    """Where the table is. Nothing in it is secret, so that it can be sent to workers."""

    dsn: str
    retry_for: float = 60.0
    """Seconds for a server that restarts, or a lock that a stranger holds."""
    lock_timeout: float = 10.0
    statement_timeout: float = 300.0


def checked(dsn: str) -> str:
    """The DSN, if it holds no password: arguments can be seen by every user of the machine."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The message of the library would repeat the DSN.
        raise Refused("--dsn: neither a URL (postgresql://…) nor names and values") from None
    if any(parts.get(name) for name in ("password", "sslpassword")):
        raise Refused(
            "--dsn holds a password, which other users of this machine can see: use PGPASSWORD, "
            "PGPASSFILE (~/.pgpass), a service file (service=…) or a certificate"
        )
    return dsn


def connect(source: Source, *, statements: float | None = None) -> Connection:
    """A connection in autocommit mode. `statements` is how many seconds one of them may take."""
    defaults = {"connect_timeout": 10, "application_name": "saltern.bulk"}
    given = conninfo_to_dict(source.dsn, client_encoding="UTF8")
    settings: dict[str, Any] = {**defaults, **given}
    connection = psycopg.connect(
        make_conninfo(**settings), autocommit=True, prepare_threshold=None
    )
    if statements is None:
        statements = source.statement_timeout
    timeouts = [("lock_timeout", source.lock_timeout), ("statement_timeout", statements)]
    for name, seconds in timeouts:
        # Strings: with a unit there is no doubt about it.
        value = f"{int(seconds * 1000)}ms"
        connection.execute("SELECT set_config(%s, %s, false)", [name, value])
    # As text, ids are compared and kept in one form, whatever a site prefers.
    connection.execute("SELECT set_config('datestyle', 'ISO', false)")
    connection.execute("SELECT set_config('extra_float_digits', '1', false)")
    return connection


def quoted(*names: str) -> sql.SQL:
    """An identifier for statements that are executed with parameters, even with none: a `%` in it
    is none of theirs."""
    return escaped(sql.Identifier(*names).as_string(None))


def escaped(text: str) -> sql.SQL:
    """A piece of SQL for the same statements."""
    return sql.SQL(text.replace("%", "%%"))  # type: ignore[arg-type, unused-ignore]


def copied(
    connection: Connection, query: sql.Composable, parameters: Sequence[object] = ()
) -> bytes:
    """What `COPY … TO STDOUT` gives, all at once."""
    text = query.as_bytes(connection)
    if not parameters:
        # Unlike other statements, it is not looked at for parameters then.
        text = text.replace(b"%%", b"%")
    with connection.cursor().copy(text, parameters) as copy:
        return b"".join(copy)


def told(error: psycopg.Error) -> str:
    """What an error says, without what the server adds to it: that may hold a row."""
    primary = error.diag.message_primary
    if primary is not None:
        return f"{primary} ({error.sqlstate})"
    return " ".join(str(error).split()) or type(error).__name__


class Session:
    """A connection that is made again when it was lost."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.losses = 0
        """How often the connection was lost."""
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], T]) -> T:
        """Does something with the connection; from its beginning again, after a pause, where what
        went wrong passes by itself, until that has lasted for as long as was said."""
        until, pause = None, 0.1
        while True:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = connect(self.source)
                return work(self._connection)
            except psycopg.Error as error:
                lost = self._connection is None or self._connection.broken
                if not lost and error.sqlstate not in AGAIN:
                    raise
                if lost or error.sqlstate in ("57P01", "57P02", "57P03"):
                    self.losses += 1
                    self.close()
                now = time.monotonic()
                until = until or now + self.source.retry_for
                if now + pause > until:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 5.0)

    def close(self) -> None:
        """Gives the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
