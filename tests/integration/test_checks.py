"""The checks find what they are for: each is fed a small bad tree, and a good one."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def check(tmp_path):
    """check("layers", {"src/a/b.c": "text"}) -> (exit status, output)."""

    def run(name, tree, *options):
        for path, text in tree.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        command = [sys.executable, str(TOOLS / f"check-{name}"), "--root", str(tmp_path), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
        return done.returncode, done.stdout + done.stderr

    return run


def function(name="f", lines=3, parameters="void", head="static int"):
    """A C function of exactly so many lines."""
    body = "    return 0;\n" * (lines - 3)
    return f"{head} {name}({parameters})\n{{\n{body}}}\n"


def nested(depth):
    opening = "".join("    " * level + "if (x) {\n" for level in range(1, depth + 1))
    closing = "".join("    " * level + "}\n" for level in range(depth, 0, -1))
    return f"static void f(int x)\n{{\n{opening}{closing}}}\n"


# --- layers ---


@pytest.mark.parametrize(
    "path, header",
    [
        ("src/base/a.c", "obs/log.h"),  # up
        ("src/wire/a.c", "io/loop.h"),  # sideways
        ("src/wire/a.h", "obs/log.h"),  # down, but wire knows base only
        ("src/task/a.c", "http/msg.h"),  # down, but a task writes to a sink
        ("src/detect/a.c", "conf/conf.h"),  # down, but options come from above
        ("src/http/a.c", "nowhere/x.h"),
        ("src/http/a.c", "msg.h"),  # not from the root
        ("src/newroom/a.c", "base/buf.h"),
        ("src/app/a.c", "mock/mock_text.h"),  # the product does not know the mock
        ("src/main.c", "mock/mock_text.h"),
        ("tests/mock/a.c", "unit/a.h"),
    ],
)
def test_layers_refuses(check, path, header):
    status, output = check("layers", {path: f'/* x */\n#include "{header}"\n'})
    assert status == 1
    assert output.startswith(f"{path}:")


def test_layers_names_the_line(check):
    tree = {"src/io/a.c": '#include "base/buf.h"\n\n#include "http/msg.h"\n'}
    assert check("layers", tree) == (1, "src/io/a.c:3: io (2) may not know http (3)\n")


def test_layers_accepts_down_and_own(check):
    tree = {
        "src/io/a.c": '#include "io/a.h"\n\n#include "base/buf.h"\n#include "obs/log.h"\n',
        "src/main.c": '#include "app/serve.h"\n#include <stdio.h>\n',
        "tests/mock/a.c": '#include "app/flags.h"\n#include "mock/a.h"\n#include "route/table.h"\n',
    }
    assert check("layers", tree) == (0, "")


# --- sizes ---


@pytest.mark.parametrize(
    "path, text, says",
    [
        ("src/base/a.c", function(lines=101), "src/base/a.c:1: f has 101 lines"),
        ("tests/a.c", function(lines=101), "tests/a.c:1: f has 101 lines"),
        ("src/base/a.c", nested(5), "src/base/a.c:7: f nests 5 deep"),
        (
            "src/base/a.c",
            function(parameters="int a, int (*b)(int, int), int c, int d, int e, int f, int g"),
            "src/base/a.c:1: f has 7 parameters",
        ),
        ("src/base/a.c", "int x;\n" * 1201, "src/base/a.c:1: the file has 1201 lines"),
        ("src/base/a.h", "int x;\n" * 401, "src/base/a.h:1: the file has 401 lines"),
    ],
)
def test_sizes_refuses(check, path, text, says):
    status, output = check("sizes", {path: text})
    assert status == 1
    assert output.startswith(says)


@pytest.mark.parametrize(
    "text",
    [
        function(lines=100),
        nested(4),
        function(parameters="int a, int b, int c, int d, int (*e)(int, int), int f"),
        function(parameters="nghttp2_session *s, " + ", ".join(f"int a{n}" for n in range(7))),
        "/* Reads.\n * size: one switch, 30 states */\n" + function(lines=150),
        # Braces in literals, comments and initialisers are no nesting.
        "static void f(int x)\n{\n"
        + '    struct a b = {{{{{{1}}}}}}; /* {{{{{{ */ char *s = "{{{{{{"; char c = \'{\';\n'
        + "    g((struct a){.b = (struct c){.d = (struct e){.f = (struct g){0}}}});\n}\n",
        "static const int table[] = {\n" + "    1,\n" * 150 + "};\n",
        "#define LONG(x) \\\n    do { \\\n" + "    { \\\n" * 10 + "    }\n" + function(),
    ],
    ids=["lines", "nesting", "parameters", "callback", "excused", "literals", "table", "macro"],
)
def test_sizes_accepts(check, text):
    assert check("sizes", {"src/base/a.c": text}) == (0, "")


def test_sizes_excuse_is_for_its_own_function(check):
    text = "/* size: one switch, 30 states */\n" + function("a", 150) + "\n" + function("b", 150)
    status, output = check("sizes", {"src/base/a.c": text})
    assert (status, output) == (1, "src/base/a.c:153: b has 150 lines, the most is 100\n")


def test_sizes_asks_questions_on_request(check):
    tree = {"src/base/a.c": function(lines=61)}
    assert check("sizes", tree) == (0, "")
    status, output = check("sizes", tree, "-v")
    assert status == 0
    assert "question: f has 61 lines" in output


# --- banned, names, paths ---


@pytest.mark.parametrize(
    "path, text",
    [
        ("src/io/a.c", "x = strcpy(a, b);\n"),
        ("src/io/a.c", "x = malloc (3);\n"),
        ("src/io/a.c", "    fprintf(stderr, s);\n"),
        ("tests/mock/a.c", "x = malloc(3);\n"),
        ("tests/mock/a.c", "    fprintf(stderr, s);\n"),
        ("tests/unit/a_test.c", "/* TO" + "DO: later */\n"),
    ],
)
def test_banned_refuses(check, path, text):
    status, output = check("banned", {path: text})
    assert status == 1
    assert output.startswith(f"{path}:1: ")


def test_banned_accepts(check):
    tree = {
        "src/base/mem.c": "p = malloc(n);\n",
        "src/app/serve.c": 'printf("x");\n',
        "tests/mock/main.c": 'printf("x");\n',
        "src/io/a.c": '/* malloc( */ s = "malloc("; weir_mem_alloc(1); v->free(x); my_rand(2); '
        "t->system(1);\n",
        "tests/unit/a_test.c": "p = malloc(n);\n",
    }
    assert check("banned", tree) == (0, "")


@pytest.mark.parametrize(
    "path, text",
    [
        ("src/io/a.c", function("open_it", head="int")),
        ("src/io/a.c", function("weir_open", head="static int")),
        ("src/io/a.h", function("open_it", head="static inline int")),
        ("src/io/a.c", function("main", head="int")),
        ("tests/mock/a.c", function("open_it", head="int")),
    ],
)
def test_names_refuses(check, path, text):
    status, output = check("names", {path: text})
    assert status == 1
    assert output.startswith(f"{path}:1: ")


def test_names_accepts(check):
    tree = {
        "src/io/a.c": function("open_it") + function("weir_a_open", head="struct weir_a *"),
        "src/io/a.h": function("weir_a_peek", head="static inline int"),
        "src/main.c": function("main", head="int"),
    }
    assert check("names", tree) == (0, "")


# --- docs ---


@pytest.mark.parametrize(
    "path, text, says",
    [
        ("README.md", "a\n[b](docs/none.md)\n", "README.md:2: the link `docs/none.md` leads nowhere\n"),
        ("docs/a.md", "[b](docs/b.md)\n", "docs/a.md:1: the link `docs/b.md` leads nowhere\n"),
        ("docs/a.md", "[b](b.md#gone)\n", "docs/a.md:1: the link `b.md#gone`: there is no such heading\n"),
        ("docs/a.md", "[b](#gone)\n", "docs/a.md:1: the link `#gone`: there is no such heading\n"),
        ("docs/a.md", "see `src/io/gone.c`\n", "docs/a.md:1: there is no `src/io/gone.c`\n"),
        ("docs/a.md", "see `io/gone.h`\n", "docs/a.md:1: there is no `io/gone.h`\n"),
        ("docs/a.md", "`weir_gone_open` does it\n", "docs/a.md:1: there is no `weir_gone_open` in the source\n"),
        ("src/io/x.h", "int n;\n/* as\n * b.md has it */\n", "src/io/x.h:3: `b.md` is no page"),
        ("src/io/x.c", "int n; /* docs/c.md */\n", "src/io/x.c:1: `docs/c.md` is no page"),
        ("tests/unit/x.c", "/* api.md H */\n", "tests/unit/x.c:1: `api.md` is no page"),
        ("tests/integration/x.py", '"""What\napi.md says."""\n', "tests/integration/x.py:2: `api.md`"),
        ("bench/x.py", "n = 1  # see gone.md\n", "bench/x.py:1: `gone.md` is no page"),
        ("tools/x", "#!/usr/bin/python3\n# see gone.md\n", "tools/x:2: `gone.md` is no page"),
    ],
)
def test_docs_refuses(check, path, text, says):
    tree = {"docs/b.md": "# Here\n", path: text}
    status, output = check("docs", tree)
    assert status == 1
    assert output.startswith(says)
    assert output.count("\n") == 1


def test_docs_accepts(check):
    tree = {
        "README.md": "[b](docs/b.md#here-there-a-b), [docs](docs/), [x](https://x.example/y.md)\n",
        "docs/b.md": "# Here, `there` (A, B)\n\n[up](../README.md) [me](#here-there-a-b)\n"
        "`src/io/x.h`, `io/x.h`, `tests/<x>.c`, `[no](link.md)`, `weir_x_open`\n```\n[no](link.md)\n```\n",
        "src/io/x.h": '/* docs/b.md has it */\nconst char *name = "gone.md";\nint weir_x_open(void);\n',
        "tests/integration/x.py": '"""docs/b.md"""\nNAME = "gone.md"\nOTHER = "*.md"\n',
    }
    assert check("docs", tree) == (0, "")


def test_docs_of_this_tree():
    command = [sys.executable, str(TOOLS / "check-docs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_paths(check):
    bad = "see /ro" + "ot/notes\n"
    assert check("paths", {"docs/a.md": bad})[0] == 1
    assert check("paths", {"docs/a.md": "GET /rooted, $(HOME)/x, src/root/x\n"}) == (0, "")


def test_a_clone_where_there_is_no_git(check, tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    bad = "see /ro" + "ot/notes\n"
    status, output = check("paths", {"docs/a.md": bad, ".git/a": bad, "build/a": bad})
    assert (status, output.count("\n")) == (1, 1) and output.startswith("docs/a.md:1: ")


# clang is for `make check` alone: two names of the compiler that builds everything do here.
TWO = ["--compilers", "gcc", "cc"]


@pytest.mark.parametrize("path", ["src/io/a.h", "tests/mock/mock_a.h"])
def test_headers(check, path):
    status, output = check("headers", {path: "int f(size_t n);\n"}, *TWO)
    assert status == 1
    assert "with gcc" in output and "with cc" in output
    good = {path: "#include <stddef.h>\nint f(size_t n);\n"}
    assert check("headers", good, *TWO) == (0, "")
