"""What every engine of jobs offers: on this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done


class Engine(Protocol):
    """What does ranges."""

    def results(
        self, assignment: Assignment, ranges: Sequence[Range]
    ) -> Generator[Done | None, None, None]:
        """Does ranges: what came of each, in any order, and `None` when nothing has for a while."""
