"""Archives of the programs: with completions, manual pages, units, licences and notices."""

import gzip
import shutil
import tarfile
import zipfile
from io import BytesIO

import programs
from project import BUILD, DIST, ROOT, VERSION, copy, epoch, fresh, run

SHELLS = {"bash": "saltern.bash", "zsh": "_saltern", "fish": "saltern.fish", "powershell": "_saltern.ps1"}


def make(target):
    """The archive for a target."""
    built = programs.build(target)
    documents()
    name = f"saltern-{VERSION}-{target}"
    tree = fresh(BUILD / "archives" / name)
    for path in built.values():
        copy(0o755, path, tree / path.name)
    for text in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]:
        copy(0o644, ROOT / text, tree / text)
    shutil.copytree(BUILD / "documents", tree, dirs_exist_ok=True)
    if "salternd" in built:
        shutil.copytree(ROOT / "packaging/etc", tree / "etc")
        shutil.copytree(ROOT / "apps/salternd/systemd", tree / "systemd")
    else:
        (tree / "man/salternd.8").unlink()
    notices = programs.notices(list(programs.packages(target)), target, fresh(BUILD / "licenses" / target))
    copy(0o644, notices.encode(), tree / "THIRD-PARTY.txt")
    DIST.mkdir(parents=True, exist_ok=True)
    if target == programs.WINDOWS:
        write_zip(DIST / f"{name}.zip", tree)
    else:
        (DIST / f"{name}.tar.gz").write_bytes(gzip.compress(tar(tree, f"{name}/"), 9, mtime=0))


def documents():
    """Manual pages and completions, by the program for this machine."""
    program = programs.build(programs.host())["saltern"]
    folder = fresh(BUILD / "documents")
    copy(0o644, ROOT / "packaging/man/salternd.8", folder / "man/salternd.8")
    run(program, "man", "--dir", folder / "man")
    for shell, name in SHELLS.items():
        script = run(program, "completions", shell, output=True)
        copy(0o644, script.encode(), folder / "completions" / name)


def tar(tree, prefix="", owners={}):
    """A folder as a tar: sorted, of the time of the commit, owned by root but for what owners names."""
    data = BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree.rglob("*")):
            place = str(path.relative_to(tree))
            entry = archive.gettarinfo(path, prefix + place)
            entry.mtime, entry.uname, entry.gname = epoch(), "", ""
            entry.uid = entry.gid = owners.get(place, 0)
            entry.mode = 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, BytesIO(path.read_bytes()) if path.is_file() else None)
    return data.getvalue()


def write_zip(target, tree):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{tree.name}/{path.relative_to(tree)}")
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, path.read_bytes())
