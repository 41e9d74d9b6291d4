"""A cluster: Ray on this machine, with actors that are killed while people log in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import (
    ROWS, SHORT, Bulk, Logins, Mallory, Policies, Server, accounts, command, content, fill,
    ranges_done, verify_all, wait_for,
)


def family(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *family(child)]
    return found


def named(pid: int, text: str) -> list[int]:
    """Those of the family that are called so."""
    found = []
    for member in family(pid):
        try:
            line = Path(f"/proc/{member}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if text.encode() in line:
            found.append(member)
    return found


def folders(job: int) -> list[Path]:
    """Those above the sockets of its Ray."""
    (raylet,) = named(job, "raylet/raylet")
    line = Path(f"/proc/{raylet}/cmdline").read_text().split("\0")
    name = next(word for word in line if word.startswith("--raylet_socket_name="))
    return list(Path(name.partition("=")[2]).parents)


def test_actors_are_killed_and_the_database_restarts(
    server: Server, policies: Policies, mallory: Mallory
) -> None:
    stored, known = accounts(policies.hasher("a"), ROWS)
    fill(server, "users", stored)
    server.admin("ALTER TABLE users ALTER password_hash TYPE varchar(400)")
    mallory.operator("=", "varchar", "text")
    new = policies.hasher("b")
    arguments = command("rekey", policies.file("b"), server.dsn(), "--address", "local",
                        "--range-rows", max(ROWS // 100, 1), "--most-errors", ROWS)
    killed = 0
    with Logins(server, new, known) as logins:
        job = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for goal in (5, 25):
            wait_for(lambda goal=goal: ranges_done(server) > goal or job.poll() is not None, 240)
            for actor in named(job.pid, "ray::MapWorker"):
                os.kill(actor, signal.SIGKILL)
                killed += 1
        # No other user may replace its sockets.
        own = [folder for folder in folders(job.pid) if not folder.stat().st_mode & 0o077]
        wait_for(lambda: ranges_done(server) > 45 or job.poll() is not None, 240)
        server.stop("immediate")
        time.sleep(0.3)
        server.start()
        output, said = job.communicate(timeout=240)
    assert job.returncode == 2, said  # because of the bad ones
    report = json.loads(output)
    assert report["ended"] == "done" and report["ranges_done"] == report["ranges"] == 100
    assert killed >= 2 and logins.updates > 0
    assert own and not any(folder.exists() for folder in own)
    # Ray says nothing on our terminal.
    assert all(line.startswith(("saltern.bulk:", "rekey:")) for line in said.splitlines()), said
    verify_all(server, new, known)
    keyed = sum(1 for hash in stored if hash and "{key=a+" in hash)
    assert report["changed"] <= keyed <= report["changed"] + logins.updates
    assert not [hash for hash, _ in content(server).values() if hash and "{key=a+" in hash]
    assert not mallory.seen()


@pytest.mark.skipif(SHORT, reason="each start of Ray takes ten seconds")
def test_a_cluster_that_is_gone(server: Server, policies: Policies, bulk: Bulk) -> None:
    """Ray itself would end the process without a word, or wait for ever."""
    fill(server, "users", [policies.hasher("a").hash("x")] * ROWS)
    arguments = command("rekey", policies.file("b"), server.dsn(), "--address", "local",
                        "--range-rows", max(ROWS // 500, 1))
    job = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: ranges_done(server) > 2 or job.poll() is not None, 240)
    for part in named(job.pid, "raylet/raylet"):
        os.kill(part, signal.SIGKILL)
    output, said = job.communicate(timeout=150)
    assert job.returncode == 2 and "the Ray cluster is gone" in said, said
    assert 0 < json.loads(output)["ranges_done"] < 500
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["changed"], ran.report["conflicts"]) == (0, ROWS, 0)


@pytest.mark.skipif(SHORT, reason="each start of Ray takes ten seconds")
def test_signals_and_a_driver_that_is_killed(
    server: Server, policies: Policies, bulk: Bulk
) -> None:
    fill(server, "users", [policies.hasher("a").hash("x")] * ROWS)
    arguments = command("rekey", policies.file("b"), server.dsn(), "--address", "local",
                        "--range-rows", max(ROWS // 500, 1), "--workers", 2)
    for number in (signal.SIGTERM, signal.SIGKILL):
        before = ranges_done(server)
        job = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: ranges_done(server) > before + 2 or job.poll() is not None, 240)
        # Ray's own agents look about once in a minute only; they have nothing of ours.
        members = [
            *named(job.pid, "ray::MapWorker"), *named(job.pid, "raylet/raylet"),
            *named(job.pid, "multiprocessing.spawn"),
        ]
        assert len(members) >= 3
        job.send_signal(number)
        output, said = job.communicate(timeout=150)
        assert job.returncode == (143 if number == signal.SIGTERM else -9), said
        wait_for(lambda: not any(alive(member) for member in members), 60)
    ran = bulk("rekey", policies.file("b"))
    assert (ran.status, ran.report["changed"], ran.report["conflicts"]) == (0, ROWS, 0)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
