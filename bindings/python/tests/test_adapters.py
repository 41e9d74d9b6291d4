"""The adapters, in the frameworks that they are for."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from base64 import b64encode

import pwdlib
import pytest
from passlib.context import CryptContext
from passlib.exc import PasswordSizeError
from pwdlib.hashers.bcrypt import BcryptHasher

import saltern
import saltern.libpass
import saltern.pwdlib
import saltern.schemes

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
assert not there, there
assert saltern.AsyncPasswordHasher.__name__ == "AsyncPasswordHasher"
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
    for unknown in "tiger", "*" + hashlib.sha1(b"tiger").hexdigest().upper():
        with pytest.raises(pwdlib.exceptions.UnknownHashError):
            passwords.verify(PASSWORD, unknown)
    # Locked accounts: there is nothing to log in with, and that is no error.
    for locked in "!", "*", "!!", "*LK*", b"!", "!" + old, "!" + stored, "!\xe9":
        assert passwords.verify_and_update(PASSWORD, locked) == (False, None)


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
    import saltern.django

    ours = hashers.get_hasher("yescrypt")
    cheap = type(ours)()
    cheap.cost = 3
    weak, new = (one.encode(PASSWORD, one.salt()) for one in (cheap, ours))
    verified = []
    monkeypatch.setattr(type(ours), "verify", lambda *call: verified.append(call) or False)
    monkeypatch.setattr(saltern.django, "hashed", lambda *call: verified.append(call))
    ours.harden_runtime("no", weak)
    # Cost 5 takes four times as long as cost 3, of which one time is past.
    assert len(verified) == 3
    verified.clear()
    ours.harden_runtime("no", new)
    # What is computed for a locked account costs as much as a new string.
    for locked in "yescrypt$!", "yescrypt${CRYPT}!", "yescrypt$!{over=md5}":
        ours.harden_runtime("no", weak.replace("yescrypt$", locked))
    assert verified == []
    ours.harden_runtime("no", "yescrypt$" + BcryptHasher(4).hash(PASSWORD))
    assert len(verified) == 1
    verified.clear()
    for before in "{CRYPT}", "{over=md5}", "{crypt}{over=$6$salt}":
        ours.harden_runtime("no", weak.replace("yescrypt$", "yescrypt$" + before))
        assert len(verified) == 3
        verified.clear()


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


def wrapped(stored: str) -> list[str]:
    """Strings that a policy's tools make of others: over another hash, locked, of another scheme."""
    ours = saltern.PasswordHasher(1, schemes=["yescrypt", "bcrypt"])
    old = BcryptHasher(4).hash(PASSWORD)
    return [ours.wrap(old), "!" + stored, old]


POLICY = 'schemes = ["yescrypt", "bcrypt"]\n[params]\ncost = 1\n'


def test_pwdlib_with_strings_of_tools(stored):
    ours = saltern.pwdlib.YescryptHasher(hasher=saltern.PasswordHasher.from_policy_text(POLICY))
    over, locked, old = wrapped(stored)
    assert ours.identify(over) and ours.identify(locked) and not ours.identify(old)
    assert ours.verify(PASSWORD, over) and not ours.verify("no", over)
    assert ours.check_needs_rehash(over) and not ours.verify(PASSWORD, locked)
    assert ours.verify(PASSWORD, old)


def test_libpass_with_strings_of_tools(stored, tmp_path):
    (tmp_path / "saltern.toml").write_text(POLICY)
    ours = saltern.libpass.yescrypt.using(policy=str(tmp_path / "saltern.toml"))
    over, locked, old = wrapped(stored)
    context = CryptContext([ours, "bcrypt"], deprecated="auto")
    assert context.verify(PASSWORD, over) and context.needs_update(over)
    assert not context.verify(PASSWORD, locked)
    assert not context.verify("no", over) and context.identify(old) == "bcrypt"


def test_django_with_strings_of_tools(hashers, stored, tmp_path, monkeypatch):
    (tmp_path / "saltern.toml").write_text(POLICY)
    ours = hashers.get_hasher("yescrypt")
    monkeypatch.setattr(type(ours), "policy", str(tmp_path / "saltern.toml"))
    over, locked, old = wrapped(stored)
    updates = []
    assert hashers.check_password(PASSWORD, "yescrypt$" + over, updates.append) and len(updates) == 1
    assert hashers.check_password(PASSWORD, "yescrypt$" + old, updates.append) and len(updates) == 2
    assert not hashers.check_password(PASSWORD, "yescrypt$" + locked)
    for one in over, locked, old:
        assert not hashers.check_password("no", "yescrypt$" + one)
        summary = ours.safe_summary("yescrypt$" + one)
        assert summary["algorithm"] == "yescrypt" and "*" in summary["hash"]
    # Salts of other programs are bytes.
    assert ours.safe_summary("yescrypt$" + stored)["salt"].strip("*").isalnum()


def test_django_refuses_strings_that_its_column_has_no_room_for(hashers, tmp_path, monkeypatch):
    import hashlib

    from django.core.exceptions import ImproperlyConfigured

    key = bytes(32)
    (tmp_path / "key").write_bytes(key)
    fingerprint = hashlib.sha256(b"saltern hash key fingerprint 1" + key).hexdigest()[:16]
    (tmp_path / "saltern.toml").write_text(
        "[params]\ncost = 1\n[[keys]]\nname = \"a-key-with-a-long-name-2026\"\n"
        f'file = "key"\nfingerprint = "{fingerprint}"\nactive = true\n'
    )
    ours = type(hashers.get_hasher("yescrypt"))()
    # Alike for users that there are and users that there are not.
    encoded = hashers.make_password(PASSWORD)
    monkeypatch.setattr(type(ours), "policy", str(tmp_path / "saltern.toml"))
    for use in (
        lambda: ours.encode(PASSWORD, ours.salt()),
        lambda: hashers.check_password("no", encoded),
        lambda: hashers.check_password(PASSWORD, encoded),
    ):
        with pytest.raises(ImproperlyConfigured, match="the column for passwords 128"):
            use()
    monkeypatch.setattr(type(ours), "max_length", 256)
    encoded = ours.encode(PASSWORD, ours.salt())
    assert len(encoded) > 128 and ours.verify(PASSWORD, encoded)


LONG = """schemes = ["yescrypt", "pbkdf2", "hex", "sha-crypt"]
[params]
cost = 1
[limits]
password = {}
"""
UNUSUAL = ["x" * 512, "ä" * 300, "a\0b", PASSWORD + "\0", "abc\ud800", "x" * (1 << 20), b"a\0b\xff"]


@pytest.mark.parametrize("password", UNUSUAL, ids=lambda password: f"{len(password)}")
def test_what_somebody_types_is_no_error(hashers, stored, password):
    """A password that crypt(3) does not take can be hashed, and matches no other string."""
    ours = saltern.pwdlib.YescryptHasher(1)
    handler = saltern.libpass.yescrypt.using(cost=1)
    assert ours.verify(password, stored) is False
    assert hashers.check_password(password, "yescrypt$" + stored) is False
    made = ours.hash(password)
    # Like any other string, for all programs.
    assert made.startswith("$y$j75$") and len(made) == len(stored)
    assert ours.verify(password, made) and not ours.verify(password[:-1], made)
    assert not ours.check_needs_rehash(made)
    encoded = hashers.make_password(password)
    assert hashers.is_password_usable(encoded) and hashers.check_password(password, encoded)
    assert not hashers.check_password(password + password, encoded)
    if len(password) <= 4096:
        assert handler.verify(password, handler.hash(password))
        assert handler.verify(password, stored) is False
        assert handler.genhash(password, made) == made
    else:
        # The contract of passlib's handlers.
        for use in handler.hash, lambda secret: handler.verify(secret, made):
            with pytest.raises(PasswordSizeError):
                use(password)
    # It is the string that is refused here, whatever the password.
    dear = stored.replace("$j75$", "$jET$")
    for one in "short", password[:4096]:
        for verify in ours.verify, handler.verify:
            with pytest.raises(saltern.OverLimitError):
                verify(one, dear)


def test_a_wrong_password_of_any_kind_costs_as_much_with_every_account(stored):
    """One hash; two for a password that crypt(3) does not take, if the policy takes it: its digest
    is another form of it."""
    asked = []

    class Counting:
        def __init__(self, hasher):
            self.hasher, self._takes = hasher, hasher._takes

        def verify(self, *call):
            asked.append(call)
            return self.hasher.verify(*call)

        def _verify_any(self, *call):
            asked.append(call)
            return self.hasher._verify_any(*call)

        def hash(self, password, salt):
            asked.append(("new", password))
            return self.hasher.hash(password, salt=salt)

    for limit, hashes in (511, 1), (4096, 2):
        counting = Counting(saltern.PasswordHasher.from_policy_text(LONG.format(limit)))
        wrapped = counting.hasher.wrap(hashlib.md5(b"another").hexdigest())
        for password in "x" * 512, "x" * 4000:
            for account in stored, wrapped:
                assert saltern.schemes.matches(counting, password, account) is False
                assert len(asked) == hashes
                asked.clear()
            # As many as Django computes for an account that is not there.
            assert saltern.schemes.hashed(counting, password).startswith("$y$")
            assert len(asked) == hashes and asked[-1][0] == "new"
            asked.clear()


def test_strings_of_programs_that_take_long_passwords():
    """Made with a policy that has the wide syntax, and read by an adapter with the same one."""
    text = "[params]\ncost = 1\n[limits]\npassword = 4096\nsyntax = 'wide'\n"
    wide = saltern.PasswordHasher.from_policy_text(text)
    ours = saltern.pwdlib.YescryptHasher(hasher=wide)
    for password in "x" * 600, "a\0b":
        assert ours.verify(password, wide.hash(password)) and ours.verify(password, ours.hash(password))
        # One that was made before the policy had it stays right, and the other way round.
        assert ours.verify(password, saltern.pwdlib.YescryptHasher(1).hash(password))
        assert saltern.pwdlib.YescryptHasher(1).verify(password, ours.hash(password))
        assert not ours.verify(password + "x", wide.hash(password))


@pytest.mark.parametrize("limit", [511, 4096])
@pytest.mark.parametrize("password", ["x" * 600, "ä" * 5000, "a\0b"], ids=["600", "10000", "zero"])
def test_strings_of_passwords_that_the_policy_refuses(limit, password, caplog):
    """Another program took them, so the adapters do, wrapped or not."""
    hasher = saltern.PasswordHasher.from_policy_text(LONG.format(limit))
    old = [
        hashlib.md5(password.encode()).hexdigest(),
        "pbkdf2_sha256$9$salt$"
        + b64encode(hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", 9)).decode(),
    ]
    ours = saltern.pwdlib.YescryptHasher(hasher=hasher)
    for stored in [*old, *map(hasher.wrap, old)]:
        assert ours.verify(password, stored) is True
        assert ours.verify(password + "x", stored) is False
        assert ours.check_needs_rehash(stored)
        assert ours.verify(password, "!" + stored) is False
    assert not caplog.text


@pytest.mark.parametrize("limit", [511, 1024])
def test_strings_that_take_time_for_each_byte_of_a_password(limit, caplog):
    """As docs/python.md has it: they match once the policy takes such passwords; until then, the
    log tells the operator."""
    hasher = saltern.PasswordHasher.from_policy_text(LONG.format(limit))
    password = "x" * 600
    made = CryptContext(["sha512_crypt"], sha512_crypt__rounds=1000).hash(password)
    ours = saltern.pwdlib.YescryptHasher(hasher=hasher)
    for stored in made, hasher.wrap(made):
        caplog.clear()
        assert ours.verify("x" * 511, stored) is False and not caplog.text
        assert ours.verify(password, stored) is (limit == 1024)
        assert ("above the limit of 511" in caplog.text) is (limit != 1024)
        assert password not in caplog.text and made not in caplog.text


def test_policies_that_refuse_what_crypt_takes():
    text = "[params]\ncost = 1\n[limits]\npassword = 510\n"
    with pytest.raises(saltern.BadInputError, match="limits.password is below 511"):
        saltern.pwdlib.YescryptHasher(hasher=saltern.PasswordHasher.from_policy_text(text))


def test_an_upgrade_of_a_long_password_locks_nobody_out(hashers):
    from pwdlib.hashers.argon2 import Argon2Hasher

    password = "a right password of another hasher, " * 20
    old = Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1)
    passwords = pwdlib.PasswordHash([saltern.pwdlib.YescryptHasher(1), old])
    context = CryptContext(
        [saltern.libpass.yescrypt.using(cost=1), "pbkdf2_sha256"],
        pbkdf2_sha256__rounds=1000,
        deprecated="auto",
    )
    for site, stored in (
        (passwords, old.hash(password)),
        (context, CryptContext(["pbkdf2_sha256"], pbkdf2_sha256__rounds=1000).hash(password)),
    ):
        valid, update = site.verify_and_update(password, stored)
        assert valid and update.startswith("$y$")
        assert site.verify_and_update(password, update) == (True, None)
        assert not site.verify(password[:-1], update)
    encoded = hashers.make_password(password, hasher="pbkdf2_sha256")
    updates = []
    assert hashers.check_password(password, encoded, updates.append) and updates == [password]
    assert hashers.check_password(password, hashers.make_password(password))


def test_the_validator_for_django(hashers):
    from django.core.exceptions import ValidationError

    from saltern.django import HashablePasswordValidator

    validator = HashablePasswordValidator()
    for fine in "", PASSWORD, "x" * 511, "ä" * 255:
        validator.validate(fine)
    for password in "x" * 512, "ä" * 256, "a\0b", "abc\ud800":
        with pytest.raises(ValidationError, match="at most 511 bytes") as caught:
            validator.validate(password, user=None)
        assert caught.value.code == "password_not_hashable"
    assert "511" in validator.get_help_text()


SCRYPT = "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D"


def test_what_an_adapter_claims_it_verifies(hashers):
    right = "pleaseletmein"
    passwords = pwdlib.PasswordHash([saltern.pwdlib.YescryptHasher(1)])
    context = CryptContext([saltern.libpass.yescrypt])
    for site in passwords, context:
        assert site.verify(right, SCRYPT) and not site.verify("no", SCRYPT)
        assert site.verify_and_update(right, SCRYPT)[0]
    phc = CryptContext(["scrypt"], scrypt__rounds=10).hash(right)
    assert phc.startswith("$scrypt$")
    assert passwords.verify(right, phc) and context.verify(right, phc)
    assert hashers.check_password(right, "yescrypt$" + SCRYPT)
