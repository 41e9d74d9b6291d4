"""The tests that other packages have for hashers of their own, with ours in their place.

scripts/test-python downloads their sources; what is changed in them is said here, and nothing of
them is kept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def source(package: str, file: str) -> str:
    path = Path(os.environ.get("SALTERN_SDISTS", "")) / package / file
    if not path.is_file():
        pytest.skip(f"{package} could not be downloaded, or has no {file}")
    return path.read_text(encoding="utf-8")


def run(program: str, chosen: str, count: int, tmp_path: Path, capsys: object) -> None:
    """Runs so many tests of a program."""
    file = tmp_path / "test_adapted.py"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", chosen]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert ended.returncode == 0, ended.stdout
    passed = int(re.search(r"(\d+) passed", ended.stdout)[1])
    assert passed == count, ended.stdout
    with capsys.disabled():
        print(f"\n{passed} tests of another package passed: {chosen[:60]}")


def test_argon2_cffi(tmp_path, capsys):
    program = source("argon2-cffi==25.1.0", "tests/test_password_hasher.py")
    program = program.split("class TestEnsureBytes")[0] + "\n" + program[program.index("bytes_and_str_password ="):]
    # Names, costs and strings.
    program = re.sub(r"^from argon2[^(\n]* import \([^)]*\)|^from argon2.*$", "", program, flags=re.M)
    program = re.sub(r'PasswordHasher\(1, 8, 1, 16, 16(, "latin1")?\)', "PasswordHasher(2)", program)
    program = program.replace("PasswordHasher(1, 8, 1, 8, 8)", "PasswordHasher(1)")
    program = program.replace('"$argon2id$v=19$m=8,t=1,p=1$"', '"$y$j85$"')
    program = "from saltern import InvalidHash, InvalidHashError, PasswordHasher\n" + program
    # Left out are Argon2's own: its vectors, types, profiles, and parameters on WebAssembly.
    chosen = (
        "test_hash or test_hash_verify or test_verify_invalid_hash_error or test_verify_invalid_hash"
        " or test_check_needs_rehash_no or test_check_needs_rehash_yes"
    )
    run(program, chosen, 10, tmp_path, capsys)


def test_pwdlib(tmp_path, capsys):
    program = source("pwdlib==0.3.1", "tests/hashers/test_argon2.py")
    ours = "from saltern.pwdlib import YescryptHasher as Argon2Hasher"
    theirs = "from pwdlib.hashers.argon2 import Argon2Hasher"
    assert theirs in program
    # Left out is what identifies Argon2's own strings.
    run(program.replace(theirs, ours), "not valid_argon2 and not large", 12, tmp_path, capsys)
    program = source("pwdlib==0.3.1", "tests/test_hash.py")
    assert theirs in program
    # What pwdlib recommends is Argon2.
    run(program.replace(theirs, ours), "not recommended", 11, tmp_path, capsys)


def test_libpass(tmp_path, capsys):
    utils = source("libpass==1.9.4", "tests/utils.py")
    (tmp_path / "tests").mkdir()
    for name in "__init__", "utils", "utils_":
        other = Path(os.environ["SALTERN_SDISTS"], "libpass==1.9.4", "tests", f"{name}.py")
        if other.is_file():
            (tmp_path / "tests" / other.name).write_text(other.read_text())
    assert "class HandlerCase" in utils
    run(LIBPASS, "yescrypt_test", 17, tmp_path, capsys)


LIBPASS = """
from tests.utils import HandlerCase
from saltern.libpass import yescrypt

class yescrypt_test(HandlerCase):
    handler = yescrypt.using(cost=1)
    known_correct_hashes = [
        ("t\\u00e1\\u0411\\u2113\\u0259", yescrypt.using(cost=1).hash("t\\u00e1\\u0411\\u2113\\u0259")),
        ("password", yescrypt.using(cost=1).hash("password")),
    ]
    known_malformed_hashes = ["$y$", "$y$j75$"]
    known_unidentified_hashes = ["$2b$04$"]
"""


DJANGO = """
import django
from django.conf import settings
settings.configure()
django.setup()
OURS = ["saltern.django.YescryptPasswordHasher", "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher", "django.contrib.auth.hashers.MD5PasswordHasher"]
from saltern.django import YescryptPasswordHasher
"""


def test_django(tmp_path, capsys):
    program = source("Django==5.2.19", "tests/auth_tests/test_hashers.py")
    program = program.replace("PASSWORD_HASHERS=PASSWORD_HASHERS", "PASSWORD_HASHERS=OURS")
    # The default is ours.
    program = program.replace('encoded.startswith("pbkdf2_sha256$")', 'encoded.startswith("yescrypt$")')
    program = re.sub(r"hasher_classes = \[[^]]*\]", "hasher_classes = [YescryptPasswordHasher]", program)
    program = re.sub(
        r'"django.contrib.auth.hashers.PBKDF2PasswordHasher",\n(\s*"django.contrib.auth.hashers.SHA1)',
        r'"saltern.django.YescryptPasswordHasher",\n\1', program,
    )
    program = program.replace('assertEqual("pbkdf2_sha256", get_hasher', 'assertEqual("yescrypt", get_hasher')
    # Those for Argon2, without its vectors and the names of its parameters.
    program = program.replace('"argon2$argon2id$"', '"yescrypt$$y$"').replace('"argon2"', '"yescrypt"')
    program = re.sub(
        r"# Old hashes without version attribute.*?# Salt entropy check", "# Salt", program, flags=re.S
    )
    program = re.sub(r'.*decoded\["(memory_cost|parallelism|time_cost)"\].*\n', "", program)
    chosen = " or ".join([
        "test_simple", "acheck_password", "test_bytes", "test_invalid_password", "test_unusable",
        "test_unspecified_password", "test_bad_algorithm", "test_is_password_usable",
        "test_no_upgrade", "calls_harden_runtime", "fake_runtime",
        "encode_invalid_salt", "encode_password_required", "BasePasswordHasherTests",
        "test_argon2_decode", "(test_argon2 and not upgrade)",
    ])
    run(DJANGO + program, chosen, 27, tmp_path, capsys)
