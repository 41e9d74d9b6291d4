"""An OCI image layout of the service, written without a daemon: one layer, from nothing."""

import hashlib
import json
from datetime import UTC, datetime
from gzip import compress

import archives
import programs
from project import BUILD, DIST, PROJECT, ROOT, VERSION, commit, copy, epoch, fresh

NOBODY = 65534
ARCHITECTURES = dict(zip(programs.LINUX, ["amd64", "arm64"]))
SALTERND = ["/usr/bin/salternd", "--config", "/etc/saltern/salternd.toml"]
SECOND = 1_000_000_000


def make():
    """One layout with an image for each processor, as a tar."""
    layout = fresh(BUILD / "image")
    blobs = layout / "blobs/sha256"
    manifests = [manifest(target, blobs) for target in programs.LINUX]
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    copy(0o644, text({"imageLayoutVersion": "1.0.0"}), layout / "oci-layout")
    # A layout's index names images: this one is the index of all architectures.
    named = blob(blobs, "application/vnd.oci.image.index.v1+json", text(index))
    named["annotations"] = {"org.opencontainers.image.ref.name": VERSION}
    copy(0o644, text(index | {"manifests": [named]}), layout / "index.json")
    DIST.mkdir(parents=True, exist_ok=True)
    (DIST / f"salternd-{VERSION}-oci.tar").write_bytes(archives.tar(layout))
    for name in ["compose.yaml", "kubernetes.yaml"]:
        manifest_text = (ROOT / "packaging/image" / name).read_text()
        copy(0o644, manifest_text.replace("salternd:latest", f"salternd:{VERSION}").encode(), DIST / name)


def manifest(target, blobs):
    layer = archives.tar(tree(target), owners={"run/salternd": NOBODY})
    created = datetime.fromtimestamp(epoch(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"title": "salternd", "version": VERSION, "licenses": "MIT OR Apache-2.0", "source": PROJECT}
    labels |= {"revision": commit()} if commit() else {}
    config = {
        "architecture": ARCHITECTURES[target],
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{NOBODY}:{NOBODY}",
            "Entrypoint": SALTERND,
            "Healthcheck": {"Test": ["CMD", SALTERND[0], "health", *SALTERND[1:]],
                            "Interval": 10 * SECOND, "Timeout": 5 * SECOND},
            "Volumes": {"/run/salternd": {}},
            "StopSignal": "SIGTERM",
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        "history": [{"created": created, "created_by": "scripts/dist image"}],
    }
    document = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(blobs, "application/vnd.oci.image.config.v1+json", text(config)),
        "layers": [blob(blobs, "application/vnd.oci.image.layer.v1.tar+gzip", compress(layer, 9, mtime=0))],
    }
    described = blob(blobs, document["mediaType"], text(document))
    return described | {"platform": {"architecture": ARCHITECTURES[target], "os": "linux"}}


def tree(target):
    """What the image has in it."""
    root = fresh(BUILD / "image-root")
    for name, path in programs.build(target).items():
        copy(0o755, path, root / "usr/bin" / name)
    copy(0o644, ROOT / "packaging/image/salternd.toml", root / "etc/saltern/salternd.toml")
    copy(0o644, ROOT / "packaging/etc/saltern.toml", root / "etc/saltern/saltern.toml")
    users = f"root:x:0:0:root:/:/usr/bin/salternd\nnobody:x:{NOBODY}:{NOBODY}:nobody:/:/usr/bin/salternd\n"
    copy(0o644, users.encode(), root / "etc/passwd")
    copy(0o644, f"root:x:0:\nnobody:x:{NOBODY}:\n".encode(), root / "etc/group")
    notices = programs.notices(list(programs.PROGRAMS), target, fresh(BUILD / "licenses" / target))
    copy(0o644, notices.encode(), root / "usr/share/doc/saltern/THIRD-PARTY.txt")
    for license in ["LICENSE-APACHE", "LICENSE-MIT"]:
        copy(0o644, ROOT / license, root / "usr/share/doc/saltern" / license)
    # A volume: whoever runs the image puts a folder in memory there.
    (root / "run/salternd").mkdir(parents=True)
    return root


def blob(blobs, kind, data):
    copy(0o644, data, blobs / digest(data).removeprefix("sha256:"))
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def text(document):
    return (json.dumps(document, sort_keys=True) + "\n").encode()
