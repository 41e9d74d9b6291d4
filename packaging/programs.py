"""Compiles the programs and the C library with zig as compiler and linker of C, and says what is in them."""

import html
import json
import platform
import re
from pathlib import Path

from project import BUILD, ROOT, environment, install, install_python_tools, run

LINUX = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
WINDOWS = "x86_64-pc-windows-gnu"
UNIVERSAL = "universal2-apple-darwin"
MACOS = ["x86_64-apple-darwin", "aarch64-apple-darwin"]
# The oldest C library that what is linked dynamically runs with: that of Debian 8 and RHEL 7.
GLIBC = "2.17"
# The packages of the programs; the service is released for Linux only.
PROGRAMS = {"saltern-cli": "saltern", "saltern-server": "salternd"}


def packages(target):
    return PROGRAMS if target in LINUX else {"saltern-cli": "saltern"}


def host():
    """The target whose programs run on this machine, if it is one of LINUX."""
    return f"{platform.machine()}-unknown-linux-musl"


def build(target):
    """Compiles the programs for a target and returns them by name."""
    names = packages(target)
    zigbuild(target, [word for package in names for word in ("-p", package)])
    folder = BUILD / "cargo" / target / "dist"
    return {name: folder / (name + ".exe" if target == WINDOWS else name) for name in names.values()}


def c_archive(processor):
    """libsaltern_capi.a for the GNU C library, which scripts/install links."""
    target = f"{processor}-unknown-linux-gnu"
    zigbuild(f"{target}.{GLIBC}", ["-p", "saltern-capi"])
    return BUILD / "cargo" / target / "dist/libsaltern_capi.a"


def zigbuild(target, options):
    install_python_tools()
    install("cargo-auditable")
    for each in MACOS if target == UNIVERSAL else [target.removesuffix("." + GLIBC)]:
        add_target(each)
    # zig does not know rustc's -static-pie, and would put everything at a fixed address.
    flags = ["-Clink-arg=-pie"] if target in LINUX else []
    # As `cargo auditable` does it, but that cargo gets no path: it is part of the names of symbols, and so decides
    # in what order, and how, functions are compiled.
    auditable = {"RUSTC_WORKSPACE_WRAPPER": "cargo-auditable",
                 "CARGO_AUDITABLE_ORIG_ARGS": json.dumps({"locked": True, "offline": False, "frozen": False, "config": []})}
    run("cargo", "zigbuild", "--quiet", "--profile", "dist", "--locked", "--target", target, *options,
        env=environment(flags) | auditable)


def add_target(target):
    """Installs the standard library for a target."""
    toolchain = run("rustup", "show", "active-toolchain", output=True).split()[0]
    run("rustup", "--quiet", "target", "add", "--toolchain", toolchain, target)


def notices(packages, target, folder):
    """The licences of all that is linked into packages, as one text."""
    options = [word for package in packages for word in ("-p", package)]
    target = MACOS[0] if target == UNIVERSAL else target
    run(ROOT / "packaging/licenses", folder, "--target", target, *options)
    parts = ["The licences of all libraries that are linked into these programs.\n"]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = path.read_text(errors="replace")
        if path.suffix == ".html":
            text = html.unescape(re.sub("<[^>]*>", "", text))
        parts.append(f"{'=' * 100}\n{path.relative_to(folder)}\n\n{text.strip()}\n")
    return "\n".join(parts)


def bill_of_materials(package):
    """A CycloneDX document of what a package is built from, without the time and place of its making."""
    install("cargo-cyclonedx")
    data = json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", output=True))
    manifest = next(Path(each["manifest_path"]) for each in data["packages"] if each["name"] == package)
    run("cargo", "cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", "all",
        "--override-filename", "bom", "--manifest-path", manifest)
    text = (manifest.parent / "bom.json").read_text().replace(f"path+file://{ROOT}", "path+file:///saltern")
    for bom in ROOT.glob("*/*/bom.json"):  # It writes one for each member of the workspace.
        bom.unlink()
    document = json.loads(text)
    document.pop("serialNumber", None)
    document["metadata"].pop("timestamp", None)
    return json.dumps(document, indent=1, sort_keys=True) + "\n"
