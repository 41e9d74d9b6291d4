"""Terminals of their own for what tests run, from Python's pty."""

import os
import pty
import re
import select
import signal
import sys
import termios
import time

PATIENCE = 60.0


class Session:
    """A command that leads a session on a new terminal; `shown` is all that the terminal displayed."""

    def __init__(self, command, stdin=None, begin=lambda: None):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            begin()
            if stdin is not None:
                os.dup2(stdin, 0)
            # Whoever runs the tests in the background may have told them to ignore these.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            os.environ.update(PS1="ready> ", HISTFILE="/dev/null", TERM="dumb", LC_ALL="C")
            os.execvp(command[0], command)
        self.shown = b""

    def read(self, seconds):
        """More of what is displayed; nothing at the end of the session or of the time."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return b""
        try:
            more = os.read(self.terminal, 4096)
        except OSError:
            return b""
        self.shown += more
        return more

    def answer(self, lines, seconds=PATIENCE):
        """Type the next line at each prompt, until nothing more is displayed."""
        while more := self.read(seconds):
            if lines and more.rstrip(b" ").endswith(b":"):
                self.type(lines.pop(0) + "\n")

    def expect(self, text, times=1):
        """Wait until `text` was displayed so often."""
        pattern, end = re.compile(text.encode()), time.monotonic() + PATIENCE
        while len(pattern.findall(self.shown)) < times:
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                fail(f"waited in vain for {text!r} ({times} times)", self)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def program(self):
        """The process of the program on this terminal."""
        name = os.path.basename(sys.argv[1])[:15]
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for entry in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{entry}/stat") as stat:
                        found, rest = stat.read().rsplit(")", 1)
                    if found.endswith("(" + name) and int(rest.split()[3]) == self.pid:
                        return int(entry)
                except OSError:
                    pass
            time.sleep(0.01)
        fail(f"there is no process {name}", self)

    def state(self, pid):
        """The letter of its state; Z as well if it is already gone."""
        try:
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "Z"

    def expect_state(self, pid, wanted):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.state(pid) in wanted:
                return
            time.sleep(0.01)
        fail(f"the program is in state {self.state(pid)}, not {wanted}", self)

    def expect_gone(self, pid):
        end = time.monotonic() + PATIENCE
        while os.path.exists(f"/proc/{pid}"):
            if time.monotonic() > end:
                fail("the program does not end", self)
            time.sleep(0.01)

    def modes(self):
        """Which of the three modes are on."""
        local = termios.tcgetattr(self.terminal)[3]
        names = ("ECHO", "ICANON", "ISIG")
        return [name for name in names if local & getattr(termios, name)]

    def expect_modes(self, silent):
        wanted = ["ISIG"] if silent else ["ECHO", "ICANON", "ISIG"]
        end = time.monotonic() + PATIENCE
        while self.modes() != wanted:
            if time.monotonic() > end:
                fail(f"the terminal has {self.modes()}, not {wanted}", self)
            time.sleep(0.01)

    def wait(self):
        """The exit status of the leader, once everything was read."""
        while self.read(PATIENCE):
            pass
        end = time.monotonic() + PATIENCE
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                fail("it waits for ever", self)
            time.sleep(0.01)

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def fail(what, session):
    sys.exit(f"{what}; shown: {session.shown!r}")
