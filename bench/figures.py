"""Stored figures and the gate on them: a text file with a line for every case, and the comparison
of what was measured with it."""

# Each with the digits behind the point that are stored.
MEASURES = {"instructions": 0, "allocations": 3, "parses": 3, "writers": 3, "events": 3}
MOST_GROWTH = 1.03

HEAD = """\
# Per token of a streamed answer: user-space instructions of the server, allocations, JSON documents
# parsed, JSON documents written, events sent to the caller. `make check C=instructions` measures
# again and compares; `bench/instructions.py --store` writes this file.
"""
MADE_WITH = "# Made with "
IF_MEANT = """\
If this is meant, `bench/instructions.py --store` writes bench/instructions.txt: commit it together
with the change, and say in the message why a token may cost more."""


def write(found, made_with):
    """The file's text. `found` is {case: {measure: figure}}; `made_with` is one line about what
    the figures depend on besides the sources."""
    lines = [f"{MADE_WITH}{made_with}", f"{'# case':24}" + "".join(f"{m:>14}" for m in MEASURES)]
    for case in sorted(found):
        values = (f"{found[case][m]:14.{digits}f}" for m, digits in MEASURES.items())
        lines.append(f"{case:24}" + "".join(values))
    return HEAD + "\n".join(lines) + "\n"


def read(text):
    """(found, made_with) as write() was given them, rounded."""
    found, made_with = {}, ""
    for line in text.splitlines():
        if line.startswith(MADE_WITH):
            made_with = line[len(MADE_WITH) :]
        elif line and not line.startswith("#"):
            case, *values = line.split()
            if len(values) != len(MEASURES) or case in found:
                raise ValueError(f"not a line of figures, or a case twice: {line!r}")
            found[case] = dict(zip(MEASURES, map(float, values)))
    return found, made_with


def compare(stored, found):
    """(what grew, what fell) by more than 3 %, as sentences. A case that is not in both has grown:
    nothing watches it."""
    grown = [f"{case}: measured, but not stored" for case in sorted(found.keys() - stored.keys())]
    grown += [f"{case}: stored, but not measured" for case in sorted(stored.keys() - found.keys())]
    fallen = []
    for case in sorted(stored.keys() & found.keys()):
        for measure, digits in MEASURES.items():
            before, now = stored[case][measure], round(found[case][measure], digits)
            share = f" ({(now / before - 1) * 100:+.1f} %)" if before > 0 else ""
            said = f"{case}: {measure} {before:,.{digits}f} → {now:,.{digits}f}{share}"
            if now > before * MOST_GROWTH:
                grown.append(said)
            elif now < before / MOST_GROWTH:
                fallen.append(said)
    return grown, fallen


def gate(stored_text, found, made_with, cases=None):
    """(passes, what to print). With `cases`, only these of the stored ones are looked at."""
    stored, stored_with = read(stored_text)
    if cases is not None:
        stored = {case: of for case, of in stored.items() if case in cases}
    grown, fallen = compare(stored, found)
    lines = [f"grown: {said}" for said in grown] + [f"fallen: {said}" for said in fallen]
    if grown:
        lines.append(IF_MEANT)
    elif fallen:
        lines.append("Keep what was won: `bench/instructions.py --store`, in the same commit.")
    is_comparable = made_with == stored_with
    if lines and not is_comparable:
        lines.append(f"The stored figures were made with {stored_with}; these with {made_with}.")
        lines.append("They cannot be compared so closely: nothing fails because of them here.")
    return not grown or not is_comparable, "\n".join(lines)
