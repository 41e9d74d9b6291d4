"""The engine of one machine: a few threads of this process, which share its pool.

There are several, so that one reads or writes rows while another one computes: hashes are computed
in the threads of the pool, regardless of the number of these.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing

from saltern.bulk.engine import Results
from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done, Worker
from saltern.bulk.refusal import Superseded
from saltern.bulk.site import Site

TICK = 0.5
TRIES = 3
"""So often is a range begun that another driver has taken."""


class LocalEngine:
    """Threads of this process."""

    def __init__(
        self,
        site: Site,
        workers: int,
        stop: threading.Event,
        doubt: threading.Event | None = None,
    ) -> None:
        self.site, self.workers, self.stop = site, workers, stop
        self.doubt = doubt or threading.Event()

    def results(self, assignment: Assignment, ranges: Sequence[Range]) -> Results:
        """Processes ranges. Once `stop` is set, current ones are finished and no other is begun;
        nor is one while `doubt` is set. Ranges taken by another driver are tried again at the end:
        if our lock was lost for a moment, that driver may have begun, and has since been refused."""
        left, own = deque((wanted, 1) for wanted in ranges), threading.local()

        def do(wanted: Range) -> Done | None:
            if not hasattr(own, "worker"):
                own.worker = sessions.enter_context(closing(Worker(assignment, self.site, self.stop)))
            worker: Worker = own.worker
            return worker.do(wanted)

        name = "saltern.bulk"
        with ExitStack() as sessions, ThreadPoolExecutor(self.workers, name) as threads:
            begun: dict[Future[Done | None], tuple[Range, int]] = {}
            while begun or left and not self.stop.is_set():
                while left and len(begun) < self.workers and not self._waiting():
                    wanted, tries = left.popleft()
                    begun[threads.submit(do, wanted)] = wanted, tries
                if not begun:
                    self.stop.wait(TICK)
                    yield None
                    continue
                ended, _ = wait(begun, TICK, FIRST_COMPLETED)
                if not ended:
                    yield None
                for future in ended:
                    wanted, tries = begun.pop(future)
                    try:
                        done = future.result()
                    except Superseded:
                        if tries == TRIES:
                            raise
                        left.append((wanted, tries + 1))
                    else:
                        # None if it was stopped while it waited.
                        yield done

    def _waiting(self) -> bool:
        return self.stop.is_set() or self.doubt.is_set()
