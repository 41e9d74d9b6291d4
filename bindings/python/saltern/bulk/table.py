"""The table to process, and its requirements, checked before any row is touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from saltern.bulk.database import Connection, configure, escaped, facts, listed, quoted, spelled
from saltern.bulk.refusal import Refused
from saltern.bulk.trust import MARK, PARTS, refuse_others, replaced


@dataclass(frozen=True)
class Key:
    """A column of the id."""

    name: str
    type: str
    """In which ids are compared, as SQL writes it."""
    operators: tuple[str, str, str] = (
        "OPERATOR(pg_catalog.<)", "OPERATOR(pg_catalog.=)", "OPERATOR(pg_catalog.>=)",
    )
    """Less, equal, at least: by these the unique index has its order. They may be outside the
    search path, in the schema of an extension."""


@dataclass(frozen=True)
class Table:
    """A table whose columns are what a job needs."""

    oid: int
    schema: str
    name: str
    id: tuple[Key, ...]
    """In the order of their index."""
    columns: tuple[str, ...]
    """Those of the strings: one, or `KEYCLOAK`."""
    json_key: str | None = None
    """Where the string is, if the column has documents of JSON."""
    hash_type: str = "text"
    width: int | None = None
    """How many characters a string may have; any number if none."""
    mark: str = ""
    """Another one when the table is another one of the same name, or has been emptied."""
    writes: bool = True
    """Whether the job writes to it."""
    triggers: tuple[tuple[str, bool], ...] = ()
    """Those that an UPDATE fires, and whether they can keep a row from being written."""

    @property
    def notes(self) -> list[str]:
        """What people should know about it."""
        named = ", ".join(name for name, _ in self.triggers)
        return [f"triggers that an UPDATE fires: {named}"] if named else []

    @property
    def id_columns(self) -> str:
        """For the ledger."""
        return listed([key.name for key in self.id], ",")

    @property
    def label(self) -> str:
        """For people and the ledger."""
        return listed([self.schema, self.name], ".")

    @property
    def place(self) -> str:
        """Where the strings are in the table, for the ledger."""
        return listed([*self.columns, *([] if self.json_key is None else [self.json_key])], " ")

    @property
    def keycloak(self) -> bool:
        """Whether strings are in the columns of Keycloak."""
        return self.columns == KEYCLOAK

    @property
    def replaced(self) -> str:
        """What is said where it is another one by now."""
        return replaced(self.label)

    def names(self) -> dict[str, sql.Composable]:
        """The identifiers, and conditions of ids, for statements with parameters. The id, what is
        stored and what is new are values of `t`, the table, and of `s`, the staged rows; an id of
        several columns is an array, as text."""
        columns = [quoted("t", key.name) for key in self.id]
        texts = [column + sql.SQL("::text") for column in columns]
        several = sql.SQL("ARRAY[{}]::text").format(sql.SQL(", ").join(texts))
        order = [
            column + escaped(f"::{key.type} USING {key.operators[0]}")
            for column, key in zip(columns, self.id, strict=True)
        ]
        return {
            "table": quoted(self.schema, self.name),
            "id": several if len(texts) > 1 else texts[0],
            # Only so of a row that was joined.
            "there": sql.SQL("({} IS NULL) IS FALSE").format(columns[0]),
            **(KEYCLOAKS if self.keycloak else self._strings()),
            "order": sql.SQL(", ").join(order),
            "same_id": self._compared("t", 1, "s.id"),
            "within": self._within("t"),
            "within_u": self._within("u"),
            "same_id_u": self._compared("u", 1, "s.id"),
        }

    def _within(self, table: str) -> sql.Composed:
        """Whether an id is in a range. An open bound is a null, which the plan is made with."""
        low, high = "%(low)s::text", "%(high)s::text"
        return sql.SQL("({} IS NULL OR {}) AND ({} IS NULL OR {})").format(
            sql.SQL(low), self._compared(table, 2, low),
            sql.SQL(high), self._compared(table, 0, high),
        )

    def _compared(self, table: str, operator: int, id: str) -> sql.Composed:
        """Compares an id with another one, which is text."""
        own = [quoted(table, key.name) + escaped(f"::{key.type}") for key in self.id]
        parts = [id] if len(own) == 1 else [f"({id}::text[])[{n + 1}]" for n in range(len(own))]
        other = [
            sql.SQL(f"({part})") + escaped(f"::{key.type}")
            for part, key in zip(parts, self.id, strict=True)
        ]
        row = sql.SQL("ROW({})" if len(own) > 1 else "{}")
        one, two = (row.format(sql.SQL(", ").join(values)) for values in (own, other))
        return sql.SQL(" ").join([one, escaped(self.id[0].operators[operator]), two])

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


QUERIES = {
    "relation": """
SELECT n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relhassubclass AS parent,
       c.relhasrules AS rules
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %(relation)s::oid
""",
    "columns": """
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS declared, t.typname AS type,
       t.typtype AS kind, a.atttypmod AS modifier, a.attnotnull AS required,
       a.attgenerated <> '' AS generated,
       has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "SELECT",
       has_column_privilege(a.attrelid, a.attnum, 'UPDATE') AS "UPDATE"
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %(relation)s::oid AND a.attnum > 0 AND NOT a.attisdropped
""",
    # The types of unique indexes, if they are of the server or of an extension, and the operators
    # of their order. Where a column's collation takes different ids for equal, an index has to do
    # so, too.
    "keys": """
SELECT i.indexrelid::bigint AS index, a.attname AS name,
       CASE WHEN t.typtype = 'b' THEN format_type(t.oid, -1) END AS type,
       array_agg(format('OPERATOR(%%I.%%s)', n.nspname, o.oprname) ORDER BY m.amopstrategy)
         AS operators
FROM pg_index i CROSS JOIN generate_series(0, i.indnkeyatts - 1) AS place
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place]
JOIN pg_opclass c ON c.oid = i.indclass[place] JOIN pg_type t ON t.oid = c.opcintype
JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amopstrategy IN (1, 3, 4)
  AND m.amoplefttype = t.oid AND m.amoprighttype = t.oid
JOIN pg_operator o ON o.oid = m.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE i.indrelid = %(relation)s::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
  AND i.indexprs IS NULL AND a.attname = ANY(%(id)s::text[])
  AND i.indnkeyatts = cardinality(%(id)s::text[])
  AND (l.collisdeterministic IS NOT FALSE OR i.indcollation[place] = a.attcollation)
GROUP BY i.indexrelid, place, a.attname, c.opcdefault, t.oid, t.typtype
ORDER BY c.opcdefault DESC, i.indexrelid, place
""",
    "session": """
SELECT current_setting('transaction_read_only') = 'on' AS read_only, pg_is_in_recovery() AS standby,
       has_database_privilege(current_database(), 'TEMP') AS temporary
""",
    # A table with a foreign key to a column of strings, and that column.
    "referring": f"""
SELECT r.conrelid::regclass::text AS table, a.attname AS column
FROM pg_constraint r JOIN pg_attribute a ON a.attrelid = r.confrelid AND a.attnum = ANY(r.confkey)
WHERE r.confrelid IN (SELECT oid FROM {PARTS} AS parts)
  AND r.contype = 'f' AND a.attname = ANY(%(columns)s) ORDER BY 1
""",
    # Their functions, if these have the search path of their caller.
    "triggers": f"""
SELECT t.tgname AS name, bool_or(t.tgtype & 3 = 3) AS before, min(
         CASE WHEN l.lanname NOT IN ('internal', 'c')
               AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS setting
                               WHERE starts_with(setting, 'search_path='))
              THEN p.oid::regprocedure::text END) AS function
FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_language l ON l.oid = p.prolang
WHERE t.tgrelid IN (SELECT oid FROM {PARTS} AS parts)
  AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 16 <> 0 GROUP BY 1 ORDER BY 1
""",
    "mark": MARK,
    "place": """
SELECT current_database() AS database, current_user AS role,
       coalesce(to_regclass(%(name)s)::oid::text, 'none') AS table,
       coalesce(row_security_active(to_regclass(%(name)s)::oid)::text, 'none')
         AS "row-level security", pg_is_in_recovery()::text AS standby
""",
}
"""What is to be known of a table, in one statement."""

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
    columns = KEYCLOAK if hash is None else (hash,)
    *schema, name = spelled(table, ".")
    path = [part for part in (".".join(schema), name) if part]
    oid = _oid(connection, path)
    ids = spelled(id, ",")
    found = _facts(connection, oid, id=ids, columns=columns)
    if oid is None or not found["relation"]:
        raise Refused(f"there is no table {table} (names are as they are, or quoted as in SQL)")
    (relation,), (session,) = found["relation"], found["session"]
    label = listed([relation["schema"], relation["name"]], ".")
    if relation["kind"] not in ("r", "p"):
        raise Refused(f"{label} is {KINDS.get(relation['kind'], 'no table')}: name the table itself")
    if set(ids) & {*columns}:
        raise Refused(f"--id and --hash are the same column, {id}")
    there = {column["name"]: column for column in found["columns"]}
    read = [*ids, *columns, *([KIND] if hash is None else [])]
    missing = [f"{label} has no column {name}" for name in read if name not in there]
    if missing:
        raise Refused(*missing)
    known = [*_relation(label, relation)]
    keys: tuple[Key, ...] = ()
    try:
        keys = _keys(label, [there[name] for name in ids], found["keys"])
    except Refused as refused:
        # Said with the others.
        known += refused.args
    if hash is None:
        known += [
            f"{label}.{name} is of type {there[name]['declared']}: Keycloak's is text"
            for name in columns if there[name]["declared"] != "text"
        ]
    else:
        known += _hash_column(f"{label}.{hash}", there[hash], json_key, writes)
    for right, names in (("SELECT", read), ("UPDATE", columns if writes else ())):
        known += [
            f"the role lacks {right} ({name}) on {label}: grant it"
            for name in names if not there[name][right]
        ]
    if writes:
        known += _writable(found, triggers_fire)
        known += _session(session)
    if known:
        raise Refused(*known)
    refuse_others(connection, oid, columns, searched=len(path) == 1, writes=writes)
    kind = there[columns[0]]
    modifier, varchar = kind["modifier"], kind["type"] == "varchar" and hash is not None
    return Table(
        oid=oid, schema=relation["schema"], name=relation["name"], id=keys, columns=columns,
        json_key=json_key, hash_type=kind["type"],
        # The modifier of varchar(n) includes a header of four.
        width=modifier - 4 if varchar and modifier >= 4 else None,
        mark=found["mark"][0]["mark"], writes=writes,
        triggers=tuple((row["name"], row["before"]) for row in found["triggers"]) if writes else (),
    )


def place(connection: Connection, table: Table) -> dict[str, str]:
    """Where a connection leads, what its role can see, and the table's mark there: two that are
    equal see the same rows."""
    name = sql.Identifier(table.schema, table.name).as_string(connection)
    found = _facts(connection, table.oid, name=name)
    return {**found["place"][0], **found["mark"][0]}


@contextmanager
def held(connection: Connection, table: Table, *, writing: bool = False) -> Iterator[None]:
    """A transaction in which the name means this table until its end, with nothing of untrusted
    roles in it. PREPARE takes the lock that such a statement takes (one that writes keeps triggers
    and indexes from being added); unlike others it neither plans nor runs anything, if the table is
    another one."""
    column, name = sql.Identifier(table.columns[0]), sql.Identifier(table.schema, table.name)
    text = "UPDATE {1} SET {0} = {0}" if writing else "SELECT {0} FROM {1}"
    lock = sql.SQL("PREPARE saltern_held AS " + text + "; DEALLOCATE saltern_held")
    with connection.transaction():
        connection.execute(lock.format(column, name))
        refuse_others(
            connection, table.oid, table.columns, writes=table.writes,
            schema=table.schema, name=table.name, mark=table.mark,
        )
        yield


def _facts(
    connection: Connection, oid: int | None, *, id: Sequence[str] = (),
    columns: Sequence[str] = (), name: str = "",
) -> dict[str, list[dict[str, Any]]]:
    given = {"relation": oid, "id": list(id), "columns": list(columns), "name": name or None}
    return facts(connection, QUERIES, given)


def _relation(label: str, relation: dict[str, Any]) -> Iterator[str]:
    if relation["rules"]:
        yield f"{label} has rules, which may do something else than an UPDATE says"
    if relation["kind"] == "r" and relation["parent"]:
        yield (
            f"{label} has tables that inherit from it, in which ids may occur again: name "
            "each of them"
        )


def _oid(connection: Connection, path: Sequence[str]) -> int | None:
    """The table of this name: without a schema, the one that the site's search path finds."""
    label = sql.Identifier(*path).as_string(connection)
    with connection.transaction():
        configure(connection, {"search_path": None}, local=True)
        # Qualified, for that path may have other schemas before pg_catalog.
        query = "SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid::pg_catalog.int8"
        row = connection.execute(query, [label]).fetchone()
    return row[0] if row else None  # type: ignore[return-value]


def _keys(
    label: str, columns: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]
) -> tuple[Key, ...]:
    """The columns of the id in the order of an index that has these alone."""
    declared = {column["name"]: column["declared"] for column in columns}
    indexes: dict[int, list[dict[str, Any]]] = {}
    for key in found:
        indexes.setdefault(key["index"], []).append(key)
    whole = [keys for keys in indexes.values() if len(keys) == len(columns)]
    if not whole or not all(column["required"] for column in columns):
        names = ", ".join(declared)
        raise Refused(
            f"{label}.{names} may be null or occur twice: --id needs a column that is NOT NULL and "
            "has a unique index of its own, or several that have one (--id tenant,number)"
        )
    for key in whole[0]:
        if key["type"] is None:
            raise Refused(
                f"{label}.{key['name']} is of type {declared[key['name']]}, and so in the hands of "
                "whoever owns that type: --id needs one of the server or of an extension, no enum, "
                "array, range or composite"
            )
    keys = tuple(Key(key["name"], key["type"], tuple(key["operators"])) for key in whole[0])
    if len({key.operators for key in keys}) > 1:
        raise Refused(
            f"{label}: the columns of --id have operators in several schemas, so that they cannot "
            "be compared as a row: name a column that is unique by itself"
        )
    return keys


def _hash_column(
    label: str, column: dict[str, Any], json_key: str | None, writes: bool
) -> Iterator[str]:
    declared = f"{label} is of type {column['declared']}"
    if json_key is not None:
        if column["declared"] not in ("text", "json", "jsonb"):
            yield f"{declared}: expected json, jsonb or text"
    elif column["type"] in ("json", "jsonb"):
        yield f"{declared}: --json-key says where the string is"
    elif column["type"] not in ("text", "varchar") or column["kind"] != "b":
        yield f"{declared}: expected text or varchar"
    if column["generated"] and writes:
        yield f"{label} is a generated column: name the one that it comes from"


def _session(session: dict[str, Any]) -> Iterator[str]:
    if session["standby"]:
        yield (
            "this server is a standby: connect to the primary (with several hosts, "
            "target_session_attrs=read-write)"
        )
    elif session["read_only"]:
        yield "sessions of this role or server are read-only (transaction_read_only)"
    if not session["temporary"]:
        yield "the role may not make temporary tables: GRANT TEMPORARY ON DATABASE … TO …"


def _writable(found: dict[str, list[dict[str, Any]]], fire: bool) -> Iterator[str]:
    for row in found["referring"][:1]:
        yield (
            f"a foreign key of {row['table']} refers to {row['column']}: an UPDATE would fail, or "
            "change that table, too, and fire its triggers with the rights of this job. Drop it "
            "for the job"
        )
    triggers = found["triggers"]
    if triggers and not fire:
        yield (
            f"an UPDATE fires triggers: {', '.join(row['name'] for row in triggers)}. Disable them "
            "for the job, or say --triggers-fire if they are to fire for every row that changes"
        )
    for row in triggers if fire else ():
        if row["function"] is not None:
            yield (
                f"the trigger {row['name']} calls {row['function']}, which has no search_path of "
                "its own, and would look names up in the job's, which is pg_catalog alone: ALTER "
                f"FUNCTION {row['function']} SET search_path = …, pg_temp (the schemas that it "
                "needs), or disable the trigger for the job"
            )


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
