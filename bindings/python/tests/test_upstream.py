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


@pytest.fixture
def run(tmp_path, capsys):
    """Runs those tests of a program that an expression chooses, which have to be so many."""

    def run(package: str, program: str, chosen: str, count: int) -> None:
        file = tmp_path / "test_adapted.py"
        file.write_text(program, encoding="utf-8")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", chosen
        ]  # fmt: skip
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
        assert ended.returncode == 0, ended.stdout
        passed = int(re.search(r"(\d+) passed", ended.stdout)[1])
        assert passed == count, ended.stdout
        with capsys.disabled():
            print(f"\n{package}: {passed} of its own tests passed on ours")

    return run


def test_argon2_cffi(run):
    package = "argon2-cffi==25.1.0"
    program = source(package, "tests/test_password_hasher.py")
    # Without the tests of its helpers.
    end = program.index("bytes_and_str_password =")
    program = program.split("class TestEnsureBytes")[0] + "\n" + program[end:]
    # Names, costs and strings.
    imports = r"^from argon2[^(\n]* import \([^)]*\)|^from argon2.*$"
    program = re.sub(imports, "", program, flags=re.M)
    costs = r'PasswordHasher\(1, 8, 1, 16, 16(, "latin1")?\)'
    program = re.sub(costs, "PasswordHasher(2)", program)
    program = program.replace("PasswordHasher(1, 8, 1, 8, 8)", "PasswordHasher(1)")
    program = program.replace('"$argon2id$v=19$m=8,t=1,p=1$"', '"$y$j85$"')
    program = "from saltern import InvalidHash, InvalidHashError, PasswordHasher\n" + program
    # Left out are Argon2's own: its vectors, types, profiles, and parameters on WebAssembly.
    chosen = (
        "test_hash or test_hash_verify or test_verify_invalid_hash_error or test_verify_invalid_hash"
        " or test_check_needs_rehash_no or test_check_needs_rehash_yes"
    )
    run(package, program, chosen, 10)


def test_pwdlib(run):
    package = "pwdlib==0.3.1"
    ours = "from saltern.pwdlib import YescryptHasher as Argon2Hasher"
    theirs = "from pwdlib.hashers.argon2 import Argon2Hasher"
    program = source(package, "tests/hashers/test_argon2.py")
    assert theirs in program
    # Left out is what identifies Argon2's own strings.
    run(package, program.replace(theirs, ours), "not valid_argon2 and not large", 12)
    program = source(package, "tests/test_hash.py")
    assert theirs in program
    # What pwdlib recommends is Argon2.
    run(package, program.replace(theirs, ours), "not recommended", 15)


LIBPASS = r"""
from tests.utils import HandlerCase
from saltern.libpass import yescrypt

OURS = yescrypt.using(cost=1)
TEXT = "t\u00e1\u0411\u2113\u0259"

class yescrypt_test(HandlerCase):
    handler = OURS
    known_correct_hashes = [(TEXT, OURS.hash(TEXT)), ("password", OURS.hash("password"))]
    known_malformed_hashes = ["$y$", "$y$j75$"]
    known_unidentified_hashes = ["$2b$04$"]
"""


def test_libpass(run, tmp_path):
    package = "libpass==1.9.4"
    (tmp_path / "tests").mkdir()
    for name in "__init__.py", "utils.py", "utils_.py":
        (tmp_path / "tests" / name).write_text(source(package, f"tests/{name}"))
    # Others skip themselves: those of rounds, settings and identifiers, which this handler lacks.
    run(package, LIBPASS, "yescrypt_test", 17)


DJANGO = """
import django
from django.conf import settings
settings.configure()
django.setup()
OURS = [
    "saltern.django.YescryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
    "django.contrib.auth.hashers.MD5PasswordHasher",
]
from saltern.django import YescryptPasswordHasher
"""


def test_django(run):
    package = "Django==5.2.19"
    program = source(package, "tests/auth_tests/test_hashers.py")
    program = program.replace("PASSWORD_HASHERS=PASSWORD_HASHERS", "PASSWORD_HASHERS=OURS")
    # The default is ours.
    program = re.sub(
        r'"django.contrib.auth.hashers.PBKDF2PasswordHasher",\n'
        r'(\s*"django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",)',
        r'"saltern.django.YescryptPasswordHasher",\n\1',
        program,
    )
    for before in 'encoded.startswith("{}$")', 'assertEqual("{}", get_hasher':
        old, new = before.format("pbkdf2_sha256"), before.format("yescrypt")
        assert old in program
        program = program.replace(old, new)
    classes = r"hasher_classes = \[[^]]*\]"
    program = re.sub(classes, "hasher_classes = [YescryptPasswordHasher]", program)
    # Those for Argon2, without its vectors and the names of its parameters.
    program = program.replace('"argon2$argon2id$"', '"yescrypt$$y$"')
    program = program.replace('"argon2"', '"yescrypt"')
    vectors = r"# Old hashes without version attribute.*?# Salt entropy check"
    program = re.sub(vectors, "# Salt", program, flags=re.S)
    program = re.sub(
        r'.*decoded\["(memory_cost|parallelism|time_cost)"\].*\n', "", program
    )
    chosen = (
        "test_simple or acheck_password or test_bytes or test_invalid_password or test_unusable"
        " or test_unspecified_password or test_bad_algorithm or test_is_password_usable"
        " or (HashPass and test_upgrade) or test_no_upgrade or calls_harden_runtime"
        " or fake_runtime or encode_invalid_salt or encode_password_required"
        " or BasePasswordHasherTests or test_argon2_decode or (test_argon2 and not upgrade)"
    )
    run(package, DJANGO + program, chosen, 27)
