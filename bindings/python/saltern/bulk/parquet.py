"""Exported tables: one Parquet file in, another one out, a row group at a time."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from saltern.bulk.arguments import Options
from saltern.bulk.columns import (
    account_ids,
    decoded,
    found_errors,
    outcomes,
    replaced,
    rewritten,
)
from saltern.bulk.counts import added
from saltern.bulk.outcome import errors, most_errors, named
from saltern.bulk.refusal import Refused
from saltern.bulk.report import Progress, head, say, show, status
from saltern.bulk.signals import Signals
from saltern.bulk.site import Site


def run(options: Options, site: Site, file: Path) -> int:
    """Runs the job; returns the exit status."""
    try:
        with parquet.ParquetFile(file) as source:
            _refuse(options, file, source)
            return File(options, site, source).run()
    except (OSError, pa.ArrowException) as error:
        raise Refused(f"{file}: {' '.join(str(error).split())}") from None


def _refuse(options: Options, file: Path, source: parquet.ParquetFile) -> None:
    schema = source.schema_arrow
    assert options.hash is not None
    if schema.names.count(options.hash) != 1:
        raise Refused(f"{file} has no column {options.hash}, or several")
    if options.id is not None and schema.names.count(options.id) != 1:
        raise Refused(f"{file} has no column {options.id}, or several")
    kind = schema.field(options.hash).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
    )
    if not any(is_of(plain) for is_of in known):
        raise Refused(f"{file}: {options.hash} is of type {kind}: expected strings or binary")
    if options.out is not None and options.out.exists():
        raise Refused(f"{options.out} is there already: name another file, or move it away")
    columns = [source.schema.column(at) for at in range(len(source.schema))]
    old = [column.path for column in columns if column.physical_type == "INT96"]
    if options.out is not None and old:
        raise Refused(
            f"{file}: {', '.join(old)} has timestamps of the old type INT96, which would not stay "
            "as they are: export them as TIMESTAMP (Spark: spark.sql.parquet.outputTimestampType)"
        )


CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}
"""Those that have other names when files are written."""
SLICE = 50_000
"""Rows that are computed at once: a column of Arrow has room for 2 GiB of strings."""


class File:
    """A job on a file."""

    def __init__(self, options: Options, site: Site, source: parquet.ParquetFile) -> None:
        self.options, self.site, self.source = options, site, source
        self.signals = Signals("what is written so far is thrown away")
        metadata = source.metadata
        sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
        pieces = sum(max(1, -(-size // SLICE)) for size in sizes)
        self.progress = Progress(options.operation, pieces)
        self.kinds: Counter[str] = Counter()
        self.listed: list[dict[str, object]] = []
        counts = options.operation == "census"
        self.census: dict[str, Any] = dict(site.hasher.count_many([])[0]) if counts else {}

    def run(self) -> int:
        """Counts, or writes another file."""
        options, progress, began = self.options, self.progress, time.monotonic()
        with self.signals:
            ended = self._counted() if options.out is None else self._written(options.out)
            progress.end()
            label, rows = str(options.parquet), progress.rows
            report = {
                **head(options.operation, label, ended, self.site, began, rows),
                "rows_per_second": round(progress.rate, 1),
                **self.census,
                **({} if options.out is None else {"changed": progress.changed}),
                "outcomes": dict(self.kinds),
                "in_error": errors(self.kinds),
                "listed": self.listed,
            }
            show(report, options.as_json)
        return status(ended, self.signals.number, errors(self.kinds))

    def _groups(self) -> Iterator[pa.Table]:
        """Row groups, with the columns that are needed."""
        wanted = None
        if self.options.out is None:
            wanted = [name for name in (self.options.id, self.options.hash) if name is not None]
        for number in range(self.source.num_row_groups):
            if self.signals.stop.is_set():
                return
            yield self.source.read_row_group(number, columns=wanted)

    def _counted(self) -> str:
        """Counts; returns how that ended."""
        for group in self._groups():
            for piece in _pieces(group):
                self._count(piece)
        return "done" if self.progress.done == self.progress.ranges else "stopped"

    def _written(self, out: Path) -> str:
        """Writes another file under a temporary name, and renames it when it is complete; returns
        how that ended."""
        schema = self.source.schema_arrow
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.") as target:
            _refuse_without_links(Path(target.name), out)
            with parquet.ParquetWriter(target, schema, compression=self._codecs()) as writer:
                for group in self._groups():
                    writer.write_table(self._rewritten(group), row_group_size=len(group) or None)
                    if self._too_many():
                        return "failed"
            if not self.signals.stop.is_set():
                target.flush()
                os.fsync(target.fileno())
            # From here on the file is complete, whatever stops the job.
            if self.signals.stop.is_set():
                return "stopped"
            try:
                # Unlike renaming, this does not replace a file created meanwhile.
                os.link(target.name, out)
            except FileExistsError:
                raise Refused(f"{out} is there by now: name another file") from None
        folder = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return "done"

    def _codecs(self) -> dict[str, str]:
        """The codec of each column, as in the first row group."""
        metadata = self.source.metadata
        if metadata.num_row_groups == 0:
            return {}
        group = metadata.row_group(0)
        columns = [group.column(at) for at in range(group.num_columns)]
        return {
            column.path_in_schema: CODECS.get(column.compression, column.compression.lower())
            for column in columns
        }

    def _too_many(self) -> bool:
        most = most_errors(self.options.most_errors, self.source.metadata.num_rows)
        if errors(self.kinds) <= most:
            return False
        say(f"{errors(self.kinds)} rows are in error, more than --most-errors {most}: is this the "
            "right policy? Nothing was written")
        return True

    def _rewritten(self, group: pa.Table) -> pa.Table:
        at = group.schema.get_field_index(self.options.hash)
        written = [self._rewritten_piece(piece) for piece in _pieces(group)]
        field = group.schema.field(at)
        return group.set_column(at, field, pa.chunked_array(written, field.type))

    def _rewritten_piece(self, piece: pa.Table) -> pa.Array:
        hashes = _column(piece, str(self.options.hash))
        options, ids = self.options, self._accounts(piece)
        rows = rewritten(self.site.hasher, options.operation, hashes, ids, options.json_key)
        self._note(piece, rows)
        return replaced(hashes, rows)

    def _count(self, piece: pa.Table) -> None:
        hashes = decoded(_column(piece, str(self.options.hash)))
        census, rows = self.site.hasher.count_many(
            hashes, accounts=self._accounts(piece), json_key=self.options.json_key
        )
        self.census = added(self.census, dict(census))
        self._note(piece, pa.array(rows))

    def _accounts(self, piece: pa.Table) -> Any:
        """The ids of the rows as text, if there is a column of them."""
        return None if self.options.id is None else account_ids(_column(piece, self.options.id))

    def _note(self, piece: pa.Table, rows: pa.StructArray) -> None:
        """Counts rows. Those without an id are listed by their number, from 0."""
        kinds = outcomes(rows)
        if self.options.id is None:
            first = self.progress.rows
            ids = pa.array(range(first, first + len(piece)))
        else:
            ids = _column(piece, self.options.id)
        left = self.options.list_errors - len(self.listed)
        self.listed += named(found_errors(pa.table([ids], names=["id"]), rows)[:left])
        self.kinds.update(kinds)
        self.progress.add(len(piece), kinds)


def _pieces(group: pa.Table) -> list[pa.Table]:
    """A row group in parts that can be computed at once."""
    return [group.slice(start, SLICE) for start in range(0, max(len(group), 1), SLICE)]


def _column(piece: pa.Table, name: str) -> pa.Array:
    return piece.column(name).combine_chunks()


def _refuse_without_links(target: Path, out: Path) -> None:
    """Checked before anything is computed, which may take hours."""
    trial = target.with_name(target.name + ".link")
    try:
        os.link(target, trial)
        trial.unlink()
    except OSError as error:
        raise Refused(
            f"{out}: files cannot have two names there ({error.strerror}), which keeps a file that "
            "comes meanwhile from being replaced: name a file on another file system"
        ) from None
