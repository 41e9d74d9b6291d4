"""What is refused, with one line, before any row is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Bulk, Policies, Server, content, fill, fingerprint

from saltern.bulk.columns import same_site
from saltern.bulk.ranges import Assignment
from saltern.bulk.ray_driver import problem
from saltern.bulk.database import Source
from saltern.bulk.refusal import Refused
from saltern.bulk.site import open_site
from saltern.bulk.table import Key, Table

# What is done to the table, what is asked for beside the usual, and what is said.
TABLES = {
    "no table": ("", ["--table", "nobody"], "there is no table nobody"),
    "no id": ("", ["--id", "number"], "has no column number"),
    "no hash": ("", ["--hash", "password"], "has no column password"),
    "the same": ("", ["--id", "password_hash"], "are the same column"),
    "two ids": (
        "GRANT SELECT ON users TO worker", ["--id", "id,name"], "may be null or occur",
    ),
    "not unique": ("ALTER TABLE users DROP CONSTRAINT users_pkey", [], "may be null or occur"),
    "null ids": (
        "ALTER TABLE users ADD other int UNIQUE; GRANT SELECT ON users TO worker",
        ["--id", "other"], "may be null or occur",
    ),
    "partly unique": (
        "ALTER TABLE users DROP CONSTRAINT users_pkey;"
        "CREATE UNIQUE INDEX ON users (id) WHERE name <> ''", [], "may be null or occur",
    ),
    "unique by another collation": (
        "CREATE COLLATION IF NOT EXISTS loose"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
        "ALTER TABLE users DROP CONSTRAINT users_pkey, ALTER id TYPE text COLLATE loose;"
        "CREATE UNIQUE INDEX ON users (id COLLATE \"C\")", [], "may be null or occur",
    ),
    "unique by another collation of one column": (
        "CREATE COLLATION IF NOT EXISTS loose"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
        "ALTER TABLE users ADD tenant text COLLATE loose NOT NULL DEFAULT 'x';"
        "GRANT SELECT ON users TO worker;"
        "CREATE UNIQUE INDEX ON users (id, tenant COLLATE \"C\")",
        ["--id", "id,tenant"], "users.id, tenant may be null or occur",
    ),
    "an enum among the columns of the id": (
        "CREATE TYPE public.tenants AS ENUM ('x');"
        "ALTER TABLE users ADD tenant public.tenants NOT NULL DEFAULT 'x', ADD UNIQUE (id, tenant);"
        "GRANT SELECT ON users TO worker",
        ["--id", "id,tenant"], "users.tenant is of type public.tenants",
    ),
    "bytea": (
        "ALTER TABLE users ALTER password_hash TYPE bytea USING password_hash::bytea", [],
        "is of type bytea",
    ),
    "char": ("ALTER TABLE users ALTER password_hash TYPE char(200)", [], "is of type character"),
    "generated": (
        "ALTER TABLE users ADD made text GENERATED ALWAYS AS (password_hash) STORED;"
        "GRANT SELECT, UPDATE ON users TO worker",
        ["--hash", "made"], "is a generated column",
    ),
    "a view": (
        "CREATE VIEW seen AS SELECT * FROM users; GRANT SELECT, UPDATE ON seen TO worker",
        ["--table", "seen"], "is a view",
    ),
    "no update": ("REVOKE UPDATE (password_hash) ON users FROM worker", [], "lacks UPDATE"),
    "no select": ("REVOKE SELECT (password_hash) ON users FROM worker", [], "lacks SELECT"),
    "no temp": ("REVOKE TEMPORARY ON DATABASE postgres FROM public", [], "temporary tables"),
    "read only": (
        "ALTER ROLE worker SET default_transaction_read_only = on", [], "read-only",
    ),
    "hidden rows": (
        "ALTER TABLE users ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY few ON users USING (id < 9)", [], "row-level security",
    ),
    "a foreign key": (
        "UPDATE users SET password_hash = id; ALTER TABLE users ADD UNIQUE (password_hash);"
        "CREATE TABLE more (hash text REFERENCES users (password_hash) ON UPDATE CASCADE)", [],
        "a foreign key of public.more refers to password_hash",
    ),
    "inherited": ("CREATE TABLE more () INHERITS (users)", [], "inherit from it"),
    "rules": (
        "CREATE RULE no_update AS ON UPDATE TO users DO INSTEAD NOTHING", [], "has rules",
    ),
    "no ledger": (
        "REVOKE CREATE ON DATABASE postgres FROM worker", [], "cannot be made: permission denied",
    ),
    "a closed ledger": (
        "CREATE SCHEMA saltern_bulk; CREATE TABLE saltern_bulk.jobs (job int)", [],
        "lacks USAGE on the schema saltern_bulk of the ledger",
    ),
    "another's ledger": (
        "CREATE SCHEMA saltern_bulk; CREATE TABLE saltern_bulk.jobs (job int);"
        "GRANT USAGE ON SCHEMA saltern_bulk TO worker", [], "lacks SELECT on the ledger",
    ),
}

UNDO = """
DROP VIEW IF EXISTS seen; DROP TABLE IF EXISTS more; DROP TABLE users;
DROP TYPE IF EXISTS tenants;
DROP SCHEMA IF EXISTS saltern_bulk CASCADE;
GRANT TEMPORARY ON DATABASE postgres TO public; GRANT CREATE ON DATABASE postgres TO worker;
ALTER ROLE worker RESET ALL
"""


@pytest.mark.parametrize("case", TABLES)
def test_tables(server: Server, policies: Policies, bulk: Bulk, case: str) -> None:
    change, arguments, expected = TABLES[case]
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    server.admin(change)
    before = content(server)
    try:
        ran = bulk("rekey", policies.file("b"), *arguments)
        assert ran.status == 2
        assert expected in ran.said
        assert ran.said.count("\n") == 1, ran.said
        assert not ran.report
        assert content(server) == before
    finally:
        server.admin(UNDO)


def test_columns_that_are_too_narrow(server: Server, policies: Policies, bulk: Bulk) -> None:
    hasher = policies.hasher("a")
    keyed, digest = hasher.hash("x"), "5ebe2294ecd0e0f08eab7690d2a6ee69"
    bare = keyed.split("}")[1]
    long = "with-a-longer-name"
    fill(server, "users", [keyed] * 10 + [bare] * 10)
    width = len(keyed)
    server.admin(f"ALTER TABLE users ALTER password_hash TYPE varchar({width})")
    before = content(server)
    ran = bulk("rekey", policies.file(long, ["a", "b", long]))
    assert ran.status == 2 and f"may have {width + len(long) - 1} characters" in ran.said
    assert "TYPE text" in ran.said and content(server) == before
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["changed"]) == (0, 20), ran.said

    # The salt of another scheme may begin as our prefixes end.
    foreign = "$2b$04$7" + "." * 52
    fill(server, "users", [keyed] * 10 + [foreign])
    server.admin(f"ALTER TABLE users ALTER password_hash TYPE varchar({width})")
    ran = bulk("wrap", policies.file("a"))
    longest = len(foreign) + len("{over=}") + len(keyed)
    assert ran.status == 2 and f"may have {longest} characters" in ran.said

    fill(server, "users", [keyed, f"{{CRYPT}}{keyed}", f"!{{crypt}}{bare}"] * 10 + [digest] * 10)
    wrapped = hasher.wrap(digest)
    assert wrapped is not None
    # The new string has the name of the scheme in the place of the digest.
    width = len(digest) + len("{over=}") + len(keyed)
    for less, status in ((1, 2), (0, 0)):
        server.admin(f"ALTER TABLE users ALTER password_hash TYPE varchar({width - less})")
        ran = bulk("wrap", policies.file("a"))
        assert ran.status == status, ran.said
    assert ran.report["changed"] == 10


def test_addresses(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")])
    policy = policies.file("b")
    for dsn, expected in (
        ("postgresql://worker:geheim@localhost/postgres", "holds a password"),
        ("host=localhost password=geheim", "holds a password"),
        ("host=localhost nonsense geheim", "--dsn: neither"),
        (server.dsn("nobody"), "does not exist"),
        ("host=/nowhere user=worker", "No such file or directory"),
    ):
        ran = bulk("rekey", policy, dsn=dsn)
        assert ran.status == 2
        assert expected in ran.said
        assert "geheim" not in ran.said
        assert ran.said.count("\n") == 1, ran.said


def test_policies(server: Server, policies: Policies, bulk: Bulk, tmp_path: Path) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    before = content(server)
    policies.key("c")
    missing, other = policies.file("b", "abd"), policies.file("b", "abe")
    (tmp_path / "d.key").unlink()
    (tmp_path / "e.key").write_bytes(bytes(32))
    (tmp_path / "u.key").write_bytes(bytes(32))
    unnamed = policies.file("b", more='assume_unnamed_key = "u.key"')
    for operation, policy, expected in (
        ("rekey", missing, "the key"),
        ("rekey", other, "holds the key e+"),
        ("rekey", policies.file(None), "no active key"),
        ("rekey", unnamed, "assume_unnamed_key"),
        ("wrap", unnamed, "assume_unnamed_key"),
        ("rekey", tmp_path / "nothing.toml", "nothing.toml"),
    ):
        ran = bulk(operation, policy)
        assert ran.status == 2 and expected in ran.said, ran.said
    assert content(server) == before


def test_an_older_policy(server: Server, policies: Policies, bulk: Bulk) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * 20)
    assert bulk("rekey", policies.file("a")).status == 0
    assert bulk("rekey", policies.file("b")).status == 0
    before = content(server)
    ran = bulk("wrap", policies.file("a"))
    assert ran.status == 2 and "this is an older policy" in ran.said
    assert content(server) == before
    # A comment makes no other policy.
    file = policies.folder / "commented.toml"
    file.write_text("# The same.\n" + policies.text("b"))
    assert bulk("rekey", file).status == 0
    assert bulk("rekey", policies.file("c", "abc")).status == 0


def test_a_node_with_something_else(server: Server, policies: Policies, tmp_path: Path) -> None:
    """What every node is asked before the first range, here with a disk that changes."""
    description = open_site(policies.file("b")).description
    policy = tmp_path / "policy.toml"
    policy.write_text(policies.text("b"))
    table = Table(0, "public", "users", (Key("id", "bigint"),), ("password_hash",))
    assignment = Assignment(Source(server.dsn()), table, "rekey", str(policy), description)
    assert problem(assignment) is None

    policy.write_text(policies.text("a"))
    assert "active_key is different" in str(problem(assignment))
    policy.write_text(policies.text("b", "b"))
    assert f"the key a+{fingerprint(policies.key('a'))} is missing" in str(problem(assignment))
    policy.write_text(policies.text("b").replace("n = 16", "n = 64"))
    assert "params is different" in str(problem(assignment))
    policy.write_text(policies.text("b"))
    (tmp_path / "b.key").write_bytes(bytes(32))
    assert "holds the key b+" in str(problem(assignment))
    (tmp_path / "b.key").unlink()
    assert "b.key" in str(problem(assignment))
    policy.unlink()
    assert "policy.toml" in str(problem(assignment))
    with pytest.raises(Refused):
        same_site(str(policy), description)
    policy.write_text(policies.text("a"))
    unreachable = Assignment(Source("host=/nowhere"), table, "rekey", str(policy), description)
    assert problem(unreachable)


def test_roms_that_differ_are_told_apart() -> None:
    from saltern.bulk.site import differences

    here = {"roms": ["11", "22"], "active_rom": "11"}
    there = {"roms": ["11", "33"], "active_rom": "33"}
    assert differences(here, there) == [
        "active_rom is different (33 instead of 11)",
        "the ROM 22 is missing",
        "the ROM 33 is different or too many",
    ]
