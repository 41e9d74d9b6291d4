"""What is shown in documents runs: doctests, the README, docs/python.md, the examples."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest

import saltern
import saltern._saltern
import saltern.libpass
import saltern.pwdlib


@pytest.mark.parametrize("module", [saltern, saltern.libpass, saltern.pwdlib])
def test_docstrings(module):
    tried = doctest.testmod(module)
    assert tried.failed == 0 and tried.attempted > 2


@pytest.mark.parametrize("name", ["PasswordHasher", "inspect"])
def test_docstrings_of_the_compiled_half(name):
    text = getattr(saltern, name).__doc__
    examples = doctest.DocTestParser().get_doctest(text, vars(saltern), name, None, None)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_everything_that_is_compiled_is_documented():
    kinds = [kind for kind in vars(saltern).values() if kind.__class__ is type]
    kinds = [kind for kind in kinds if kind.__module__ == "saltern"]
    assert {saltern.PasswordHasher, saltern.Digests, saltern.blake2b, saltern.blake2xs} <= {*kinds}
    for kind in kinds:
        assert kind.__doc__, kind
        for name in dir(kind):
            # Numbers have no documentation of their own.
            if not name.startswith("_") and not isinstance(getattr(kind, name), int):
                assert getattr(kind, name).__doc__, (kind, name)


def test_the_types_of_the_compiled_half_are_as_they_are_said(repository, tmp_path):
    allowed = tmp_path / "allowed"
    # Python 3.12 and later have it.
    allowed.write_text("saltern._saltern.Digests.__buffer__\n")
    command = [sys.executable, "-m", "mypy.stubtest", "saltern._saltern", "--allowlist", allowed]
    command += ["--ignore-unused-allowlist", "--mypy-config-file"]
    settings = repository / "python" / "pyproject.toml"
    ended = subprocess.run([*command, settings], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("file", ["bindings/python/README.md", "docs/python.md", "README.md"])
def test_examples_of_documents(repository, tmp_path, monkeypatch, file):
    blocks = re.findall(r"^```python\n(.*?)^```", (repository / file).read_text(), re.M | re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saltern.toml").write_text('schemes = ["yescrypt", "bcrypt"]\n[params]\ncost = 2\n')
    (tmp_path / "large.iso").write_bytes(bytes(1000))
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, file, "exec"), names)


def test_the_asyncio_server(repository):
    program = repository / "bindings/python" / "examples" / "asyncio_server.py"
    ended = subprocess.run(
        [sys.executable, program, "40"], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert re.match(r"40 logins in .* lag of the event loop in ms: ", ended.stdout)
