"""The bare Debian 12 of `make fresh`, to install things in."""

import importlib.machinery
import importlib.util
import shlex
import subprocess

from conftest import ROOT


def load(path):
    """A script of tools/, which have no ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


fresh = load(ROOT / "tools/fresh")


class Bare(fresh.Bare):
    def make(self):
        super().make(["ca-certificates"])  # what a caller of https has
        self.clone.mkdir(parents=True)  # where its commands are run

    def run(self, *words):
        """A command in it, with mounts of its own that end with it."""
        process = self.start(
            shlex.join(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out, err = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, out, err)
