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
