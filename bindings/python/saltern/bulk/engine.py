"""The interface of job engines: on this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done


Results = Generator[Done | None, None, None]
"""What came of ranges, in any order, and `None` when nothing has for a while."""


class Engine(Protocol):
    """Processes ranges."""

    def results(self, assignment: Assignment, ranges: Sequence[Range]) -> Results:
        """Processes ranges. Closing it ends the current ones in the manner of the engine."""
