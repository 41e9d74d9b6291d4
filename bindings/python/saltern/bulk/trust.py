"""Whether a table and a ledger are ones that nobody makes the job run code with.

What a table has beside its rows (triggers, constraints, types, expressions of indexes) is run by
whoever writes to it, with that role's rights, and some of it by whoever reads. So a table is used
only if all that it depends on belongs to trusted roles, and nobody else can add to it; and a ledger
if it belongs to such roles, and is what we would have made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltern.bulk.database import Connection
from saltern.bulk.refusal import Refused

TRUSTED = """
WITH RECURSIVE sure AS (
  SELECT oid FROM pg_roles WHERE rolsuper OR rolname IN (current_user, 'pg_database_owner')
  UNION SELECT datdba FROM pg_database WHERE datname = current_database()
), trusted AS (
  TABLE sure UNION SELECT relowner FROM pg_class WHERE oid = %(relation)s::oid
)
"""
"""Who is trusted: this role; superusers, who can do anything; the owner of the database; and that
of the table, whose functions its constraints and indexes run in any case."""

OF_LEDGER = TRUSTED + """
, tables AS (
  SELECT oid, relname, relowner, relacl FROM pg_class
  WHERE relnamespace = to_regnamespace(%(schema)s) AND relname = ANY(%(tables)s)
)
SELECT 1 AS place, 'schema' AS kind, nspname::text AS name, nspowner::regrole::text AS role
FROM pg_namespace WHERE oid = to_regnamespace(%(schema)s) AND nspowner NOT IN (TABLE trusted)
UNION ALL
SELECT 2, 'table', relname::text, relowner::regrole::text
FROM tables WHERE relowner NOT IN (TABLE trusted)
UNION ALL
SELECT 3, privilege_type, relname::text,
       CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
FROM (
  SELECT relname, relacl FROM tables
  UNION ALL SELECT relname, attacl FROM tables JOIN pg_attribute ON attrelid = oid
) AS granted, aclexplode(relacl)
WHERE privilege_type <> 'SELECT' AND grantee NOT IN (TABLE trusted)
  AND NOT (privilege_type IN ('INSERT', 'UPDATE') AND grantee IN (
    SELECT roleid FROM pg_auth_members WHERE member = current_user::regrole
  ))
ORDER BY 1, 3, 4 LIMIT 1
"""
"""Who else may change it. What a group of this role may write is what this role may write."""

PARTS = "(SELECT %(relation)s::oid AS oid UNION SELECT relid FROM pg_partition_tree(%(relation)s::oid))"

MARK = f"""
SELECT md5(string_agg(oid::text || ':' || coalesce(pg_relation_filenode(oid), 0), ' ' ORDER BY oid))
         AS mark
FROM {PARTS} AS parts
"""
"""Of the numbers of the table's files: TRUNCATE gives it new ones, as VACUUM FULL does."""

OF_TABLE = TRUSTED + """
, family AS (
  SELECT oid, relowner, relacl, relnamespace, false AS above FROM pg_class
  WHERE oid = %(relation)s::oid OR oid IN (SELECT relid FROM pg_partition_tree(%(relation)s::oid))
  UNION ALL
  SELECT oid, relowner, relacl, relnamespace, true FROM pg_class
  WHERE oid <> %(relation)s::oid
    AND oid IN (SELECT relid FROM pg_partition_ancestors(%(relation)s::oid))
), parts (class, object) AS (
  SELECT 'pg_class'::regclass::oid, oid FROM family
  UNION ALL
  SELECT 'pg_namespace'::regclass, relnamespace FROM family WHERE oid = %(relation)s::oid
  UNION
  SELECT next.* FROM parts, LATERAL (
    SELECT refclassid, refobjid FROM pg_depend
    WHERE classid = class AND objid = object AND (
      refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass,
                     'pg_opclass'::regclass, 'pg_opfamily'::regclass, 'pg_collation'::regclass)
      OR refclassid = 'pg_class'::regclass
        AND classid IN ('pg_type'::regclass, 'pg_proc'::regclass, 'pg_rewrite'::regclass))
    UNION ALL
    SELECT class, other FROM pg_operator AS o, unnest(ARRAY[oprcom, oprnegate]) AS other
    WHERE class = 'pg_operator'::regclass AND o.oid = object AND other <> 0
    UNION ALL
    SELECT classid, objid FROM pg_depend
    WHERE refclassid = class AND refobjid = object AND (
      classid = 'pg_cast'::regclass OR deptype IN ('a', 'i', 'P', 'S') AND CASE classid
        WHEN 'pg_class'::regclass THEN
          EXISTS (SELECT FROM pg_class WHERE oid = objid AND relkind IN ('i', 'I', 'c'))
        WHEN 'pg_attrdef'::regclass THEN
          EXISTS (SELECT FROM pg_attrdef AS d JOIN pg_attribute ON attrelid = adrelid
                  AND attnum = adnum WHERE d.oid = objid AND attgenerated <> '')
        WHEN 'pg_trigger'::regclass THEN
          %(writes)s AND EXISTS (SELECT FROM pg_trigger WHERE oid = objid
                                 AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 16 <> 0)
        ELSE classid IN ('pg_type'::regclass, 'pg_constraint'::regclass, 'pg_rewrite'::regclass,
                         'pg_statistic_ext'::regclass, 'pg_amop'::regclass, 'pg_amproc'::regclass)
      END)
  ) AS next
), may (schema, role) AS (
  SELECT oid, nspowner FROM pg_namespace
  UNION
  SELECT oid, grantee FROM pg_namespace, aclexplode(nspacl) WHERE privilege_type = 'CREATE'
), strangers (place, kind, name, role) AS (
  SELECT 0, 'replaced', concat(%(schema)s::text, '.', %(name)s::text), NULL::oid
  WHERE %(name)s::text IS NOT NULL
    AND (to_regclass(format('%%I.%%I', %(schema)s::text, %(name)s::text))::oid, (""" + MARK + """))
        IS DISTINCT FROM (%(relation)s::oid, %(mark)s::text)
  UNION ALL
  SELECT 1, 'hidden', concat(n.nspname, '.', relname), NULL
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
  WHERE c.oid = %(relation)s::oid AND row_security_active(c.oid)
  UNION ALL
  SELECT 2, 'found', n.nspname::text, role
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN may ON schema = n.oid
  WHERE %(searched)s AND c.oid = %(relation)s::oid AND relowner NOT IN (TABLE sure)
    AND role NOT IN (TABLE sure) AND (role <> relowner OR nspowner NOT IN (TABLE sure))
  UNION ALL
  SELECT 3, type, identity, refobjid
  FROM parts JOIN pg_shdepend ON classid = class AND objid = object AND deptype = 'o'
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()),
    LATERAL pg_identify_object(class, object, 0)
  WHERE refobjid NOT IN (TABLE trusted)
  UNION ALL
  SELECT 4, concat('path ', named), p.oid::regprocedure::text, role
  FROM parts JOIN pg_proc AS p ON class = 'pg_proc'::regclass AND p.oid = object
  JOIN pg_language AS l ON l.oid = prolang AND lanname NOT IN ('internal', 'c'),
    unnest(proconfig) AS setting, regexp_matches(substr(setting, 13), '("(?:[^"]|"")*"|[^", ]+)', 'g') AS word,
    LATERAL (SELECT replace(regexp_replace(word[1], '^"(.*)"$', '\\1'), '""', '"')) AS bare (name),
    LATERAL (SELECT CASE name WHEN '$user' THEN current_user::text ELSE name END) AS path (named)
  LEFT JOIN pg_namespace AS n ON nspname = named LEFT JOIN may ON schema = n.oid
  WHERE starts_with(setting, 'search_path=') AND named NOT IN ('', 'pg_temp')
    AND coalesce(role, 0) NOT IN (TABLE trusted)
  UNION ALL
  SELECT 5, 'TRIGGER', oid::regclass::text, grantee
  FROM family, aclexplode(relacl)
  WHERE %(writes)s AND NOT above AND privilege_type = 'TRIGGER' AND grantee NOT IN (TABLE trusted)
  UNION ALL
  SELECT 6, 'REFERENCES', f.oid::regclass::text, grantee
  FROM family AS f JOIN pg_attribute ON attrelid = f.oid AND attname = ANY(%(columns)s),
    LATERAL (SELECT * FROM aclexplode(relacl) UNION ALL SELECT * FROM aclexplode(attacl)) AS granted
  WHERE %(writes)s AND privilege_type = 'REFERENCES' AND grantee NOT IN (TABLE trusted)
    AND EXISTS (SELECT FROM pg_index
                WHERE indrelid = f.oid AND indisunique AND attnum = ANY(indkey))
)
SELECT kind, name,
       CASE role WHEN 0 THEN 'PUBLIC' ELSE coalesce(role::regrole::text, 'nobody yet') END
FROM strangers ORDER BY place, kind <> 'table', name, role LIMIT 1
"""
"""Whose code a job would run, or might; whether the table is another one by now, and whether rows
are hidden. `parts` are all objects that
the catalogue says the table depends on, one after the other, and all that belong to these: types of
columns, their casts and constraints, expressions of indexes, their operators and functions, the
views that these read. Reading
is enough for much of that: the planner computes constants in indexes, constraints and statistics.
The owner of a partitioned table may add indexes to partitions of others. Objects of the first
superuser, and those that came with the server, have no entry in pg_shdepend."""

SHAPE = """
WITH tables AS (
  SELECT * FROM pg_class WHERE relnamespace = {schema} AND relname = ANY(%(tables)s)
)
SELECT relname::text AS table, 'kind of relation' AS kind, relkind::text AS name, '' AS what FROM tables
UNION ALL
SELECT relname::text, 'row-level security', '',
       concat_ws(' ', relrowsecurity, relforcerowsecurity, (
         SELECT count(*) FROM pg_policy WHERE polrelid = tables.oid))
FROM tables
UNION ALL
SELECT relname::text, 'column', attname::text,
       concat_ws(' ', attnum, format_type(atttypid, atttypmod), attnotnull, attidentity,
                 attgenerated, pg_get_expr(adbin, adrelid))
FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL
SELECT tables.relname::text, 'constraint', conname::text,
       concat_ws(' ', contype, conkey, confkey, other.relname,
                 other.relnamespace = tables.relnamespace, confdeltype, confupdtype,
                 condeferrable, pg_get_expr(conbin, conrelid))
FROM tables JOIN pg_constraint ON conrelid = tables.oid AND contype <> 'n'
LEFT JOIN pg_class AS other ON other.oid = confrelid
UNION ALL
SELECT relname::text, 'index', indexrelid::regclass::text, ''
FROM tables JOIN pg_index ON indrelid = tables.oid
WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
UNION ALL
SELECT relname::text, 'trigger', tgname::text, ''
FROM tables JOIN pg_trigger ON tgrelid = tables.oid AND NOT tgisinternal
UNION ALL
SELECT relname::text, 'rule', rulename::text, ''
FROM tables JOIN pg_rewrite ON ev_class = tables.oid
UNION ALL
SELECT relname::text, 'inheritance', other::regclass::text, ''
FROM tables JOIN (SELECT inhrelid, inhparent FROM pg_inherits
                  UNION ALL SELECT inhparent, inhrelid FROM pg_inherits) AS pairs (own, other)
  ON own = tables.oid
"""
"""All of a table that can run something, or that statements of ours rely on. Indexes of columns
alone, which people may add, do neither."""


LEDGER = {
    "schema": """
SELECT has_schema_privilege(oid, 'USAGE') AS usable FROM pg_namespace
WHERE oid = to_regnamespace(%(schema)s)
""",
    "tables": """
SELECT relname AS name, has_table_privilege(oid, 'SELECT') AS "SELECT",
       has_table_privilege(oid, 'INSERT') AS "INSERT", has_table_privilege(oid, 'UPDATE') AS "UPDATE"
FROM pg_class WHERE relnamespace = to_regnamespace(%(schema)s) AND relname = ANY(%(tables)s)
""",
    "strangers": OF_LEDGER,
    "shape": SHAPE.format(schema="to_regnamespace(%(schema)s)"),
    "wanted": SHAPE.format(schema="pg_my_temp_schema()"),
}
"""What is to be known of a ledger, in one statement."""


def refuse_others(
    connection: Connection, relation: int, columns: Sequence[str], *, writes: bool,
    searched: bool = False, schema: str | None = None, name: str | None = None, mark: str = "",
) -> None:
    """Refuses a table where an untrusted role can have code run by the job, or whose rows are
    hidden from it. `columns` are those of its strings; `searched` says that its name was given
    without a schema. With `schema` and `name`, a table is refused that is another one by now, or has
    another `mark`."""
    parameters = {
        "relation": relation, "columns": list(columns), "searched": searched, "writes": writes,
        "schema": schema, "name": name, "mark": mark,
    }
    # Once in each transaction: planning it takes most of its time.
    found: Any = connection.execute(OF_TABLE, parameters, prepare=True).fetchone()
    if found is None:
        return
    kind, name, role = found
    if kind == "replaced":
        raise Refused(replaced(name))
    if kind == "hidden":
        raise Refused(
            f"{name} has row-level security, which may hide rows from this role: use one that has "
            "BYPASSRLS"
        )
    if kind == "found":
        raise Refused(
            f"--table leads to the schema {name}, where {role} may have put a table of this name: "
            f"if it is the one, say --table {name}.…"
        )
    if kind == "TRIGGER":
        raise Refused(
            f"{role} may add triggers to {name} while this job runs, which would run with its "
            f"rights and see every string: REVOKE TRIGGER ON {name} FROM {role}"
        )
    if kind == "REFERENCES":
        listed = ", ".join(columns)
        raise Refused(
            f"{role} may have foreign keys refer to {name} ({listed}), whose triggers would run "
            f"with the rights of this job and see every string: REVOKE REFERENCES ON {name} FROM "
            f"{role}, and REVOKE REFERENCES ({listed}) if it was granted on the column"
        )
    if kind.startswith("path "):
        schema = kind.removeprefix("path ")
        raise Refused(
            f"the table uses the function {name}, which looks names up in the schema {schema}, "
            f"where {role} may put others of these names, which would run with the rights of this "
            f"job: REVOKE CREATE ON SCHEMA {schema} FROM {role}, or ALTER FUNCTION {name} SET "
            "search_path = …"
        )
    raise Refused(
        f"the table uses the {kind} {name}, which belongs to {role}, who may have it run anything "
        f"with the rights of this job: ALTER {kind.upper()} {name} OWNER TO the owner of the table"
    )


def replaced(label: str) -> str:
    """What is said of a table that is another one by now."""
    return (
        f"{label} was replaced, emptied, rewritten or hidden from this role while it was worked on"
    )


def refuse_strangers(found: Sequence[Mapping[str, Any]], schema: str) -> None:
    """Refuses a ledger that an untrusted role can change."""
    if not found:
        return
    kind, name, role = (found[0][key] for key in ("kind", "name", "role"))
    if kind in ("TRIGGER", "REFERENCES"):
        what = "triggers" if kind == "TRIGGER" else "foreign keys with triggers"
        raise Refused(
            f"{role} may add {what} to the table {schema}.{name} of the ledger, which would run "
            f"with the rights of whoever changes it: REVOKE {kind} ON {schema}.{name} FROM {role}"
        )
    if kind not in ("schema", "table"):
        raise Refused(
            f"{role} may write to the table {schema}.{name} of the ledger, and so have rows left "
            f"out: REVOKE {kind} ON {schema}.{name} FROM {role} (perhaps from default privileges, "
            "too), or name another --ledger-schema"
        )
    label = name if kind == "schema" else f"{schema}.{name}"
    raise Refused(
        f"the {kind} {label} of the ledger belongs to {role}, who could have this job run anything "
        f"with its rights: ALTER {str(kind).upper()} {label} OWNER TO a role that may (the job's, "
        "the table's or the database's owner, a superuser), or name another --ledger-schema"
    )


def refuse_additions(schema: str, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuses tables of a ledger that are not as those that were just made beside them."""
    here, wanted = ({tuple(row.values()) for row in found[name]} for name in ("shape", "wanted"))
    for other, verb in ((here - wanted, "has another"), (wanted - here, "lacks the")):
        for table, *what, _ in sorted(other):
            raise Refused(
                f"{schema}.{table} is not the table that docs/bulk.md shows: it {verb} "
                f"{', '.join(filter(None, what))}. Have it made anew as shown there, or name "
                "another --ledger-schema"
            )
