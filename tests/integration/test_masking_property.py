"""What masking promises, for random values, languages, places, manglings and cuts: what the model
server gets contains no value, what the caller gets contains its own and nobody else's, and a stream
says what a whole answer says.

WEIR_MASK_ROUNDS=100000 for more of it (`make soak`).
"""

import concurrent.futures
import json
import os
import random

import masking
import pytest
from masking import CHAT, TEXT, route, tokens

ROUNDS = int(os.environ.get("WEIR_MASK_ROUNDS", "2000"))
SEED = int(os.environ.get("WEIR_MASK_SEED", "20"))
WORDS = ("the and with about for send please Straße über où naïve señor mañana "
         "привет спасибо καλημέρα günaydın 你好 謝謝 東京 ありがとう 안녕하세요 สวัสดี नमस्ते مرحبا שלום 🙂 👩‍🚀 "
         "EMAIL_ADDRESS EMAIL_ PERSON_7F3KQ2MAX9 e_mail % \\ _ a_b 100% (x) [y] \"z\"").split()  # fmt: skip


def luhn(rng):
    digits = [4] + [rng.randrange(10) for _ in range(14)]
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits))
    return "".join(map(str, digits)) + str(-total % 10)


def new_value(rng):
    kind = rng.randrange(4)
    if kind == 0:
        name = "".join(rng.choice("abcdefghijkmnpqrstuvwxyz0123456789") for _ in range(rng.randint(1, 12)))
        value = f"u{rng.choice(['.', '-', '_', ''])}{name}x@{rng.choice(['example', 'mail.example', 'acme'])}.org"
        return rng.choice([value, value.title(), value.upper()])
    if kind == 1:
        card = luhn(rng)
        return rng.choice([card, " ".join(card[i : i + 4] for i in range(0, 16, 4)),
                           "-".join(card[i : i + 4] for i in range(0, 16, 4))])  # fmt: skip
    if kind == 2:
        return f"({rng.choice(['212', '415', '303'])}) 555-{rng.randrange(10000):04}"
    return f"MRK{rng.randrange(10**6):06}Q"


def normal(value):
    """What two spellings of a value have in common."""
    if "@" in value or value.startswith("MRK"):
        return value.lower()
    return "".join(c for c in value if c.isdigit())


def prose(rng, values, most=12):
    """Words of any language with the values between them. Around a value stand plain words: what
    detectors make of numbers beside numbers is not the question here."""
    said = []
    for value in values:
        said += [rng.choice(WORDS) for _ in range(rng.randint(0, most))] + ["is", value, "so"]
    return " ".join(said + [rng.choice(WORDS)])


def mangle(rng, token):
    for way in (str.lower, str.title, lambda t: t.replace("0", "O"), lambda t: t.replace("1", rng.choice("iIlL")),
                lambda t: t.replace("_", "\\_"), lambda t: t.replace("_", "%5F")):  # fmt: skip
        if rng.random() < 0.25 and "\\" not in token and "%" not in token:
            token = way(token)
    return rng.choice(["{}", "{}", "**{}**", "“{}”", "<{}>", "{}."]).format(token)


def cut(rng, text):
    """Any number of pieces, a code point at a time now and then."""
    if rng.random() < 0.2:
        return list(text)
    at = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randint(0, 12)))
    return [text[a:b] for a, b in zip([0] + at, at + [len(text)])]


class Case:
    def __init__(self, number):
        rng = random.Random(f"{SEED}/{number}")
        self.rng = rng
        self.number = number
        self.is_text = rng.random() < 0.25
        by_norm = {}
        for _ in range(rng.randint(0, 5)):
            value = new_value(rng)
            by_norm.setdefault(normal(value), value)
        self.own = list(by_norm.values())
        self.others = [v for v in (new_value(rng) for _ in range(rng.randint(0, 3))) if normal(v) not in by_norm]
        self.answers = {}

    def question(self):
        rng = self.rng
        text = prose(rng, self.own)
        if self.is_text:
            return {"model": "m", "seed": self.number, "prompt": text}
        messages = [{"role": "user", "content": text}]
        some = [v for v in self.own if rng.random() < 0.6]
        if some and rng.random() < 0.7:
            call = {"id": "c1", "type": "function", "function": {
                "name": "f", "arguments": json.dumps({"to": some, "n": {"deep": prose(rng, some)}},
                                                     ensure_ascii=rng.random() < 0.5)}}  # fmt: skip
            messages += [{"role": "assistant", "content": prose(rng, some), "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"r": prose(rng, some)})}]
        if some and rng.random() < 0.5:
            messages.append({"role": "user", "content": [{"type": "text", "text": prose(rng, some)}]})
        more = {"metadata": {"k": some[0]}} if some and rng.random() < 0.3 else {}
        return {"model": "m", "seed": self.number, "messages": messages, **more}

    def answer(self, body):
        """(what the model says, what the caller must read), made of the tokens that came."""
        text = body["prompt"] if self.is_text else body["messages"][0]["content"]
        came = tokens(text)
        known = [t for t in came if not t.startswith("PERSON_7F3KQ2MAX9")]
        assert len(known) == len(self.own), (text, self.own)
        rng = random.Random(f"{SEED}/{self.number}/answer")
        parts = list(zip(known, self.own)) + [(v, None) for v in self.others]
        rng.shuffle(parts)
        said, read = [], []
        for token, value in parts:
            words = [rng.choice(WORDS) for _ in range(rng.randint(0, 6))] + ["is"]
            spelled = mangle(rng, token) if value is not None else token
            said += [*words, spelled, "so"]
            read += [*words, None if value is None else (spelled, token, value), "so"]
        return " ".join(said + ["end"]), read + ["end"]


def matches(read, text):
    """Does the text say these words and values, with something short where others' data was?"""
    rest = text
    for i, part in enumerate(read):
        if part is None:
            kind, _, rest = rest.partition("] ")
            assert kind.startswith("[") and len(kind) < 40, (kind, text)
            continue
        if isinstance(part, str):
            wanted = part
        else:
            spelled, _, value = part
            around = spelled.strip("*“”<>.")
            wanted = spelled.replace(around, value)
        assert rest.startswith(wanted), (wanted, rest[:80], text)
        rest = rest[len(wanted) :].removeprefix(" ") if i + 1 < len(read) else rest[len(wanted) :]
    assert rest == "", (rest, text)


class Play(masking.World):
    def __init__(self, module_weir):
        self.cases = {}
        both = {"pii": {}, "words": {}}
        super().__init__(module_weir, route("mask", input=both, output=both))
        self.says = self.play

    def play(self, body):
        case = self.cases[body["seed"]]
        text, case.answers["read"] = case.answer(body)
        case.answers["sent"] = json.dumps(body, ensure_ascii=False)
        if not body.get("stream"):
            return text
        pieces = cut(case.rng, text)
        if case.is_text:
            said = [{"id": "1", "object": "text_completion", "created": 1, "model": "m",
                     "choices": [{"index": 0, "text": p, "finish_reason": None}]} for p in pieces]  # fmt: skip
            last = {**said[-1], "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
            return masking.services.events(*said, last, "[DONE]")
        return masking.streamed(pieces)

    def check(self, number):
        case = self.cases[number] = Case(number)
        path = TEXT if case.is_text else CHAT
        question = case.question()
        body = self.ask("mask", question, path=path)
        choice = body["choices"][0]
        text = choice["text"] if case.is_text else choice["message"]["content"]
        matches(case.answers["read"], text)
        sent = case.answers["sent"].lower()
        digits = "".join(c for c in sent if c.isdigit())
        for value in case.own:
            assert value.lower() not in sent and (len(normal(value)) < 8 or normal(value) not in digits), value
        for value in case.others:
            assert value.lower() not in text.lower(), value
        answer = self.post("mask", {**question, "stream": True}, path=path)
        assert answer.status_code == 200, answer.text
        events = masking.streams.events(answer.text)
        streamed = "".join(c.get("text") or (c.get("delta") or {}).get("content") or ""
                           for e in events for c in e["choices"])  # fmt: skip
        assert streamed == text
        del self.cases[number]


@pytest.fixture(scope="module")
def play(module_weir):
    made = Play(module_weir)
    yield made
    made.model.close()


def test_random_conversations(play):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in pool.map(play.check, range(ROUNDS)):
            pass
