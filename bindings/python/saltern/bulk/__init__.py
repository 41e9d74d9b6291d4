"""Work on whole tables of stored strings: on one machine, on a Ray cluster, or in other engines.

``python -m saltern.bulk rekey|wrap|seal|census|verify-sample`` works on a PostgreSQL table or a
Parquet file; docs/bulk.md in the repository describes it. :class:`Rewrite` can be called by any
engine that passes Arrow data: it is a function from a batch of rows to a batch of rows.
"""

from typing import TYPE_CHECKING, Any

from saltern.bulk.outcome import ERRORS
from saltern.bulk.refusal import Refused

if TYPE_CHECKING:
    from saltern.bulk.columns import Rewrite

__all__ = ["ERRORS", "Refused", "Rewrite"]


def __getattr__(name: str) -> Any:
    """Rewrite needs pyarrow, which the program must not require."""
    if name == "Rewrite":
        from saltern.bulk.columns import Rewrite

        return Rewrite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
