"""Hashing and verifying: the outcomes, and the exceptions for all that is none."""

from __future__ import annotations

import array
import hashlib

import argon2
import bcrypt
import numpy
import pytest

import saltern
from saltern import PasswordHasher

PASSWORD = "correct horse"


def test_hash_verify_update(hasher, stored):
    assert stored.startswith("$y$j75$") and isinstance(stored, str)
    assert hasher.verify(stored, PASSWORD) is True
    assert hasher.verify_and_update(stored, PASSWORD) == (True, None)
    assert hasher.verify_and_update(stored, "battery staple") == (False, None)
    with pytest.raises(saltern.VerifyMismatchError):
        hasher.verify(stored, "battery staple")
    assert hasher.hash(PASSWORD) != stored


def test_strings_and_passwords_may_be_bytes(hasher, stored):
    raw = PASSWORD.encode()
    for password in PASSWORD, raw, bytearray(raw), memoryview(raw):
        assert hasher.verify(stored.encode(), password)
    # Text is UTF-8.
    assert hasher.verify(hasher.hash("pässword"), "pässword".encode())
    with pytest.raises(saltern.VerifyMismatchError):
        hasher.verify(hasher.hash("pässword"), "pässword".encode("latin-1"))


@pytest.mark.parametrize("cost", [2, 3])
def test_an_outdated_string_has_a_successor(hasher, stored, cost):
    newer = PasswordHasher(cost)
    assert newer.check_needs_rehash(stored) and not hasher.check_needs_rehash(stored)
    assert newer.rehash_reasons(stored) == ["cost"] and hasher.rehash_reasons(stored) == []
    valid, update = newer.verify_and_update(stored, PASSWORD)
    assert valid and update is not None and not newer.check_needs_rehash(update)
    assert newer.verify(update, PASSWORD)
    # `verify` has no use for one, and computes none.
    assert newer.verify(stored, PASSWORD) is True
    assert newer.work == saltern.inspect(update)["work"] > hasher.work


def test_a_salt_can_be_given(hasher):
    stored = hasher.hash(PASSWORD, salt=b"1234567890123456")
    assert stored == hasher.hash(PASSWORD, salt=b"1234567890123456")
    assert saltern.inspect(stored)["salt"] == b"1234567890123456"
    assert hasher.verify(stored, PASSWORD)
    with pytest.raises(saltern.BadInputError):
        hasher.hash(PASSWORD, salt=bytes(65))


def test_nul_and_surrogates_are_one_clear_error(hasher, stored):
    for password in "a\0b", b"a\0b":
        with pytest.raises(saltern.BadInputError, match="zero byte"):
            hasher.hash(password)
        with pytest.raises(saltern.BadInputError, match="zero byte"):
            hasher.verify(stored, password)
    with pytest.raises(saltern.BadInputError, match="lone surrogate at index 3") as caught:
        hasher.hash("abc\ud800")
    # Python's own exception would hold the password, and be printed with this one.
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_no_exception_holds_a_password(hasher, stored):
    secret = "correct horse battery"
    for call in (
        lambda: hasher.verify(secret, stored),
        lambda: hasher.verify(stored, secret),
        lambda: hasher.hash(secret + "\0"),
        lambda: hasher.hash(secret + "\ud800"),
        lambda: hasher.hash(secret * 100),
    ):
        with pytest.raises(saltern.SalternError) as caught:
            call()
        assert "horse" not in str(caught.value) and "horse" not in repr(caught.value.__dict__)


def test_swapped_arguments_are_told(hasher, stored):
    for call in hasher.verify, hasher.verify_and_update:
        with pytest.raises(saltern.InvalidHashError, match="wrong order"):
            call(PASSWORD, stored)


@pytest.mark.parametrize("hash", ["", "tiger", "$y$", "$y$j75$", b"\xff", "$y$j75$ä", "\ud800"])
def test_what_is_no_stored_string(hasher, hash):
    for call in (
        lambda: hasher.verify(hash, PASSWORD),
        lambda: hasher.check_needs_rehash(hash),
        lambda: hasher.rekey(hash),
        lambda: hasher.wrap(hash),
        lambda: saltern.inspect(hash),
    ):
        with pytest.raises(saltern.InvalidHashError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert not isinstance(caught.value, saltern.VerificationError)


def test_every_truncation_is_an_error(hasher, stored):
    for end in range(len(stored)):
        with pytest.raises(saltern.InvalidHashError):
            hasher.verify(stored[:end], PASSWORD)


@pytest.mark.parametrize("wrong", [1, None, 2.5, [], object()])
def test_wrong_types(hasher, stored, wrong):
    with pytest.raises(TypeError, match="password must be str or bytes"):
        hasher.hash(wrong)
    with pytest.raises(TypeError):
        hasher.verify(stored, wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="hash must be str or bytes"):
            hasher.verify(wrong, PASSWORD)
        with pytest.raises(TypeError):
            hasher.hash(PASSWORD, salt=wrong)
    with pytest.raises(TypeError):
        PasswordHasher("5")
    with pytest.raises(TypeError):
        hasher.hash()
    with pytest.raises(TypeError):
        hasher.verify(stored, PASSWORD, "account")


def test_numbers_that_lend_their_memory_are_no_passwords(hasher, stored):
    for wrong in numpy.float64(1), numpy.arange(4), array.array("i", [1]), memoryview(b"ab" * 4).cast("i"):
        with pytest.raises(TypeError, match="password must be str or bytes"):
            hasher.hash(wrong)
        with pytest.raises(TypeError, match="password must be str or bytes"):
            hasher.verify(stored, wrong)


def test_unknown_and_locked_accounts(hasher, stored):
    assert hasher.verify_and_update(None, PASSWORD, account="mallory") == (False, None)
    with pytest.raises(saltern.VerifyMismatchError):
        hasher.verify(None, PASSWORD, account=b"mallory")
    for locked in "!" + stored, "*LK*", "!!":
        with pytest.raises(saltern.AccountLockedError):
            hasher.verify(locked, PASSWORD)
        # A login that asks for yes or no gets no.
        assert hasher.verify_and_update(locked, PASSWORD) == (False, None)


def test_kinds_of_errors(hasher, stored):
    with pytest.raises(saltern.OverLimitError, match="password length 512 is above"):
        hasher.hash("a" * 512)
    dear = saltern.PasswordHasher.from_policy_text(
        "[limits]\nmemory = '1GiB'\nwork = '16GiB'\n[params]\ncost = 10\n[pool]\nmemory = '1GiB'"
    )
    assert dear.work > hasher.work
    with pytest.raises(saltern.OverLimitError):
        hasher.verify(stored.replace("$j75$", "$jET$"), PASSWORD)
    with pytest.raises(saltern.OverLimitError, match="does not accept bcrypt"):
        hasher.verify(bcrypt.hashpw(b"a", bcrypt.gensalt(4)).decode(), "a")
    with pytest.raises(saltern.UnavailableError, match="key gone"):
        hasher.verify("{key=gone+0123456789abcdef}" + stored, PASSWORD)
    with pytest.raises(saltern.DeadlineError):
        hasher.hash(PASSWORD, deadline=0)
    assert issubclass(saltern.DeadlineError, TimeoutError)
    for kind in saltern.OverLimitError, saltern.UnavailableError, saltern.OverloadedError:
        assert not issubclass(kind, saltern.VerificationError)
    for deadline in -1.0, float("nan"), float("inf"):
        with pytest.raises(saltern.BadInputError, match="deadline"):
            hasher.hash(PASSWORD, deadline=deadline)


def test_memory_that_the_pool_does_not_have(run):
    program = """
import saltern
text = "[pool]\\nthreads = 1\\nmemory = '4MiB'\\n[params]\\ncost = 1\\n"
hasher = saltern.PasswordHasher.from_policy_text(text)
assert hasher.verify(hasher.hash("a"), "a")
stored = "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4"
try:
    hasher.verify(stored, "a")
except saltern.OverLimitError as error:
    assert "give it more memory" in str(error), error
else:
    raise SystemExit("no error")
# All hashers of a process share one pool: another [pool] is refused, the same and none are not.
assert saltern.PasswordHasher(1).hash("a")
assert saltern.PasswordHasher.from_policy_text(text).hash("a")
try:
    saltern.PasswordHasher.from_policy_text("[pool]\\nthreads = 3\\n").hash("a")
except saltern.BadInputError as error:
    assert "pool.threads = 3" in str(error) and "has 1" in str(error), error
else:
    raise SystemExit("no error")
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr


def test_memory_that_the_system_does_not_have(run):
    program = """
import resource, saltern
hasher = saltern.PasswordHasher(5)
hasher.hash("a")
taken = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if "VmSize" in line)
resource.setrlimit(resource.RLIMIT_AS, (taken + (64 << 20),) * 2)
try:
    for _ in range(4):
        saltern.PasswordHasher(8, deadline=30).hash("a")
except MemoryError as error:
    assert isinstance(error, saltern.InternalError), error
else:
    raise SystemExit("no error")
assert hasher.verify(hasher.hash("a"), "a")
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr


def test_policies_say_what_is_wrong_with_them(tmp_path):
    policy = tmp_path / "saltern.toml"
    policy.write_text("[params]\ncost = 2\n\n[pool]\nthreads = 0\n")
    with pytest.raises(saltern.BadInputError) as caught:
        PasswordHasher.from_policy(policy)
    assert str(caught.value) == f"{policy}:5: pool.threads = 0: expected 1 to 1024"
    with pytest.raises(saltern.UnavailableError, match="nowhere"):
        PasswordHasher.from_policy(tmp_path / "nowhere")
    for cost in -1, 0, 10, 11, 12:
        with pytest.raises(saltern.BadInputError, match=f"cost = {cost}: expected 1 to 9, or a"):
            PasswordHasher(cost)
    assert PasswordHasher(9).work > PasswordHasher(8).work
    for cost in 10, 11:
        text = "[limits]\nmemory = '2GiB'\nwork = '32GiB'\n[pool]\nmemory = '2GiB'\n[params]\n"
        assert PasswordHasher.from_policy_text(f"{text}cost = {cost}").work > PasswordHasher(9).work
    with pytest.raises(saltern.BadInputError, match="expected yescrypt, "):
        PasswordHasher(schemes=["rot13"])
    for wrong, kind in ("yescrypt", "str"), (5, "int"), (["yescrypt", 5], "int"):
        with pytest.raises(TypeError, match=f"sequence of names .*, not {kind}$"):
            PasswordHasher(schemes=wrong)
    assert PasswordHasher(schemes=("yescrypt", "bcrypt")).site["schemes"] == ["bcrypt", "yescrypt"]
    assert PasswordHasher().site["params"].endswith("flags 182")


def test_keys(tmp_path):
    for name, byte in ("2025", 1), ("2026", 2):
        (tmp_path / name).write_bytes(bytes([byte]) * 32)

    def policy(active: str) -> PasswordHasher:
        (tmp_path / "saltern.toml").write_text("[params]\ncost = 1\n" + "".join(
            f'[[keys]]\nname = "{name}"\nfile = "{name}"\nfingerprint = "{fingerprint}"\n'
            f"active = {str(name == active).lower()}\n"
            for name, fingerprint in fingerprints.items()
        ))
        return PasswordHasher.from_policy(tmp_path / "saltern.toml")

    fingerprints = {"2025": "0" * 16}
    with pytest.raises(saltern.UnavailableError, match="the key 2025"):
        policy("2025")
    fingerprints = FINGERPRINTS
    old, new = policy("2025"), policy("2026")
    stored = old.hash(PASSWORD)
    assert stored.startswith("{key=2025+") and old.verify(stored, PASSWORD)
    assert saltern.inspect(stored)["key"] == "2025+" + fingerprints["2025"]
    assert new.rehash_reasons(stored) == ["key"]
    rekeyed = new.rekey(stored)
    assert rekeyed is not None and new.rekey(rekeyed) is None
    assert new.verify(rekeyed, PASSWORD) and old.verify(rekeyed, PASSWORD)
    assert new.verify_and_update(stored, PASSWORD) == (True, rekeyed)
    with pytest.raises(saltern.UnavailableError):
        PasswordHasher(1).verify(stored, PASSWORD)


def fingerprint(key: bytes) -> str:
    """What `saltern key fingerprint` shows."""
    return hashlib.sha256(b"saltern hash key fingerprint 1" + key).hexdigest()[:16]


FINGERPRINTS = {"2025": fingerprint(bytes([1]) * 32), "2026": fingerprint(bytes([2]) * 32)}


def test_old_schemes_and_wrapping():
    hasher = PasswordHasher(1, schemes=["yescrypt", "bcrypt"])
    old = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    assert hasher.verify(old, PASSWORD) and hasher.rehash_reasons(old) != []
    wrapped = hasher.wrap(old)
    assert wrapped is not None and wrapped.startswith("{over=$2b$04$")
    assert hasher.wrap(wrapped) is None
    valid, update = hasher.verify_and_update(wrapped, PASSWORD)
    assert valid and update is not None and update.startswith("$y$")
    with pytest.raises(saltern.VerifyMismatchError):
        hasher.verify(wrapped, "battery staple")


def test_a_scheme_that_is_refused_is_outdated():
    """One that is stronger than a new hash is kept only if a login with it can succeed."""
    strong = argon2.PasswordHasher(time_cost=4, memory_cost=1 << 17).hash(PASSWORD)
    refusing, accepting = PasswordHasher(1), PasswordHasher(1, schemes=["yescrypt", "argon2"])
    with pytest.raises(saltern.OverLimitError, match="does not accept argon2"):
        refusing.verify(strong, PASSWORD)
    assert refusing.check_needs_rehash(strong) and refusing.rehash_reasons(strong) == ["scheme"]
    assert accepting.rehash_reasons(strong) == [] and not accepting.check_needs_rehash(strong)
    assert accepting.verify_and_update(strong, PASSWORD) == (True, None)
    assert "stronger" in PasswordHasher.rehash_reasons.__doc__ and "kept" in PasswordHasher.__doc__


def test_inspect(stored):
    told = saltern.inspect(stored)
    assert told["scheme"] == "yescrypt" and (told["n"], told["r"]) == (1024, 8)
    assert len(told["salt"]) == 16 and told["memory"] >= 1 << 20 and told["key"] is None
