"""Debian packages, from the same programs and libraries as everything else."""

import gzip
import os
import re
import shutil
import tomllib
from email.utils import formatdate

import archives
import programs
import wheels
from project import BUILD, DIST, PROJECT, ROOT, VERSION, copy, epoch, fresh, run

DEBIAN = ROOT / "packaging/debian"
REVISION = f"{VERSION}-1"
MAINTAINER = "The Saltern authors <saltern-rs@users.noreply.github.com>"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
NAMES = tomllib.loads((DEBIAN / "packages.toml").read_text())


def make(processor):
    """All packages for a processor."""
    trees = {name: fresh(BUILD / "debian" / processor / name) for name in NAMES}
    target = f"{processor}-unknown-linux-musl"
    built = programs.build(target)
    put_programs(trees, built)
    put_libraries(trees, processor)
    put_python(trees["python3-saltern"], processor)
    notices = {
        "saltern": (["saltern-cli"], target),
        "salternd": (["saltern-server"], target),
        "python3-saltern": (["saltern-python"], f"{processor}-unknown-linux-gnu"),
    }
    for name, tree in trees.items():
        packages, licensed = notices.get(name, (["saltern-capi"], f"{processor}-unknown-linux-gnu"))
        text = programs.notices(packages, licensed, fresh(BUILD / "licenses" / name))
        documents(name, tree / "usr/share/doc" / name, text)
        pack(name, tree, processor)


def put_programs(trees, built):
    archives.documents()
    tree, service = trees["saltern"], trees["salternd"]
    copy(0o755, built["saltern"], tree / "usr/bin/saltern")
    copy(0o755, built["salternd"], service / "usr/bin/salternd")
    pages = BUILD / "documents/man"
    for page in pages.iterdir():
        owner = service if page.name.startswith("salternd") else tree
        copy(0o644, compressed(page.read_bytes()), owner / "usr/share/man" / f"man{page.suffix[1]}" / f"{page.name}.gz")
    for name, place in {"saltern.bash": "bash-completion/completions/saltern",
                        "_saltern": "zsh/vendor-completions/_saltern",
                        "saltern.fish": "fish/vendor_completions.d/saltern.fish"}.items():
        copy(0o644, BUILD / "documents/completions" / name, tree / "usr/share" / place)
    units = ROOT / "apps/salternd/systemd"
    for unit in ["salternd.service", "salternd.socket"]:
        copy(0o644, units / unit, service / "usr/lib/systemd/system" / unit)
    # Who listens with TCP, too, must not have it in force.
    copy(0o644, units / "salternd.service.d/local.conf", service / "usr/share/doc/salternd/examples/local.conf")
    copy(0o644, DEBIAN / "salternd.sysusers", service / "usr/lib/sysusers.d/salternd.conf")
    copy(0o644, DEBIAN / "salternd.tmpfiles", service / "usr/lib/tmpfiles.d/salternd.conf")
    for file in (ROOT / "packaging/etc").iterdir():
        copy(0o644, file, service / "etc/saltern" / file.name)


def put_libraries(trees, processor):
    triplet = f"{processor}-linux-gnu"
    root = fresh(BUILD / "debian" / processor / "installed")
    cross = "" if processor == os.uname().machine else f"{triplet}-"
    run(ROOT / "scripts/install", "--prefix", "/usr", "--root", root, "--libdir", f"lib/{triplet}",
        "--archive", programs.c_archive(processor), env=os.environ | {"CROSS": cross})
    shared, development, preload = (trees[name] for name in ["libsaltern0", "libsaltern-dev", "libsaltern-crypt"])
    for path in sorted((root / "usr/lib" / triplet).rglob("*")):
        place = path.relative_to(root)
        if path.is_dir():
            continue
        if ".so" in path.name and not path.is_symlink():
            run(f"{cross}strip", "--strip-unneeded", path)
        if path.name == "libsaltern-crypt.so":
            copy(0o644, path, preload / place.parent / "saltern" / path.name)
            continue
        owner = shared if ".so." in path.name else development
        (owner / place.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, owner / place, follow_symlinks=False)
        if not path.is_symlink():
            (owner / place).chmod(0o644)
    shutil.copytree(root / "usr/include", development / "usr/include")
    page = (root / "usr/share/man/man3/saltern.3").read_bytes()
    copy(0o644, compressed(page), development / "usr/share/man/man3/saltern.3.gz")
    example = (DEBIAN / "preload.conf").read_text().replace("TRIPLET", triplet)
    copy(0o644, example.encode(), preload / "usr/share/doc/libsaltern-crypt/examples/preload.conf")
    names = "".join(f"{name} 0 libsaltern0 (>= {VERSION})\n"
                    for name in ["libsaltern", "libsaltern-yescrypt", "libsaltern-blake2"])
    copy(0o644, names.encode(), shared / "DEBIAN/shlibs")
    copy(0o644, b"activate-noawait ldconfig\n", shared / "DEBIAN/triggers")


def put_python(tree, processor):
    packages = tree / "usr/lib/python3/dist-packages"
    packages.mkdir(parents=True)
    run("python3", "-m", "zipfile", "-e", wheels.wheel(f"{processor}-unknown-linux-gnu"), packages)
    for path in packages.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (information,) = packages.glob("*.dist-info")
    # pip's: a package of Debian is not installed by it. Licences have their place in Debian.
    (information / "RECORD").unlink()
    shutil.rmtree(information / "licenses")
    copy(0o644, b"debian\n", information / "INSTALLER")


def documents(name, folder, notices):
    copyright = (DEBIAN / "copyright").read_text()
    copy(0o644, copyright.encode(), folder / "copyright")
    copy(0o644, compressed(notices.encode()), folder / "THIRD-PARTY.txt.gz")
    entry = f"saltern ({REVISION}) unstable; urgency=medium\n\n  * Release {VERSION}; see changelog.gz.\n\n"
    entry += f" -- {MAINTAINER}  {formatdate(epoch())}\n"
    copy(0o644, compressed(entry.encode()), folder / "changelog.Debian.gz")
    copy(0o644, compressed((ROOT / "CHANGELOG.md").read_bytes()), folder / "changelog.gz")
    overrides = [line for line in (DEBIAN / "lintian-overrides").read_text().splitlines() if line.startswith(f"{name}: ")]
    if overrides:
        copy(0o644, ("\n".join(overrides) + "\n").encode(), folder.parent.parent / "lintian/overrides" / name)


def pack(name, tree, processor):
    control = tree / "DEBIAN"
    files = sorted(path for path in tree.rglob("*") if path.is_file() and control not in path.parents)
    sums = "".join(run("md5sum", path.relative_to(tree), output=True, cwd=tree) for path in files if not path.is_symlink())
    copy(0o644, sums.encode(), control / "md5sums")
    configuration = [f"/{path.relative_to(tree)}\n" for path in files if tree / "etc" in path.parents]
    if configuration:
        copy(0o644, "".join(configuration).encode(), control / "conffiles")
    for script in ["postinst", "prerm", "postrm"]:
        if (DEBIAN / f"{name}.{script}").exists():
            copy(0o755, DEBIAN / f"{name}.{script}", control / script)
    size = sum(path.lstat().st_size for path in files) // 1024 + 1
    copy(0o644, fields(name, files, ARCHITECTURES[processor], size).encode(), control / "control")
    for folder in [tree, *(path for path in tree.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    DIST.mkdir(parents=True, exist_ok=True)
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree,
        DIST / f"{name}_{REVISION}_{ARCHITECTURES[processor]}.deb")


def fields(name, files, architecture, size):
    said = NAMES[name]
    depends = [said[key] for key in ["depends"] if key in said]
    if said.get("shared"):
        libraries = [path for path in files if ".so" in path.name]
        symbols = "".join(run("objdump", "-T", path, output=True) for path in libraries)
        newest = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", symbols))
        depends += [f"libc6 (>= {'.'.join(map(str, newest))})", "libgcc-s1 (>= 4.2)"]
    lines = {
        "Package": name, "Source": "saltern", "Version": REVISION, "Architecture": architecture,
        "Maintainer": MAINTAINER, "Installed-Size": size, "Section": said["section"], "Priority": "optional",
        "Multi-Arch": "same" if name.startswith("lib") else None, "Depends": ", ".join(depends) or None,
        "Suggests": said.get("suggests"), "Homepage": PROJECT, "Description": said["summary"],
    }
    text = "".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None)
    text += "".join(f" {line}\n" for line in said["description"].strip().splitlines())
    return text.replace("VERSION", REVISION)


def compressed(data):
    return gzip.compress(data, 9, mtime=0)
