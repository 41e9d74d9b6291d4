"""yescrypt beside upstream's C code, in the package pyescrypt."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyescrypt import Mode, Yescrypt
from pyescrypt.pyescrypt import _LIB, YESCRYPT_DEFAULTS, ffi

import saltern

HASHER = saltern.PasswordHasher(1)
PASSWORDS = st.binary(max_size=100).filter(lambda password: 0 not in password)


@settings(max_examples=60, deadline=None)
@given(
    PASSWORDS,
    st.binary(min_size=1, max_size=16),
    st.sampled_from([4, 64, 1024]),
    st.sampled_from([8, 16, 32]),
    st.sampled_from([1, 2]),
    st.integers(0, 2),
)
def test_strings_of_upstream_are_verified(password, salt, n, r, p, t):
    stored = Yescrypt(n=max(n, 4 * p), r=r, p=p, t=t, mode=Mode.MCF).digest(password, salt).decode()
    assert HASHER.verify(stored, password)
    assert HASHER.verify_and_update(stored, password + b"x")[0] is False
    assert saltern.inspect(stored)["salt"] == salt


@settings(max_examples=30, deadline=None)
@given(PASSWORDS, st.binary(min_size=1, max_size=60))
def test_strings_are_those_of_upstream(password, salt):
    upstream = Yescrypt(n=1024, r=8, mode=Mode.MCF)
    assert HASHER.hash(password, salt=salt) == upstream.digest(password, salt).decode()


NROM, R = 2048, 8


class Rom:
    """A ROM that upstream's code fills, and upstream's hashes with it: pyescrypt has no Python
    functions for them, so these are calls of its library."""

    def __init__(self, seed: bytes) -> None:
        self._shared = ffi.new("yescrypt_shared_t*")
        params = ffi.new("yescrypt_params_t*", (YESCRYPT_DEFAULTS, 0, R, 1, 0, 0, NROM))
        assert _LIB.yescrypt_init_shared(self._shared, seed, len(seed), params) == 0
        self._local = ffi.new("yescrypt_local_t*")
        assert _LIB.yescrypt_init_local(self._local) == 0

    def image(self) -> bytes:
        return bytes(ffi.buffer(self._shared.aligned, self._shared.aligned_size))

    def hash(self, password: bytes, salt: bytes, n: int, t: int) -> str:
        params = ffi.new("yescrypt_params_t*", (YESCRYPT_DEFAULTS, n, R, 1, t, 0, NROM))
        # What this returns is overwritten by the next call.
        setting = ffi.string(_LIB.yescrypt_encode_params(params, salt, len(salt)))
        made = ffi.new("uint8_t[]", 200)
        assert _LIB.yescrypt_r(
            self._shared, self._local, password, len(password), setting, ffi.NULL, made, 200
        )
        return ffi.string(made).decode()


def digest(level: bytes, data: bytes, size: int = 16) -> bytes:
    return hashlib.blake2b(data, digest_size=size, person=b"saltern " + level).digest()


def write_rom(image: bytes, file: Path) -> str:
    """Writes an image, its manifest and its table, as docs/rom.md describes them: the hash."""
    chunk = 1024
    chunks = [
        digest(b"chunk", digest(b"leaf", image[at : at + chunk]))
        for at in range(0, len(image), chunk)
    ]
    groups = [
        digest(b"group", b"".join(chunks[at : at + 64])) for at in range(0, len(chunks), 64)
    ]
    flavor = {
        "rounds": 6, "gather": 4, "simple": 2, "sbox_bytes": 12288, "salsa_mix": 8,
        "salsa_tail": 2,
    }  # fmt: skip
    numbers = [len(image), NROM, R, 1, 0, *flavor.values(), chunk]
    name = digest(b"root", struct.pack("<2Q10I", *numbers) + b"".join(groups), 32).hex()
    manifest = {
        "format": "saltern-rom-2", "id": name[:16], "hash": name, "digest": image[-32:].hex(),
        "generation": "1.1", "nrom": NROM, "r": R, "p": 1, "t": 0, "flavor": flavor,
        "size": len(image), "chunk": chunk, "seed": {"from": "unknown"},
        "created": "2026-01-31T12:00:00Z", "image": {"at": "beside"},
    }  # fmt: skip
    sums = b"saltern-sums-2\n\0" + struct.pack("<2Q", len(image), chunk)
    Path(f"{file}.json").write_text(json.dumps(manifest))
    Path(f"{file}.sums").write_bytes(sums + b"".join(groups) + b"".join(chunks))
    file.write_bytes(image)
    return name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Upstream's ROM, its name, and the folder of its files."""
    folder = tmp_path_factory.mktemp("rom")
    rom = Rom(b"a seed of the site, which nobody knows")
    return rom, write_rom(rom.image(), folder / "site.rom"), folder


def policy(name: str, access: str = "copy", assume: bool = True, t: int = 0) -> str:
    unnamed = f'assume_unnamed_rom = "{name[:16]}"\n' if assume else ""
    return (
        f"{unnamed}[params]\nn = 1024\nr = {R}\nt = {t}\n[limits]\nrom = true\n"
        f'[[roms]]\nimage = "site.rom"\nhash = "{name}"\naccess = "{access}"\nactive = true\n'
    )


def test_hashes_with_a_rom_are_those_of_upstream(site):
    rom, name, folder = site
    from_text = saltern.PasswordHasher.from_policy_text
    hashers = [from_text(policy(name, t=t), beside=folder) for t in (0, 1)]

    @settings(max_examples=50, deadline=None)
    @given(PASSWORDS, st.binary(min_size=1, max_size=16), st.integers(0, 1))
    def compare(password, salt, t):
        stored = rom.hash(password, salt, 1024, t)
        # Upstream's strings do not name the ROM that they need.
        assert hashers[t].verify(stored, password)
        assert hashers[t].verify_and_update(stored, password + b"x")[0] is False
        made = hashers[t].hash(password, salt=salt)
        assert made == "{rom=" + name[:16] + "}" + stored
        assert saltern.inspect(made)["rom"] == name[:16]
        assert hashers[t].verify(made, password)

    compare()


def test_a_rom_that_stays_in_its_file(site, run):
    rom, name, folder = site
    pairs = [(f"password {at}", rom.hash(b"password %d" % at, b"salt", 1024, 0)) for at in range(40)]
    # In a process of its own: its pool has to know from the beginning that it reads files.
    program = f"""
import saltern
hasher = saltern.PasswordHasher.from_policy_text({policy(name, "direct")!r}, beside={str(folder)!r})
passwords, hashes = zip(*{pairs!r})
assert hasher.verify_many(hashes, passwords) == [True] * 40
assert hasher.verify_many(hashes, passwords[1:] + ("no",)) == [False] * 40
assert hasher.hash(passwords[0], salt=b"salt") == "{{rom={name[:16]}}}" + hashes[0]
"""
    ended = run(program)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("access", ["auto", "copy", "direct"])
def test_a_rom_after_a_fork(site, run, access):
    rom, name, folder = site
    stored = rom.hash(b"password", b"salt", 1024, 0)
    ended = run(f"""
import os, signal, saltern
hasher = saltern.PasswordHasher.from_policy_text({policy(name, access)!r}, beside={str(folder)!r})
assert hasher.verify({stored!r}, "password")
for _ in range(3):
    child = os.fork()
    if not child:
        signal.alarm(20)
        assert hasher.verify({stored!r}, "password")
        made = hasher.hash("other")
        os._exit(0 if hasher.verify_and_update(made, "other") == (True, None) else 1)
    assert os.waitpid(child, 0)[1] == 0
assert hasher.verify({stored!r}, "password")
""")
    assert ended.returncode == 0, ended.stderr


def test_a_rom_that_is_missing_is_no_mismatch(site, tmp_path):
    rom, name, folder = site
    stored = rom.hash(b"password", b"salt", 1024, 0)
    from_text = saltern.PasswordHasher.from_policy_text
    assert from_text(policy(name), beside=folder).verify(stored, "password")
    silent = from_text(policy(name, assume=False), beside=folder)
    for call in (
        # The ROM is there, and the policy does not say that the string needs it.
        lambda: silent.verify(stored, "password"),
        lambda: HASHER.verify(stored, "password"),
        lambda: HASHER.verify("{rom=" + name[:16] + "}" + stored, "password"),
    ):
        with pytest.raises((saltern.UnavailableError, saltern.OverLimitError)) as caught:
            call()
        assert not isinstance(caught.value, saltern.VerificationError)
    # Another ROM in its place, as a policy would find it.
    other = write_rom(Rom(b"another seed, of another site altogether").image(), tmp_path / "site.rom")
    assert other != name
    with pytest.raises(saltern.UnavailableError):
        from_text(policy(name), beside=tmp_path)
