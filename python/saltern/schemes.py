"""What the adapters ask of a stored string."""

from __future__ import annotations

from saltern._saltern import inspect
from saltern.exceptions import SalternError

__all__ = ["is_ours"]


def is_ours(hash: str | bytes) -> bool:
    """Whether this is a whole string of yescrypt or scrypt."""
    try:
        inspect(hash)
    except (SalternError, TypeError):
        return False
    return True
