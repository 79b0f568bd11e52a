"""The gate on instructions per token (bench/figures.py) and what reads callgrind's files
(bench/callgrind.py): no server is started."""

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
HERE = "GCC 1, glibc 2"


def load(name):
    """By its file: the folder has other modules of the same names as these tests."""
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load("figures")
callgrind = load("callgrind")


def case(**changed):
    usual = {"instructions": 10000, "allocations": 2, "parses": 1, "writers": 0, "events": 0.067}
    return {**usual, **changed}


STORED = figures.write({"annotate": case(), "passed": case(instructions=2600)}, HERE)


def gate(**cases):
    found = {"annotate": case(), "passed": case(instructions=2600), **cases}
    return figures.gate(STORED, {name: of for name, of in found.items() if of}, HERE)


def test_equal_figures_pass_in_silence():
    assert gate() == (True, "")


@pytest.mark.parametrize("measure, most, too_many", [
    ("instructions", 10300, 10301),
    ("allocations", 2.06, 2.061),
    ("parses", 1.03, 1.031),
    ("writers", 0.0004, 0.001),  # none is none
    ("events", 0.069, 0.070),
])  # fmt: skip
def test_a_figure_may_grow_by_three_per_cent(measure, most, too_many):
    assert gate(annotate=case(**{measure: most}))[0]
    passes, said = gate(annotate=case(**{measure: too_many}))
    assert not passes
    assert said.startswith(f"grown: annotate: {measure} ")
    assert "--store" in said and "why" in said


def test_each_that_grew_is_named():
    found = {"annotate": case(instructions=11000, parses=2), "passed": case(instructions=2700)}
    _, said = gate(**found)
    grown = [line for line in said.splitlines() if line.startswith("grown")]
    assert grown == [
        "grown: annotate: instructions 10,000 → 11,000 (+10.0 %)",
        "grown: annotate: parses 1.000 → 2.000 (+100.0 %)",
        "grown: passed: instructions 2,600 → 2,700 (+3.8 %)",
    ]


def test_a_figure_that_fell_is_told_and_passes():
    passes, said = gate(passed=case(instructions=2500))
    assert passes
    assert said.startswith("fallen: passed: instructions 2,600 → 2,500 (-3.8 %)\n")
    assert "--store" in said
    assert gate(passed=case(instructions=2550)) == (True, "")


def test_what_fell_does_not_excuse_what_grew():
    passes, said = gate(passed=case(instructions=1000), annotate=case(allocations=3))
    assert not passes
    assert "fallen: passed" in said and "grown: annotate" in said


def test_a_case_on_one_side_only_fails():
    passes, said = gate(redact=case())
    assert not passes and "redact: measured, but not stored" in said
    passes, said = gate(passed=None)
    assert not passes and "passed: stored, but not measured" in said


def test_named_cases_are_compared_alone():
    found = {"passed": case(instructions=2600)}
    assert figures.gate(STORED, found, HERE, {"passed"}) == (True, "")


def test_another_compiler_is_named_with_the_growth():
    found = {"annotate": case(instructions=20000), "passed": case(instructions=2600)}
    passes, said = figures.gate(STORED, found, "GCC 9")
    assert passes and f"made with {HERE}; these with GCC 9." in said


def test_what_is_written_is_read():
    found = {"b": case(instructions=1234.4), "a": case(allocations=1 / 3)}
    text = figures.write(found, HERE)
    read, made_with = figures.read(text)
    assert read == {"a": case(allocations=0.333), "b": case(instructions=1234)}
    assert made_with == HERE
    lines = [line.split()[0] for line in text.splitlines() if not line.startswith("#")]
    assert lines == ["a", "b"]


@pytest.mark.parametrize("line", ["passed 1 2 3", "passed 1 2 3 4 x", "annotate 1 2 3 4 5"])
def test_lines_that_are_not_figures_are_refused(line):
    with pytest.raises(ValueError):
        figures.read(STORED + line + "\n")


def test_the_stored_file_is_what_the_gate_writes():
    text = (BENCH / "instructions.txt").read_text()
    assert figures.write(*figures.read(text)) == text


DUMP = """\
# callgrind format
events: Ir
summary: 1100

ob=(1) /bin/x
fl=(1) a.c
fn=(1) caller
0 10
cfn=(2) malloc
calls=3 0
0 300
cfi=(2) b.c
cfn=(3) realloc
calls=2 0
0 80

fn=(3)
0 20
cfn=(2)
calls=2 0
0 200

fn=(4) other
0 5
cfn=(2)
calls=4 0
0 400
cfn=(2)
calls=1 0
0 100
totals: 1115
"""


def test_calls_are_counted_once_where_one_of_a_set_calls_another():
    counts = callgrind.Counts(DUMP)
    assert counts.instructions == 1115
    assert counts.calls_of("malloc") == 3 + 2 + 4 + 1
    assert counts.calls_of("malloc", "realloc") == 3 + 2 + 4 + 1
    assert counts.calls_of("realloc") == 2
    assert counts.calls_of("nothing") == 0


def test_a_file_that_was_cut_off_is_refused():
    with pytest.raises(ValueError):
        callgrind.Counts(DUMP[: DUMP.index("totals")])
