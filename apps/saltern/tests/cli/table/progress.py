"""Run a program over a slow stream, with standard error on a terminal; print what that has shown.

    progress.py PROGRAM COMMAND…
"""

import fcntl
import os
import struct
import sys
import termios
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "terminal"))
from session import Session

LINE = b"alice:5ebe2294ecd0e0f08eab7690d2a6ee69\n"

lines, stream = os.pipe()
quiet = 'TERM=xterm COLUMNS=80 exec "$0" "$@" > /dev/null'
session = Session(["sh", "-c", quiet, *sys.argv[1:]], stdin=lines)
fcntl.ioctl(session.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
end = time.monotonic() + 30
os.write(stream, LINE + b"mallory:nonsense\n")
while b"B/s" not in session.shown and time.monotonic() < end:
    os.write(stream, LINE)
    session.read(0.1)
# Bad lines are told when their turn has come, which may be while the line is there.
os.close(stream)
session.wait()
sys.stdout.buffer.write(session.shown)
