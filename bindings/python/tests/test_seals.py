"""Strings that are sealed for an account."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

import saltern
import saltern.pwdlib
from saltern import AsyncPasswordHasher, PasswordHasher, TamperedError


@pytest.fixture
def policies(tmp_path: Path) -> tuple[PasswordHasher, PasswordHasher]:
    """With and without `required`."""
    key = bytes(range(32))
    (tmp_path / "seal.key").write_bytes(key)
    (tmp_path / "seal.key").chmod(0o600)
    mark = hashlib.sha256(b"saltern hash key fingerprint 1" + key).hexdigest()[:16]

    def policy(required: str) -> PasswordHasher:
        return PasswordHasher.from_policy_text(
            f"[params]\nn = 16\nr = 1\n[seal]\nrequired = {required}\n[[seal.keys]]\n"
            f'name = "2026"\nfile = "seal.key"\nfingerprint = "{mark}"\nactive = true\n',
            beside=tmp_path,
        )

    return policy("true"), policy("false")


@pytest.fixture
def sealing(policies) -> PasswordHasher:
    return policies[0]


def test_a_string_belongs_to_its_account(hasher, sealing):
    stored = sealing.hash("secret", account="alice")
    assert stored.startswith("{seal=2026+")
    assert sealing.verify(stored, "secret", account="alice")
    assert sealing.verify_and_update(stored, "secret", account=b"alice") == (True, None)
    with pytest.raises(saltern.VerifyMismatchError):
        sealing.verify(stored, "Secret", account="alice")
    plain = stored.split("}", 1)[1]
    cut = [stored[:-1], stored.replace("$y$", "$x$"), stored.replace("{seal", "{sea1"), ""]
    moved = [("bob", stored), ("alice", plain), ("alice", hasher.hash("secret"))]
    for account, text in moved + [("alice", text) for text in cut]:
        for password in "secret", "Secret":
            with pytest.raises(TamperedError):
                sealing.verify(text, password, account=account)
            with pytest.raises(ValueError):
                sealing.verify_and_update(text, password, account=account)
    for call in (lambda: sealing.hash("x"), lambda: sealing.verify(stored, "secret")):
        with pytest.raises(saltern.BadInputError, match="account"):
            call()


def test_sealing_needs_no_password(policies):
    required, sealing = policies
    stored = sealing.hash("secret", account="alice")
    plain = stored.split("}", 1)[1]
    with pytest.raises(TamperedError):
        required.seal(plain, "alice")
    assert sealing.seal(plain, "alice") == stored and sealing.seal(stored, "alice") is None
    with pytest.raises(TamperedError):
        sealing.seal(stored, "bob")
    with pytest.raises(TamperedError):
        sealing.rekey(stored, account="bob")
    assert sealing.rekey(stored, account="alice") is None


def test_columns(policies):
    required, sealing = policies
    accounts, passwords = ["alice", "bob", "carol"], ["a", "b", "c"]
    stored = sealing.hash_many(passwords, accounts=accounts)
    assert sealing.verify_many(stored, passwords, accounts=accounts) == [True] * 3
    swapped = [stored[1], stored[0], stored[2]]
    answers = sealing.verify_many(swapped, passwords, accounts=accounts)
    assert [type(answer) for answer in answers] == [TamperedError, TamperedError, bool]
    plain = [text.split("}", 1)[1] for text in stored]
    refused = pa.array(required.seal_many(plain, accounts))
    assert refused.field("outcome").to_pylist() == ["tampered"] * 3
    rows = pa.array(sealing.seal_many(plain, accounts))
    assert rows.field("hash").to_pylist() == stored
    counts, rows = sealing.count_many(swapped, accounts=accounts)
    assert (counts["sealed"], counts["tampered"]) == (1, 2)
    assert pa.array(rows).field("outcome").to_pylist() == ["tampered", "tampered", "same"]


def test_adapters_refuse_a_policy_that_seals(policies):
    for hasher in policies:
        with pytest.raises(saltern.BadInputError, match="does not say whose"):
            saltern.pwdlib.YescryptHasher(hasher=hasher)


def test_logins_of_asyncio(sealing):
    async def log_in(account):
        passwords = AsyncPasswordHasher.of(sealing)
        return await passwords.verify_and_update(stored, "secret", account=account)

    stored = sealing.hash("secret", account="alice")
    assert asyncio.run(log_in("alice")) == (True, None)
    with pytest.raises(TamperedError):
        asyncio.run(log_in("bob"))
