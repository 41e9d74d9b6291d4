"""SIGINT and SIGTERM: the first one ends a job cleanly, the second one at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any

from saltern.bulk.report import say


class Signals:
    """Notes signals, from the first range until the report is printed."""

    def __init__(self, text: str) -> None:
        self.stop = threading.Event()
        self.number: int | None = None
        self._text = text
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._noted)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _noted(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            # Threads may be in the middle of a range, which is then rolled back.
            os._exit(128 + number)
        self.number = number
        self.stop.set()
        say(self._text)
