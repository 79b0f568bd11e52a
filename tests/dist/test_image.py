"""The container image: what is in it, and that it runs with a read-only root, as an unprivileged
user, without capabilities."""

import hashlib
import json
import subprocess
import tarfile

import pytest
from conftest import Server, free_ports, get, need

MOST_BYTES = 40 * 1024 * 1024  # beyond ICU's libraries, whose data is most of them


class Layout:
    """The archive, unpacked, every blob's hash checked."""

    def __init__(self, archive, folder):
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        self.folder = folder
        index = json.loads((folder / "index.json").read_text())
        assert json.loads((folder / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
        self.manifest = json.loads(self.blob(index["manifests"][0]))
        self.config = json.loads(self.blob(self.manifest["config"]))
        self.layer = self.manifest["layers"][0]
        self.blob(self.layer)

    def blob(self, described):
        kind, digest = described["digest"].split(":")
        data = (self.folder / "blobs" / kind / digest).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (described["size"], digest)
        return data

    def layer_path(self):
        return self.folder / "blobs" / self.layer["digest"].replace(":", "/")


@pytest.fixture(scope="module")
def layout(image, tmp_path_factory):
    return Layout(image, tmp_path_factory.mktemp("layout"))


@pytest.fixture(scope="module")
def root(layout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    folder.chmod(0o755)
    with tarfile.open(layout.layer_path()) as tar:
        tar.extractall(folder)
    return folder


def test_it_is_what_a_runtime_reads(layout):
    config = layout.config["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/usr/bin/weir"]
    assert set(config["ExposedPorts"]) == {"8033/tcp", "8034/tcp"}
    with tarfile.open(layout.layer_path()) as tar:
        names = tar.getnames()
        assert len(names) == len(set(names))
        assert len({member.mtime for member in tar}) == 1
        assert all((member.uid, member.gid) == (0, 0) for member in tar)
        assert not any(member.mode & 0o6000 for member in tar)


def test_nothing_but_the_program_and_what_it_needs(root):
    assert [p.name for p in (root / "usr/bin").iterdir()] == ["weir"]
    sizes = {p: p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink()}
    beyond = sum(size for path, size in sizes.items() if not path.name.startswith("libicu"))
    assert beyond <= MOST_BYTES, f"{beyond / 2**20:.1f} MiB"
    certificates = (root / "etc/ssl/certs/ca-certificates.crt").read_text()
    assert certificates.count("BEGIN CERTIFICATE") > 100
    assert (root / "usr/lib/ssl/cert.pem").is_symlink()


def test_skopeo_reads_it(image, tmp_path):
    need("skopeo")
    command = ["skopeo", "copy", "--insecure-policy", f"oci-archive:{image}"]
    archive = tmp_path / "docker.tar"
    done = subprocess.run([*command, f"docker-archive:{archive}:weir:test"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        ["skopeo", "inspect", "--config", f"docker-archive:{archive}"], capture_output=True, text=True
    )
    assert json.loads(done.stdout)["config"]["User"] == "65532:65532"


def test_it_runs_read_only_without_capabilities(layout, root):
    need("bwrap")
    config = layout.config["config"]
    api, health = free_ports(2)
    words = ["bwrap", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"]
    words += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
    words += ["--uid", "65532", "--gid", "65532", "--new-session", "--as-pid-1"]
    words += ["--die-with-parent", "--clearenv"]
    for variable in config["Env"]:
        words += ["--setenv", *variable.split("=", 1)]
    words += [*config["Entrypoint"], *config["Cmd"], "--host", "127.0.0.1"]
    words += ["--http-port", str(api), "--health-http-port", str(health)]
    server = Server(words, api, health)
    try:
        server.wait_ready()
        assert get(f"{server.health}/health")[0] == 200
        assert server.redacts()
    finally:
        status = server.stop()
    assert status == 0  # drained


def test_the_list_of_parts(sbom, root):
    tree = json.loads(sbom.read_text())
    assert tree["spdxVersion"] == "SPDX-2.3"
    ids = {package["SPDXID"] for package in tree["packages"]} | {"SPDXRef-DOCUMENT"}
    for relation in tree["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= ids
    linked = {r["relatedSpdxElement"] for r in tree["relationships"] if r["relationshipType"] == "DYNAMIC_LINK"}
    names = {package["name"] for package in tree["packages"] if package["SPDXID"] in linked}
    assert {"libuv1", "libnghttp2-14", "libssl3", "libc-ares2", "libicu72", "libpcre2-8-0",
            "libvectorscan5", "libxml2", "libyaml-0-2", "libprotobuf-c1", "libc6", "zlib1g"} <= names  # fmt: skip
    # Every package whose files are in the image has its licence there.
    assert {name for name in names if not (root / f"usr/share/doc/{name}/copyright").is_file()} == set()


def test_spdx_tools_agree(sbom):
    parser = pytest.importorskip(
        "spdx_tools.spdx.parser.parse_anything", reason="spdx-tools is not installed (pip)"
    )
    validator = pytest.importorskip("spdx_tools.spdx.validation.document_validator")
    document = parser.parse_file(str(sbom))
    assert validator.validate_full_spdx_document(document) == []
