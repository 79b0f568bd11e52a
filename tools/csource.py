"""What the checks share: which files there are, and C source with comments and strings blanked.

The checks are not compilers. They read our own style (clang-format has seen every file), so a
brace-counting scan finds every function; what it cannot parse it leaves alone.
"""

import argparse
import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# What the rules of a program hold for: the server, and the mock beside it.
PROGRAMS = ("src/", "tests/mock/")
SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__", ".pytest_cache"}


def arguments(description):
    """The command line all checks share: a tree to look at, and -v for the softer remarks."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser


def files(root, *suffixes, under=("",)):
    """Paths relative to root: tracked files and new ones git does not ignore, that exist. Without a
    git all files count but those below folders that hold nothing of ours."""
    names = walk(root)
    if (root / ".git").exists() and shutil.which("git") is not None:
        command = ["git", "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"]
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    chosen = {
        Path(name)
        for name in names
        if name.endswith(suffixes or "") and name.startswith(tuple(under))
    }
    return sorted(path for path in chosen if (root / path).is_file())


def walk(root):
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def blank(text, strings=True):
    """The same text, same length and lines, with comments (and literals' contents) as spaces."""
    pattern = r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""

    def spaces(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        if not strings:
            return token
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return re.sub(pattern, spaces, text, flags=re.S)


def blank_directives(code):
    """Blanks preprocessor lines, continuations included, so that macros do not upset the braces."""
    return re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        code,
        flags=re.M,
    )


@dataclass
class Function:
    name: str
    first_line: int
    last_line: int
    parameters: list
    is_static: bool
    nesting: int
    deepest_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


@dataclass
class Source:
    path: Path
    text: str
    code: str = field(init=False)

    def __post_init__(self):
        self.code = blank(self.text)

    @functools.cached_property
    def functions(self):
        return list(find_functions(blank_directives(self.code)))


def read(root, path):
    return Source(path, (root / path).read_text(encoding="utf-8"))


def line_of(code, at):
    return code.count("\n", 0, at) + 1


def matching_open(code, close):
    """Index of the parenthesis that `close` closes, or -1."""
    depth = 0
    for at in range(close, -1, -1):
        if code[at] == ")":
            depth += 1
        elif code[at] == "(":
            depth -= 1
            if depth == 0:
                return at
    return -1


def word_before(code, at):
    match = re.search(r"(\w+)\s*$", code[max(0, at - 200) : at])
    return match.group(1) if match else ""


def opens_block(code, at):
    """Does this brace open a block of statements, and not an initialiser or a literal?"""
    before = code[:at].rstrip()
    last = before[-1:]
    if last in ";{}:":
        return True
    if last == ")":
        opening = matching_open(before, len(before) - 1)
        word = word_before(before, opening)
        return word not in ("", "return", "sizeof", "_Alignof")
    return word_before(before, len(before)) in ("else", "do")


def split_parameters(text):
    """Top-level commas of a parameter list; an empty list and `void` are no parameters."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    parts.append(current.strip())
    return [part for part in parts if part not in ("", "void")]


def signature(code, start, brace):
    """(name, parameters, is static) if the text before this top-level brace is a function's head."""
    head = code[start:brace].rstrip()
    if not head.endswith(")"):
        return None
    opening = matching_open(head, len(head) - 1)
    name = word_before(head, opening)
    before = head[: head.rfind(name, 0, opening)] if name else ""
    if not name or "=" in before or not before.strip():
        return None
    is_static = re.search(r"\bstatic\b", before) is not None
    return name, split_parameters(head[opening + 1 : len(head) - 1]), is_static


def body(code, brace):
    """(index after the closing brace, deepest block nesting, where it is)."""
    kinds, deepest, deepest_at = [], 0, brace
    for match in re.finditer(r"[{}]", code[brace:]):
        at = brace + match.start()
        if match.group(0) == "{":
            # Within an initialiser there are only initialisers.
            kinds.append(not kinds or (kinds[-1] and opens_block(code, at)))
            nesting = sum(kinds) - 1
            if nesting > deepest:
                deepest, deepest_at = nesting, at
        else:
            kinds.pop()
            # A brace in the first column ends the function even where #else confused the count.
            if not kinds or code[at - 1 : at] == "\n":
                return at + 1, deepest, deepest_at
    return len(code), deepest, deepest_at


def find_functions(code):
    """Function definitions of code that has no comments, literals or directives left."""
    start = at = 0
    while at < len(code):
        char = code[at]
        if char in ";}":
            start = at + 1
        elif char == "{":
            head = signature(code, start, at)
            end, nesting, deepest_at = body(code, at)
            if head:
                name, parameters, is_static = head
                first = start + len(code[start:at]) - len(code[start:at].lstrip())
                yield Function(
                    name,
                    line_of(code, first),
                    line_of(code, end - 1),
                    parameters,
                    is_static,
                    nesting,
                    line_of(code, deepest_at),
                )
                start = end
            at = end
            continue
        at += 1
