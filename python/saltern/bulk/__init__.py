"""Work on whole tables of stored strings: on one machine, on a Ray cluster, or in other engines.

``python -m saltern.bulk rekey|wrap|census|verify-sample`` works on a table of PostgreSQL or a file
of Parquet; docs/bulk.md of the repository describes it. :class:`Rewrite` is what any engine can
call that hands over Arrow: a function from a batch of rows to a batch of rows.
"""

from typing import TYPE_CHECKING, Any

from saltern.bulk.outcome import ERRORS
from saltern.bulk.refusal import Refused

if TYPE_CHECKING:
    from saltern.bulk.columns import Rewrite

__all__ = ["ERRORS", "Refused", "Rewrite"]


def __getattr__(name: str) -> Any:
    """Rewrite needs pyarrow, which the program has to be able to miss."""
    if name == "Rewrite":
        from saltern.bulk.columns import Rewrite

        return Rewrite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
