"""Hashing in asyncio: awaited without a Python thread for each call."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from saltern._saltern import Batch, PasswordHasher, Pending, Wakeup
from saltern.exceptions import SalternError

__all__ = ["AsyncPasswordHasher"]

Secret = str | bytes | bytearray | memoryview
Stored = str | bytes

# After this many items other tasks get a turn.
_TURN = 64


class AsyncPasswordHasher:
    """:class:`saltern.PasswordHasher` for asyncio: the same methods, awaited.

    Hashes are computed in the threads of the process's pool, which do not need the interpreter;
    the event loop is notified through a pipe. Cancelling a task cancels its hash if that has not
    begun, at the latest in the next turn of the loop. Any number of event loops may use one object.
    The loop must support ``add_reader``, as all do except the proactor loop on Windows.
    """

    def __init__(
        self,
        cost: int = 5,
        *,
        schemes: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._hasher = PasswordHasher(cost, schemes=schemes, deadline=deadline)

    @classmethod
    def of(cls, hasher: PasswordHasher) -> AsyncPasswordHasher:
        """The same hasher for asyncio: nothing is read or attached a second time."""
        made = cls.__new__(cls)
        made._hasher = hasher
        return made

    @classmethod
    def from_policy(cls, file: str | os.PathLike[str]) -> AsyncPasswordHasher:
        """A hasher with the policy in a file."""
        return cls.of(PasswordHasher.from_policy(file))

    @classmethod
    def from_policy_text(
        cls, text: str, *, beside: str | os.PathLike[str] = ""
    ) -> AsyncPasswordHasher:
        """A hasher with a policy as text; file names in it are relative to the folder `beside`."""
        return cls.of(PasswordHasher.from_policy_text(text, beside=beside))

    def for_client(self, client: str, weight: int = 1) -> AsyncPasswordHasher:
        """As :meth:`saltern.PasswordHasher.for_client`."""
        return AsyncPasswordHasher.of(self._hasher.for_client(client, weight))

    async def hash(
        self,
        password: Secret,
        *,
        salt: bytes | None = None,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> str:
        """As :meth:`saltern.PasswordHasher.hash`."""
        started = self._hasher._start_hash(password, salt, account, deadline)
        return str(await _loop().wait(started))

    async def verify(
        self,
        hash: Stored | None,
        password: Secret,
        *,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> bool:
        """As :meth:`saltern.PasswordHasher.verify`."""
        started = self._hasher._start_login(hash, password, account, deadline, False)
        return bool(await _loop().wait(started))

    async def verify_and_update(
        self,
        hash: Stored | None,
        password: Secret,
        *,
        account: str | bytes | None = None,
        deadline: float | None = None,
    ) -> tuple[bool, str | None]:
        """As :meth:`saltern.PasswordHasher.verify_and_update`."""
        started = self._hasher._start_login(hash, password, account, deadline, True)
        valid, update = await _loop().wait(started)
        return valid, update

    def check_needs_rehash(self, hash: Stored) -> bool:
        """As :meth:`saltern.PasswordHasher.check_needs_rehash`; computes nothing."""
        return self._hasher.check_needs_rehash(hash)

    async def hash_many(
        self, passwords: Iterable[Secret], *, deadline: float | None = None
    ) -> list[str | Exception]:
        """As :meth:`saltern.PasswordHasher.hash_many`, for anything that can be iterated over."""
        batch = self._hasher._batch([passwords], deadline)
        return await _in_order(batch, batch.hash, zip(_column(passwords)))

    async def verify_many(
        self,
        hashes: Iterable[Stored | None],
        passwords: Iterable[Secret],
        *,
        deadline: float | None = None,
    ) -> list[bool | Exception]:
        """As :meth:`saltern.PasswordHasher.verify_many`, for anything that can be iterated over."""
        batch = self._hasher._batch([hashes, passwords], deadline)
        pairs = zip(_column(hashes), _column(passwords), strict=True)
        return await _in_order(batch, batch.verify, pairs)


def _column(items: Iterable[Any]) -> Iterable[Any]:
    """The items of a column; those of pyarrow columns as Python objects."""
    to_list = getattr(items, "to_pylist", None)
    return items if to_list is None else to_list()


async def _in_order(
    batch: Batch, start: Callable[..., Pending], items: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """The answers in order, exceptions for failed items; limits how many are open at a time."""
    loop, answers = _loop(), list[Any]()
    waiting: deque[asyncio.Future[Any] | Exception] = deque()

    async def first() -> None:
        answers.append(await _answer(waiting[0]))
        waiting.popleft()
        batch.remove()

    try:
        for number, item in enumerate(items):
            if number % _TURN == 0:
                # Items that fail at once do not wait.
                await asyncio.sleep(0)
            while not batch.has_room():
                await first()
            try:
                waiting.append(loop.wait(start(*item)))
            except (SalternError, TypeError) as error:
                waiting.append(error)
            batch.add()
        while waiting:
            await first()
    finally:
        batch.close()
        for future in waiting:
            if isinstance(future, asyncio.Future):
                future.cancel()
                if future.done() and not future.cancelled():
                    # It has ended: an exception need not be reported.
                    future.exception()
    return answers


async def _answer(future: asyncio.Future[Any] | Exception) -> Any:
    if isinstance(future, Exception):
        return future
    try:
        return await future
    except (SalternError, TypeError) as error:
        return error


class _Loop:
    """What is awaited in an event loop, and the pipe through which the loop is notified. It does
    not hold a reference to the loop, which must be freed when nobody else needs it."""

    def __init__(self) -> None:
        self._wakeup = Wakeup()
        self._waiting: dict[int, tuple[Pending, asyncio.Future[Any]]] = {}
        self._next = 0

    def wait(self, pending: Pending) -> asyncio.Future[Any]:
        """A future of the result."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        key, self._next = self._next, self._next + 1
        if self._poll(pending, key, future):
            return future
        # While nothing is awaited, nothing is registered with the loop.
        if not self._waiting:
            loop.add_reader(self._wakeup.fileno(), self._told)
        self._waiting[key] = (pending, future)
        future.add_done_callback(functools.partial(self._forget, key))
        return future

    def _poll(self, pending: Pending, key: int, future: asyncio.Future[Any]) -> bool:
        """Whether it has ended."""
        try:
            result = pending.poll(self._wakeup, key)
        except Exception as error:
            future.set_exception(error)
            return True
        if result is None:
            return False
        future.set_result(result[0])
        return True

    def _told(self) -> None:
        for key in self._wakeup.take():
            pending, future = self._waiting.get(key, (None, None))
            if pending is not None and future is not None and not future.done():
                self._poll(pending, key, future)

    def _forget(self, key: int, _: asyncio.Future[Any]) -> None:
        # Whoever else still holds it: an exception holds the frames that it came through.
        pending, _future = self._waiting.pop(key)
        pending.cancel()
        if not self._waiting:
            asyncio.get_running_loop().remove_reader(self._wakeup.fileno())


_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = WeakKeyDictionary()
# Event loops may run in several threads.
_loops_lock = threading.Lock()


def _forked() -> None:
    # The lock may have been held by another thread, which does not exist here.
    global _loops_lock
    _loops_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _loop() -> _Loop:
    running = asyncio.get_running_loop()
    with _loops_lock:
        found = _loops.get(running)
        if found is None:
            for closed in [loop for loop in list(_loops) if loop.is_closed()]:
                _loops.pop(closed, None)
            found = _loops[running] = _Loop()
        return found
