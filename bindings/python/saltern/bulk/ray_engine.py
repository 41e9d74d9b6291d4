"""The engine of a cluster, on the side of the job: Ray runs in a separate process.

Ray silently ends a process whose cluster is gone, and prints on its streams. Neither must happen to
the process that holds the lock and writes the report.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection as Pipe
from typing import Any

from saltern.bulk import ray_driver
from saltern.bulk.engine import Results
from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment
from saltern.bulk.refusal import Refused
from saltern.bulk.report import say

STARTS_WITHIN = 300.0
"""Seconds for Ray to start, or to be found."""
IDLE = 1800.0
"""Seconds for a range, or for the first actor: clusters live on that have no room for one."""
QUIET = 60.0
"""Seconds without a sign of life, after which the cluster counts as gone."""
TICK = 0.5
FAREWELL = 15.0
"""Seconds for Ray to end."""


class RayEngine:
    """A cluster, or Ray on this machine."""

    def __init__(self, address: str, workers: int | None, stop: threading.Event) -> None:
        self.stop = stop
        spawned = multiprocessing.get_context("spawn")
        self._pipe, there = spawned.Pipe()
        self._process = spawned.Process(
            target=ray_driver.run, args=(there, address, workers), name="saltern.bulk Ray"
        )
        self._there: Pipe | None = there

    def __enter__(self) -> RayEngine:
        self._process.start()
        assert self._there is not None
        # From now on the end of that process closes the pipe.
        self._there.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(FAREWELL)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def check(self, assignment: Assignment) -> None:
        """Refuses the job if a node lacks something, or has something different."""
        for message in self._answers(("check", assignment), STARTS_WITHIN):
            if message is not None and "nodes" in message:
                say(f"{message['nodes']} nodes have the policy, its keys and its ROMs")
                return
        raise Refused("ended by a signal before any row was touched")

    def results(self, assignment: Assignment, ranges: Sequence[Range]) -> Results:
        """Processes ranges. Once it is stopped, unfinished work is dropped: none of it was
        written."""
        if not ranges:
            return
        last = time.monotonic()
        for message in self._answers(("do", assignment, list(ranges)), QUIET):
            if message is not None and "done" in message:
                last = time.monotonic()
            elif time.monotonic() - last > IDLE:
                raise Refused(
                    f"the Ray cluster lives, but has done no range for {IDLE / 60:.0f} minutes: "
                    "has it room for an actor (`ray status`)? If ranges take as long, use a "
                    "smaller --range-rows"
                )
            if message is None:
                yield None
            elif "end" in message:
                return
            elif "done" in message:
                yield message["done"]

    def _answers(
        self, request: tuple[Any, ...], first: float
    ) -> Iterator[dict[str, Any] | None]:
        """The messages of the other process; `None` when there was none for a while."""
        gone = Refused("the Ray cluster is gone, or did not start: the same command goes on")
        until = time.monotonic() + first
        try:
            self._pipe.send(request)
            while not self.stop.is_set():
                if not self._pipe.poll(TICK):
                    if time.monotonic() > until:
                        raise gone
                    yield None
                    continue
                message = self._pipe.recv()
                until = time.monotonic() + QUIET
                if "failure" in message:
                    raise Refused(message["failure"])
                yield message
        except (EOFError, OSError):
            raise gone from None
