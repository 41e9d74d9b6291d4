"""Run a program to its end, and look for secrets in all that a core dump of it would hold then.

    core.py SECRET[,SECRET...] [--type LINE]... -- PROGRAM ARGUMENT...

Secrets are given in hexadecimal; any 16 bytes in a row of one count (all of it, where it is shorter). The program is
traced (ptrace(2)) and looked at when it is about to exit, where its memory and registers are still as they were: every
mapping that can be read, and the registers of every thread. With --type it has a terminal of its own, on which a line
is typed at each prompt; otherwise it has this script's standard streams.

What is found is told on standard error, and makes the status 1.
"""

import ctypes
import os
import re
import signal
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "terminal"))
from session import Session, fail

TRACEME, CONT, SETOPTIONS, GETREGSET = 0, 7, 0x4200, 0x4204
TRACE_CLONE, TRACE_EXIT, EXIT_KILL = 0x8, 0x40, 0x100000
EVENT_CLONE, EVENT_EXIT = 3, 6
WALL = 0x40000000
# What a core dump has of each thread: general registers, floating point, and on x86-64 the vectors.
REGISTERS = [1, 2, 0x202]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def ptrace(request, thread, address=0, data=0):
    if libc.ptrace(request, thread, address, data) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def registers(thread):
    for kind in REGISTERS:
        buffer = ctypes.create_string_buffer(16384)
        vector = Iovec(ctypes.addressof(buffer), len(buffer))
        try:
            ptrace(GETREGSET, thread, kind, ctypes.addressof(vector))
        except OSError:
            continue
        yield buffer.raw[:vector.length]


def memory(process):
    """Every mapping that can be read, with its line of the map."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as file:
        for line in maps:
            start, end, access = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if access[0] != "r" or "[v" in line:
                # What the kernel shows to every process.
                continue
            start, end = int(start, 16), int(end, 16)
            while start < end:
                file.seek(start)
                try:
                    piece = file.read(min(end - start, 1 << 24))
                except OSError:
                    break
                if not piece:
                    break
                yield line.strip(), piece
                # Overlapping, so that nothing is cut in two.
                start += len(piece) if start + len(piece) >= end else max(len(piece) - 64, 1)


def windows(secret):
    return {secret[i:i + 16] for i in range(max(len(secret) - 15, 1))}


def find(secrets, pieces):
    for place, piece in pieces:
        for number, secret in enumerate(secrets):
            if any(window in piece for window in windows(secret)):
                yield f"secret {number} is in {place}"


class Traced:
    def __init__(self, process, secrets):
        self.process, self.secrets = process, secrets
        self.found, self.looked, self.bytes, self.status = [], 0, 0, None

    def event(self, thread, status):
        """What to do about a thread that has stopped or ended."""
        if not os.WIFSTOPPED(status):
            if thread == self.process:
                self.status = os.waitstatus_to_exitcode(status)
            return
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_EXIT:
            self.found += find(self.secrets, ((f"registers of {thread}", r) for r in registers(thread)))
            if thread == self.process:
                self.look()
        # A new thread begins stopped; every other signal is the program's own.
        mine = event or number == signal.SIGTRAP or number == signal.SIGSTOP
        try:
            ptrace(CONT, thread, 0, 0 if mine else number)
        except ProcessLookupError:
            # Another thread has ended the process since: this one's end is told next.
            pass

    def look(self):
        def pieces():
            for line, piece in memory(self.process):
                self.bytes += len(piece)
                yield line, piece
        self.found += find(self.secrets, pieces())
        self.looked += 1

    def wait(self, flags):
        """Deal with what has happened; whether anything had."""
        try:
            thread, status = os.waitpid(-1, WALL | flags)
        except ChildProcessError:
            return False
        if thread:
            self.event(thread, status)
        return thread != 0


def trace_me():
    if libc.ptrace(TRACEME, 0, 0, 0) != 0:
        os._exit(77)


def start(argv, terminal):
    """The program, stopped before its first instruction, and its terminal, if it has one."""
    session = Session(argv, begin=trace_me) if terminal else None
    process = session.pid if session else os.fork()
    if process == 0:
        trace_me()
        os.execv(argv[0], argv)
    _, status = os.waitpid(process, 0)
    if not os.WIFSTOPPED(status):
        sys.exit("no process may be traced here")
    ptrace(SETOPTIONS, process, 0, TRACE_CLONE | TRACE_EXIT | EXIT_KILL)
    ptrace(CONT, process)
    return process, session


def main():
    split = sys.argv.index("--")
    (secrets, *options), argv = sys.argv[1:split], sys.argv[split + 1:]
    secrets = [bytes.fromhex(secret) for secret in secrets.split(",")]
    typed = options[1::2]
    process, session = start(argv, typed)
    traced = Traced(process, secrets)
    end = time.monotonic() + 120
    while traced.status is None:
        if not session:
            traced.wait(0)
        elif time.monotonic() > end:
            fail("it does not end", session)
        elif not traced.wait(os.WNOHANG):
            session.answer(typed, 0.01)
    if session:
        # What it wrote last stays in the terminal when it has ended.
        session.answer([])
        sys.stdout.buffer.write(session.shown)
    for place in traced.found:
        print(place, file=sys.stderr)
    if traced.looked != 1 or traced.bytes < 1 << 20:
        sys.exit(f"looked {traced.looked} times, at {traced.bytes} bytes")
    if traced.status not in (0, 1):
        sys.exit(f"the program ended with {traced.status}")
    return 1 if traced.found else 0


if __name__ == "__main__":
    sys.exit(main())
