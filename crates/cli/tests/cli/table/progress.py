"""Run a program over a slow stream, with standard error on a terminal; print what that has shown.

    progress.py PROGRAM COMMAND…
"""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

LINE = b"alice:5ebe2294ecd0e0f08eab7690d2a6ee69\n"

terminal, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
environment = dict(os.environ, TERM="xterm", COLUMNS="80")
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=side, env=environment)
os.close(side)
shown = b""


def read(seconds):
    """What is shown within this time; False at the end."""
    global shown
    if not select.select([terminal], [], [], seconds)[0]:
        return True
    try:
        more = os.read(terminal, 4096)
    except OSError:
        return False
    shown += more
    return bool(more)


end = time.monotonic() + 30
child.stdin.write(LINE + b"mallory:nonsense\n")
while b"B/s" not in shown and time.monotonic() < end:
    child.stdin.write(LINE)
    child.stdin.flush()
    read(0.1)
# Bad lines are told when their turn has come, which may be while the line is there.
child.stdin.close()
while read(30):
    pass
child.wait()
sys.stdout.buffer.write(shown)
