"""A folder of Parquet, moved to the active key with Daft.

    python daft_frame.py saltern.toml rekey password_hash in/ out/
"""

from __future__ import annotations

import sys

import daft
import pyarrow as pa
from daft import DataType, Series

from saltern.bulk import Rewrite


def main(policy: str, operation: str, column: str, source: str, target: str) -> None:
    rewrite = Rewrite(policy, operation, column)

    # A batch at a time: the pool of the process has the threads.
    @daft.func.batch(return_dtype=DataType.string())
    def rewritten(hashes: Series) -> Series:
        batch = pa.table({column: hashes.to_arrow()})
        return Series.from_arrow(rewrite(batch).column(0).combine_chunks())

    frame = daft.read_parquet(source)
    frame = frame.with_column(column, rewritten(frame[column]))
    frame.write_parquet(target)
    print(daft.read_parquet(target).count_rows(), "rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
