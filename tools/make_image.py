"""The container image, as an archive of an OCI layout, without a daemon: an image is a tar file and
three JSON documents. On an empty root: the program, the libraries it is linked with, the authorities
of Debian's ca-certificates, the packaged configuration, licences. No shell, no package manager.

The same files give the same bytes: names are sorted, owners are root, times are the commit's.
"""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import closure
from make_sbom import stamp

USER = 65532
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
LINKS = {
    "bin": "usr/bin",
    "lib": "usr/lib",
    "lib64": "usr/lib64",
    "usr/lib/ssl/cert.pem": f"/{AUTHORITIES}",  # where OpenSSL looks by itself
}


def authorities():
    """Of the package alone: what else this machine trusts is nobody's business."""
    folder = Path("/usr/share/ca-certificates/mozilla")
    return b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in sorted(folder.glob("*.crt")))


def contents(package, program):
    """Path: bytes and mode. `package` is the folder the .deb was unpacked in."""
    libraries = closure.libraries(program)
    files = {
        "usr/bin/weir": (program.read_bytes(), 0o755),
        "etc/weir/weir.yaml": ((package / "etc/weir/weir.yaml").read_bytes(), 0o644),
        "etc/passwd": (b"weir:x:%d:%d:weir:/:/sbin/nologin\n" % (USER, USER), 0o644),
        "etc/group": (b"weir:x:%d:\n" % USER, 0o644),
        AUTHORITIES: (authorities(), 0o644),
        "usr/share/doc/weir/copyright": (
            (package / "usr/share/doc/weir/copyright").read_bytes(),
            0o644,
        ),
        "usr/share/doc/weir/LICENSE": (
            Path("/usr/share/common-licenses/Apache-2.0").read_bytes(),
            0o644,
        ),
    }
    for path in libraries:
        inside = path.lstrip("/")
        inside = inside if inside.startswith("usr/") else f"usr/{inside}"
        files[inside] = (Path(path).resolve().read_bytes(), 0o755)
    for name in [p.name for p in closure.packages(libraries)] + ["ca-certificates"]:
        copyright = Path(f"/usr/share/doc/{name}/copyright")
        if copyright.is_file():  # stripped from some build machines
            files[f"usr/share/doc/{name}/copyright"] = (copyright.read_bytes(), 0o644)
    return files


def member(name, kind, mode, epoch):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = kind, mode, epoch
    info.uname = info.gname = ""
    return info


def add_file(tar, name, data, mode, epoch):
    info = member(name, tarfile.REGTYPE, mode, epoch)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def make_layer(files, epoch):
    out = io.BytesIO()
    folders = {"etc", "proc", "sys", "dev", "tmp"}  # where a runtime mounts things
    for name in [*files, *LINKS]:
        folders |= {str(parent) for parent in Path(name).parents if str(parent) != "."}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(folders - set(LINKS)):
            tar.addfile(member(name, tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755, epoch))
        for name, target in sorted(LINKS.items()):
            info = member(name, tarfile.SYMTYPE, 0o777, epoch)
            info.linkname = target
            tar.addfile(info)
        for name, (data, mode) in sorted(files.items()):
            add_file(tar, name, data, mode, epoch)
    return out.getvalue()


class Layout:
    """Blobs by their hash."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, tree, kind):
        return self.add(json.dumps(tree, sort_keys=True).encode(), f"application/vnd.oci.image.{kind}")


def image_config(release, layer):
    title = {
        "title": "weir",
        "description": "A guardrails gateway for language-model traffic",
        "version": release.version,
        "revision": release.commit,
        "licenses": "Apache-2.0",
        "created": stamp(release.epoch),
    }
    return {
        "created": stamp(release.epoch),
        "architecture": release.arch,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/weir"],
            "Cmd": ["--config", "/etc/weir/weir.yaml"],
            "Env": ["PATH=/usr/bin", "LOG_FORMAT=json"],
            "ExposedPorts": {"8033/tcp": {}, "8034/tcp": {}},
            "StopSignal": "SIGTERM",
            "WorkingDir": "/",
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in title.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": stamp(release.epoch), "created_by": "weir make-dist"}],
    }


def make(release, package, folder):
    layer = make_layer(contents(package, package / "usr/bin/weir"), release.epoch)
    layout = Layout()
    layers = [
        layout.add(gzip.compress(layer, 9, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")
    ]
    config = layout.add_json(image_config(release, layer), "config.v1+json")
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
    }
    described = layout.add_json(manifest, "manifest.v1+json")
    described["annotations"] = {"org.opencontainers.image.ref.name": release.version}
    described["platform"] = {"architecture": release.arch, "os": "linux"}
    index = {"schemaVersion": 2, "manifests": [described]}
    files = layout.blobs | {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps(index, sort_keys=True).encode(),
    }
    path = folder / f"weir-{release.version}-{release.arch}-oci.tar"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(files.items()):
            add_file(tar, name, data, 0o644, release.epoch)
    return path
