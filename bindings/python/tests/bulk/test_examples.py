"""The same function in other engines, each where it is installed: a folder of Parquet, moved to
another key."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import REPOSITORY, SHORT, Policies, accounts
from pyarrow import parquet

EXAMPLES = {"ray": "ray_data.py", "daft": "daft_frame.py", "pyspark": "spark_frame.py"}
INSTALLED = [engine for engine in EXAMPLES if importlib.util.find_spec(engine) is not None]
if SHORT:
    # Ray's start takes ten seconds.
    INSTALLED = [engine for engine in INSTALLED if engine != "ray"]


@pytest.mark.parametrize("engine", INSTALLED)
def test_an_example(policies: Policies, tmp_path: Path, engine: str) -> None:
    hasher, count = policies.hasher("b"), 20_000
    stored, known = accounts(policies.hasher("a"), count)
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for part in range(4):
        rows = range(part * count // 4, (part + 1) * count // 4)
        table = pa.table({"id": rows, "password_hash": [stored[row] for row in rows]})
        parquet.write_table(table, source / f"{part}.parquet")
    example = REPOSITORY / "bindings/python" / "examples" / "bulk" / EXAMPLES[engine]
    arguments = [example, policies.file("b"), "rekey", "password_hash", source, target]
    # Workers import what is beside the example first.
    ran = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300,
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "RAY_ADDRESS": "local"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    kinds = Counter(pa.array(hasher.rekey_many(stored)).field("outcome").to_pylist())
    assert ast.literal_eval(ran.stdout.strip().splitlines()[-1]) == kinds
    written = parquet.read_table(target).to_pydict()
    found = dict(zip(written["id"], written["password_hash"], strict=True))
    assert len(found) == count
    for row, text in enumerate(stored):
        wanted = hasher.rekey(text) if text and text != "garbage" else None
        assert found[row] == (wanted or text)
    answers = hasher.verify_many([found[row] for row in known], list(known.values()))
    assert all(answer is True for answer in answers)
