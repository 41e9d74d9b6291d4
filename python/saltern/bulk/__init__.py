"""Work on whole tables of stored strings: on one machine, on a Ray cluster, or in other engines.

``python -m saltern.bulk rekey|wrap|census|verify-sample`` works on a table of PostgreSQL or a file
of Parquet; docs/bulk.md of the repository describes it. :class:`Rewrite` is what any engine can
call that hands over Arrow: a function from a batch of rows to a batch of rows.
"""

from saltern.bulk.columns import ERRORS, Rewrite

__all__ = ["ERRORS", "Rewrite"]
