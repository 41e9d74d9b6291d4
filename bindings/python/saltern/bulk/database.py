"""Connections to PostgreSQL: their arguments, and reconnecting after a restart."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from saltern.bulk.refusal import Refused

Connection = psycopg.Connection[tuple[object, ...]]
T = TypeVar("T")

MOVED = {
    "25006": "a primary that has become a standby, or a session that was made read-only",
    "57P01": "a shutdown",
    "57P02": "a crash",
    "57P03": "a server that starts",
}
"""SQLSTATEs after which a transaction is tried again with another connection, which may lead to
another server."""
AGAIN = MOVED.keys() | {
    "40001",  # a serialization failure
    "40P01",  # a deadlock
    "53300",  # too many connections
    "55P03",  # a lock that others hold
}
"""SQLSTATEs after which a transaction is tried again."""


@dataclass(frozen=True)
class Source:
    """Where the table is. Nothing in it is secret, so it can be sent to workers."""

    dsn: str
    retry_for: float = 60.0
    """Seconds for a server that restarts, or a lock that a stranger holds."""
    lock_timeout: float = 0.2
    """Seconds at a time: logins wait for those who wait with locks of their own."""
    statement_timeout: float = 300.0


def checked(dsn: str) -> str:
    """The DSN, if it contains no password: every user of the machine can see arguments."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The message of the library would repeat the DSN.
        raise Refused("--dsn: neither a URL (postgresql://…) nor names and values") from None
    # Parameters that the library itself would not show.
    options = psycopg.pq.Conninfo.get_defaults()
    secrets = {option.keyword.decode() for option in options if option.dispchar == b"*"}
    if any(parts.get(name) for name in secrets | {"password", "sslpassword"}):
        raise Refused(
            "--dsn holds a password, which other users of this machine can see: use PGPASSWORD, "
            "PGPASSFILE (~/.pgpass), a service file (service=…) or a certificate"
        )
    return dsn


DEFAULTS = {
    "connect_timeout": 10,
    "application_name": "saltern.bulk",
    # A network that drops packets is detected within half a minute.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""What connections have unless the DSN says otherwise."""

SETTINGS = {
    # The lock of a driver that is gone is released as soon.
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
    "default_transaction_isolation": "read committed",
    # As text, ids are compared and kept in one form, whatever the site's settings.
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    # Compiling a statement would take longer than running it.
    "jit": "off",
}
"""What sessions have whatever the site has set."""

PATIENCE = 10.0
"""Seconds that the driver waits for locks: it holds none that logins need."""


ON_REQUEST = 1_000_000_000
"""Statements are prepared only where that is asked for: those with ranges are planned for each."""

SEARCH_PATH = "pg_catalog, pg_temp"
"""Names in statements mean what the server defines, whatever others have created in schemas that a
site searches."""

SET = (
    "SELECT pg_catalog.set_config(s.name, s.value, %s) "
    "FROM unnest(%s::pg_catalog.text[], %s::pg_catalog.text[]) AS s (name, value)"
)
"""Looks up nothing in the site's schemas: `unnest` of several arrays is syntax."""


def connect(source: Source, *, patient: bool = False) -> Connection:
    """A connection in autocommit mode. A patient one is for the driver, whose statements may read
    the whole table."""
    given = conninfo_to_dict(source.dsn, client_encoding="UTF8")
    settings: dict[str, Any] = {**DEFAULTS, **given}
    connection = psycopg.connect(
        make_conninfo(**settings), autocommit=True, prepare_threshold=ON_REQUEST
    )
    locks = PATIENCE if patient else source.lock_timeout
    statements = 0.0 if patient else source.statement_timeout
    # With a unit they are unambiguous.
    configure(connection, SETTINGS | {
        "search_path": SEARCH_PATH,
        "lock_timeout": f"{int(locks * 1000)}ms",
        "statement_timeout": f"{int(statements * 1000)}ms",
    })
    return connection


def configure(
    connection: Connection, settings: Mapping[str, str | None], *, local: bool = False
) -> None:
    """Sets parameters, for the transaction if it is `local`; `None` stands for the site's value."""
    connection.execute(SET, [local, list(settings), list(settings.values())])


def facts(
    connection: Connection, queries: Mapping[str, str], parameters: Mapping[str, object]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of several queries, by their names, in one statement and of one moment."""
    parts = (
        f"(SELECT coalesce(json_agg(row_to_json(x)), '[]') FROM ({query}) AS x) AS {name}"
        for name, query in queries.items()
    )
    text: Any = f"SELECT {', '.join(parts)}"
    row = connection.execute(text, parameters).fetchone()
    return dict(zip(queries, row or (), strict=True))  # type: ignore[arg-type]


def spelled(text: str, separator: str) -> list[str]:
    """The names in a text: as they are, or quoted as in SQL where one holds the separator."""
    name = f'"(?:[^"]|"")+"|[^"{separator}]+'
    if not re.fullmatch(f"(?:{name})(?:[{separator}](?:{name}))*", text):
        return text.split(separator)
    found = re.findall(name, text)
    return [word[1:-1].replace('""', '"') if word[0] == '"' else word for word in found]


def listed(names: Sequence[str], separator: str) -> str:
    """Names in a text from which `spelled` makes them again."""
    return separator.join(
        '"' + name.replace('"', '""') + '"' if separator in name or '"' in name else name
        for name in names
    )


def quoted(*names: str) -> sql.SQL:
    """An identifier for statements that are executed with parameters, even with none: a `%` in it
    must not be taken for one."""
    return escaped(sql.Identifier(*names).as_string(None))


def escaped(text: str) -> sql.SQL:
    """SQL text for the same statements."""
    return sql.SQL(text.replace("%", "%%"))  # type: ignore[arg-type, unused-ignore]


def fetched(
    connection: Connection, query: sql.Composed, parameters: Mapping[str, object]
) -> list[tuple[Any, ...]]:
    """The rows of a query, in the binary form of their types."""
    return connection.cursor(binary=True).execute(query, parameters).fetchall()


TOLD = ("08", "25", "28", "3D", "40", "42501", "42703", "42P01", "53", "55", "57")
"""Errors, or classes of them, whose text names no values: connections, rights, names, resources, locks."""

LANGUAGES = ("pl_", "plperl", "plpy", "pltcl", "plv8")
"""How the files of procedural languages begin, where functions raise errors of any class, with any
text."""

NAMES = (
    ": a CHECK, an index or a generated column of the table may call a function that looks names up "
    "in the job's search_path, which is pg_catalog alone: ALTER FUNCTION … SET search_path = …"
)


def told(error: psycopg.Error) -> str:
    """The message of an error, without parts that may contain a row: the details that the server
    adds, and the text of errors about values, which triggers may choose freely."""
    diag, code = error.diag, error.sqlstate
    if diag.message_primary is None or code is None:
        return " ".join(str(error).split()) or type(error).__name__
    if code.startswith(TOLD) and not (diag.source_file or "").startswith(LANGUAGES):
        return f"{diag.message_primary} ({code})"
    at = {
        "table": diag.table_name,
        "column": diag.column_name,
        "constraint": diag.constraint_name,
    }
    named = [f"{kind} {name}" for kind, name in at.items() if name]
    text = ", ".join([f"{type(error).__name__} ({code})", *named])
    return text + NAMES if code in ("42883", "42P01") else text


class Session:
    """A connection that is reopened when it was lost."""

    def __init__(self, source: Source, *, patient: bool = False) -> None:
        self.source, self.patient = source, patient
        self.losses = 0
        """How often the connection was lost."""
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], T]) -> T:
        """Does something with the connection. After a temporary error it starts again, with a
        pause, until the given time has passed."""
        until, pause = None, 0.1
        while True:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = connect(self.source, patient=self.patient)
                return work(self._connection)
            except psycopg.Error as error:
                lost = self._connection is None or self._connection.broken
                if not lost and error.sqlstate not in AGAIN:
                    raise
                if lost or error.sqlstate in MOVED:
                    self.losses += 1
                    self.close()
                now = time.monotonic()
                until = until or now + self.source.retry_for
                if now + pause > until:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 5.0)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
