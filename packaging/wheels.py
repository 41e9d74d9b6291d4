"""Wheels and the source distribution of the Python package."""

from pathlib import Path

import programs
from project import BUILD, DIST, ROOT, copy, environment, install_python_tools, run

# The systems that a wheel says it runs on: the GNU C library 2.17, musl 1.2, and later.
COMPATIBLE = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
    programs.UNIVERSAL: "pypi",
    programs.WINDOWS: "pypi",
}


def make(target):
    path = wheel(target)
    copy(0o644, path, DIST / path.name)


def wheel(target):
    """Builds the wheel for a target; where it is."""
    install_python_tools()
    for name in programs.MACOS if target == programs.UNIVERSAL else [target]:
        programs.add_target(name)
    # With zig, maturin wants `PyInit_saltern._saltern` exported on Windows, which there is not.
    zig = [] if target == programs.WINDOWS else ["--zig"]
    frameworks = [f"-Clink-arg=-F{ROOT / 'packaging/macos'}"] if target == programs.UNIVERSAL else []
    path = run(ROOT / "scripts/wheel", "--locked", "--target", target, *zig, "--compatibility", COMPATIBLE[target],
               output=True, env=environment(frameworks)).strip()
    return Path(path)


def make_source():
    install_python_tools()
    folder = BUILD / "sdist"
    run("rm", "-rf", folder)
    run("maturin", "sdist", "--manifest-path", ROOT / "bindings/python/Cargo.toml", "--out", folder)
    (path,) = folder.iterdir()
    copy(0o644, path, DIST / path.name)
