"""Other roles of the database: what they plant for a job to run, and ids made for a terminal."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from conftest import BCRYPT, Begun, Bulk, Mallory, Policies, Server, command, content, fill

from saltern.bulk.__main__ import main
from saltern.bulk.database import Session, Source
from saltern.bulk.ledger import DEFINITION
from saltern.bulk.refusal import Refused
from saltern.bulk.report import say, show

LEDGER = DEFINITION.format(schema="saltern_bulk")
RIGHTS = (
    "GRANT USAGE ON SCHEMA saltern_bulk TO worker;"
    "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA saltern_bulk TO worker;"
)


def varchars(server: Server, stored: list[str | None]) -> None:
    """A table whose columns have operators and functions by way of those of text only, so that
    one planted for varchar fits them better."""
    fill(server, "users", stored, "text")
    server.admin(
        "ALTER TABLE users ALTER id TYPE varchar(100), ALTER password_hash TYPE varchar(400)"
    )


@pytest.mark.parametrize("operation", ["rekey", "wrap", "census", "verify-sample"])
def test_planted_operators_and_functions(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, tmp_path: Path,
    operation: str,
) -> None:
    varchars(server, [policies.hasher("a").hash("x"), BCRYPT[0]] * 20)
    for name in ("=", "<>", "<", ">=", "!~", "~~"):
        mallory.operator(name, "varchar", "varchar")
        mallory.operator(name, "varchar", "text")
    mallory.function("length", "varchar", "integer", "1")
    mallory.function("regexp_replace", "varchar, text, text", "text", "''")
    arguments: list[object] = ["--range-rows", 10]
    if operation == "verify-sample":
        passwords = tmp_path / "passwords"
        passwords.write_text('{"id": "user 0", "password": "x"}\n')
        passwords.chmod(0o600)
        arguments = ["--passwords", passwords]
    ran = bulk(operation, policies.file("b"), *arguments)
    assert ran.status == 0, ran.said
    if operation in ("rekey", "wrap"):
        assert ran.report["changed"] == 20
    assert not mallory.seen()


def test_functions_that_come_before_those_of_the_server(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory
) -> None:
    """Where a role's own setting has pg_catalog last."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    mallory.operator("=", "text", "text")
    mallory.function("set_config", "text, text, boolean", "text", "''")
    mallory.function("pg_table_is_visible", "oid", "boolean", "true")
    server.admin("ALTER ROLE worker SET search_path = public, pg_catalog")
    try:
        ran = bulk("rekey", policies.file("b"))
    finally:
        server.admin("ALTER ROLE worker RESET ALL")
    assert (ran.status, ran.report.get("changed")) == (0, 20), ran.said
    assert not mallory.seen()


def test_the_search_path_of_every_connection(server: Server) -> None:
    def shown(connection: Any) -> object:
        return connection.execute("SHOW search_path").fetchone()

    session = Session(Source(server.dsn() + " options='-c search_path=public'"))
    for _ in range(2):
        assert session.run(shown) == ("pg_catalog, pg_temp",)
        server.admin(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'"
        )
    assert session.losses == 1
    session.close()


def test_a_table_is_found_as_the_site_finds_it(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    server.admin(
        "CREATE SCHEMA app; CREATE TABLE app.users (LIKE public.users INCLUDING ALL);"
        "INSERT INTO app.users SELECT * FROM public.users WHERE id < 15;"
        "GRANT USAGE ON SCHEMA app TO worker; GRANT SELECT, UPDATE ON app.users TO worker;"
        "ALTER ROLE worker SET search_path = nowhere, app, public"
    )
    try:
        before = content(server)
        ran = bulk("rekey", policies.file("b"))
        assert (ran.report["table"], ran.report["changed"]) == ("app.users", 5), ran.said
        assert content(server) == before
        dsn = server.dsn() + " options='-c search_path=public'"
        ran = bulk("rekey", policies.file("b"), dsn=dsn)
        assert (ran.report["table"], ran.report["changed"]) == ("public.users", 20), ran.said
    finally:
        server.admin("ALTER ROLE worker RESET ALL; DROP SCHEMA app CASCADE")


# What the ledger is when the job comes, and what is said.
LEDGERS = {
    "another's schema": (
        "SET ROLE mallory; CREATE SCHEMA saltern_bulk; GRANT ALL ON SCHEMA saltern_bulk TO worker",
        "the schema saltern_bulk of the ledger belongs to mallory",
    ),
    "another's ledger": (
        f"SET ROLE mallory; CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}", "belongs to mallory",
    ),
    "another's tables": (
        "CREATE SCHEMA saltern_bulk; GRANT ALL ON SCHEMA saltern_bulk TO mallory; SET ROLE mallory;"
        f"{LEDGER}{RIGHTS}",
        "the table saltern_bulk.errors of the ledger belongs to mallory",
    ),
    "the right to triggers": (
        f"CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}"
        "GRANT TRIGGER ON saltern_bulk.ranges TO public",
        "PUBLIC may add triggers to the table saltern_bulk.ranges",
    ),
    "the right to references": (
        f"CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}"
        "GRANT REFERENCES ON saltern_bulk.jobs TO mallory",
        "REVOKE REFERENCES ON saltern_bulk.jobs FROM mallory",
    ),
    "the right to references to a column": (
        f"CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}"
        "GRANT REFERENCES (job) ON saltern_bulk.jobs TO mallory",
        "REVOKE REFERENCES ON saltern_bulk.jobs FROM mallory",
    ),
    "the right to triggers of the table": (
        "GRANT TRIGGER ON public.users TO mallory",
        "mallory may add triggers to public.users while this job runs",
    ),
}

# What is different in a ledger of the superuser, and what is named.
CONTENTS = {
    "a trigger": (
        "CREATE TRIGGER spy AFTER UPDATE ON saltern_bulk.ranges EXECUTE FUNCTION public.spy()",
        "ranges is not the table that docs/bulk.md shows: it has another trigger, spy",
    ),
    "a rule": (
        "CREATE RULE spy AS ON UPDATE TO saltern_bulk.jobs DO ALSO SELECT public.spied()",
        "another rule, spy",
    ),
    "a policy": (
        "ALTER TABLE saltern_bulk.jobs ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY spy ON saltern_bulk.jobs USING (public.spied() IS NOT NULL)",
        "another row-level security",
    ),
    "a default": (
        "ALTER TABLE saltern_bulk.jobs ALTER nonce SET DEFAULT public.spied()",
        "another column, nonce",
    ),
    "a generated column": (
        "ALTER TABLE saltern_bulk.errors ADD spy text GENERATED ALWAYS AS (public.spied()) STORED",
        "another column, spy",
    ),
    "a type": (
        "CREATE DOMAIN public.spies AS text CHECK (public.spied() IS NOT NULL);"
        "ALTER TABLE saltern_bulk.ranges ALTER claim TYPE public.spies",
        "another column, claim",
    ),
    "a check": (
        "ALTER TABLE saltern_bulk.ranges ADD CONSTRAINT spy CHECK (public.spied() IS NOT NULL)",
        "another constraint, spy",
    ),
    "an index": (
        "CREATE INDEX spy ON saltern_bulk.ranges ((public.spied() || claim))",
        "another index, saltern_bulk.spy",
    ),
    "a partial index": (
        "CREATE INDEX spy ON saltern_bulk.jobs (job) WHERE public.spied() IS NOT NULL",
        "another index, saltern_bulk.spy",
    ),
    "a child": (
        "CREATE TABLE public.child () INHERITS (saltern_bulk.ranges)",
        "another inheritance, public.child",
    ),
    "a view": (
        "ALTER TABLE saltern_bulk.jobs RENAME TO hidden;"
        "CREATE VIEW saltern_bulk.jobs AS SELECT *, public.spied() AS spy FROM saltern_bulk.hidden;"
        "GRANT SELECT, INSERT, UPDATE ON saltern_bulk.jobs TO worker",
        "is not the table that docs/bulk.md shows: it has another",
    ),
    "no key": (
        "ALTER TABLE saltern_bulk.ranges DROP CONSTRAINT ranges_pkey",
        "it lacks the constraint, ranges_pkey",
    ),
}


@pytest.mark.parametrize("case", LEDGERS)
def test_ledgers_that_others_can_change(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, case: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    statements, expected = LEDGERS[case]
    server.admin(statements)
    if case in ("another's ledger", "another's tables", "the right to triggers"):
        server.admin("GRANT USAGE ON SCHEMA saltern_bulk TO mallory, worker")
        mallory.trigger("saltern_bulk.ranges")
    refused(server, policies, bulk, mallory, expected)


OPERATIONS = pytest.mark.parametrize("operation", ["rekey", "census", "verify-sample"])
"""One that writes, and those that only read."""

EVIL = (
    "CREATE FUNCTION public.spying() RETURNS void LANGUAGE plpgsql AS $_$ BEGIN "
    "IF current_user = 'worker' THEN INSERT INTO public.seen VALUES ('x'); END IF; END $_$;"
    "CREATE FUNCTION public.evil(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS "
    "$_$ BEGIN PERFORM public.spying(); RETURN $1; END $_$;"
)
"""In an index, the planner calls it when the table is read."""


def turned_down(
    mallory: Mallory, bulk: Bulk, policies: Policies, operation: str, table: str, expected: str,
    *more: object,
) -> None:
    ran = bulk(operation, policies.file("b"), "--table", table, *more)
    assert not mallory.seen(), "another's code has run"
    assert ran.status == 2 and expected in ran.said, ran.said


@OPERATIONS
def test_a_partition_that_belongs_to_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, operation: str
) -> None:
    """Its owner may add triggers and indexes to it at any time, and needs no right on the whole
    table."""
    fill(server, "users", [])
    server.admin(
        "CREATE TABLE parts (id bigint PRIMARY KEY, password_hash text) PARTITION BY RANGE (id);"
        "CREATE TABLE part PARTITION OF parts DEFAULT; ALTER TABLE part OWNER TO mallory;"
        "GRANT SELECT, UPDATE ON parts TO worker"
    )
    try:
        mallory.plant(EVIL + "CREATE INDEX ON part ((id + public.evil(1)))")
        expected = "the table public.part, which belongs to mallory"
        turned_down(mallory, bulk, policies, operation, "parts", expected)
    finally:
        server.admin("DROP TABLE parts")


@OPERATIONS
def test_a_partition_of_a_table_that_belongs_to_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, operation: str
) -> None:
    """The owner of the whole table may add indexes to a partition, whoever owns that."""
    fill(server, "users", [])
    server.admin(
        "CREATE TABLE parts (id bigint PRIMARY KEY, password_hash text) PARTITION BY RANGE (id);"
        "CREATE TABLE part PARTITION OF parts DEFAULT; ALTER TABLE parts OWNER TO mallory;"
        "GRANT SELECT, UPDATE ON part TO worker"
    )
    try:
        mallory.plant(EVIL + "CREATE INDEX ON parts ((id + public.evil(1)))")
        expected = "the table public.parts, which belongs to mallory"
        turned_down(mallory, bulk, policies, operation, "part", expected)
        server.admin("ALTER TABLE parts OWNER TO owner; DROP INDEX parts_expr_idx")
        assert bulk(operation, policies.file("b"), "--table", "part").status == 0
    finally:
        server.admin("DROP TABLE parts")


@OPERATIONS
def test_a_table_that_another_has_put_first(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, operation: str
) -> None:
    """The search path of a role begins with a schema of its own name, whoever makes that."""
    fill(server, "users", [policies.hasher("a").hash("x")])
    mallory.plant(
        EVIL + "CREATE SCHEMA worker; GRANT USAGE ON SCHEMA worker TO worker;"
        "CREATE TABLE worker.users (id int PRIMARY KEY, password_hash text);"
        "CREATE INDEX ON worker.users ((id + public.evil(1)));"
        "GRANT SELECT, UPDATE ON worker.users TO worker"
    )
    expected = "--table leads to the schema worker, where mallory may have put a table of this name"
    turned_down(mallory, bulk, policies, operation, "users", expected)
    assert bulk(operation, policies.file("b"), "--table", "public.users").status == 0
    mallory.plant("DROP SCHEMA worker CASCADE")
    # Where everybody may make tables, it matters whose it is.
    assert bulk(operation, policies.file("b")).status == 0
    server.admin("CREATE ROLE other; ALTER TABLE users OWNER TO other")
    try:
        turned_down(mallory, bulk, policies, operation, "users", "the schema public, where PUBLIC")
        assert bulk(operation, policies.file("b"), "--table", "public.users").status == 0
        server.admin("REVOKE CREATE ON SCHEMA public FROM public")
        assert bulk(operation, policies.file("b")).status == 0
    finally:
        server.admin("ALTER TABLE users OWNER TO owner; DROP ROLE other")


@pytest.mark.parametrize("when", ["before reading", "before writing"])
def test_a_table_that_another_puts_in_its_place(
    server: Server, policies: Policies, mallory: Mallory, meanwhile: Any, when: str
) -> None:
    """Whose owner drops or renames a table leaves its name to all who may create tables there."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    mallory.plant(
        EVIL + "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN "
        "PERFORM public.spying(); RETURN NULL; END $_$"
    )

    def planted() -> None:
        server.admin("ALTER TABLE users RENAME TO kept")
        mallory.plant(
            "CREATE TABLE public.users (id bigint PRIMARY KEY, password_hash text);"
            "CREATE INDEX ON public.users ((id + public.evil(1)));"
            "CREATE TRIGGER spy AFTER UPDATE ON public.users EXECUTE FUNCTION public.spy();"
            "GRANT SELECT, UPDATE ON public.users TO worker"
        )

    begun = Begun(server, policies.file("b"))
    if when == "before reading":
        planted()
    else:
        meanwhile(planted)
    try:
        with pytest.raises(Refused, match="public.users was replaced"):
            begun.worker().do(begun.pending()[0])
        assert not mallory.seen(), "another's code has run"
        assert begun.totals()["changed"] == 0
    finally:
        server.admin("DROP TABLE kept")


# What calls a function of another role, and whether reading the table is enough for that.
CALLS = {
    "an index": ("CREATE INDEX ON users ((id + public.evil(1)))", True),
    "a condition": ("CREATE INDEX ON users (name) WHERE id > public.evil(1)", True),
    "a constraint": ("ALTER TABLE users ADD CHECK (id + public.evil(1) > 0)", True),
    "an operator": ("ALTER TABLE users ADD CHECK (id OPERATOR(public.<<<) 1)", True),
    "a statistic": ("CREATE STATISTICS public.spied ON (id + public.evil(1)) FROM users", True),
    "a generated column": (
        "ALTER TABLE users ADD more bigint GENERATED ALWAYS AS (id + public.evil(1)) STORED", True,
    ),
    "a domain": ("ALTER TABLE users ADD CHECK (id::public.number IS NOT NULL)", True),
    "a trigger": (
        "CREATE TRIGGER spy AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION public.spy()", False,
    ),
}


@OPERATIONS
@pytest.mark.parametrize("case", CALLS)
def test_functions_that_belong_to_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, case: str, operation: str
) -> None:
    """The table's owner has chosen the function, but who owns it may give it another body."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    mallory.plant(
        EVIL + "CREATE FUNCTION public.less(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS "
        "'SELECT public.evil($2) IS NOT NULL';"
        "CREATE DOMAIN public.number AS bigint CHECK (public.evil(VALUE::int) IS NOT NULL);"
        "CREATE OPERATOR public.<<< (LEFTARG = bigint, RIGHTARG = int, FUNCTION = public.less);"
        "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog "
        "AS $_$ BEGIN PERFORM public.spying(); RETURN NULL; END $_$"
    )
    statement, on_reading = CALLS[case]
    server.admin(statement)
    more = ["--triggers-fire"] if operation == "rekey" else []
    ran = bulk(operation, policies.file("b"), *more)
    assert not mallory.seen(), "another's code has run"
    if not on_reading and operation != "rekey":
        assert ran.status == 0, ran.said
        return
    assert ran.status == 2 and "which belongs to mallory, who may have it run anything" in ran.said
    functions = ("evil(int)", "less(bigint, int)", "spy()")
    callees = [
        *(f"FUNCTION public.{name}" for name in functions), "DOMAIN public.number",
        "OPERATOR public.<<< (bigint, int)",
    ]

    def owned(role: str) -> None:
        server.admin(";".join(f"ALTER {name} OWNER TO {role}" for name in callees))

    owned("owner")
    try:
        assert "belongs to mallory" not in bulk(operation, policies.file("b"), *more).said
    finally:
        owned("mallory")


# What a table's owner has made of types of another role, or with others' functions.
TYPES = {
    "a range": (
        "CREATE FUNCTION public.apart(bigint, bigint) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN $1 - $2; END $_$;"
        "CREATE TYPE public.span AS RANGE (SUBTYPE = bigint, SUBTYPE_DIFF = public.apart)",
        "ALTER TABLE users ADD more public.span; CREATE INDEX ON users USING gist (more)",
    ),
    "a range of the owner": (
        "CREATE FUNCTION public.apart(bigint, bigint) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN $1 - $2; END $_$",
        "CREATE TYPE public.span AS RANGE (SUBTYPE = bigint, SUBTYPE_DIFF = public.apart);"
        "ALTER TABLE users ADD more public.span; CREATE INDEX ON users USING gist (more)",
    ),
    "a composite": (
        "CREATE TYPE public.pair AS (one bigint, two bigint)",
        "ALTER TABLE users ADD more public.pair CHECK (more IS DISTINCT FROM ROW(1, 2))",
    ),
    "a domain in a composite": (
        "CREATE DOMAIN public.number AS bigint CHECK (VALUE + public.evil(1) > 0)",
        "CREATE TYPE public.pair AS (one public.number); ALTER TABLE users ADD more public.pair",
    ),
    "a row of a table": (
        "CREATE TABLE public.pair (one bigint)", "ALTER TABLE users ADD more public.pair",
    ),
    "a domain of a domain": (
        "CREATE DOMAIN public.number AS bigint CHECK (VALUE + public.evil(1) > 0)",
        "CREATE DOMAIN public.count AS public.number; ALTER TABLE users ADD more public.count",
    ),
    "a domain of the owner": (
        "", "CREATE DOMAIN public.count AS bigint CHECK (VALUE + public.evil(1) > 0);"
        "ALTER TABLE users ADD more public.count",
    ),
    "an array": ("CREATE TYPE public.mood AS ENUM ('a')", "ALTER TABLE users ADD more public.mood[]"),
    "a cast of the owner's": (
        "", "CREATE TYPE public.mood AS ENUM ('a');"
        "CREATE FUNCTION public.felt(public.mood) RETURNS text LANGUAGE sql IMMUTABLE AS "
        "$_$ SELECT 'a'::text $_$; ALTER FUNCTION public.felt(public.mood) OWNER TO mallory;"
        "CREATE CAST (public.mood AS text) WITH FUNCTION public.felt(public.mood) AS IMPLICIT;"
        "ALTER TABLE users ADD more public.mood",
    ),
    "a collation": (
        "CREATE COLLATION public.other (provider = icu, locale = 'und')",
        "ALTER TABLE users ADD more text COLLATE public.other",
    ),
    "a function of an operator class": (
        "CREATE FUNCTION public.compared(text, text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN bttextcmp($1, $2); END $_$",
        "CREATE OPERATOR CLASS public.texts FOR TYPE text USING btree AS OPERATOR 1 <, "
        "OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, "
        "FUNCTION 1 public.compared(text, text);"
        "CREATE INDEX ON users (password_hash public.texts)",
    ),
    "a negator": (
        "CREATE FUNCTION public.unlike(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN $1 <> $2; END $_$;"
        "CREATE OPERATOR public.!~=! (LEFTARG = text, RIGHTARG = text, FUNCTION = public.unlike)",
        "CREATE FUNCTION public.alike(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN RETURN $1 = $2; END $_$; CREATE OPERATOR public.~=~! (LEFTARG = text, "
        "RIGHTARG = text, FUNCTION = public.alike, NEGATOR = OPERATOR(public.!~=!));"
        "ALTER TABLE users ADD CHECK (NOT (password_hash OPERATOR(public.~=~!) 'x'))",
    ),
    "a view within a function": (
        "CREATE VIEW public.viewed AS SELECT public.evil(1) AS one;"
        "GRANT SELECT ON public.viewed TO public",
        "CREATE FUNCTION public.safe(bigint) RETURNS bigint STABLE LANGUAGE sql "
        "BEGIN ATOMIC SELECT one + $1 FROM public.viewed; END;"
        "ALTER TABLE users ADD CHECK (public.safe(id) >= 0)",
    ),
    "a statement within a function": (
        "", "CREATE FUNCTION public.safe(bigint) RETURNS bigint IMMUTABLE "
        "RETURN public.evil($1::int); ALTER TABLE users ADD CHECK (public.safe(id) >= 0)",
    ),
}


@pytest.mark.parametrize("case", TYPES)
def test_types_that_belong_to_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, case: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    theirs, own = TYPES[case]
    mallory.plant(EVIL + theirs)
    server.admin(own)
    try:
        refused(server, policies, bulk, mallory, "which belongs to mallory, who may have it run")
    finally:
        server.admin(
            "DROP TABLE users; DROP OWNED BY mallory CASCADE; CREATE TABLE users ();"
            "DROP TYPE IF EXISTS public.span, public.pair, public.mood CASCADE;"
            "DROP DOMAIN IF EXISTS public.count CASCADE; DROP FUNCTION IF EXISTS public.safe(bigint);"
            "DROP OPERATOR FAMILY IF EXISTS public.texts USING btree;"
            "DROP FUNCTION IF EXISTS public.alike(text, text) CASCADE"
        )


def test_the_type_of_a_credential_of_keycloak(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory
) -> None:
    fill(server, "users", [])
    mallory.plant(
        EVIL + "CREATE TYPE public.kind AS ENUM ('password');"
        "CREATE FUNCTION public.felt(public.kind) RETURNS json LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN to_json('password'::text); END $_$;"
        "CREATE CAST (public.kind AS json) WITH FUNCTION public.felt(public.kind)"
    )
    server.admin(
        "CREATE TABLE credential (id text PRIMARY KEY, type public.kind, secret_data text, "
        "credential_data text); INSERT INTO credential VALUES ('x', 'password', '{}', '{}');"
        "GRANT SELECT, UPDATE ON credential TO worker"
    )
    try:
        for operation in ("rekey", "census"):
            expected = "belongs to mallory, who may have it"
            turned_down(mallory, bulk, policies, operation, "credential", expected, "--keycloak")
    finally:
        server.admin("DROP TABLE credential")


# Another's doing while a job runs, and what is said.
MEANWHILE = {
    "a partition that goes": ("ALTER TABLE parts DETACH PARTITION part", "was replaced"),
    "row-level security": (
        "ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY none ON parts USING (false)",
        "row-level security",
    ),
    "a trigger": (
        "CREATE TRIGGER spy AFTER UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION public.spy()",
        "the function public.spy(), which belongs to mallory",
    ),
    "the right to triggers": ("GRANT TRIGGER ON parts TO mallory", "mallory may add triggers"),
}


@pytest.mark.parametrize("case", MEANWHILE)
@pytest.mark.parametrize("when", ["before reading", "before writing"])
def test_what_comes_to_a_table_meanwhile(
    server: Server, policies: Policies, mallory: Mallory, meanwhile: Any, when: str, case: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    mallory.plant(
        EVIL + "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN "
        "PERFORM public.spying(); RETURN NULL; END $_$"
    )
    server.admin(
        "CREATE TABLE parts (id bigint PRIMARY KEY, password_hash text) PARTITION BY RANGE (id);"
        "CREATE TABLE part PARTITION OF parts DEFAULT;"
        "INSERT INTO parts SELECT id, password_hash FROM users;"
        "GRANT SELECT, UPDATE ON parts TO worker"
    )
    statements, expected = MEANWHILE[case]
    begun = Begun(server, policies.file("b"), table="parts")
    if when == "before reading":
        server.admin(statements)
    else:
        meanwhile(lambda: server.admin(statements))
    try:
        with pytest.raises(Refused, match=re.escape(expected)):
            begun.worker().do(begun.pending()[0])
        assert not mallory.seen(), "another's code has run"
        assert begun.totals()["changed"] == 0
    finally:
        server.admin("DROP TABLE parts; DROP TABLE IF EXISTS part")


@pytest.mark.parametrize("when", ["made by the job", "made before"])
def test_who_else_may_write_to_the_ledger(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, when: str
) -> None:
    """By marking ranges as done, they would have rows left out that the job then counts as moved."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    if when == "made before":
        server.admin(
            f"CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}"
            "GRANT UPDATE (done) ON saltern_bulk.ranges TO mallory"
        )
    else:
        server.admin(
            "ALTER DEFAULT PRIVILEGES FOR ROLE worker GRANT INSERT, UPDATE ON TABLES TO mallory"
        )
    try:
        refused(server, policies, bulk, mallory, "mallory may write to the table saltern_bulk.")
    finally:
        server.admin(
            "ALTER DEFAULT PRIVILEGES FOR ROLE worker REVOKE ALL ON TABLES FROM mallory"
        )
    # What a group may do, its members may.
    server.admin(
        "REVOKE ALL (done) ON saltern_bulk.ranges FROM mallory; CREATE ROLE movers;"
        if when == "made before" else
        f"CREATE SCHEMA saltern_bulk; {LEDGER} CREATE ROLE movers;"
    )
    server.admin(f"{RIGHTS.replace('worker', 'movers')} GRANT movers TO worker")
    try:
        ran = bulk("rekey", policies.file("b"))
        assert (ran.status, ran.report["changed"]) == (0, 20), ran.said
    finally:
        server.admin("DROP OWNED BY movers; DROP ROLE movers")


def test_functions_that_look_names_up_where_others_may_put_them(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        "CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO worker, mallory;"
        "CREATE FUNCTION app.audited() RETURNS trigger LANGUAGE plpgsql "
        "SET search_path = app, public, pg_temp AS "
        "$_$ BEGIN PERFORM note(OLD.id); RETURN NULL; END $_$;"
        "CREATE FUNCTION app.note(numeric) RETURNS integer LANGUAGE sql AS 'SELECT 1';"
        "CREATE TRIGGER audited AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION app.audited()"
    )
    # It fits better.
    mallory.function("note", "bigint", "integer", "1")
    try:
        for path, named in (
            ("app, public, pg_temp", "public, where PUBLIC may"),
            ('app, "none yet"', "none yet, where nobody yet may"),
            ('app, "$user"', "worker, where nobody yet may"),
            ('app, "app, app"', "app, app, where nobody yet may"),
        ):
            server.admin(f"ALTER FUNCTION app.audited() SET search_path = {path}")
            ran = bulk("rekey", policies.file("b"), "--triggers-fire")
            assert not mallory.seen(), "another's code has run"
            assert ran.status == 2 and named in ran.said, ran.said
        server.admin("ALTER FUNCTION app.audited() SET search_path = app, pg_temp")
        ran = bulk("rekey", policies.file("b"), "--triggers-fire")
        assert (ran.status, ran.report["changed"]) == (0, 10), ran.said
    finally:
        server.admin("DROP SCHEMA app CASCADE")


@OPERATIONS
def test_ids_of_a_type_of_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, operation: str
) -> None:
    """Who owns a type may say how it becomes text. Only superusers make types that are no enums,
    ranges or composites."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 4, "text")
    mallory.plant(
        "CREATE TYPE public.login AS ENUM ('user 0', 'user 1', 'user 2', 'user 3');"
        "CREATE FUNCTION public.spied(public.login) RETURNS text LANGUAGE plpgsql AS $_$ BEGIN "
        "INSERT INTO public.seen VALUES ('x'); RETURN enum_out($1)::text; END $_$;"
        "CREATE CAST (public.login AS text) WITH FUNCTION public.spied(public.login)"
    )
    server.admin("ALTER TABLE users ALTER id TYPE public.login USING id::public.login")
    turned_down(mallory, bulk, policies, operation, "users", "users.id is of type public.login")


@pytest.mark.parametrize("right", ["REFERENCES", "REFERENCES (password_hash)"])
def test_who_may_refer_to_strings(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, right: str
) -> None:
    """A deferred trigger on the table that refers runs at the end of the job's transaction, with
    its rights."""
    stored = [policies.hasher("a").hash(str(number)) for number in range(20)]
    fill(server, "users", [*stored])
    server.admin(f"ALTER TABLE users ADD UNIQUE (password_hash); GRANT {right} ON users TO mallory")
    mallory.plant(
        "CREATE TABLE public.refers (hash text "
        "REFERENCES public.users (password_hash) ON UPDATE CASCADE);"
        "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN "
        "INSERT INTO public.seen SELECT password_hash FROM public.users; RETURN NULL; END $_$;"
        "CREATE CONSTRAINT TRIGGER spy AFTER UPDATE ON public.refers "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.spy();"
        f"INSERT INTO public.refers VALUES ('{stored[0]}')"
    )
    try:
        refused(server, policies, bulk, mallory, "a foreign key of public.refers")
    finally:
        mallory.plant("DROP TABLE public.refers")
    refused(server, policies, bulk, mallory, "mallory may have foreign keys refer to public.users (")
    server.admin("REVOKE ALL ON users FROM mallory; REVOKE ALL (password_hash) ON users FROM mallory")
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["changed"]) == (0, 20), ran.said


def test_the_schema_of_the_table_belongs_to_another(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory
) -> None:
    """Its owner may drop the table, and make another one of this name, whose triggers would run."""
    fill(server, "users", [])
    server.admin(
        "CREATE SCHEMA app AUTHORIZATION mallory; GRANT USAGE ON SCHEMA app TO worker;"
        "CREATE TABLE app.users (id bigint PRIMARY KEY, password_hash text);"
        "GRANT SELECT, UPDATE ON app.users TO worker"
    )
    ran = bulk("rekey", policies.file("b"), "--table", "app.users")
    assert ran.status == 2, ran.said
    assert "the schema app, which belongs to mallory" in ran.said
    server.admin("ALTER SCHEMA app OWNER TO owner")
    try:
        assert bulk("rekey", policies.file("b"), "--table", "app.users").status == 0
    finally:
        server.admin("DROP SCHEMA app CASCADE")


@pytest.mark.parametrize("case", CONTENTS)
def test_ledgers_that_run_something(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, case: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    mallory.plant(
        "CREATE FUNCTION public.spying() RETURNS void LANGUAGE plpgsql AS $_$ BEGIN "
        "INSERT INTO public.seen SELECT password_hash FROM public.users; END $_$;"
        "CREATE FUNCTION public.spied() RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
        "$_$ BEGIN PERFORM public.spying(); RETURN 'x'; END $_$;"
        "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS "
        "$_$ BEGIN PERFORM public.spied(); RETURN NULL; END $_$"
    )
    server.admin(f"CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}{CONTENTS[case][0]}")
    server.admin("TRUNCATE public.seen")
    refused(server, policies, bulk, mallory, CONTENTS[case][1])


def refused(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, expected: str
) -> None:
    before = content(server)
    ran = bulk("rekey", policies.file("b"))
    assert not mallory.seen(), "another's code has run"
    assert ran.status == 2 and expected in ran.said, ran.said
    assert ran.said.count("\n") == 1 and not ran.report, ran.said
    assert content(server) == before


@pytest.mark.parametrize("whose", ["the job's", "the database's owner", "the table's owner"])
def test_ledgers_of_those_who_are_trusted(
    server: Server, policies: Policies, bulk: Bulk, whose: str
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    server.admin("CREATE ROLE other; GRANT CREATE ON DATABASE postgres TO other")
    role = "worker" if whose == "the job's" else "other"
    if whose == "the database's owner":
        server.admin("ALTER DATABASE postgres OWNER TO other")
    if whose == "the table's owner":
        server.admin("ALTER TABLE users OWNER TO other")
    try:
        server.admin(
            f"SET ROLE {role}; CREATE SCHEMA saltern_bulk; {LEDGER}{RIGHTS}"
            # Those who read reports.
            "CREATE INDEX ON saltern_bulk.errors (outcome);"
            "GRANT SELECT ON ALL TABLES IN SCHEMA saltern_bulk TO public"
        )
        ran = bulk("rekey", policies.file("b"))
        assert (ran.status, ran.report.get("changed")) == (0, 20), ran.said
    finally:
        server.admin(
            "ALTER DATABASE postgres OWNER TO owner; ALTER TABLE users OWNER TO owner;"
            "DROP OWNED BY other CASCADE; DROP ROLE other"
        )


@pytest.mark.parametrize("domain", [False, True])
def test_ids_of_a_type_of_an_extension(
    server: Server, policies: Policies, bulk: Bulk, mallory: Mallory, tmp_path: Path,
    domain: bool,
) -> None:
    """Their operators are outside pg_catalog, where text's would be taken for them: these have
    another order, in which rows would be missed."""
    server.admin("CREATE EXTENSION citext SCHEMA public")
    kind = "citext"
    if domain:
        server.admin("CREATE DOMAIN public.login AS citext")
        kind = "login"
        for name in ("=", "<", ">="):
            mallory.operator(name, "public.login", "public.login")
    try:
        fill(server, "users", [policies.hasher("a").hash(f"{n}") for n in range(60)], "text")
        server.admin(
            f"ALTER TABLE users ALTER id TYPE {kind};"
            "UPDATE users SET id = upper(id::text) WHERE substr(id, 6)::int % 3 = 0"
        )
        begun = Begun(server, policies.file("b"), lock_timeout=0.1, retry_for=1.0)
        with server.connect() as stranger, stranger.transaction():
            # Then those that are not locked are written by another statement.
            stranger.execute("SELECT FROM users WHERE id = 'USER 6' FOR UPDATE")
            begun.worker().do(begun.pending()[0])
        totals = begun.totals()
        assert (totals["changed"], totals["outcomes"]) == (59, {"changed": 59, "conflict": 1})
        assert bulk("rekey", policies.file("b")).report["changed"] == 59
        ran = bulk("rekey", policies.file("b"), "--range-rows", 7)
        assert (ran.status, ran.report["changed"], ran.report["ranges"]) == (0, 1, 9), ran.said
        ran = bulk("rekey", policies.file("c", "abc"), "--range-rows", 7)
        assert (ran.status, ran.report["changed"]) == (0, 60), ran.said
        rows = content(server)
        assert len(rows) == 60 and all("{key=c+" in str(hash) for hash, _ in rows.values())
        passwords = tmp_path / "passwords"
        passwords.write_text('{"id": "uSeR 4", "password": "4"}\n')
        passwords.chmod(0o600)
        ran = bulk("verify-sample", policies.file("c", "abc"), "--passwords", passwords)
        assert ran.report["passwords"]["match"] == 1, ran.said
        assert not mallory.seen()
    finally:
        server.admin("DROP EXTENSION citext CASCADE")


AUDIT = "INSERT INTO audit VALUES (OLD.id)"


def test_trigger_functions_have_a_search_path_of_their_own(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    """Under that of the job they would find nothing, and say nothing if they catch errors."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        "CREATE TABLE audit (id bigint); GRANT INSERT ON audit TO worker;"
        "CREATE FUNCTION audited() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN "
        f"{AUDIT}; RETURN NULL; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $_$;"
        "CREATE TRIGGER audited AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION audited();"
        # One of the server's own needs none.
        "CREATE TRIGGER zero BEFORE UPDATE ON users FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    )
    try:
        before = content(server)
        ran = bulk("rekey", policies.file("b"), "--triggers-fire")
        assert ran.status == 2 and content(server) == before, ran.said
        assert "ALTER FUNCTION public.audited() SET search_path" in ran.said
        assert "zero" not in ran.said
        server.admin("ALTER FUNCTION audited() SET search_path = public, pg_temp")
        ran = bulk("rekey", policies.file("b"), "--triggers-fire")
        assert (ran.status, ran.report["changed"]) == (0, 10), ran.said
        with server.connect() as connection:
            assert connection.execute("SELECT count(*) FROM audit").fetchone() == (10,)
    finally:
        server.admin("DROP TABLE users, audit; DROP FUNCTION audited()")


def test_functions_of_constraints_that_need_a_search_path(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    """As when a dump is restored: an error says so, and nothing is written."""
    fill(server, "users", [policies.hasher("a").hash("x")] * 10)
    server.admin(
        "CREATE TABLE allowed (name text); GRANT SELECT ON allowed TO worker;"
        "CREATE FUNCTION known(text) RETURNS boolean LANGUAGE plpgsql AS "
        "$_$ BEGIN RETURN NOT EXISTS (SELECT FROM allowed WHERE name = $1); END $_$;"
        "ALTER TABLE users ADD CHECK (known(name))"
    )
    try:
        before = content(server)
        ran = bulk("rekey", policies.file("b"))
        assert ran.status == 2 and content(server) == before
        assert 'relation "allowed" does not exist (42P01)' in ran.said, ran.said
        server.admin("ALTER FUNCTION known(text) SET search_path = public, pg_temp")
        assert bulk("rekey", policies.file("b")).report["changed"] == 10
    finally:
        server.admin("DROP TABLE users, allowed; DROP FUNCTION known(text)")


ESCAPES = "\x1b]0;owned\x07\x9b31m\u202eeslaf\u2028\r\nin_error 0\\"
"""The title of a window, a colour by a C1 control, text from right to left, lines of its own."""
ESCAPED = r"\x1b]0;owned\x07\x9b31m\u202eeslaf\u2028\r\nin_error 0" + "\\\\"


def test_an_id_with_escapes(server: Server, policies: Policies) -> None:
    fill(server, "users", ["garbage", policies.hasher("a").hash("x")], "text")
    with server.connect() as connection:
        connection.execute("UPDATE users SET id = %s WHERE id = 'user 0'", [ESCAPES])
    for operation in ("rekey", "census", "verify-sample"):
        line = command(operation, policies.file("b"), server.dsn())
        for as_json in (False, True):
            output = io.StringIO()
            with redirect_stdout(output):
                main([word for word in line[3:] if as_json or word != "--json"])
            text = output.getvalue()
            assert all(char == "\n" or char.isprintable() for char in text), text
            if as_json:
                assert text.isascii() and json.loads(text)["listed"][0]["id"] == ESCAPES
            else:
                assert f"  id {ESCAPED}, outcome bad" in text.splitlines()[-1]


def test_names_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """Of tables, triggers, keys, and of files whose names are not text."""
    say(f"triggers that an UPDATE fires: \x1b[2J\udcff")
    show({"table": "a\u2066b", "notes": ["c\x85d"], "keys": {"e\x7f": 1}}, False)
    show({"table": "a\x7fb"}, True)
    shown = capsys.readouterr()
    assert shown.err == "saltern.bulk: triggers that an UPDATE fires: \\x1b[2J\\udcff\n"
    table, notes, note, keys, key, as_json = shown.out.splitlines()
    assert (table.split()[1], note.strip(), key.split()[1]) == ("a\\u2066b", "c\\x85d", "e\\x7f")
    assert json.loads(as_json) == {"table": "a\x7fb"} and "\x7f" not in as_json


def log_of(server: Server) -> str:
    return (server.folder / "log").read_text()


def test_what_the_log_of_the_server_holds(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    """No string, even with all statements in it; but one where a row is in error, unless that is
    kept out as docs/bulk.md says."""
    stored: list[str | None] = [policies.hasher("a").hash(f"{n}") for n in range(30)]
    fill(server, "users", stored)
    server.admin(
        "ALTER ROLE worker SET log_statement = 'all';"
        "ALTER ROLE worker SET log_min_duration_statement = 0;"
        "ALTER ROLE worker SET log_parameter_max_length_on_error = -1"
    )
    try:
        begun = len(log_of(server))
        assert bulk("rekey", policies.file("b"), "--range-rows", 10).report["changed"] == 30
        assert bulk("verify-sample", policies.file("b")).status == 0
        logged = log_of(server)[begun:]
        assert "UPDATE" in logged and "DETAIL:  parameters" in logged
        assert "$y$" not in logged
        server.admin("ALTER TABLE users ADD CHECK (password_hash NOT LIKE '{key=c+%')")
        for name, value, held in (
            ("log_error_verbosity", "default", True),
            ("log_error_verbosity", "terse", False),
            ("log_min_messages", "panic", False),
        ):
            server.admin(f"ALTER ROLE worker RESET ALL; ALTER ROLE worker SET {name} = {value}")
            begun = len(log_of(server))
            ran = bulk("rekey", policies.file("c", "abc"))
            assert ran.status == 2 and "$y$" not in ran.said
            assert ("$y$" in log_of(server)[begun:]) == held
    finally:
        server.admin("ALTER ROLE worker RESET ALL")
