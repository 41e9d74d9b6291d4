"""Saltern beside hashlib, argon2-cffi and crypt(3), in one run.

    python speed.py [calls] [many] [verify]

`calls` compares single BLAKE2b digests with hashlib's, `many` compares `hash_many` of 10^6 rows with
a loop over hashlib, and `verify` compares logins at equal memory. Two candidates are measured in
turns; a ratio is the median over the turns, and above 1 Saltern is the faster one. The times are
those of a whole Python call.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import saltern

Run = Callable[[], object]


def seconds(run: Run, times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - began) / times


def compare(ours: Run, other: Run, budget: float = 1.0) -> tuple[float, float, float]:
    """Seconds of either, and the median ratio of pairs, within about so many seconds."""
    ours()
    once = seconds(other, 1)
    times = max(1, round(0.02 / max(once, 1e-9)))
    turns = max(5, round(budget / (2 * times * once)))
    pairs = []
    for turn in range(turns):
        if turn % 2:
            b, a = seconds(other, times), seconds(ours, times)
        else:
            a, b = seconds(ours, times), seconds(other, times)
        pairs.append((a, b))
    middle = statistics.median
    return (
        middle(a for a, _ in pairs),
        middle(b for _, b in pairs),
        middle(b / a for a, b in pairs),
    )


def human(size: int) -> str:
    for unit in "B", "KiB", "MiB":
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


def calls() -> None:
    print("| one message of | ours, µs | hashlib, µs | ratio |\n|---|---|---|---|")
    for size in 64, 256, 1 << 10, 4 << 10, 16 << 10, 1 << 20, 64 << 20, 1 << 30:
        message = bytes(size)
        a, b, ratio = compare(
            lambda: saltern.blake2b(message).digest(),  # noqa: B023
            lambda: hashlib.blake2b(message).digest(),  # noqa: B023
            budget=2.0,
        )
        print(f"| {human(size)} | {a * 1e6:.2f} | {b * 1e6:.2f} | {ratio:.2f} |")


def many() -> None:
    import numpy
    import pyarrow

    count, size = 1_000_000, 64
    grid = numpy.random.default_rng(1).integers(0, 256, (count, size), numpy.uint8)
    rows = [row.tobytes() for row in grid]
    offsets = pyarrow.array(rows)
    fixed = pyarrow.array(rows, pyarrow.binary(size))
    text = pyarrow.array([row.tobytes().hex()[:size] for row in grid])

    def loop() -> list[bytes]:
        return [hashlib.blake2b(row, digest_size=32).digest() for row in rows]

    hash_many = saltern.blake2b.hash_many
    columns: dict[str, Callable[[int | None], Any]] = {
        "NumPy (n, 64) of uint8": lambda threads: hash_many(grid, digest_size=32, threads=threads),
        "Arrow, fixed-size binary": lambda threads: hash_many(
            fixed, digest_size=32, threads=threads
        ),
        "Arrow, binary": lambda threads: hash_many(offsets, digest_size=32, threads=threads),
        "Arrow, strings": lambda threads: hash_many(text, digest_size=32, threads=threads),
        "list of bytes": lambda threads: hash_many(rows, digest_size=32, threads=threads),
        "list of bytes, to a list": lambda threads: list(
            hash_many(rows, digest_size=32, threads=threads)
        ),
    }
    assert list(columns["list of bytes"](None)) == loop()
    print("| 10^6 rows of 64 bytes | threads | ours, ns a row | loop, ns a row | ratio |")
    print("|---|---|---|---|---|")
    for name, run in columns.items():
        for threads in 1, None:
            a, b, ratio = compare(lambda: run(threads), loop, budget=8.0)  # noqa: B023
            shown = "all" if threads is None else threads
            per_row = f"{a / count * 1e9:.0f} | {b / count * 1e9:.0f}"
            print(f"| {name} | {shown} | {per_row} | {ratio:.1f} |")


def verify() -> None:
    import argon2

    print("| a login at equal memory | ours, ms | other, ms | ratio |\n|---|---|---|---|")
    for cost, memory in (4, 8 << 10), (5, 16 << 10):
        ours = saltern.PasswordHasher(cost)
        theirs = argon2.PasswordHasher(time_cost=1, memory_cost=memory, parallelism=1)
        mine, other = ours.hash("correct horse"), theirs.hash("correct horse")
        a, b, ratio = compare(
            lambda: ours.verify(mine, "correct horse"),  # noqa: B023
            lambda: theirs.verify(other, "correct horse"),  # noqa: B023
            budget=4.0,
        )
        name = f"argon2-cffi, Argon2id, t = 1, {memory >> 10} MiB"
        print(f"| {name} | {a * 1e3:.1f} | {b * 1e3:.1f} | {ratio:.2f} |")
        try:
            from crypt_r import crypt
        except ImportError:
            print("crypt_r is not installed", file=sys.stderr)
            continue
        a, b, ratio = compare(
            lambda: ours.verify(mine, "correct horse"),  # noqa: B023
            lambda: crypt("correct horse", mine) == mine,  # noqa: B023
            budget=4.0,
        )
        name = f"crypt_r, the same string, {memory >> 10} MiB"
        print(f"| {name} | {a * 1e3:.1f} | {b * 1e3:.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["calls", "many", "verify"]
    print(f"CPython {sys.version.split()[0]}, {os.cpu_count()} processors")
    for name in wanted:
        print()
        {"calls": calls, "many": many, "verify": verify}[name]()
