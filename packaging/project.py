"""Where things are, what is released, and how a command is run: what every part of scripts/dist shares."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Everything but the result is kept here for the next time.
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "packages"
DIST = Path(os.environ.get("DIST_DIR", ROOT / "dist")).absolute()
CARGO_HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
PROJECT = "https://github.com/saltern-rs/saltern"

# Pinned: another version may write other bytes.
PYTHON_TOOLS = ["ziglang==0.15.2", "cargo-zigbuild==0.24.1", "maturin==1.16.0"]
CARGO_TOOLS = ["cargo-auditable@0.7.7", "cargo-cyclonedx@0.5.9"]


def run(*command, output=False, **options):
    """Runs a command in the checkout, or elsewhere with cwd; ends the program if it fails."""
    options = {"cwd": ROOT, "env": environment()} | options
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE if output else sys.stderr, text=True, **options)
    except FileNotFoundError as error:
        sys.exit(f"scripts/dist: {error}")
    if done.returncode:
        sys.exit(f"scripts/dist: failed with status {done.returncode}: {' '.join(command)}")
    return done.stdout


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """From the environment, else from git; without either, packages do not name one."""
    if "SALTERN_COMMIT" in os.environ:
        return os.environ["SALTERN_COMMIT"]
    found = git("rev-parse", "--short=12", "HEAD")
    return found and found + ("-modified" if git("status", "--porcelain", "--untracked-files=no") else "")


def epoch():
    """Seconds since 1970 of the last commit: the time that is written into everything."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 315532800)


def environment(flags=()):
    """What compilers and packers get: no path and no time of this machine reaches what they write."""
    paths = {ROOT: "/saltern", CARGO_HOME: "/cargo", BUILD: "/build"}
    remapped = [f"--remap-path-prefix={path}={name}" for path, name in paths.items()]
    tools = [BUILD / "tools/bin", BUILD / "python/bin"]
    values = {name: value for name, value in os.environ.items() if not re.match("RUSTFLAGS|CARGO_BUILD_", name)}
    return values | {
        "CARGO_TARGET_DIR": str(BUILD / "cargo"),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*remapped, *flags]),
        "SOURCE_DATE_EPOCH": str(epoch()),
        "PATH": ":".join([*map(str, tools), os.environ["PATH"]]),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    } | ({"SALTERN_COMMIT": commit()} if commit() else {})


def install_python_tools():
    """zig, cargo-zigbuild and maturin, below BUILD, if they are not there in these versions."""
    stamp = BUILD / "python/tools.txt"
    wanted = "\n".join(PYTHON_TOOLS)
    if not stamp.exists() or stamp.read_text() != wanted:
        run(sys.executable, "-m", "venv", "--clear", BUILD / "python")
        run(BUILD / "python/bin/pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON_TOOLS)
        stamp.write_text(wanted)


def install(name):
    """One of CARGO_TOOLS, below BUILD, if it is not there in this version."""
    (tool,) = [tool for tool in CARGO_TOOLS if tool.startswith(name + "@")]
    stamp = BUILD / "tools" / tool
    if not stamp.exists():
        scratch = BUILD / "tools/build"
        options = environment() | {"CARGO_TARGET_DIR": str(scratch)}
        run("cargo", "install", "--quiet", "--locked", "--root", BUILD / "tools", tool, env=options)
        run("rm", "-rf", scratch)
        stamp.touch()


def fresh(path):
    """An empty folder."""
    run("rm", "-rf", path)
    path.mkdir(parents=True)
    return path


def copy(mode, source, target):
    """A file with this mode, whatever the umask is; its folders are made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source if isinstance(source, bytes) else Path(source).read_bytes())
    target.chmod(mode)
    return target
