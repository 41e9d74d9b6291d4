"""What can become of a string. Neither Arrow nor a database is needed to know it."""

from __future__ import annotations

from collections.abc import Mapping

ERRORS = ("bad", "refused", "unavailable", "failed")
"""The outcomes that are errors: the string cannot be read; the policy does not accept it; its key
or its ROM is not there; it could not be computed."""

KEPT_ERRORS = 100
"""So many rows in error are listed of one range; all are counted."""


def errors(outcomes: Mapping[str, int]) -> int:
    """How many of them are errors."""
    return sum(outcomes.get(kind, 0) for kind in ERRORS)
