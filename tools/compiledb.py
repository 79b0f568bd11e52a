"""Reads CMake's compile_commands.json."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Command:
    file: Path
    directory: Path
    words: list


def load(build):
    """Every compile command of a configured build folder."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return [
        Command(Path(entry["file"]), Path(entry["directory"]), shlex.split(entry["command"]))
        for entry in entries
    ]


def preprocessor_flags(build):
    """The -I, -isystem and -D flags the sources of src are compiled with; none if not configured."""
    if not (build / "compile_commands.json").exists():
        return ["-D_GNU_SOURCE"]
    commands = [command for command in load(build) if "/src/" in str(command.file)]
    if not commands:
        return ["-D_GNU_SOURCE"]
    flags, words = [], iter(commands[0].words)
    for word in words:
        if word in ("-I", "-isystem", "-D"):
            flags += [word, next(words)]
        elif word.startswith(("-I", "-isystem", "-D")) and not word.startswith("-D_FORTIFY_SOURCE"):
            flags.append(word)
    return flags
