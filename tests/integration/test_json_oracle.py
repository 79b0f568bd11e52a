"""The JSON reader against Python's: the same documents taken, the same values read.

Python is made as strict as the reader: no NaN, no name twice in an object (names compared with lone
surrogates as U+FFFD, as the reader gives them), bytes that are UTF-8. What each document should be
is then computed in the form tests/tools/json_dump.c prints.
"""

import json
import math
import random
import re
import struct
import subprocess
import sys
import threading
from decimal import Decimal

import harness
import pytest

SURROGATE = re.compile("[\ud800-\udfff]")
# For the nested documents, Python's own reader recurses on the C stack.
DEEP_STACK_BYTES = 512 * 1024 * 1024


class Number:
    def __init__(self, spelling):
        self.spelling = spelling


class Members:
    def __init__(self, pairs):
        names = [SURROGATE.sub("\ufffd", name) for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError("duplicate key")
        self.pairs = pairs


def refuse(constant):
    raise ValueError(constant)


def read(document):
    """The document as Python sees it; ValueError when it is refused."""
    return json.loads(
        document.decode("utf-8"),
        parse_int=Number,
        parse_float=Number,
        parse_constant=refuse,
        object_pairs_hook=Members,
    )


def number_tokens(spelling):
    """Everything but the writer's spelling, which check_spelling looks at."""
    signed = unsigned = bits = "-"
    if spelling.lstrip("-").isdigit() and len(spelling) < 1000:
        value = int(spelling)
        signed = str(value) if -(2**63) <= value < 2**63 else "-"
        unsigned = str(value) if 0 <= value < 2**64 else "-"
    value = float(spelling)
    if not math.isinf(value):
        bits = struct.pack(">d", value).hex()
    return f"#{spelling}:{signed}:{unsigned}:{bits}"


def string_token(text):
    lone = 1 if SURROGATE.search(text) else 0
    return f'"{SURROGATE.sub(chr(0xFFFD), text).encode().hex()}:{len(text)}:{lone}'


def tokens(value):
    """In order of appearance, without recursion."""
    found, todo = [], [value]
    constants = {None: "n", True: "t", False: "f"}
    while todo:
        item = todo.pop()
        if isinstance(item, Number):
            found.append(number_tokens(item.spelling))
        elif isinstance(item, str):
            found.append(string_token(item))
        elif isinstance(item, list):
            found.append(f"[{len(item)}")
            todo.extend(reversed(item))
        elif isinstance(item, Members):
            found.append(f"{{{len(item.pairs)}")
            todo.extend(part for pair in reversed(item.pairs) for part in reversed(pair))
        else:
            found.append(constants[item])
    return found


def dump(documents, *args):
    """What json_dump says of each."""
    program = harness.build_folder() / "tests" / "json_dump"
    packed = b"".join(struct.pack("<I", len(d)) + d for d in documents)
    done = subprocess.run([program, *args], input=packed, capture_output=True, check=True)
    lines = done.stdout.decode().split("\n")[:-1]
    assert len(lines) == len(documents)
    return lines


def check_spelling(document, bits, written):
    """As few digits as Python's repr, and the same ones."""
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert math.copysign(1, float(written)) == math.copysign(1, value), document
    shortest = Decimal(repr(value))
    assert Decimal(written).normalize().as_tuple() == shortest.normalize().as_tuple(), document
    assert re.fullmatch(r"-?\d+\.\d+|-?\d(\.\d+)?e-?\d+", written), document


def compare(documents, *args):
    """Returns how many were taken."""
    n_taken = 0
    for document, line in zip(documents, dump(documents, *args)):
        try:
            expected = tokens(read(document))
        except ValueError as error:
            assert line.startswith("- "), (document, error, line)
            at_byte = int(line.split(" ")[1])
            assert at_byte <= len(document), (document, line)
            continue
        assert line.startswith("+ "), (document, line)
        got = line.split(" ")[1:]
        for i, token in enumerate(got):
            if token.startswith("#"):
                got[i], written = token.rsplit(":", 1)
                bits = got[i].rsplit(":", 1)[1]
                if bits != "-":
                    check_spelling(document, bits, written)
        assert got == expected, document
        n_taken += 1
    return n_taken


TAKEN = [
    rb'"\ud83d\ude00"', rb'"\uD83D\uDE00"', rb'"\\ud83d"', rb'"\\\ud83d\ude00"', rb'"\u0000"',
    rb'"\ud83d"', rb'"\ude00"', rb'"\ude00\ud83d"', rb'"\ud83d\ud83d\ude00"', rb'"\ud83d\u0041"',
    rb'"\ud83dx\ude00"', b'"\x7f"', b'"\xef\xbb\xbf"', b'"\xf0\x9f\x98\x80"', b'"\xf4\x8f\xbf\xbf"',
    b"1e400", b"-1e400", b"1e-400", b"-0", b"-0.0", b"0e999999999999999999999999", b"1E+2",
    b"18446744073709551615", b"18446744073709551616", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"-9223372036854775809", b"9007199254740993", b"1" * 400,
    b"0." + b"3" * 400, b"123456789012345", b"1234567890123456", b"0.1234567890123456",
    b"2.2250738585072011e-308", b"4.9e-324", b"2.4703282292062327e-324", b"2.4703282292062328e-324",
    b"1.7976931348623158e308", b"1.7976931348623159e308", b"100000000000000000000000", b"0.1e1",
    rb'{"a":1,"b":{"a":1,"c":{"a":1}}}', rb'{"a":1,"A":1}', rb'{"\ud800":1}',
    b" \t\r\n[ \t\r\n] \t\r\n", b"{ }", b'{"a":[{},[],"",0]}', b'{"__proto__":1,"constructor":{}}',
    b'"' + b"x" * 100000 + b'"', b"[" + b"0," * 50000 + b"0]",
    b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(20000)) + b"}",
]  # fmt: skip

REFUSED = [
    rb'"\ud83d\u00"', rb'"\ud83d\uzzzz"', rb'"\ud83d\x"', rb'"\ud83d', rb'"\ud83d\u', rb'"\u12',
    b"01", b"-01", b"1.", b".1", b"+1", b"1e", b"1e+", b"0x1", b"-", b"--1", b"1_0", b"1e1.0",
    b"NaN", b"Infinity", b"-Infinity", b"nan", b"nul", b"nulll", b"TRUE", b"'a'",
    b'"\x00"', b"\x00", b"[\x00]", b"{}\x00", b'"\x1f"', b'"\t"', b'"\n"',
    rb'{"a":1,"a":1}', rb'{"a":1,"\u0061":1}', rb'{"\u0000":1,"\u0000":2}', rb'{"":1,"":2}',
    rb'{"\ud800":1,"\udfff":1}', rb'{"\ud800":1,"\ufffd":1}', '{"é":1,"\\u00e9":2}'.encode(),
    b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf 1", b"\xc3\xa9", b"[1\xc2\xa0]",
    b"\xe2\x80\x831", b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\x80"', b'"\xc3"',
    b'"\xe2\x82"', b"", b" ", b"[", b"]", b"{", b"}", b"[1,]", b"[,1]", b"[1,,2]", b"[1 2]",
    b'{"a":1,}', b'{"a"}', b'{"a":}', b"{a:1}", b"{1:2}", b"[1}", b'{"a":1]', b"[] []", b"1 2",
    b"[]]", b"/**/1", b"1//", b"\x0c1", b"\x0b1", b"\x851",
    b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(20000)) + rb',"\u006b777":0}',
]  # fmt: skip


def test_hard_cases():
    assert compare(TAKEN) == len(TAKEN)
    assert compare(REFUSED) == 0


def test_truncated_at_every_byte():
    document = (
        ' {"id":"é\\ud83d\\ude00😀","n":[-1.5e+3,true,false,null,{},[]],"t":"0123456789abcdef\\n"} '
    ).encode()
    prefixes = [document[:n] for n in range(len(document) + 1)]
    # Complete with the closing brace, and with the space behind it.
    assert compare(prefixes) == 2


def nested(depth):
    opened = b"".join(b'{"a":' if i % 2 else b"[" for i in range(depth))
    closed = b"".join(b"}" if i % 2 else b"]" for i in reversed(range(depth)))
    return opened + b"1" + closed


def test_nesting():
    """10,000 deep is refused by default and by a limit one below, and read right at the limit."""
    assert dump([nested(10000)])[0].endswith(" nested too deep")
    assert dump([nested(10000)], "9999")[0].endswith(" nested too deep")
    assert dump([nested(65)])[0].endswith(" nested too deep")
    assert compare([nested(64)]) == 1
    outcome = []

    def with_deep_stack():
        sys.setrecursionlimit(50000)
        outcome.append(compare([nested(10000), nested(10000)[:-1], b"[" * 10000], "10000"))

    before = sys.getrecursionlimit(), threading.stack_size(DEEP_STACK_BYTES)
    try:
        thread = threading.Thread(target=with_deep_stack)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(before[0])
        threading.stack_size(before[1])
    assert outcome == [1]


class Maker:
    """Random documents that lean towards what is hard."""

    PIECES = [
        *"abc é€😀\u2028\x7f/'", r"\"", r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t", r"\u0000",
        r"\u00e9", r"\uFFFF", r"\ud83d\ude00", r"\ud83d", r"\uDE00", "plain text", "0123456789abcdef",
    ]  # fmt: skip
    SPACES = ["", "", "", "", " ", "\n", "\t", "\r\n  "]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def space(self):
        return self.random.choice(self.SPACES)

    def string(self):
        n = self.random.choice([0, 1, 2, 3, 8])
        return '"' + "".join(self.random.choice(self.PIECES) for _ in range(n)) + '"'

    def digits(self):
        return "".join(self.random.choice("0123456789") for _ in range(self.random.choice([1, 3, 17, 25])))

    def number(self):
        pick = self.random.random()
        if pick < 0.2:
            return repr(self.random.random())
        if pick < 0.3:
            value = struct.unpack("<d", self.random.randbytes(8))[0]
            return repr(value) if math.isfinite(value) else "0"
        sign = self.random.choice(["", "-"])
        whole = self.random.choice(["0", self.digits().lstrip("0") or "0"])
        fraction = self.random.choice(["", "." + self.digits()])
        exponent = self.random.choice(["", "", f"e{self.random.randint(-340, 340)}", "E+5"])
        return sign + whole + fraction + exponent

    def value(self, depth):
        kind = self.random.choice(["string", "number", "constant", "array", "object", "object"])
        if kind == "string":
            return self.string()
        if kind == "number":
            return self.number()
        if kind == "constant" or depth == 0:
            return self.random.choice(["true", "false", "null"])
        items = [self.item(kind, depth - 1) for _ in range(self.random.choice([0, 1, 2, 3, 5, 20]))]
        brackets = "[]" if kind == "array" else "{}"
        return brackets[0] + self.space() + ",".join(items) + brackets[1]

    def item(self, kind, depth):
        value = self.space() + self.value(depth) + self.space()
        return value if kind == "array" else self.space() + self.string() + self.space() + ":" + value

    def document(self):
        return (self.space() + self.value(3) + self.space()).encode()

    def spoil(self, document):
        """One to three small accidents."""
        data = bytearray(document)
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(data) + 1)
            accident = self.random.randrange(5)
            if accident == 0:
                del data[at : at + self.random.randint(1, 3)]
            elif accident == 1:
                data[at:at] = self.random.choice(
                    [b",", b":", b'"', b"\\", b"{", b"}", b"[", b"]", b"0", b"e", b"-", b" ", b"\x00", b"\xc3"]
                )
            elif accident == 2:
                data[at : at + 1] = self.random.randbytes(1)
            elif accident == 3:
                del data[at:]
            else:
                other = self.random.randrange(len(data) + 1)
                data[at:at] = data[other : other + self.random.randint(1, 12)]
        return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_generated(seed):
    maker = Maker(seed)
    documents = [maker.document() for _ in range(1500)]
    n_taken = compare(documents)
    # Names come from few pieces, so many objects repeat one: both kinds are well represented.
    assert 500 < n_taken < len(documents)
    spoiled = [maker.spoil(document) for document in documents]
    assert compare(spoiled) > 50


def test_doubles():
    """Spelling of powers of two and their neighbours, where the shortest is easily missed."""
    values = []
    for exponent in range(-1074, 1024):
        power = math.ldexp(1.0, exponent)
        values += [power, math.nextafter(power, 0), -math.nextafter(power, math.inf)]
    values += [10.0**k for k in range(-323, 309)] + [k / 1000 for k in range(1001)]
    documents = [repr(v).encode() for v in values if math.isfinite(v)]
    assert compare(documents) == len(documents)
