"""The table of Keycloak, whose strings are in two columns of documents."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SCHEMES, Bulk, Policies, Server

from saltern import PasswordHasher, string_in_json

# As Keycloak 26 makes it.
TABLE = """
DROP TABLE IF EXISTS more, credential; DROP SCHEMA IF EXISTS saltern_bulk CASCADE;
CREATE TABLE credential (
  id varchar(36) PRIMARY KEY, salt bytea, type varchar(255), user_id varchar(36),
  created_date bigint, user_label varchar(255), secret_data text, credential_data text,
  priority integer, version integer DEFAULT 0
);
GRANT SELECT (id, type, secret_data, credential_data) ON credential TO worker;
GRANT UPDATE (secret_data, credential_data) ON credential TO worker
"""
WHERE = ("--table", "credential", "--keycloak")
# From argon2-cffi 25.1.0, for the password `s`.
ARGON2 = (
    "/kUVD5Uyuc+ftud8pxb8bQ==",
    "yRN2GyPz7LGoEj2GHh5J/NwwLr9r0yzCoYTH1PcmEbRxBbNClldE4vjomSB3q8GPl0gFMFNttIwSqSLoEYrr5Q==",
    {"hashLength": ["64"], "memory": ["16"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"]},
)
Row = tuple[str, str | None, str | None]


def row(
    value: str, salt: str, algorithm: str, iterations: int, type: str = "password",
    more: dict[str, list[str]] | None = None,
) -> Row:
    """A credential; how its documents are written is hard to keep."""
    secret = f'{{"value":{json.dumps(value)}, "salt":"{salt}","additionalParameters":{{}}}}'
    data = (
        f'{{"hashIterations" : {iterations},"algorithm":"{algorithm}",'
        f'"additionalParameters":{json.dumps(more or {})}, "x":"a\\u0301 \\"q\\" \\\\ \\u0000\\ud83d\\ude00\\/ \u00e4\u2028\x7f"}}'
    )
    return type, secret, data


def made(password: str, hash: str = "sha256", type: str = "password") -> Row:
    """What Keycloak makes of a password."""
    salt, size = hashlib.md5(password.encode()).digest(), {"sha1": 20, "sha256": 32, "sha512": 64}
    value = hashlib.pbkdf2_hmac(hash, password.encode(), salt, 10, size[hash])
    algorithm = "pbkdf2" if hash == "sha1" else f"pbkdf2-{hash}"
    texts = [base64.b64encode(part).decode() for part in (value, salt)]
    return row(texts[0], texts[1], algorithm, 10, type)


def given(hasher: PasswordHasher) -> tuple[list[Row], dict[str, str]]:
    """Credentials of all kinds, and the passwords of those that have one."""
    salt, value, more = ARGON2
    rows, passwords = [row(value, salt, "argon2", 2, more=more)], ["s"]
    for n in range(60):
        kinds = [("sha1", "password"), ("sha256", "password"), ("sha512", "password-history")]
        rows.append(made(f"password {n}", *kinds[n % 3]))
        passwords.append(f"password {n}")
    for n in range(20):
        rows.append(row(hasher.hash(f"new {n}"), "", "saltern", -1))
        passwords.append(f"new {n}")
    known = {str(n): password for n, password in enumerate(passwords)}
    otp = '{"value":"JBSWY3DPEHPK3PXP"}', '{"subType":"totp","digits":6}'
    return [*rows, ("otp", *otp), ("password", None, None)], known


def fill(server: Server, rows: list[Row]) -> None:
    server.admin(TABLE)
    with server.connect() as connection:
        for number, values in enumerate(rows):
            connection.execute(
                "INSERT INTO credential (id, user_id, user_label, type, secret_data, "
                "credential_data) VALUES (%s, 'u', 'label', %s, %s, %s)", [str(number), *values],
            )


def content(server: Server) -> dict[str, Row]:
    with server.connect() as connection:
        rows = connection.execute(
            "SELECT id, type, secret_data, credential_data FROM credential "
            "WHERE user_id = 'u' AND user_label = 'label' AND version = 0"
        )
        return {id: (type, secret, data) for id, type, secret, data in rows}


def stored(row: Row) -> str | None:
    names = ("type", "secret_data", "credential_data")
    return string_in_json(json.dumps(dict(zip(names, row, strict=True))), keycloak=True)


def verify_all(rows: dict[str, Row], hasher: PasswordHasher, known: dict[str, str]) -> None:
    strings = [stored(rows[n]) for n in known]
    right = hasher.verify_many(strings, list(known.values()), accounts=list(known))
    assert right == [True] * len(known)


def others(row: Row) -> tuple[str, ...]:
    """All of a credential but what makes its string, byte for byte."""
    texts = [row[0]]
    for text, names in zip(row[1:], (("value", "salt"), ("algorithm",)), strict=True):
        read = json.loads(text or "{}")
        for name in names:
            text = text and text.replace(json.dumps(read.get(name)), "…", 1)
        texts.append(str(text))
    return tuple(texts)


def policy(policies: Policies, file: Path) -> Path:
    """One that knows the schemes of Keycloak, too."""
    text = file.read_text().replace(SCHEMES, SCHEMES.replace("]", ', "pbkdf2", "argon2"]'))
    file = policies.folder / f"keycloak-{file.name}"
    file.write_text(text)
    return file


def test_a_table_is_moved(
    server: Server, policies: Policies, bulk: Bulk, tmp_path: Path
) -> None:
    rows, known = given(policies.hasher("a"))
    fill(server, rows)
    before, old, new = content(server), *(policy(policies, policies.file(name)) for name in "ab")
    verify_all(before, PasswordHasher.from_policy(old), known)
    counts = bulk("census", old, *WHERE).report
    assert (counts["accounts"], counts["without_string"], counts["bad"]) == (len(known), 2, 0)
    assert counts["needs_wrap"] == 61 and counts["schemes"] == {
        "argon2": 1, "pbkdf2": 60, "yescrypt": 20
    }
    ran = bulk("wrap", old, *WHERE, "--range-rows", 17)
    assert (ran.status, ran.report["changed"]) == (0, 61), ran.said
    verify_all(content(server), PasswordHasher.from_policy(old), known)
    moved = bulk("rekey", new, *WHERE)
    assert moved.report["outcomes"] == {"changed": len(known), "empty": 2}, moved.said
    again = bulk("rekey", new, *WHERE).report
    assert again["outcomes"] == {"same": len(known), "empty": 2}
    after = content(server)
    verify_all(after, PasswordHasher.from_policy(new), known)
    assert {n: others(row) for n, row in after.items()} == {
        n: others(row) for n, row in before.items()
    }
    for n in known:
        _, secret, data = after[n]
        assert secret is not None and data is not None
        text = json.loads(secret)
        assert text["value"].startswith(("{key=b+", "{over=")) and text["salt"] == ""
        assert json.loads(data)["algorithm"] == "saltern"
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    wrong = {**known, "1": "wrong", "81": "none", "99": "none"}
    lines = (json.dumps({"id": n, "password": text}) for n, text in wrong.items())
    passwords.write_text("\n".join(lines))
    sample = bulk("verify-sample", new, *WHERE, "--passwords", passwords)
    assert sample.report["passwords"] == {
        "match": len(known) - 1, "mismatch": 1, "missing": 1, "without_string": 1, "error": 0,
    }, sample.said
    assert sample.report["outcomes"] == {"same": len(known), "empty": 2}


def test_a_table_is_sealed(server: Server, policies: Policies, bulk: Bulk) -> None:
    rows, known = given(policies.hasher("b"))
    fill(server, rows)
    ran = bulk("seal", policy(policies, policies.sealing("b")), *WHERE)
    assert ran.report["outcomes"] == {"changed": len(known), "empty": 2}, ran.said
    required = policy(policies, policies.sealing("b", required=True))
    verify_all(content(server), PasswordHasher.from_policy(required), known)
    server.admin(
        "UPDATE credential AS c SET secret_data = o.secret_data, credential_data = "
        "o.credential_data FROM credential AS o WHERE c.id = '1' AND o.id = '2'"
    )
    counts = bulk("census", required, *WHERE).report
    assert counts["tampered"] == 1 and [row["id"] for row in counts["listed"]] == ["1"]


def test_what_is_written_meanwhile_stays(
    server: Server, policies: Policies, bulk: Bulk, meanwhile: Callable[..., None]
) -> None:
    hasher, file = policies.hasher("a"), policy(policies, policies.file("b"))
    fill(server, [row(hasher.hash("first"), "", "saltern", -1) for _ in range(5)])
    _, secret, data = made("second")

    def writes() -> None:
        for change in (
            f"secret_data = '{secret}', credential_data = '{data}' WHERE id = '0'",
            """secret_data = replace(secret_data, '{}}', '{"n":["1"]}}') WHERE id = '1'""",
            "credential_data = replace(credential_data, '-1', '7') WHERE id = '2'",
            "type = 'otp' WHERE id = '3'",
        ):
            server.admin(f"UPDATE credential SET {change}")

    meanwhile(writes)
    ran = bulk("rekey", file, *WHERE)
    assert ran.status == 0 and ran.report["conflicts"] == 4, ran.said
    assert ran.report["outcomes"] == {"changed": 3, "same": 1, "empty": 1}
    rows = content(server)
    known = {"0": "second", "1": "first", "2": "first", "4": "first"}
    verify_all(rows, PasswordHasher.from_policy(file), known)
    assert rows["0"] == ("password", secret, data)
    assert '"additionalParameters":{"n":["1"]}' in str(rows["1"][1])
    assert '"hashIterations" : 7,' in str(rows["2"][2])
    moved = [n for n in known if (stored(rows[n]) or "").startswith("{key=b+")]
    assert moved == ["1", "2", "4"]
    assert rows["3"][0] == "otp" and "{key=a+" in str(rows["3"][1])


def test_what_cannot_be_read_stays(server: Server, policies: Policies, bulk: Bulk) -> None:
    right = made("x")
    _, secret, data = right
    assert secret is not None and data is not None
    wrong: list[Row] = [
        ("password", "no document", data), ("password", secret, "{}"),
        ("password", '{"salt":""}', data), ("password", secret, data.replace("10", '"ten"')),
        ("password", secret.replace('"salt"', '"value":"x","salt"'), data),
        ("password", secret, None),
    ]
    fill(server, [*wrong, right])
    before = content(server)
    ran = bulk("wrap", policy(policies, policies.file("a")), *WHERE, "--most-errors", 9)
    assert ran.report["outcomes"] == {"bad": 5, "empty": 1, "changed": 1}, ran.said
    rows = content(server)
    assert {n for n in rows if rows[n] != before[n]} == {"6"}


CHANGES = {
    "no such table": ("ALTER TABLE credential DROP credential_data", "no column credential_data"),
    "no types": ("ALTER TABLE credential DROP type", "no column type"),
    "other documents": (
        "ALTER TABLE credential ALTER credential_data TYPE json USING credential_data::json",
        "credential_data is of type json: Keycloak's is text",
    ),
    "no select": ("REVOKE SELECT (type) ON credential FROM worker", "lacks SELECT (type)"),
    "no update": (
        "REVOKE UPDATE (credential_data) ON credential FROM worker",
        "lacks UPDATE (credential_data)",
    ),
    "a foreign key": (
        "ALTER TABLE credential ADD UNIQUE (credential_data); DROP TABLE IF EXISTS more;"
        "CREATE TABLE more (data text REFERENCES credential (credential_data))",
        "a foreign key of public.more refers to credential_data",
    ),
    "a reference": (
        "CREATE UNIQUE INDEX ON credential (credential_data);"
        "GRANT REFERENCES (credential_data) ON credential TO public",
        "REVOKE REFERENCES (secret_data, credential_data)",
    ),
    "the id": ("ALTER TABLE credential ADD UNIQUE (secret_data)", "are the same column"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_tables(server: Server, policies: Policies, bulk: Bulk, case: str) -> None:
    fill(server, [made("x")])
    change, expected = CHANGES[case]
    server.admin(change)
    more: list[Any] = ["--id", "secret_data"] if case == "the id" else []
    ran = bulk("wrap", policy(policies, policies.file("a")), *WHERE, *more)
    server.admin("DROP TABLE IF EXISTS more")
    assert ran.status == 2 and expected in ran.said and ran.said.count("\n") == 1, ran.said


@pytest.mark.parametrize("column", ["secret_data", "credential_data"])
def test_a_trigger_that_changes_one_column(
    server: Server, policies: Policies, bulk: Bulk, column: str
) -> None:
    fill(server, [made("x")])
    before = content(server)
    server.admin(
        f"CREATE OR REPLACE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"NEW.{column} := NEW.{column} || ' '; RETURN NEW; END $$ SET search_path = pg_catalog;"
        "CREATE TRIGGER other BEFORE UPDATE ON credential FOR EACH ROW EXECUTE FUNCTION other()"
    )
    ran = bulk("wrap", policy(policies, policies.file("a")), *WHERE, "--triggers-fire")
    assert ran.status == 2 and "made something else of 1 new strings" in ran.said, ran.said
    assert content(server) == before


def test_one_place_is_named(policies: Policies) -> None:
    hasher = policies.hasher("a")
    with pytest.raises(ValueError, match="json_key or keycloak, not both"):
        hasher.check_many(["{}"], json_key="a", keycloak=True)
    with pytest.raises(ValueError, match="json_key or keycloak, not both"):
        string_in_json("{}", "a", keycloak=True)
    with pytest.raises(ValueError, match="one of json_key and keycloak is needed"):
        string_in_json("{}")
