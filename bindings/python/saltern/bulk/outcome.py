"""The possible outcomes for a string. Needs neither Arrow nor a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ERRORS = ("bad", "refused", "unavailable", "tampered", "failed")
"""The outcomes that are errors: the string cannot be read; the policy does not accept it; its key
or its ROM is not there; it is not the one sealed for this account; it could not be computed."""

KEPT_ERRORS = 100
"""So many rows in error are listed of one range; all are counted."""


def errors(outcomes: Mapping[str, int]) -> int:
    """How many of them are errors."""
    return sum(outcomes.get(kind, 0) for kind in ERRORS)


def named(rows: Iterable[tuple[object, ...]]) -> list[dict[str, object]]:
    """Rows in error (id, outcome, why) as a report lists them."""
    return [{"id": id, "outcome": outcome, "why": why} for id, outcome, why in rows]


def most_errors(asked: int | None, rows: int) -> int:
    """The most rows that may be in error before a job ends."""
    return max(100, rows // 100) if asked is None else asked
