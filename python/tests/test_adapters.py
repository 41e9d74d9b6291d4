"""The adapters, in the frameworks that they are for."""

from __future__ import annotations

import subprocess
import sys

import pwdlib
import pytest
from passlib.context import CryptContext
from pwdlib.hashers.bcrypt import BcryptHasher

import saltern
import saltern.libpass
import saltern.pwdlib

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def hashers():
    import django
    from django.conf import settings

    settings.configure(PASSWORD_HASHERS=[
        "saltern.django.YescryptPasswordHasher",
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    ])
    django.setup()
    from django.contrib.auth import hashers

    return hashers


def test_the_package_needs_none_of_them(run):
    ended = run("""
import sys
import saltern, saltern.pwdlib
there = {"django", "pwdlib", "passlib", "argon2", "numpy", "pyarrow", "asyncio"} & set(sys.modules)
assert there <= {"asyncio"}, there
""")
    assert ended.returncode == 0, ended.stderr


def test_pwdlib():
    ours = saltern.pwdlib.YescryptHasher(1)
    passwords = pwdlib.PasswordHash([ours, BcryptHasher()])
    stored = passwords.hash(PASSWORD)
    assert passwords.verify(PASSWORD, stored) and not passwords.verify("no", stored)
    assert passwords.verify_and_update(PASSWORD, stored) == (True, None)
    old = BcryptHasher(4).hash(PASSWORD)
    valid, update = passwords.verify_and_update(PASSWORD, old)
    assert valid and ours.identify(update)
    dearer = pwdlib.PasswordHash([saltern.pwdlib.YescryptHasher(2)])
    valid, update = dearer.verify_and_update(PASSWORD, stored)
    assert valid and update is not None and not dearer.current_hasher.check_needs_rehash(update)
    with pytest.raises(saltern.InvalidHashError, match="wrong order"):
        ours.verify(stored, PASSWORD)
    # A key that is not there is no wrong password.
    with pytest.raises(saltern.UnavailableError):
        passwords.verify(PASSWORD, "{key=gone+0123456789abcdef}" + stored)
    with pytest.raises(pwdlib.exceptions.UnknownHashError):
        passwords.verify(PASSWORD, "tiger")


def test_pwdlib_with_a_policy():
    hasher = saltern.PasswordHasher.from_policy_text("[params]\ncost = 2\n")
    assert saltern.inspect(saltern.pwdlib.YescryptHasher(hasher=hasher).hash("a"))["n"] == 2048


def test_libpass():
    yescrypt = saltern.libpass.yescrypt
    context = CryptContext(
        [yescrypt, "bcrypt"], yescrypt__cost=2, bcrypt__rounds=4, deprecated="auto"
    )
    stored = context.hash(PASSWORD)
    assert stored.startswith("$y$j85$") and context.identify(stored) == "yescrypt"
    assert context.verify(PASSWORD, stored) and not context.verify("no", stored)
    assert context.verify_and_update(PASSWORD, stored) == (True, None)
    old = BcryptHasher(4).hash(PASSWORD)
    valid, update = context.verify_and_update(PASSWORD, old)
    assert valid and update.startswith("$y$j85$")
    dearer = context.copy(yescrypt__cost=3)
    assert dearer.needs_update(stored) and not context.needs_update(stored)
    assert not yescrypt.identify("$2b$04$") and yescrypt.identify(stored.encode())
    with pytest.raises(saltern.InvalidHashError):
        context.verify(PASSWORD, stored[:-1])
    with pytest.raises(saltern.BadInputError, match="this handler's cost"):
        yescrypt.genhash(PASSWORD, stored)
    with pytest.raises(saltern.UnavailableError):
        context.verify(PASSWORD, "{key=gone+0123456789abcdef}" + stored)
    with pytest.raises(TypeError, match="rounds"):
        yescrypt.using(rounds=3)


def test_django(hashers):
    encoded = hashers.make_password(PASSWORD)
    assert encoded.startswith("yescrypt$$y$j9T$")
    updates = []
    assert hashers.check_password(PASSWORD, encoded, updates.append)
    assert not hashers.check_password("no", encoded) and updates == []
    # From another hasher of the settings, and from a lower cost.
    old = hashers.make_password(PASSWORD, hasher="pbkdf2_sha256")
    assert hashers.check_password(PASSWORD, old, updates.append) and updates == [PASSWORD]
    ours = hashers.get_hasher("yescrypt")
    cheap = type(ours)()
    cheap.cost = 2
    weak = cheap.encode(PASSWORD, cheap.salt())
    assert not cheap.must_update(weak) and ours.must_update(weak)
    assert hashers.check_password(PASSWORD, weak, updates.append) and len(updates) == 2
    assert ours.must_update(ours.encode(PASSWORD, "iodizedsalt"))
    # A string of another program, with a salt of 16 bytes.
    stored = saltern.PasswordHasher().hash(PASSWORD)
    assert hashers.check_password(PASSWORD, "yescrypt$" + stored, updates.append)
    assert len(updates) == 2
    summary = ours.safe_summary(encoded)
    assert summary["algorithm"] == "yescrypt" and PASSWORD not in str(summary)
    with pytest.raises(saltern.UnavailableError):
        hashers.check_password(PASSWORD, "yescrypt${key=gone+0123456789abcdef}" + stored)


def test_django_hardens_the_time_of_weaker_strings(hashers, monkeypatch):
    ours = hashers.get_hasher("yescrypt")
    cheap = type(ours)()
    cheap.cost = 3
    weak = cheap.encode(PASSWORD, cheap.salt())
    verified = []
    monkeypatch.setattr(type(ours), "verify", lambda *call: verified.append(call) or False)
    ours.harden_runtime("no", weak)
    # Cost 5 takes four times as long as cost 3, of which one time is past.
    assert len(verified) == 3
    verified.clear()
    ours.harden_runtime("no", ours.encode(PASSWORD, ours.salt()))
    assert verified == []


def test_types(repository, tmp_path):
    program = tmp_path / "program.py"
    program.write_text('''
import asyncio
from collections.abc import Callable
from hashlib import file_digest
from typing import assert_type

import pwdlib
from pwdlib.hashers.base import HasherProtocol

import saltern
from saltern.pwdlib import YescryptHasher

hasher = saltern.PasswordHasher(5, schemes=["yescrypt"], deadline=2.0)
assert_type(hasher.hash("a"), str)
assert_type(hasher.verify("$y$", bytearray(b"a")), bool)
assert_type(hasher.verify_and_update(None, "a", account="b"), tuple[bool, str | None])
protocol: HasherProtocol = YescryptHasher()
pwdlib.PasswordHash([protocol])
assert_type(saltern.blake2b(b"a", digest_size=20).digest(), bytes)
with open("file", "rb") as file:
    file_digest(file, saltern.blake2b)
assert_type(saltern.blake2b.hash_many([b"a"])[0], bytes | None)

async def main() -> None:
    assert_type(await saltern.AsyncPasswordHasher().hash("a"), str)

asyncio.run(main())
hasher.hash(7)  # type: ignore[arg-type]
saltern.blake2b("text")  # type: ignore[arg-type]
''')
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, program]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout
