"""Processes and threads: forks, ends, Ctrl-C, and that nothing grows."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import saltern

PASSWORD = "correct horse"
SETUP = f"""
import os, signal, sys, threading, time
import saltern
PASSWORD = {PASSWORD!r}
hasher = saltern.PasswordHasher(1)
"""


def check(run, program: str, status: int = 0) -> str:
    ended = run(SETUP + program)
    assert ended.returncode == status, (ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout


def test_an_import_and_a_constructor_start_no_thread(run):
    check(run, """
assert len(os.listdir("/proc/self/task")) == 1
hasher.hash(PASSWORD)
assert len(os.listdir("/proc/self/task")) > 1
""")


def test_threads_hash_at_once(hasher, stored):
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        answers = threads.map(lambda _: hasher.verify(stored, PASSWORD), range(400))
        assert list(answers) == [True] * 400


def test_other_threads_run_meanwhile():
    slow = saltern.PasswordHasher(7)
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    for _ in range(5):
        slow.hash(PASSWORD)
    ended.set()
    counter.join()
    assert counted > 20


def test_forked_processes_have_a_pool_of_their_own(run):
    # As a server does it that loads the application first: the pool is there and busy.
    check(run, """
stored = hasher.hash(PASSWORD)
busy = threading.Thread(target=lambda: [saltern.PasswordHasher(6).hash(PASSWORD) for _ in range(20)])
busy.start()
for _ in range(10):
    child = os.fork()
    if not child:
        assert hasher.verify(stored, PASSWORD)
        grandchild = os.fork()
        if not grandchild:
            os._exit(0 if hasher.verify_and_update(stored, "no") == (False, None) else 1)
        _, status = os.waitpid(grandchild, 0)
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
busy.join()
assert hasher.verify(stored, PASSWORD)
""")


def test_a_fork_in_the_middle_of_a_call(run):
    check(run, """
stored = hasher.hash(PASSWORD)
ended = False
def verify():
    while not ended:
        hasher.verify(stored, PASSWORD)
        saltern.blake2b(bytes(5000)).digest()
threads = [threading.Thread(target=verify) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(50):
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if hasher.verify(stored, PASSWORD) else 1)
    assert os.waitpid(child, 0)[1] == 0
ended = True
""")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    program = tmp_path / "program.py"
    program.write_text(f"""
import multiprocessing, saltern
hasher = saltern.PasswordHasher(1)
def verify(stored):
    return hasher.verify(stored, {PASSWORD!r})
if __name__ == "__main__":
    stored = hasher.hash({PASSWORD!r})
    with multiprocessing.get_context({method!r}).Pool(3) as pool:
        assert pool.map(verify, [stored] * 30) == [True] * 30
""")
    subprocess.run([sys.executable, program], timeout=60, check=True)


def test_ctrl_c_ends_a_long_batch(run):
    out = check(run, """
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    saltern.PasswordHasher(6).hash_many([PASSWORD] * 100_000)
except KeyboardInterrupt:
    print(time.monotonic() - began)
# What was in the queue is given up.
assert hasher.verify(hasher.hash(PASSWORD), PASSWORD)
print(time.monotonic() - began)
""")
    interrupted, answered = map(float, out.split())
    # The whole batch would take minutes.
    assert 0.4 < interrupted <= answered < 60


def test_ctrl_c_ends_a_batch_of_items_that_fail_at_once(run):
    check(run, """
import itertools
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    hasher.hash_many(itertools.repeat(7))
except KeyboardInterrupt:
    sys.exit(0)
""")


def test_batches_leave_room_for_logins(run):
    check(run, """
policy = "[params]\\ncost = 1\\n[pool]\\nthreads = 1\\nqueue = 64\\npatience = '60s'\\n"
hasher = saltern.PasswordHasher.from_policy_text(policy)
stored = hasher.hash(PASSWORD)
batches = [
    threading.Thread(target=hasher.hash_many, args=([PASSWORD] * 500,), daemon=True)
    for _ in range(6)
]
for batch in batches:
    batch.start()
time.sleep(0.1)
for _ in range(100):
    assert hasher.verify(stored, PASSWORD)
assert any(batch.is_alive() for batch in batches)
os._exit(0)
""")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_policies_that_say_nothing_of_a_pool_agree_with_any(run):
    check(run, """
before = saltern.PasswordHasher(1)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
after = saltern.PasswordHasher(1)
stored = after.hash(PASSWORD)
assert before.verify(stored, PASSWORD)
""")


def test_ctrl_c_ends_many_digests(run):
    out = check(run, """
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    saltern.blake2b.hash_many([bytes(1 << 20)] * 20_000, threads=2)
except KeyboardInterrupt:
    print(time.monotonic() - began)
""")
    assert 0.2 < float(out) < 2


def test_a_signal_handler_may_return(run):
    check(run, """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
assert all(isinstance(one, str) for one in saltern.PasswordHasher(5).hash_many([PASSWORD] * 20))
signal.setitimer(signal.ITIMER_REAL, 0)
assert seen
""")


@pytest.mark.parametrize("daemon", [True, False])
def test_the_end_of_the_program_with_work_under_way(run, daemon):
    check(run, f"""
message = bytes(100_000_000)
for _ in range(4):
    work = lambda: saltern.PasswordHasher(6).hash(PASSWORD)
    threading.Thread(target=work, daemon={daemon}).start()
    digest = lambda: saltern.blake2b(message)
    threading.Thread(target=digest, daemon={daemon}).start()
time.sleep(0.05)
""")


def test_the_end_of_an_event_loop_with_work_under_way(run):
    check(run, """
import asyncio
async def main():
    hashes = [saltern.AsyncPasswordHasher(6).hash(PASSWORD) for _ in range(50)]
    asyncio.gather(*hashes)
    await asyncio.sleep(0.01)
    sys.exit(3)
asyncio.run(main())
""", status=3)


def test_killed_by_a_signal(run):
    check(run, """
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
saltern.PasswordHasher(6).hash_many([PASSWORD] * 100_000)
""", status=-signal.SIGTERM)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def grown(calls) -> int:
    """Bytes that so many calls have added, after as many before."""
    calls()
    before = resident()
    calls()
    return resident() - before


def test_a_million_calls_take_no_memory(hasher, stored):
    wrong = "{key=gone+0123456789abcdef}" + stored

    def calls() -> None:
        # Five calls each, and as many again before.
        for _ in range(100_000):
            saltern.blake2b(b"message", key=b"key").hexdigest()
            saltern.blake2s(b"message").copy().digest()
            hasher.check_needs_rehash(stored)
            saltern.inspect(stored)
            try:
                hasher.verify(wrong, PASSWORD)
            except saltern.UnavailableError:
                pass

    assert grown(calls) < 1 << 20


def test_logins_in_asyncio_take_no_memory(stored):
    async def main() -> int:
        hasher = saltern.AsyncPasswordHasher(1)

        async def logins() -> None:
            for _ in range(5):
                await asyncio.gather(*(hasher.verify(stored, PASSWORD) for _ in range(50)))
                await hasher.hash_many([7, "a\0b"] * 200)

        await logins()
        await logins()
        before = resident()
        await logins()
        return resident() - before

    assert asyncio.run(main()) < 2 << 20


def test_hashes_and_batches_take_no_memory(hasher, stored):
    rows = [bytes(64)] * 50_000

    def calls() -> None:
        for _ in range(100):
            hasher.verify(stored, PASSWORD)
        for _ in range(10):
            bytes(saltern.blake2b.hash_many(rows))
            hasher.hash_many(["a\0b", 7] * 100)

    calls()
    assert grown(calls) < 4 << 20


def test_references_are_given_back(hasher):
    message, password = bytes(range(200)), "correct horse battery"
    array = bytearray(5000)
    counts = [sys.getrefcount(one) for one in (message, password, array)]
    for _ in range(100):
        saltern.blake2b(message).update(array)
        saltern.blake2b.hash_many([message, array])
        saltern.inspect(hasher.hash(password))
        hasher.hash_many([password, 7])
    assert [sys.getrefcount(one) for one in (message, password, array)] == counts
    array.extend(b"not lent any more")


def test_clients_take_turns_in_one_pool(run):
    """One client has hundreds of hashes waiting; of another one's, each is next but one."""
    check(run, """
import asyncio
policy = "[params]\\ncost = 3\\n[pool]\\nthreads = 1\\n"
crowd = saltern.AsyncPasswordHasher.from_policy_text(policy).for_client("crowd")
alone = crowd.for_client("alone", weight=2)
ended = []

async def hash(client):
    assert (await client.hash(PASSWORD)).startswith("$y$")
    ended.append(client)

async def main():
    await asyncio.gather(*[hash(crowd) for _ in range(200)], *[hash(alone) for _ in range(10)])

asyncio.run(main())
last = max(at for at, client in enumerate(ended) if client is alone)
assert len(ended) == 210 and last < 60, last
""")
