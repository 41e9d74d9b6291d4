"""Output for people and programs: progress while a job runs, and its report at the end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from saltern.bulk.outcome import errors
from saltern.bulk.site import Site

INTERVAL = 10.0
"""Seconds between lines, where there is no terminal."""


class Progress:
    """Rows, rows a second and the time left: updated in place on a terminal, or a line every ten
    seconds."""

    def __init__(
        self,
        operation: str,
        ranges: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.operation, self.ranges, self.clock = operation, ranges, clock
        self.stream = sys.stderr if stream is None else stream
        self.done = self.rows = self.changed = self.conflicts = self.errors = 0
        self.began = self.clock()
        self._last = self.began
        self.why: str | None = None
        """What holds the job back."""
        self._first = (0.0, 0)
        """When the first range was done, and how many rows it had: an engine takes its time to
        start."""
        self._live = self.stream.isatty()
        self._told = self.began

    def add(self, rows: int, outcomes: Mapping[str, int], conflicts: int = 0) -> None:
        """Counts a range."""
        self.done += 1
        self.rows += rows
        self.changed += outcomes.get("changed", 0)
        self.conflicts += conflicts
        self.errors += errors(outcomes)
        if self.done == 1:
            self._first = (self.clock(), self.rows)
        self._last = self.clock()
        self.tick()

    def tick(self) -> None:
        """Shows progress, if it is time."""
        now = self.clock()
        if now - self._told < (0.2 if self._live else INTERVAL):
            return
        self._told = now
        text = f"\r{self.line()}\x1b[K" if self._live else f"{self.line()}\n"
        print(text, end="", file=self.stream, flush=True)

    def end(self) -> None:
        """Ends the progress line of a terminal."""
        if self._live:
            print("\r\x1b[K", end="", file=self.stream, flush=True)

    @property
    def rate(self) -> float:
        """Rows a second in this run."""
        return self.rows / max(self.clock() - self.began, 1e-9)

    @property
    def steady(self) -> float | None:
        """The same from the first range that was done to the last one."""
        when, rows = self._first
        return (self.rows - rows) / (self._last - when) if self.done > 1 else None

    def line(self) -> str:
        """The progress of the job as a line."""
        left = (self.ranges - self.done) * (self.clock() - self.began) / max(self.done, 1)
        text = (
            f"{self.operation}: {self.done} of {self.ranges} ranges, {self.rows:,} rows, "
            f"{self.rate:,.0f} a second, {self.changed:,} changed, {self.conflicts} conflicts, "
            f"{self.errors} in error"
        )
        text += f", about {duration(left)} left" if self.done else ""
        return text + (f"; waiting: {self.why}" if self.why else "")


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, for people."""
    whole = round(seconds)
    hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def printable(text: str) -> str:
    """Text that a terminal can only show: ids, and names in a database, are whatever others have
    chosen. Controls, marks of direction, separators of lines and the like become escapes, and so
    does the backslash that escapes begin with."""
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode()
        for char in text
    )


def say(text: str) -> None:
    """Prints a line for people."""
    print(printable(f"saltern.bulk: {text}"), file=sys.stderr, flush=True)


def head(
    operation: str, table: str, ended: str, site: Site, began: float, rows: int
) -> dict[str, Any]:
    """The common beginning of all reports."""
    return {
        "operation": operation,
        "table": table,
        "ended": ended,
        "policy": site.digest,
        "active_key": site.active_key,
        "seconds": round(time.monotonic() - began, 3),
        "rows": rows,
    }


def status(ended: str, signal: int | None, wrong: int, left: int = 0) -> int:
    """The exit status: that of a signal only if it has stopped something; ``wrong`` rows are in
    error, and ``left`` ones need attention."""
    if signal is not None and ended == "stopped":
        return 128 + signal
    if ended != "done" or wrong:
        return 2
    return 1 if left else 0


def show(report: Mapping[str, Any], as_json: bool) -> None:
    """Prints the report on standard output: a JSON object, or lines."""
    # JSON escapes all that is not ASCII, and of ASCII all controls but this one.
    lines = [json.dumps(report).replace("\x7f", r"\u007f")] if as_json else _lines(report)
    for line in lines:
        print(line)
    sys.stdout.flush()


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for name, value in report.items():
        if value in (None, [], {}):
            continue
        if isinstance(value, Mapping):
            yield name
            for key, count in sorted(value.items(), key=lambda item: str(item[0])):
                yield printable(f"  {count!s:>12}  {key}")
        elif isinstance(value, list):
            yield name
            for item in value:
                yield printable(f"  {_item(item)}")
        else:
            yield printable(f"{name:<22} {value}")


def _item(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    return ", ".join(f"{key} {value}" for key, value in item.items() if value is not None)
