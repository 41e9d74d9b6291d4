"""Censuses of parts of a table, and their sums."""

from __future__ import annotations

from typing import Any


def added(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The sum of two censuses."""
    if not one:
        return other
    total = dict(one)
    for name, count in other.items():
        if isinstance(count, dict):
            counts = dict(total[name])
            for key, more in count.items():
                counts[key] = counts.get(key, 0) + more
            total[name] = counts
        else:
            total[name] += count
    return total
