"""A server of PostgreSQL for the tests, policies with keys, and tables of accounts."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from saltern import PasswordHasher
from saltern.bulk import ranges
from saltern.bulk.__main__ import main
from saltern.bulk.database import Source, connect
from saltern.bulk.ledger import Ledger, Range
from saltern.bulk.ranges import Assignment, Worker
from saltern.bulk.site import Site, open_site
from saltern.bulk.table import inspect, place

# In the background of a shell it is ignored, and would be by the jobs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHORT = "BULK_SHORT" in os.environ
"""Whether there is little time."""
REPOSITORY = Path(os.environ.get("SALTERN_REPOSITORY", Path(__file__).parents[4]))
ROWS = int(os.environ.get("BULK_ROWS", "20000"))
"""Rows of the large table."""

BCRYPT = ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U")
SHA_CRYPT = ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!")
SCHEMES = '["yescrypt", "bcrypt", "sha-crypt", "hex"]'


class Server:
    """A server of its own, which is reached through a socket in a folder, and gone at the end."""

    def __init__(self) -> None:
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        found = shutil.which("initdb") or (str(versions[-1]) if versions else None)
        assert found is not None, "no PostgreSQL"
        self.bin = Path(found).parent
        # It refuses to run as root.
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-bulk-"))
        if self.prefix:
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.data = self.folder / "data"

    def __enter__(self) -> Server:
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _begin(self) -> None:
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "owner", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
                "shared_preload_libraries = pg_stat_statements\n"
                "fsync = off\nfull_page_writes = off\nautovacuum = off\nmax_connections = 40\n"
            )
        self.start()
        self.admin("CREATE ROLE worker LOGIN; GRANT CREATE ON DATABASE postgres TO worker")

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self.prefix, str(self.bin / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def dsn(self, role: str = "worker") -> str:
        return f"host={self.folder} user={role} dbname=postgres"

    def connect(self, role: str = "owner") -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.dsn(role), autocommit=True)

    def admin(self, statements: str) -> None:
        with self.connect() as connection:
            connection.execute(statements)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def fingerprint(key: bytes) -> str:
    """What `saltern key fingerprint` shows."""
    return hashlib.sha256(b"saltern hash key fingerprint 1" + key).hexdigest()[:16]


@dataclass
class Policies:
    """Policies of one site that differ in their active key; the cheapest hashes there are."""

    folder: Path
    keys: dict[str, bytes] = field(default_factory=dict)

    def key(self, name: str) -> bytes:
        if name not in self.keys:
            self.keys[name] = hashlib.sha256(name.encode()).digest()
            file = self.folder / f"{name}.key"
            file.write_bytes(self.keys[name])
            file.chmod(0o600)
        return self.keys[name]

    def text(self, active: str | None, names: Iterable[str] = "ab", more: str = "") -> str:
        text = f"schemes = {SCHEMES}\n{more}\n[params]\nn = 16\nr = 1\n"
        for name in names:
            text += (
                f'[[keys]]\nname = "{name}"\nfile = "{name}.key"\n'
                f'fingerprint = "{fingerprint(self.key(name))}"\n'
            )
            text += "active = true\n" if name == active else ""
        return text

    def file(self, active: str | None, names: Iterable[str] = "ab", more: str = "") -> Path:
        """A policy that is read from a file."""
        text = self.text(active, names, more)
        file = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.toml"
        file.write_text(text)
        return file

    def sealing(self, active: str, *, required: bool = False) -> Path:
        """One with an active key for seals."""
        mark = fingerprint(self.key("seal"))
        more = (
            f"[seal]\nrequired = {str(required).lower()}\n[[seal.keys]]\n"
            f'name = "seal"\nfile = "seal.key"\nfingerprint = "{mark}"\nactive = true\n'
        )
        return self.file(active, more=more)

    def hasher(self, active: str) -> PasswordHasher:
        return PasswordHasher.from_policy(self.file(active))


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return Policies(tmp_path)


def accounts(hasher: PasswordHasher, count: int) -> tuple[list[str | None], dict[int, str]]:
    """The strings of accounts of mixed schemes, and the passwords of those that have one."""
    chosen = random.Random(count)
    passwords = {number: f"password {number % 997}" for number in range(997)}
    own = hasher.hash_many(list(passwords.values()))
    assert not any(isinstance(made, Exception) for made in own)
    stored: list[str | None] = []
    known: dict[int, str] = {}
    for number in range(count):
        kind, at = chosen.random(), number % 997
        digest = hashlib.md5(passwords[at].encode()).hexdigest()
        text, password = (
            (str(own[at]), passwords[at]) if kind < 0.80
            else (digest, passwords[at]) if kind < 0.90
            else BCRYPT if kind < 0.905
            else SHA_CRYPT if kind < 0.91
            else ("!" + str(own[at]), None) if kind < 0.94
            else chosen.choice([("", None), (None, None), ("*LK*", None), ("garbage", None)])
        )
        stored.append(text)
        if password is not None:
            known[number] = password
    return stored, known


def fill(server: Server, table: str, stored: list[str | None], kind: str = "bigint") -> None:
    """A table with these strings; ids are multiples of three."""
    id = {"bigint": "n * 3", "uuid": "md5(n::text)::uuid", "text": "'user ' || n"}[kind]
    with server.connect() as connection:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute("DROP SCHEMA IF EXISTS saltern_bulk CASCADE")
        connection.execute("CREATE TEMP TABLE given (n bigint, hash text)")
        with connection.cursor().copy("COPY given FROM STDIN") as copy:
            for row in enumerate(stored):
                copy.write_row(row)
        connection.execute(
            f"CREATE TABLE {table} (id {kind} PRIMARY KEY, name text, password_hash text)"
        )
        connection.execute(
            f"INSERT INTO {table} SELECT {id}, 'name ' || n, hash FROM given ORDER BY random()"
        )
        connection.execute(f"GRANT SELECT (id, password_hash) ON {table} TO worker")
        connection.execute(f"GRANT UPDATE (password_hash) ON {table} TO worker")


def slow(server: Server) -> None:
    """Lets a job on all of the large table take seconds, so that something can happen meanwhile."""
    server.admin(
        "CREATE OR REPLACE FUNCTION slow() RETURNS boolean VOLATILE LANGUAGE sql AS "
        f"'SELECT random() > {400 / ROWS:f} OR pg_sleep(0.01) IS NOT NULL';"
        "ALTER TABLE users ADD CONSTRAINT slow CHECK (slow()) NOT VALID"
    )


def content(server: Server, table: str = "users") -> dict[Any, tuple[str | None, str]]:
    """The strings of a table by id, and the transactions that wrote them."""
    with server.connect() as connection:
        rows = connection.execute(f"SELECT id, password_hash, xmin::text FROM {table}")
        return {id: (hash, xmin) for id, hash, xmin in rows}


@dataclass
class Ran:
    """What a run of the program has printed."""

    status: int
    report: dict[str, Any]
    said: str


Bulk = Callable[..., Ran]


@pytest.fixture
def bulk(server: Server) -> Bulk:
    """Runs the program, with the table `users` unless something else is said."""

    def bulk(operation: str, policy: Path, *more: object, dsn: str | None = None) -> Ran:
        return run(command(operation, policy, dsn or server.dsn(), *more))

    return bulk


def run(line: list[str]) -> Ran:
    """What the program does, in this process: others would take a second each to start."""
    output, said = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(said):
        try:
            status = main(line[3:])
        except SystemExit as end:
            status = int(str(end.code))
    return Ran(status, json.loads(output.getvalue() or "{}"), said.getvalue())


def command(operation: str, policy: Path, dsn: str, *more: object) -> list[str]:
    arguments = [operation, "--policy", policy, "--dsn", dsn, "--json", *more]
    for name, usual in (("--table", "users"), ("--id", "id"), ("--hash", "password_hash")):
        if name not in arguments and not (name == "--hash" and "--keycloak" in arguments):
            arguments += [name, usual]
    return [sys.executable, "-m", "saltern.bulk", *map(str, arguments)]


def started(
    server: Server, policy: Path, *more: object, operation: str = "rekey"
) -> subprocess.Popen[str]:
    """The program at work on the large table, in about two hundred ranges."""
    arguments = command(operation, policy, server.dsn(), "--range-rows", max(ROWS // 200, 1), *more)
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class Mallory:
    """A role that may create things in the schema public and in the database, but may not read
    the table. What it plants notes what a job gives it."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def plant(self, statements: str) -> None:
        with self.server.connect("mallory") as connection:
            connection.execute(statements)

    def function(self, name: str, arguments: str, result: str, value: str) -> None:
        given = ", ".join(f"(${at}::text)" for at in range(1, len(arguments.split(",")) + 1))
        self.plant(
            f"CREATE FUNCTION public.{name}({arguments}) RETURNS {result} LANGUAGE plpgsql AS "
            "$_$ BEGIN IF current_user OPERATOR(pg_catalog.=) 'worker' THEN "
            f"INSERT INTO public.seen VALUES {given}; END IF; RETURN {value}; END $_$"
        )

    def operator(self, name: str, left: str, right: str) -> None:
        function = f"spy_{len(self.seen('SELECT proname FROM pg_proc'))}"
        value = f"$1::text OPERATOR(pg_catalog.{name}) $2::text"
        self.function(function, f"{left}, {right}", "boolean", value)
        self.plant(
            f"CREATE OPERATOR public.{name} "
            f"(LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.{function})"
        )

    def trigger(self, table: str) -> None:
        self.plant(
            "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN "
            "INSERT INTO public.seen SELECT password_hash FROM public.users; RETURN NEW; END $_$;"
            f"CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION public.spy()"
        )

    def seen(self, query: str = "SELECT what FROM public.seen") -> list[Any]:
        with self.server.connect() as connection:
            return [row[0] for row in connection.execute(query)]


@pytest.fixture
def mallory(server: Server) -> Iterator[Mallory]:
    # As in databases that were made before PostgreSQL 15, and upgraded.
    server.admin(
        "GRANT CREATE ON SCHEMA public TO public; CREATE ROLE mallory LOGIN;"
        "GRANT CREATE ON DATABASE postgres TO mallory"
    )
    mallory = Mallory(server)
    mallory.plant("CREATE TABLE public.seen (what text); GRANT INSERT ON public.seen TO public")
    yield mallory
    server.admin(
        "DROP TABLE users; DROP SCHEMA IF EXISTS saltern_bulk CASCADE;"
        "DROP OWNED BY mallory CASCADE; DROP ROLE mallory;"
        "REVOKE CREATE ON SCHEMA public FROM public"
    )


class Logins(threading.Thread):
    """A server that people log in to, and change their passwords at, while a job runs."""

    def __init__(self, server: Server, hasher: PasswordHasher, known: dict[int, str]) -> None:
        super().__init__(daemon=True)
        self.server, self.hasher, self.known = server, hasher, known
        self.ended = threading.Event()
        self.logins = self.updates = self.changes = 0
        self.failed: list[str] = []

    def run(self) -> None:
        chosen, numbers = random.Random(7), list(self.known)
        connection = None
        while not self.ended.is_set():
            try:
                connection = connection or self.server.connect()
                self._one(connection, chosen.choice(numbers), chosen.random() < 0.3)
                time.sleep(0.002)  # Nobody types faster, and the job needs the processors.
            except psycopg.OperationalError:
                # The server is away: in doubt is what the last statement has done.
                connection = None
                time.sleep(0.05)

    def _one(self, connection: Any, number: int, change: bool) -> None:
        query = "SELECT password_hash FROM users WHERE id = %s"
        stored = connection.execute(query, [3 * number]).fetchone()[0]
        account = str(3 * number)
        valid, update = self.hasher.verify_and_update(stored, self.known[number], account=account)
        self.logins += 1
        if not valid:
            self.failed.append(f"{number}: {stored}")
        password = self.known[number]
        if change:
            password = f"changed {self.changes}"
            update = self.hasher.hash(password, account=account)
        if update is not None:
            write = "UPDATE users SET password_hash = %s WHERE id = %s AND password_hash = %s"
            try:
                wrote = connection.execute(write, [update, 3 * number, stored]).rowcount
            except psycopg.OperationalError:
                self._settle(number, update, password)
                raise
            if wrote:
                self.updates += 1
                self.changes += change
                self.known[number] = password

    def _settle(self, number: int, update: str, password: str) -> None:
        """Whether a write took place whose answer was lost."""
        while True:
            try:
                with self.server.connect() as connection:
                    query = "SELECT password_hash FROM users WHERE id = %s"
                    row = connection.execute(query, [3 * number]).fetchone()
            except psycopg.OperationalError:
                time.sleep(0.05)
                continue
            account = str(3 * number)
            if row and self.hasher.verify_and_update(row[0], password, account=account)[0]:
                self.known[number] = password
            return

    def __enter__(self) -> Logins:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()
        assert not self.failed, self.failed[:3]


def verify_all(server: Server, hasher: PasswordHasher, known: dict[int, str]) -> None:
    """Every account that had a password has it still."""
    rows = content(server)
    ids = [3 * n for n in known]
    answers = hasher.verify_many(
        [rows[id][0] for id in ids], list(known.values()), accounts=list(map(str, ids))
    )
    wrong = [n for n, answer in zip(known, answers, strict=True) if answer is not True]
    assert not wrong, wrong[:5]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)


def ranges_done(server: Server) -> int:
    """How many ranges the last job has done."""
    try:
        with server.connect() as connection:
            row = connection.execute(
                "SELECT count(done) FROM saltern_bulk.ranges WHERE job = "
                "(SELECT max(job) FROM saltern_bulk.jobs)"
            ).fetchone()
    except psycopg.Error:
        return 0
    return int(row[0]) if row else 0


class Begun:
    """A job that was begun, and has one range for each hundred rows."""

    def __init__(
        self, server: Server, policy: Path, operation: str = "rekey", table: str = "users",
        **source: Any,
    ) -> None:
        self.source = Source(server.dsn(), **{"retry_for": 20.0, "lock_timeout": 0.3} | source)
        self.site: Site = open_site(policy)
        self.ledger = Ledger("saltern_bulk")
        self.connection = connect(self.source)
        found = inspect(self.connection, table, "id", "password_hash", writes=True)
        self.ledger.prepare(self.connection, found)
        begun = self.ledger.begin(self.connection, found, operation, self.site, 100)
        self.job = begun.job
        self.assignment = Assignment(
            self.source, found, operation, str(policy), self.site.description,
            place(self.connection, found), "saltern_bulk", self.job, begun.nonce,
        )

    def worker(self) -> Worker:
        return Worker(self.assignment, self.site)

    def pending(self) -> list[Range]:
        return self.ledger.totals(self.connection, self.job).pending

    def totals(self) -> dict[str, Any]:
        return vars(self.ledger.totals(self.connection, self.job))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has something happen between the reading and the writing of a range, once each."""
    rewritten = ranges.rewritten

    def meanwhile(*events: Callable[[], None]) -> None:
        left = iter(events)

        def patched(*arguments: Any) -> Any:
            rows = rewritten(*arguments)
            next(left, lambda: None)()
            return rows

        monkeypatch.setattr(ranges, "rewritten", patched)

    return meanwhile


@pytest.fixture(autouse=True)
def no_children() -> Iterator[None]:
    """Whatever fails, no process of a test disturbs the next one."""
    yield
    children = [task.read_text().split() for task in Path("/proc/self/task").glob("*/children")]
    for pid in sum(children, []):
        text = Path(f"/proc/{pid}/cmdline")
        if text.exists() and b"saltern.bulk" in text.read_bytes():
            os.kill(int(pid), signal.SIGKILL)
