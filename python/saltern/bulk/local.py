"""The engine of one machine: a few threads of this process, which share its pool.

Several, so that one has rows of the database while another one computes: hashes are computed in the
threads of the pool, however many of these there are.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing

from saltern.bulk.engine import Results
from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done, Worker
from saltern.bulk.site import Site

TICK = 0.5


class LocalEngine:
    """Threads of this process."""

    def __init__(self, site: Site, workers: int, stop: threading.Event) -> None:
        self.site, self.workers, self.stop = site, workers, stop

    def results(self, assignment: Assignment, ranges: Sequence[Range]) -> Results:
        """Does ranges. Once `stop` is set, those at hand are finished and no other is begun."""
        left, own = iter(ranges), threading.local()

        def do(wanted: Range) -> Done:
            if not hasattr(own, "worker"):
                own.worker = sessions.enter_context(closing(Worker(assignment, self.site)))
            worker: Worker = own.worker
            return worker.do(wanted)

        name = "saltern.bulk"
        with ExitStack() as sessions, ThreadPoolExecutor(self.workers, name) as threads:
            begun: set[Future[Done]] = set()
            while True:
                while len(begun) < self.workers and not self.stop.is_set():
                    wanted = next(left, None)
                    if wanted is None:
                        break
                    begun.add(threads.submit(do, wanted))
                if not begun:
                    return
                ended, begun = wait(begun, TICK, FIRST_COMPLETED)
                if not ended:
                    yield None
                for future in ended:
                    yield future.result()
