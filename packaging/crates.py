"""The crates that are published, each built alone from its package, in the order of their dependencies."""

import json

from project import BUILD, DIST, copy, fresh, run


def published():
    """Their names, those that others depend on first."""
    data = json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", output=True))
    left = {each["name"]: each for each in data["packages"] if each["publish"] is None}
    order = []
    while left:
        for name, each in sorted(left.items()):
            needed = {other["name"] for other in each["dependencies"] if other["kind"] != "dev"}
            if not needed & (left.keys() - {name}):
                order.append(name)
        left = {name: each for name, each in left.items() if name not in order}
    return order


def make():
    """Packages in dist/; cargo builds each from its package and those before it."""
    names = published()
    packaged = fresh(BUILD / "cargo/package")
    run("cargo", "package", "--quiet", "--locked", "--allow-dirty", *(word for name in names for word in ("-p", name)))
    for path in sorted(packaged.glob("*.crate")):
        copy(0o644, path, DIST / path.name)
    (DIST / "crates.txt").write_text("".join(f"{name}\n" for name in names))
