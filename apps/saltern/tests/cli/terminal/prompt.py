"""The prompt of `saltern`, on terminals of its own, while signals come and shells stop it.

    prompt.py PROGRAM CASE [ARGUMENT...]

Ends with status 0 if the terminal was left as it should be and nothing secret was shown; otherwise with a line
that says what was wrong.
"""

import os
import signal
import sys
import termios
import time

from session import PATIENCE, Session, fail

SECRET = "hunter2-hunter2"


def check_secret(session):
    if SECRET.encode() in session.shown:
        fail("the password was shown", session)


# A leader that outlives the program, as a shell does; it says how the program ended.
LEADER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
print("status", child.wait(), flush=True)
sys.stdin.readline()
"""


def run_signal(program, name):
    """Ended by a signal from outside, in the middle of typing: the terminal is as it was."""
    session = Session([sys.executable, "-c", LEADER, program, "hash", "--cost", "1"])
    session.expect("Password: ")
    session.expect_modes(silent=True)
    session.type("hunter2-")
    number = getattr(signal, "SIG" + name)
    os.kill(session.program(), number)
    # Some end it with the status that a shell would show.
    told = number in (signal.SIGIO, signal.SIGPWR, signal.SIGSTKFLT) or number >= signal.SIGRTMIN
    session.expect(f"status {128 + number if told else -number}\r")
    session.expect_modes(silent=False)
    session.type("\n")
    session.wait()
    if b"hunter" in session.shown:
        fail("what was typed was shown", session)


def run_ignored(program):
    """What the program was started to ignore, it goes on ignoring."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + LEADER
    session = Session([sys.executable, "-c", ignoring, program, "hash", "--cost", "1"])
    session.expect("Password: ")
    session.expect_modes(silent=True)
    os.kill(session.program(), signal.SIGHUP)
    time.sleep(0.3)
    finish(session, "status 0\r")
    session.type("\n")
    session.wait()


def finish(session, end):
    """Type the password twice; the terminal is as it was."""
    session.type(SECRET + "\n")
    session.expect("Again: ")
    session.type(SECRET + "\n")
    session.expect(end)
    session.expect_modes(silent=False)
    check_secret(session)


def run_stop(program):
    """SIGSTOP and SIGCONT: silent all the time, and the question is asked again."""
    session = Session([sys.executable, "-c", LEADER, program, "hash", "--cost", "1"])
    session.expect("Password: ")
    session.type("forgotten")
    pid = session.program()
    os.kill(pid, signal.SIGSTOP)
    session.expect_state(pid, "T")
    # Some shells put the terminal as they like it.
    modes = termios.tcgetattr(session.terminal)
    modes[3] |= termios.ECHO | termios.ICANON
    termios.tcsetattr(session.terminal, termios.TCSANOW, modes)
    os.kill(pid, signal.SIGCONT)
    session.expect("Password: ", times=2)
    session.expect_modes(silent=True)
    finish(session, "status 0\r")
    session.type("\n")
    session.wait()


def run_fg(program, how):
    """Stopped under a shell, by a signal or by the key, and brought back with `fg`."""
    session = Session(["bash", "--norc", "--noprofile", "-i"])
    session.expect("ready> ")
    session.type(f"{program} hash --cost 1\n")
    session.expect("Password: ")
    session.expect_modes(silent=True)
    pid = session.program()
    if how != "STOP":
        # After that one nobody is left who could keep it from the shell.
        session.type("forgotten")
    if how == "KEY":
        session.type("\x1a")
    else:
        os.kill(pid, getattr(signal, "SIG" + how))
    session.expect_state(pid, "T")
    session.expect("Stopped")
    session.type("stty -a\n")
    session.expect(" -?echo ")
    if b" echo " not in session.shown or b" icanon" not in session.shown:
        fail("the shell has no echo", session)
    session.type("fg\n")
    session.expect("Password: ", times=2)
    session.expect_modes(silent=True)
    session.type(SECRET + "\n")
    session.expect("Again: ")
    session.type(SECRET + "\n")
    session.expect(r"\$y\$j75\$")
    check_secret(session)
    session.shown = b""
    session.type("stty -a\n")
    session.expect(" -?echo ")
    if b" echo " not in session.shown:
        fail("the echo is lost", session)
    session.type("exit\n")
    session.wait()


def run_timeout(program, how):
    """timeout(1), in the foreground and, as it is by default, in the background."""
    option = ["--foreground"] if how == "FOREGROUND" else []
    session = Session([sys.executable, "-c", LEADER, "timeout", *option, "1", program, "hash"])
    session.expect("status 124\r")
    session.expect_modes(silent=False)
    session.type("\n")
    session.wait()


def run_background(program):
    """In the background the terminal is left alone, until `fg`."""
    session = Session(["bash", "--norc", "--noprofile", "-i"])
    session.expect("ready> ")
    session.type(f"{program} hash --cost 1 & sleep 0.2\n")
    pid = session.program()
    session.expect_state(pid, "T")
    if b"Password" in session.shown:
        fail("it asks in the background", session)
    os.kill(pid, signal.SIGCONT)
    session.expect_state(pid, "T")
    session.type("fg\n")
    session.expect("Password: ")
    session.expect_modes(silent=True)
    session.type(SECRET + "\n")
    session.expect("Again: ")
    session.type(SECRET + "\n")
    session.expect(r"\$y\$j75\$")
    check_secret(session)
    session.expect_gone(pid)
    session.type(f"{program} hash --cost 1 & sleep 0.2\n")
    pid = session.program()
    session.expect_state(pid, "T")
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    # Only then can the shell know that it has ended, and not just stopped.
    session.expect_gone(pid)
    session.type("jobs\nexit\n")
    session.expect("Terminated")
    session.wait()


def run_alone(program):
    """Without a shell that could let it go on, the key that stops programs does not."""
    session = Session([program, "hash", "--cost", "1"])
    session.expect("Password: ")
    session.expect_modes(silent=True)
    session.type("\x1a")
    session.expect("Password: ", times=2)
    session.type(SECRET + "\n")
    session.expect("Again: ")
    session.type(SECRET + "\n")
    status = session.wait()
    check_secret(session)
    if status != 0:
        fail(f"status {status}", session)


def run_held(program):
    """Output that is held with Ctrl-S does not keep a signal from ending the program."""
    session = Session([sys.executable, "-c", LEADER, program, "hash", "--cost", "1"])
    session.expect("Password: ")
    session.expect_modes(silent=True)
    session.type("\x13" + SECRET + "\n")
    time.sleep(0.3)
    pid = session.program()
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while session.state(pid) != "Z":
        if time.monotonic() > end:
            fail("the program does not end", session)
        time.sleep(0.01)
    session.type("\x11")
    session.expect(f"status -{int(signal.SIGTERM)}\r")
    session.expect_modes(silent=False)
    session.type("\n")
    session.wait()


def run_few(program, limit):
    """With few descriptors it asks, or says that it cannot; standard input, here a file, is never read instead."""
    script = f"exec < {__file__}; ulimit -n {limit}; exec {program} hash --cost 1"
    session = Session([sys.executable, "-c", LEADER, "bash", "-c", script])
    session.expect("Password: |cannot .*Too many open files")
    if b"Password: " in session.shown:
        session.expect_modes(silent=True)
        finish(session, "status 0\r")
    elif int(limit) >= 16:
        fail(f"{limit} descriptors are not enough", session)
    else:
        session.expect("status 2\r")
        session.expect_modes(silent=False)
    session.type("\n")
    session.wait()


def run_single(program, *args):
    """While it asks there is one thread: to another one a signal could come in another order."""
    session = Session([program, *args])
    session.expect("Password: ")
    session.expect_modes(silent=True)
    threads = len(os.listdir(f"/proc/{session.program()}/task"))
    session.type("\x03")
    session.wait()
    if threads != 1:
        fail(f"{threads} threads", session)


def run_typed(program, typed, *args):
    """The next line is typed at each prompt; all that was shown is printed, and then the exit status."""
    # Standard input is no terminal and holds a line, which must not be taken for the password.
    read, write = os.pipe()
    os.write(write, b"not the password\n")
    session, lines = Session([program, *args], stdin=read), typed.split("\n")
    session.answer(lines)
    status = session.wait()
    sys.stdout.buffer.write(session.shown.replace(b"\r\n", b"\n") + b"\n%d" % status)


CASES = {
    "typed": run_typed,
    "single": run_single,
    "signal": run_signal,
    "ignored": run_ignored,
    "stop": run_stop,
    "fg": run_fg,
    "timeout": run_timeout,
    "background": run_background,
    "alone": run_alone,
    "held": run_held,
    "few": run_few,
}

if __name__ == "__main__":
    CASES[sys.argv[2]](sys.argv[1], *sys.argv[3:])
