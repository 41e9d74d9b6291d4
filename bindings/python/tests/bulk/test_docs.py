"""docs/bulk.md: its statements and its example are run."""

from __future__ import annotations

import re

import pytest
from conftest import REPOSITORY, Bulk, Policies, Server, fill

from saltern.bulk.ledger import DEFINITION


@pytest.fixture
def page() -> str:
    return (REPOSITORY / "docs" / "bulk.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_rights_of_the_page_suffice(
    server: Server, policies: Policies, bulk: Bulk, page: str
) -> None:
    rights, ledger, questions = blocks(page, "sql")
    assert DEFINITION.format(schema="saltern_bulk").strip() in ledger
    fill(server, "users", [policies.hasher("a").hash("x")] * 100 + ["garbage"])
    server.admin(
        "CREATE ROLE mover LOGIN; REVOKE CONNECT, TEMPORARY ON DATABASE postgres FROM public;"
        "REVOKE ALL ON SCHEMA public FROM public"
    )
    server.admin(rights.replace("DATABASE app", "DATABASE postgres") + ledger)
    ran = bulk("rekey", policies.file("b"), "--range-rows", 10, dsn=server.dsn("mover"))
    assert ran.report.get("changed") == 100, ran.said
    with server.connect() as connection:
        for question in questions.strip().split(";\n"):
            assert connection.execute(question.rstrip(";")).fetchall()
    server.admin(
        "DROP OWNED BY mover; DROP ROLE mover; GRANT USAGE ON SCHEMA public TO public;"
        "GRANT CONNECT, TEMPORARY ON DATABASE postgres TO public"
    )


def test_the_example(policies: Policies, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = blocks(page, "python")
    policies.file("a").rename(policies.folder / "saltern.toml")
    monkeypatch.chdir(policies.folder)
    stored = policies.hasher("a").hash("x")
    exec(example, {"stored": stored})
