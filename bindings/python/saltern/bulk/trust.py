"""Whether a table and a ledger are ones that nobody makes the job run code with.

What a table has beside its rows (triggers, rules, defaults, constraints) is run by whoever writes
to it, with that role's rights, and some of it by whoever reads. So a table is used only if nobody
but trusted roles can add to it; and a ledger if it belongs to such roles, and is what we would have
made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltern.bulk.database import Connection
from saltern.bulk.refusal import Refused

TRUSTED = """
WITH sure AS (
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
WHERE privilege_type IN ('TRIGGER', 'REFERENCES') AND grantee NOT IN (TABLE trusted)
ORDER BY 1, 3, 4 LIMIT 1
"""

OF_TABLE = TRUSTED + """
, family AS (
  SELECT oid, relowner, relacl, relnamespace, false AS above FROM pg_class
  WHERE oid = %(relation)s::oid OR oid IN (SELECT relid FROM pg_partition_tree(%(relation)s::oid))
  UNION ALL
  SELECT oid, relowner, relacl, relnamespace, true FROM pg_class
  WHERE oid <> %(relation)s::oid
    AND oid IN (SELECT relid FROM pg_partition_ancestors(%(relation)s::oid))
), parts (class, part) AS (
  SELECT 'pg_class'::regclass::oid, oid FROM family
  UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index JOIN family ON oid = indrelid
  UNION ALL SELECT 'pg_constraint'::regclass, c.oid
  FROM pg_constraint AS c JOIN family AS f ON f.oid = conrelid
  UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid
  FROM pg_statistic_ext AS s JOIN family AS f ON f.oid = stxrelid
  UNION ALL SELECT 'pg_attrdef'::regclass, d.oid
  FROM pg_attrdef AS d JOIN family AS f ON f.oid = adrelid
  JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum AND attgenerated <> ''
  UNION ALL SELECT 'pg_trigger'::regclass, t.oid
  FROM pg_trigger AS t JOIN family AS f ON f.oid = tgrelid
  WHERE %(writes)s AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 16 <> 0
)
SELECT 1, 'found', n.nspname::text, CASE WHEN role = 0 THEN 'PUBLIC' ELSE role::regrole::text END
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace,
     LATERAL (SELECT nspowner UNION
              SELECT grantee FROM aclexplode(nspacl) WHERE privilege_type = 'CREATE') AS may (role)
WHERE %(searched)s AND c.oid = %(relation)s::oid AND relowner NOT IN (TABLE sure)
  AND role NOT IN (TABLE sure) AND (role <> relowner OR nspowner NOT IN (TABLE sure))
UNION ALL
SELECT 2, CASE WHEN above THEN 'whole' ELSE 'partition' END, oid::regclass::text,
       relowner::regrole::text
FROM family WHERE relowner NOT IN (TABLE trusted)
UNION ALL
SELECT 3, 'own schema', nspname::text, nspowner::regrole::text
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = %(relation)s::oid AND nspowner NOT IN (TABLE trusted)
UNION ALL
SELECT 4, CASE WHEN p.oid IS NULL THEN 'domain' ELSE 'function' END,
       coalesce(p.oid::regprocedure::text, y.oid::regtype::text), owner::regrole::text
FROM parts JOIN pg_depend ON classid = class AND objid = part AND objsubid = 0
LEFT JOIN pg_operator AS o ON refclassid = 'pg_operator'::regclass AND o.oid = refobjid
LEFT JOIN pg_proc AS p
  ON p.oid = oprcode OR refclassid = 'pg_proc'::regclass AND p.oid = refobjid
LEFT JOIN pg_type AS y
  ON refclassid = 'pg_type'::regclass AND y.oid = refobjid AND typtype = 'd',
     LATERAL (SELECT coalesce(proowner, typowner)) AS whose (owner)
WHERE owner NOT IN (TABLE trusted)
UNION ALL
SELECT 5, 'own trigger', oid::regclass::text,
       CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
FROM family, aclexplode(relacl)
WHERE %(writes)s AND NOT above AND privilege_type = 'TRIGGER' AND grantee NOT IN (TABLE trusted)
UNION ALL
SELECT 6, 'own reference', f.oid::regclass::text,
       CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
FROM family AS f JOIN pg_attribute ON attrelid = f.oid AND attname = ANY(%(columns)s),
     LATERAL (SELECT * FROM aclexplode(relacl) UNION ALL SELECT * FROM aclexplode(attacl)) AS granted
WHERE %(writes)s AND privilege_type = 'REFERENCES' AND grantee NOT IN (TABLE trusted)
  AND EXISTS (SELECT FROM pg_index
              WHERE indrelid = f.oid AND indisunique AND attnum = ANY(indkey))
ORDER BY 1, 3, 4 LIMIT 1
"""
"""Whose code a job would run, or might. Reading is enough for functions of indexes, constraints and
statistics, whose constants the planner computes; and whoever owns a partitioned table may add
indexes to partitions of others."""

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
    connection: Connection, relation: int, columns: Sequence[str], *, searched: bool, writes: bool
) -> None:
    """Refuses a table where an untrusted role can have code run by the job. `columns` are those of
    its strings; `searched` says that its name was given without a schema."""
    parameters = {
        "relation": relation, "columns": list(columns), "searched": searched, "writes": writes,
    }
    found = connection.execute(OF_TABLE, parameters).fetchone()
    if found is None:
        return
    _, kind, name, role = found
    if kind == "found":
        raise Refused(
            f"--table leads to the schema {name}, where {role} may have put a table of this name: "
            f"if it is the one, say --table {name}.…"
        )
    if kind == "own trigger":
        raise Refused(
            f"{role} may add triggers to {name} while this job runs, which would run with its "
            f"rights and see every string: REVOKE TRIGGER ON {name} FROM {role}"
        )
    if kind == "partition":
        raise Refused(
            f"the partition {name} belongs to {role}, who may add triggers and constraints to it "
            "while this job runs, which would run with its rights and see every string there: "
            f"ALTER TABLE {name} OWNER TO the owner of the whole table"
        )
    if kind == "whole":
        raise Refused(
            f"the whole table {name} belongs to {role}, who may add indexes of expressions to this "
            "partition, which would run with the rights of this job: "
            f"ALTER TABLE {name} OWNER TO the owner of the partition"
        )
    if kind == "own schema":
        raise Refused(
            f"the schema {name} of the table belongs to {role}, who may put another table with "
            "triggers in its place while this job runs, which would run with its rights: "
            f"ALTER SCHEMA {name} OWNER TO the owner of the table"
        )
    if kind in ("function", "domain"):
        raise Refused(
            f"an index, a constraint or a trigger of the table calls {name}, which belongs to "
            f"{role}, who may have it do anything with the rights of this job: "
            f"ALTER {str(kind).upper()} {name} OWNER TO the owner of the table"
        )
    listed = ", ".join(columns)
    raise Refused(
        f"{role} may have foreign keys refer to {name} ({listed}), whose triggers would run "
        f"with the rights of this job and see every string: REVOKE REFERENCES ON {name} FROM "
        f"{role}, and REVOKE REFERENCES ({listed}) if it was granted on the column"
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
