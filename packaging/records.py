"""What is said of the files in dist/: their sums, what they were built from, and by what."""

import hashlib
import json
import os
import subprocess

import programs
from project import BUILD, CARGO_TOOLS, DIST, PROJECT, PYTHON_TOOLS, ROOT, VERSION, commit, epoch, run

SUMS = "SHA256SUMS"
STATEMENT = "provenance.intoto.json"
BILLS = {"saltern-cli": "saltern", "saltern-server": "salternd", "saltern-capi": "libsaltern"}


def bills():
    """A CycloneDX document for each program and the C library, for all systems together."""
    DIST.mkdir(parents=True, exist_ok=True)
    for package, name in BILLS.items():
        (DIST / f"{name}-{VERSION}.cdx.json").write_text(programs.bill_of_materials(package))


def sums():
    """SHA256SUMS, the statement, and a signature of the sums if DIST_SIGNING_KEY names a key."""
    for name in [STATEMENT, SUMS, f"{SUMS}.minisig"]:
        (DIST / name).unlink(missing_ok=True)
    digests = {path.name: digest(path) for path in sorted(DIST.iterdir()) if path.is_file()}
    (DIST / STATEMENT).write_text(json.dumps(statement(digests), indent=1, sort_keys=True) + "\n")
    digests[STATEMENT] = digest(DIST / STATEMENT)
    (DIST / SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sorted(digests.items())))
    if key := os.environ.get("DIST_SIGNING_KEY"):
        run("minisign", "-S", "-s", key, "-t", f"saltern {VERSION}", "-m", DIST / SUMS, stdin=subprocess.DEVNULL)


def statement(digests):
    """An in-toto statement with SLSA's predicate, unsigned: a forge's attestation signs its own."""
    sources = [{"uri": f"git+{PROJECT}", "digest": {"gitCommit": commit()}}] if commit() else []
    lock = {"uri": "file:Cargo.lock", "digest": {"sha256": digest(ROOT / "Cargo.lock")}}
    compiler = {"name": "rustc", "annotations": {"version": run("rustc", "-Vv", output=True).splitlines()}}
    tools = [{"name": tool} for tool in PYTHON_TOOLS + CARGO_TOOLS]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": value}} for name, value in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{PROJECT}/blob/main/scripts/dist",
                "externalParameters": {"SOURCE_DATE_EPOCH": epoch(), "version": VERSION},
                "resolvedDependencies": [*sources, lock, compiler, *tools],
            },
            "runDetails": {"builder": {"id": os.environ.get("DIST_BUILDER", f"{PROJECT}/blob/main/scripts/dist")}},
        },
    }


def digest(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
