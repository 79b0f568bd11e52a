"""What a program needs to run: its libraries, and the Debian packages they are from."""

import subprocess
from pathlib import Path


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """Paths of the program's interpreter and libraries, as they are asked for, sorted."""
    found = set()
    for line in output("ldd", str(program)).splitlines():
        words = line.split()
        if "=>" in words and words[2] == "not":
            raise SystemExit(f"{program} wants {words[0]}, which is not here")
        path = words[2] if "=>" in words else words[0]
        if path.startswith("/"):
            found.add(path)
    return sorted(found)


class Package:
    def __init__(self, name):
        wanted = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}"
        line = output("dpkg-query", "-W", "-f", wanted, name)
        self.name, self.version, self.arch, self.source, self.homepage = line.split("\t")


def owner(path):
    """The name of the package that has a file. Debian 12 lists some below /lib, some below /usr/lib."""
    real = str(Path(path).resolve())
    names = [real, real.removeprefix("/usr"), path]
    for name in names:
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0]
    raise SystemExit(f"{path} is of no Debian package")


def packages(paths):
    """The packages that have these files, each once, by name."""
    return [Package(name) for name in sorted({owner(path) for path in paths})]
