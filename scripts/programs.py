"""The programs of this repository, for scripts that run them."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# As `cargo test` builds them: with their features, which --examples asks for.
TESTED = ["--workspace", "--all-features", "--examples"]


def built(name, *arguments):
    """Builds programs, and says where the one of this name is: in whatever folder cargo has put it."""
    lines = subprocess.run(["cargo", "build", "--quiet", "--message-format=json-render-diagnostics", *arguments],
                           cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    made = (json.loads(line) for line in lines)
    return next(Path(line["executable"]) for line in made if line.get("executable") and line["target"]["name"] == name)
