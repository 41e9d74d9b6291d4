"""Tables that are exported: a file of Parquet in, another one out, a row group at a time."""

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
from saltern.bulk.columns import found_errors, outcomes, replaced, rewritten
from saltern.bulk.counts import added
from saltern.bulk.outcome import errors
from saltern.bulk.refusal import Refused
from saltern.bulk.report import Progress, say, show
from saltern.bulk.signals import Signals
from saltern.bulk.site import Site


def run(options: Options, site: Site, file: Path) -> int:
    """Does what was asked for: the exit status."""
    try:
        with parquet.ParquetFile(file) as source:
            _refuse(options, file, source.schema_arrow)
            return File(options, site, source).run()
    except (OSError, pa.ArrowException) as error:
        raise Refused(f"{file}: {' '.join(str(error).split())}") from None


def _refuse(options: Options, file: Path, schema: pa.Schema) -> None:
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
        raise Refused(f"{file}: {options.hash} is of type {kind}: allowed are strings and binary")
    if options.out is not None and options.out.exists():
        raise Refused(f"{options.out} is there already: name another file, or move it away")


class File:
    """A job on a file."""

    def __init__(self, options: Options, site: Site, source: parquet.ParquetFile) -> None:
        self.options, self.site, self.source = options, site, source
        self.signals = Signals("what is written so far is thrown away")
        metadata = source.metadata
        self.progress = Progress(options.operation, metadata.num_row_groups, metadata.num_rows)
        self.kinds: Counter[str] = Counter()
        self.listed: list[dict[str, object]] = []
        self.census: dict[str, Any] = {}

    def run(self) -> int:
        """Counts, or writes another file."""
        began, ended = time.monotonic(), "done"
        with self.signals:
            if self.options.out is None:
                for group in self._groups():
                    self._count(group)
            else:
                ended = self._written(self.options.out)
        self.progress.end()
        if self.signals.stop.is_set():
            ended = "stopped"
        report = {
            "operation": self.options.operation,
            "table": str(self.options.parquet),
            "ended": ended,
            "policy": self.site.digest,
            "active_key": self.site.active_key,
            "seconds": round(time.monotonic() - began, 3),
            "rows": self.progress.rows,
            "rows_per_second": round(self.progress.rate, 1),
            **self.census,
            "outcomes": dict(self.kinds),
            "in_error": errors(self.kinds),
            "listed": self.listed,
        }
        show(report, self.options.as_json)
        if self.signals.number is not None:
            return 128 + self.signals.number
        return 2 if errors(self.kinds) or ended != "done" else 0

    def _groups(self) -> Iterator[pa.Table]:
        for number in range(self.source.num_row_groups):
            if self.signals.stop.is_set():
                return
            yield self.source.read_row_group(number)

    def _written(self, out: Path) -> str:
        """Writes another file beside its name, and gives it the name when it is whole."""
        schema = self.source.schema_arrow
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=f".{out.name}.") as target:
            codec = self._codec()
            with parquet.ParquetWriter(target, schema, compression=codec) as writer:
                for group in self._groups():
                    writer.write_table(self._rewritten(group), row_group_size=len(group) or None)
                    if self._too_many():
                        return "failed"
            if self.signals.stop.is_set():
                return "stopped"
            target.flush()
            os.fsync(target.fileno())
            try:
                # Unlike a renaming, this does not replace a file that came meanwhile.
                os.link(target.name, out)
            except FileExistsError:
                raise Refused(f"{out} is there by now: name another file") from None
        return "done"

    def _codec(self) -> str:
        metadata = self.source.metadata
        if metadata.num_row_groups == 0 or metadata.num_columns == 0:
            return "snappy"
        name = str(metadata.row_group(0).column(0).compression)
        return "none" if name == "UNCOMPRESSED" else name.lower()

    def _too_many(self) -> bool:
        most = self.options.most_errors
        most = max(100, self.progress.accounts // 100) if most is None else most
        if errors(self.kinds) <= most:
            return False
        say(f"{errors(self.kinds)} rows are in error, more than --most-errors {most}: is this the "
            "right policy? Nothing was written")
        return True

    def _column(self, group: pa.Table, name: str) -> Any:
        return group.column(name).combine_chunks()

    def _rewritten(self, group: pa.Table) -> pa.Table:
        at = group.schema.get_field_index(self.options.hash)
        hashes = self._column(group, self.options.hash)
        rows = rewritten(self.site.hasher, self.options.operation, hashes)
        self._note(group, rows)
        return group.set_column(at, group.schema.field(at), replaced(hashes, rows))

    def _count(self, group: pa.Table) -> None:
        hashes = self._column(group, self.options.hash)
        census, rows = self.site.hasher.count_many(hashes)
        self.census = added(self.census, dict(census))
        self._note(group, pa.array(rows))

    def _note(self, group: pa.Table, rows: pa.StructArray) -> None:
        """Counts a row group. Rows without an id are listed by their number, from 0."""
        kinds = outcomes(rows)
        if self.options.id is None:
            first = self.progress.rows
            ids = pa.array(range(first, first + len(group)))
        else:
            ids = self._column(group, self.options.id)
        left = self.options.list_errors - len(self.listed)
        for id, outcome, why in found_errors(pa.table([ids], names=["id"]), rows)[:left]:
            self.listed.append({"id": id, "outcome": outcome, "why": why})
        self.kinds.update(kinds)
        self.progress.add(len(group), kinds)
