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
    rewrite = Rewrite(policy, operation, column, outcome="outcome")
    text = DataType.string()

    # A batch at a time: the pool of the process has the threads.
    @daft.func.batch(  # type: ignore[untyped-decorator, unused-ignore]
        return_dtype=DataType.struct({column: text, "outcome": text})
    )
    def rewritten(hashes: Series) -> Series:
        made = rewrite(pa.table({column: hashes.to_arrow()}))
        return Series.from_arrow(made.to_struct_array().combine_chunks())

    frame = daft.read_parquet(source)
    frame = frame.with_column("made", rewritten(frame[column]))
    frame = frame.with_column("outcome", frame["made"].get("outcome"))
    frame = frame.with_column(column, frame["made"].get(column)).exclude("made")
    frame.write_parquet(target)
    written = daft.read_parquet(target)
    counts = written.groupby("outcome").agg(written["outcome"].count().alias("rows")).to_pydict()
    print(dict(zip(counts["outcome"], counts["rows"], strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
