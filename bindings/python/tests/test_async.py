"""asyncio: awaited without threads of Python, cancelled, in several loops."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pyarrow
import pytest

import saltern
from saltern import AsyncPasswordHasher, aio

PASSWORD = "correct horse"


def test_hash_verify_update(stored):
    async def main() -> None:
        hasher = AsyncPasswordHasher(1)
        made = await hasher.hash(PASSWORD)
        assert await hasher.verify(made, PASSWORD) is True
        assert await hasher.verify_and_update(stored, PASSWORD) == (True, None)
        assert await hasher.verify_and_update("!" + stored, PASSWORD) == (False, None)
        with pytest.raises(saltern.AccountLockedError):
            await hasher.verify("!" + stored, PASSWORD)
        with pytest.raises(saltern.VerifyMismatchError):
            await hasher.verify(stored, "battery staple")
        with pytest.raises(saltern.InvalidHashError, match="wrong order"):
            await hasher.verify(PASSWORD, stored)
        with pytest.raises(saltern.DeadlineError):
            await hasher.hash(PASSWORD, deadline=0)
        assert not hasher.check_needs_rehash(made)
        # Two steps: the new hash is submitted when the old one has matched.
        valid, update = await AsyncPasswordHasher(2).verify_and_update(stored, PASSWORD)
        assert valid and update is not None and await hasher.verify(update, PASSWORD)
        fixed = await hasher.hash(PASSWORD, salt=b"salt")
        assert fixed == await hasher.hash(PASSWORD, salt=b"salt")

    asyncio.run(main(), debug=True)


def test_no_thread_of_python_waits(stored):
    async def main() -> None:
        hasher = AsyncPasswordHasher.from_policy_text("[params]\ncost = 1\n")
        before = threading.active_count()
        waiting = [asyncio.ensure_future(hasher.verify(stored, PASSWORD)) for _ in range(100)]
        await asyncio.sleep(0)
        assert threading.active_count() == before
        assert await asyncio.gather(*waiting) == [True] * 100

    asyncio.run(main(), debug=True)


def test_batches_are_in_order(stored):
    async def main() -> None:
        hasher = AsyncPasswordHasher(1)
        passwords = [f"password {n}" for n in range(100)]
        hashes = await hasher.hash_many(passwords)
        assert await hasher.verify_many(hashes, passwords) == [True] * 100
        made = await hasher.hash_many(["fine", "a\0b", 7, "fine"])
        assert [type(one) for one in made] == [str, saltern.BadInputError, TypeError, str]
        answers = await hasher.verify_many([stored, stored, "tiger"], [PASSWORD, "no", PASSWORD])
        assert answers[:2] == [True, False] and isinstance(answers[2], saltern.InvalidHashError)
        with pytest.raises(ValueError):
            await hasher.verify_many([stored], [])
        for wrong in -1, float("nan"), float("inf"), 1e300:
            with pytest.raises(saltern.BadInputError, match="expected seconds, at least 0"):
                await hasher.hash_many(passwords, deadline=wrong)
        late = await AsyncPasswordHasher(5).hash_many(passwords, deadline=0.2)
        assert any(isinstance(one, saltern.DeadlineError) for one in late)

    asyncio.run(main(), debug=True)


def test_columns_of_batches(stored):
    async def main() -> None:
        hasher = AsyncPasswordHasher(1)
        for single in "password", b"password", memoryview(b"password"):
            with pytest.raises(TypeError, match="a single item"):
                await hasher.hash_many(single)
        assert isinstance((await hasher.hash_many([None]))[0], saltern.BadInputError)
        column = pyarrow.array(["a", "b"])
        hashes = await hasher.hash_many(column)
        assert await hasher.verify_many(pyarrow.array(hashes), column) == [True] * 2
        # Items that fail at once let others run meanwhile.
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        failed = await hasher.hash_many([7] * 20_000)
        counting.cancel()
        assert len(failed) == 20_000 and turns > 100

    asyncio.run(main(), debug=True)


def test_batches_leave_room_in_a_short_queue(run):
    """Two at once share half of it, as those without asyncio do."""
    ended = run("""
import asyncio, saltern
policy = "[params]\\ncost = 1\\n[pool]\\nthreads = 1\\nqueue = 16\\npatience = '60s'\\n"
hasher = saltern.PasswordHasher.from_policy_text(policy)

async def main(hasher):
    async with asyncio.timeout(0.001), asyncio.TaskGroup() as group:
        group.create_task(hasher.hash_many(["x"] * 100))

async def both(hasher):
    return await asyncio.gather(*(hasher.hash_many(["x"] * 100) for _ in range(2)))

twin = saltern.AsyncPasswordHasher.of(hasher)
try:
    asyncio.run(main(twin))
except TimeoutError:
    print("given up")
columns = [hasher.hash_many(["x"] * 100), *asyncio.run(both(twin))]
print([sum(type(one) is str for one in column) for column in columns])
""")
    assert ended.stdout == "given up\n[100, 100, 100]\n", ended.stdout + ended.stderr


def test_a_batch_that_is_cancelled_leaves_nothing_to_be_told(caplog, stored):
    async def main() -> None:
        column = ["{key=gone+0123456789abcdef}" + stored] * 10 + [stored] * 50
        hasher = AsyncPasswordHasher.from_policy_text("[params]\ncost = 1\n")
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(0.001):
                await hasher.verify_many([stored] * 30 + column, [PASSWORD] * 90)

    asyncio.run(main(), debug=True)
    gc.collect()
    assert not [record for record in caplog.records if "never retrieved" in record.message]


def test_cancelling_gives_up_what_has_not_begun(stored):
    async def main() -> None:
        hasher = AsyncPasswordHasher(8)
        waiting = [asyncio.ensure_future(hasher.hash(PASSWORD)) for _ in range(200)]
        await asyncio.sleep(0.05)
        for task in waiting:
            task.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended[10:])
        # The 200 would take a minute of two processors: this one does not wait for them.
        await asyncio.wait_for(AsyncPasswordHasher(1).verify(stored, PASSWORD), 20)
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(0.05):
                await hasher.hash_many([PASSWORD] * 1000)

    asyncio.run(main())


def test_cancelling_does_not_wait_for_who_holds_the_exception(run):
    """An exception holds the frames that it came through, and they what is being computed."""
    ended = run("""
import asyncio, saltern

policy = "[params]\\ncost = 1\\n[pool]\\nthreads = 1\\nqueue = 16\\npatience = '60s'\\n"
hasher = saltern.PasswordHasher.from_policy_text(policy)
stored = hasher.hash("a")
dear = saltern.AsyncPasswordHasher(7)
cheap = saltern.AsyncPasswordHasher.of(hasher)

held = []

async def one():
    try:
        await dear.hash("a")
    except asyncio.CancelledError as error:
        held.append(error)

async def main():
    for _ in range(4):
        # Nearly as many as there is room for.
        tasks = [asyncio.ensure_future(one()) for _ in range(12)]
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
    assert len(held) == 48
    return await cheap.verify(stored, "a")

print(asyncio.run(main()))
""")
    assert ended.stdout == "True\n", ended.stdout + ended.stderr


def test_several_loops_in_several_threads(stored):
    hasher = AsyncPasswordHasher(1)
    ended = []

    async def main() -> None:
        ended.extend(await asyncio.gather(*(hasher.verify(stored, PASSWORD) for _ in range(20))))

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ended == [True] * 80


def test_loops_are_forgotten(stored):
    loop = asyncio.new_event_loop()
    hasher = AsyncPasswordHasher(1)
    assert loop.run_until_complete(hasher.verify(stored, PASSWORD))
    # Nothing but its own pipe is left with a loop that waits for nothing.
    assert len(loop._selector.get_map()) == 1
    seen = weakref.ref(loop)
    # One that is closed with something under way is forgotten, too.
    loop.run_until_complete(_begin(hasher))
    assert loop in aio._loops
    loop.close()
    del loop
    asyncio.run(hasher.verify(stored, PASSWORD))
    gc.collect()
    assert seen() is None and not any(loop.is_closed() for loop in aio._loops)


async def _begin(hasher: AsyncPasswordHasher) -> None:
    aio._loop().wait(hasher._hasher._start_hash(PASSWORD, None, None, None))
