"""The table to process, and its requirements, checked before any row is touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from psycopg import sql

from saltern.bulk.database import Connection, escaped, quoted
from saltern.bulk.refusal import Refused
from saltern.bulk.trust import refuse_others


@dataclass(frozen=True)
class Table:
    """A table whose columns are what a job needs."""

    oid: int
    schema: str
    name: str
    id: str
    columns: tuple[str, ...]
    """Those of the strings: one, or `KEYCLOAK`."""
    id_type: str
    """The type in which ids are compared, as SQL writes it."""
    json_key: str | None = None
    """Where the string is, if the column has documents of JSON."""
    hash_type: str = "text"
    width: int | None = None
    """How many characters a string may have; any number if none."""
    mark: str = ""
    """Another one when the table is another one of the same name, or has been emptied."""
    notes: tuple[str, ...] = field(default=())
    """What people should know about it."""
    operators: tuple[str, str, str] = (
        "OPERATOR(pg_catalog.<)", "OPERATOR(pg_catalog.=)", "OPERATOR(pg_catalog.>=)",
    )
    """Less, equal, at least: by these the id's unique index has its order. They may be outside
    the search path, in the schema of an extension."""

    @property
    def label(self) -> str:
        """For people and the ledger."""
        return f"{self.schema}.{self.name}"

    @property
    def place(self) -> str:
        """Where the strings are in the table, for the ledger."""
        return " ".join([*self.columns, *([] if self.json_key is None else [self.json_key])])

    @property
    def keycloak(self) -> bool:
        """Whether strings are in the columns of Keycloak."""
        return self.columns == KEYCLOAK

    @property
    def replaced(self) -> str:
        """What is said where it is another one by now."""
        return (
            f"{self.label} was replaced, emptied, rewritten or hidden from this role while it was "
            "worked on"
        )

    def names(self) -> dict[str, sql.Composable]:
        """The identifiers, and the type and operators of ids, for statements with parameters. What
        is stored and what is new are values of `t`, the table, and of `s`, the staged rows."""
        less, equal, least = self.operators
        return {
            "table": quoted(self.schema, self.name),
            "id": quoted(self.id),
            **(KEYCLOAKS if self.keycloak else self._strings()),
            # From the catalogue, quoted by the server.
            "type": escaped(self.id_type),
            "less": escaped(less),
            "equal": escaped(equal),
            "least": escaped(least),
        }

    def _strings(self) -> dict[str, sql.Composable]:
        column = quoted(*self.columns)
        # Only these have no cast from text on assignment.
        cast = escaped("::" + self.hash_type if self.hash_type in ("json", "jsonb") else "")
        new = sql.SQL("s.new") + cast
        return {
            "stored": sql.SQL("t.") + column, "new": new, "set": sql.SQL(" = ").join([column, new]),
        }


KEYCLOAK = ("secret_data", "credential_data")
"""The columns of Keycloak's table that have a string between them, as documents."""

KIND = "type"
"""Its column that says what a credential is."""

KEYCLOAKS: dict[str, sql.Composable] = {
    "stored": sql.SQL(
        "json_build_object('type', t.type, 'secret_data', t.secret_data, "
        "'credential_data', t.credential_data)"
    ),
    "new": sql.SQL(
        "json_build_object('type', s.new::json ->> 'type', "
        "'secret_data', s.new::json ->> 'secret_data', "
        "'credential_data', s.new::json ->> 'credential_data')"
    ),
    "set": sql.SQL(
        "secret_data = s.new::json ->> 'secret_data', "
        "credential_data = s.new::json ->> 'credential_data'"
    ),
}
"""What `Table.names` has for it: a row is one document, which is taken apart again."""


RELATION = """
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relhassubclass,
       c.relhasrules, row_security_active(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s
"""

COLUMN = """
SELECT format_type(a.atttypid, a.atttypmod), t.typname::text, t.typtype::text, a.atttypmod,
       a.attnotnull, a.attgenerated::text, a.attnum
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attname = %s AND a.attnum > 0 AND NOT a.attisdropped
"""

UNIQUE = """
SELECT CASE WHEN t.typtype = 'b' THEN format_type(t.oid, -1) END,
       array_agg(n.nspname::text ORDER BY m.amopstrategy),
       array_agg(o.oprname::text ORDER BY m.amopstrategy)
FROM pg_index i JOIN pg_opclass c ON c.oid = i.indclass[0] JOIN pg_type t ON t.oid = c.opcintype
JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amopstrategy IN (1, 3, 4)
  AND m.amoplefttype = t.oid AND m.amoprighttype = t.oid
JOIN pg_operator o ON o.oid = m.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
  AND i.indexprs IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = %s
  AND (l.collisdeterministic IS NOT FALSE OR i.indcollation[0] = a.attcollation)
GROUP BY i.indexrelid, c.opcdefault, t.oid, t.typtype
ORDER BY c.opcdefault DESC, i.indexrelid LIMIT 1
"""
"""The type of an index, if it is one of the server or of an extension, and the operators of its
order. Where the column's collation takes different ids for equal, the index has to do so, too."""

MARK = """
SELECT md5(string_agg(oid::text || ':' || coalesce(pg_relation_filenode(oid), 0), ' ' ORDER BY oid))
FROM (SELECT %(oid)s::oid AS oid UNION SELECT relid FROM pg_partition_tree(%(oid)s::oid)) AS parts
"""
"""Of the numbers of the table's files: TRUNCATE gives it new ones, as VACUUM FULL does."""

TRIGGERS = """
SELECT DISTINCT t.tgname::text,
       CASE WHEN l.lanname NOT IN ('internal', 'c')
             AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS setting
                             WHERE starts_with(setting, 'search_path='))
            THEN p.oid::regprocedure::text END
FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
WHERE (t.tgrelid = %(oid)s OR t.tgrelid IN (SELECT relid FROM pg_partition_tree(%(oid)s::oid)))
  AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 16 <> 0 ORDER BY 1
"""
"""Their names, and their functions if these have the search path of their caller."""

REFERRING = """
SELECT r.conrelid::regclass::text, a.attname::text
FROM pg_constraint r JOIN pg_attribute a ON a.attrelid = r.confrelid AND a.attnum = ANY(r.confkey)
WHERE (r.confrelid = %(oid)s OR r.confrelid IN (SELECT relid FROM pg_partition_tree(%(oid)s::oid)))
  AND r.contype = 'f' AND a.attname = ANY(%(columns)s) ORDER BY 1 LIMIT 1
"""
"""A table with a foreign key to a column of strings, and that column."""

PLACE = """
SELECT current_database()::text, current_user::text,
       coalesce(to_regclass(%(table)s)::oid::text, 'none'),
       coalesce(row_security_active(to_regclass(%(table)s)::oid)::text, 'none'),
       pg_is_in_recovery()::text
"""

KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}


def inspect(
    connection: Connection,
    table: str,
    id: str,
    hash: str | None,
    *,
    json_key: str | None = None,
    writes: bool,
    triggers_fire: bool = False,
) -> Table:
    """Inspects a table, and refuses it if the job would fail or do harm. Without `hash` it is that
    of Keycloak."""
    oid, schema, name, subclasses = _relation(connection, table)
    label = f"{schema}.{name}"
    columns = KEYCLOAK if hash is None else (hash,)
    if id in columns:
        raise Refused(f"--id and --hash are the same column, {id}")
    id_type, operators = _id_column(connection, oid, label, id)
    if subclasses:
        raise Refused(
            f"{label} has tables that inherit from it, in which ids may occur again: name "
            "each of them"
        )
    if hash is None:
        _keycloak_columns(connection, oid, label)
        hash_type, width = "text", None
    else:
        hash_type, width = _hash_column(connection, oid, label, hash, json_key, writes)
    read = [id, *columns, *([KIND] if hash is None else [])]
    needs = [("SELECT", column) for column in read]
    needs += [("UPDATE", column) for column in columns if writes]
    for right, column in needs:
        query = "SELECT has_column_privilege(%s::oid, %s, %s)"
        if connection.execute(query, [oid, column, right]).fetchone() != (True,):
            raise Refused(f"the role lacks {right} ({column}) on {label}: grant it")
    notes = _writable(connection, oid, columns, triggers_fire) if writes else ()
    refuse_others(connection, oid, columns, searched="." not in table, writes=writes)
    files = mark(connection, oid)
    return Table(
        oid, schema, name, id, columns, id_type, json_key, hash_type, width, files, notes, operators
    )


def mark(connection: Connection, oid: int) -> str:
    """`Table.mark`, as it is now."""
    row = connection.execute(MARK, {"oid": oid}).fetchone()
    return str(row[0]) if row else ""


def place(connection: Connection, table: Table) -> dict[str, str]:
    """Where a connection leads, and what its role can see: two that are equal see the same rows."""
    names = ("database", "role", "table", "row-level security", "standby")
    name = table.names()["table"].as_string(connection)
    row = connection.execute(PLACE, {"table": name}).fetchone()
    return dict(zip(names, map(str, row or ()), strict=True))


@contextmanager
def held(connection: Connection, table: Table) -> Iterator[None]:
    """A transaction in which the name means this table until its end. PREPARE takes the lock that
    every statement takes; unlike others it neither plans nor runs anything, if the table is
    another one."""
    names = sql.Identifier(table.id), sql.Identifier(table.schema, table.name)
    lock = sql.SQL("PREPARE saltern_held AS SELECT {} FROM {}; DEALLOCATE saltern_held")
    with connection.transaction():
        connection.execute(lock.format(*names))
        name = names[1].as_string(connection)
        row = connection.execute("SELECT to_regclass(%s)::oid::bigint", [name]).fetchone()
        if row != (table.oid,):
            raise Refused(table.replaced)
        yield


def _relation(connection: Connection, table: str) -> tuple[int, str, str, bool]:
    found = connection.execute(RELATION, [_oid(connection, table)]).fetchone()
    if found is None:
        raise Refused(f"there is no table {table} (names are as they are, without quotes)")
    oid, kind = found[0], found[3]
    schema, name = str(found[1]), str(found[2])
    subclasses, rules, hidden = found[4:]
    label = f"{schema}.{name}"
    if kind not in ("r", "p"):
        raise Refused(f"{label} is {KINDS.get(str(kind), 'no table')}: name the table itself")
    if rules:
        raise Refused(f"{label} has rules, which may do something else than an UPDATE says")
    if hidden:
        raise Refused(
            f"{label} has row-level security, which may hide rows from this role: use one that has "
            "BYPASSRLS"
        )
    assert isinstance(oid, int)
    return oid, schema, name, kind == "r" and bool(subclasses)


def _oid(connection: Connection, table: str) -> object:
    """The table of this name: without a schema, the one that the site's search path finds."""
    schema, _, name = table.rpartition(".")
    if not name:
        return None
    label = sql.Identifier(*filter(None, (schema, name))).as_string(connection)
    with connection.transaction():
        connection.execute("SET LOCAL search_path TO DEFAULT")
        # Qualified, for that path may have other schemas before pg_catalog.
        query = "SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid"
        row = connection.execute(query, [label]).fetchone()
    return row[0] if row else None


def _column(connection: Connection, oid: int, label: str, column: str) -> tuple[object, ...]:
    found = connection.execute(COLUMN, [oid, column]).fetchone()
    if found is None:
        raise Refused(f"{label} has no column {column}")
    return found


def _id_column(
    connection: Connection, oid: int, label: str, id: str
) -> tuple[str, tuple[str, str, str]]:
    if "," in id:
        raise Refused("--id names one column: keys of several columns are not supported")
    declared, _, _, _, required, _, number = _column(connection, oid, label, id)
    index = connection.execute(UNIQUE, [oid, number]).fetchone()
    if not required or index is None:
        raise Refused(
            f"{label}.{id} may be null or occur twice: --id needs a column that is NOT NULL and "
            "has a unique index of its own"
        )
    kind, schemas, names = index
    if kind is None:
        raise Refused(
            f"{label}.{id} is of type {declared}, and so in the hands of whoever owns that type: "
            "--id needs one of the server or of an extension, no enum, array, range or composite"
        )
    less, equal, least = (
        f"OPERATOR({sql.Identifier(schema).as_string(connection)}.{name})"
        for schema, name in zip(schemas, names, strict=True)  # type: ignore[call-overload]
    )
    return str(kind), (less, equal, least)


def _hash_column(
    connection: Connection, oid: int, label: str, hash: str, json_key: str | None, writes: bool
) -> tuple[str, int | None]:
    declared, name, kind, modifier, _, generated, _ = _column(connection, oid, label, hash)
    if json_key is not None:
        if declared not in ("text", "json", "jsonb"):
            raise Refused(f"{label}.{hash} is of type {declared}: expected json, jsonb or text")
    elif name in ("json", "jsonb"):
        raise Refused(f"{label}.{hash} is of type {declared}: --json-key says where the string is")
    elif name not in ("text", "varchar") or kind != "b":
        raise Refused(f"{label}.{hash} is of type {declared}: expected text or varchar")
    if generated and writes:
        raise Refused(f"{label}.{hash} is a generated column: name the one that it comes from")
    assert isinstance(modifier, int)
    # The modifier of varchar(n) includes a header of four.
    return str(name), modifier - 4 if name == "varchar" and modifier >= 4 else None


def _keycloak_columns(connection: Connection, oid: int, label: str) -> None:
    _column(connection, oid, label, KIND)
    for column in KEYCLOAK:
        declared = _column(connection, oid, label, column)[0]
        if declared != "text":
            raise Refused(f"{label}.{column} is of type {declared}: Keycloak's is text")


def _writable(
    connection: Connection, oid: int, columns: tuple[str, ...], fire: bool
) -> tuple[str, ...]:
    read_only = connection.execute("SHOW transaction_read_only").fetchone()
    if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
        raise Refused("this server is a standby: connect to the primary")
    if read_only == ("on",):
        raise Refused("sessions of this role or server are read-only (transaction_read_only)")
    query = "SELECT has_database_privilege(current_database(), 'TEMP')"
    if connection.execute(query).fetchone() != (True,):
        raise Refused("the role may not make temporary tables: GRANT TEMPORARY ON DATABASE … TO …")
    given = {"oid": oid, "columns": list(columns)}
    referring = connection.execute(REFERRING, given).fetchone()
    if referring is not None:
        raise Refused(
            f"a foreign key of {referring[0]} refers to {referring[1]}: an UPDATE would fail, or change "
            "that table, too, and fire its triggers with the rights of this job. Drop it for the "
            "job"
        )
    triggers = connection.execute(TRIGGERS, {"oid": oid}).fetchall()
    if not triggers:
        return ()
    named = ", ".join(str(name) for name, _ in triggers)
    if not fire:
        raise Refused(
            f"an UPDATE fires triggers: {named}. Disable them for the job, or say --triggers-fire "
            "if they are to fire for every row that changes"
        )
    for name, function in triggers:
        if function is not None:
            raise Refused(
                f"the trigger {name} calls {function}, which has no search_path of its own, and "
                "would look names up in the job's, which is pg_catalog alone: ALTER FUNCTION "
                f"{function} SET search_path = …, pg_temp (the schemas that it needs), or disable "
                "the trigger for the job"
            )
    return (f"triggers that an UPDATE fires: {named}",)


LONGEST = {
    # Without its key, and with the new one; with braces added, if there are none.
    "rekey": """
SELECT max(CASE WHEN {stored} LIKE '%%key=%%'
                THEN length(regexp_replace({stored}, 'key=[^,}}]*', '')) + length('key=')
                ELSE length({stored}) + length('{{key=}}') END + %(key)s)
FROM {table} AS t
""",
    # Without its seal, and with the new one.
    "seal": """
SELECT max(length(regexp_replace({stored}, '^[!*]*[{{]seal=[^}}]*[}}]', ''))
           + length('{{seal=,}}') + 32 + %(key)s)
FROM {table} AS t
""",
    # Strings with a hash of ours are not wrapped.
    "wrap": """
SELECT max(length({stored}) + length('{{over=}}') + %(hash)s)
FROM {table} AS t
WHERE {stored} !~ '^[!*]*([{{][Cc][Rr][Yy][Pp][Tt][}}][!*]*)?([$](y|7|scrypt|saltern-yescrypt)[$]|[$]7X|[{{](over|key|rom)=)'
""",
}
"""How long the longest of the new strings may be, from what stands there now."""


def refuse_narrow(
    connection: Connection, table: Table, operation: str, key: str | None, example: str
) -> None:
    """Refuses a column that may be too narrow for the new strings. `example` is a new hash."""
    if table.width is None:
        return
    text = LONGEST[operation]
    query = sql.SQL(text).format(**table.names())  # type: ignore[arg-type, unused-ignore]
    lengths = {"key": len(key or ""), "hash": len(example)}
    with held(connection, table):
        row = connection.execute(query, lengths).fetchone()
    longest = row[0] if row else None
    if isinstance(longest, int) and longest > table.width:
        raise Refused(
            f"{table.label}.{table.place} is varchar({table.width}), and new strings may have "
            f"{longest} characters: ALTER TABLE … ALTER COLUMN {table.place} TYPE text"
        )
