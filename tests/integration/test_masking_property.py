"""What masking promises, for random values, languages, places, manglings and cuts, on every API: what
the model server gets contains no value, what the caller gets contains its own and nobody else's, in
text, in reasoning and in the arguments of tool calls, and a stream says what a whole answer says.

WEIR_MASK_ROUNDS=100000 for more of it, of each API (`make soak`).
"""

import concurrent.futures
import json
import os
import random

import masking
import messages
import pytest
import responses
import streams
from masking import CHAT, TEXT, route, tokens
from service import events, reply

ROUNDS = int(os.environ.get("WEIR_MASK_ROUNDS", "2000"))
AT_ONCE = 2000  # in one test, which has a limited time
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


class Chat:
    """How an API asks and answers. `question` has the texts of a conversation and arguments of a call
    that was made before; `says` is {"text", "reasoning", "arguments"}, the last two perhaps None."""

    path = CHAT
    has_reasoning = has_calls = True

    def question(self, case):
        said = [{"role": "user", "content": case.first}]
        if case.arguments:
            call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": case.arguments}}
            said += [{"role": "assistant", "content": case.earlier, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"r": case.earlier})}]
        if case.last:
            said.append({"role": "user", "content": [{"type": "text", "text": case.last}]})
        return {"messages": said, **({"metadata": {"k": case.own[0]}} if case.has_metadata else {})}

    def first(self, body):
        return body["messages"][0]["content"]

    def whole(self, says):
        message = {"role": "assistant", "content": says["text"]}
        if says["reasoning"] is not None:
            message["reasoning"] = says["reasoning"]
        if says["arguments"] is not None:
            message["tool_calls"] = [{"id": "c", "type": "function",
                                      "function": {"name": "f", "arguments": says["arguments"]}}]  # fmt: skip
        return reply(masking.answer(message))

    def stream(self, says, cut):
        said = [{"reasoning": p} for p in cut(says["reasoning"] or "")]
        said += [{"content": p} for p in cut(says["text"])]
        if says["arguments"] is not None:
            head = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
            said.append({"tool_calls": [head]})
            said += [{"tool_calls": [{"index": 0, "function": {"arguments": p}}]} for p in cut(says["arguments"])]
        return events(*(masking.event(delta) for delta in said), masking.event({}, "stop"), "[DONE]")

    def read(self, got):
        """{"text", "reasoning", "arguments"} of a whole answer; `read_stream` of a streamed one."""
        message = got["choices"][0]["message"]
        calls = [c["function"]["arguments"] for c in message.get("tool_calls", [])]
        return {"text": message["content"], "reasoning": message.get("reasoning"),
                "arguments": calls[0] if calls else None}  # fmt: skip

    def read_stream(self, text):
        choice = streams.gather(streams.events(text))["choices"][0]
        calls = [c["arguments"] for c in choice["calls"]]
        return {"text": choice["texts"].get("content"), "reasoning": choice["texts"].get("reasoning"),
                "arguments": calls[0] if calls else None}  # fmt: skip


class Text(Chat):
    path = TEXT
    has_reasoning = has_calls = False

    def question(self, case):
        return {"prompt": case.first}

    def first(self, body):
        return body["prompt"]

    def choice(self, text, finish=None):
        return {"id": "1", "object": "text_completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "text": text, "finish_reason": finish}]}  # fmt: skip

    def whole(self, says):
        return reply(self.choice(says["text"], "stop"))

    def stream(self, says, cut):
        return events(*(self.choice(p) for p in cut(says["text"])), self.choice("", "stop"), "[DONE]")

    def read(self, got):
        return {"text": got["choices"][0]["text"], "reasoning": None, "arguments": None}

    def read_stream(self, text):
        said = "".join(c["text"] for e in streams.events(text) for c in e["choices"])
        return {"text": said, "reasoning": None, "arguments": None}


class Messages(Chat):
    path = messages.PATH
    has_reasoning = False  # thinking is signed: tokens stay in it (test_masking.py)

    def question(self, case):
        said = [{"role": "user", "content": case.first}]
        if case.arguments:
            call = {"type": "tool_use", "id": "c1", "name": "f", "input": json.loads(case.arguments)}
            result = {"type": "tool_result", "tool_use_id": "c1", "content": case.earlier}
            said += [{"role": "assistant", "content": [{"type": "text", "text": case.earlier}, call]},
                     {"role": "user", "content": [result]}]  # fmt: skip
        if case.last:
            said.append({"role": "user", "content": [{"type": "text", "text": case.last}]})
        return {"max_tokens": 99, "messages": said, **({"system": case.earlier} if case.has_metadata else {})}

    def events(self, says, cut):
        blocks = [messages.text(0, *cut(says["text"]))]
        if says["arguments"] is not None:
            blocks.append(messages.tool(1, "f", *cut(says["arguments"])))
        return messages.message(*blocks)

    def whole(self, says):
        return reply(messages.gather(self.events(says, lambda text: [text])))

    def stream(self, says, cut):
        return messages.stream(self.events(says, cut))

    def read(self, got):
        calls = [json.dumps(b["input"]) for b in got["content"] if b["type"] == "tool_use"]
        text = "".join(b["text"] for b in got["content"] if b["type"] == "text")
        return {"text": text, "reasoning": None, "arguments": calls[0] if calls else None}

    def read_stream(self, text):
        return self.read(messages.gather(messages.read(text)))


class Responses(Chat):
    path = responses.PATH

    def question(self, case):
        said = [{"role": "user", "content": case.first}]
        if case.arguments:
            said += [{"role": "assistant", "content": [responses.output_text(case.earlier)], "type": "message",
                      "id": "msg_0", "status": "completed"},
                     {"type": "function_call", "call_id": "c1", "name": "f", "arguments": case.arguments},
                     {"type": "function_call_output", "call_id": "c1", "output": case.earlier}]  # fmt: skip
        if case.last:
            said.append({"role": "user", "content": [{"type": "input_text", "text": case.last}]})
        return {"input": said, **({"instructions": case.earlier} if case.has_metadata else {})}

    def first(self, body):
        return body["input"][0]["content"]

    def events(self, says, cut):
        said = [responses.think(0, *cut(says["reasoning"]))] if says["reasoning"] is not None else []
        said.append(responses.say(len(said), *cut(says["text"])))
        if says["arguments"] is not None:
            said.append(responses.call(len(said), "f", *cut(says["arguments"])))
        return responses.answer(*said)

    def whole(self, says):
        return reply(self.events(says, lambda text: [text])[-1]["response"])

    def stream(self, says, cut):
        return responses.stream(self.events(says, cut))

    def read(self, got):
        thoughts = [p["text"] for i in got["output"] if i["type"] == "reasoning" for p in i["summary"]]
        calls = [i["arguments"] for i in got["output"] if i["type"] == "function_call"]
        return {"text": responses.text_of(got), "reasoning": "".join(thoughts) if thoughts else None,
                "arguments": calls[0] if calls else None}  # fmt: skip

    def read_stream(self, text):
        return self.read(responses.gather(responses.read(text)).response)


APIS = {"chat": [Chat(), Chat(), Chat(), Text()], "messages": [Messages()], "responses": [Responses()]}


class Case:
    def __init__(self, number, apis):
        rng = self.rng = random.Random(f"{SEED}/{number}")
        self.number = number
        self.api = rng.choice(apis)
        by_norm = {}
        for _ in range(rng.randint(0, 5)):
            value = new_value(rng)
            by_norm.setdefault(normal(value), value)
        self.own = list(by_norm.values())
        self.others = [v for v in (new_value(rng) for _ in range(rng.randint(0, 3))) if normal(v) not in by_norm]
        some = [v for v in self.own if rng.random() < 0.6]
        self.first = prose(rng, self.own)
        self.earlier = prose(rng, some)
        self.arguments = json.dumps({"to": some, "n": {"deep": prose(rng, some)}}, ensure_ascii=rng.random() < 0.5)
        self.arguments = self.arguments if some and rng.random() < 0.7 else None
        self.last = prose(rng, some) if some and rng.random() < 0.5 else None
        self.has_metadata = bool(some) and rng.random() < 0.3

    def question(self):
        return {"model": f"m{self.number}", **self.api.question(self)}

    def text(self, rng, known):
        """(what the model says, what the caller must read), made of the tokens that came."""
        parts = list(zip(known, self.own)) + [(v, None) for v in self.others]
        rng.shuffle(parts)
        said, read = [], []
        for token, value in parts:
            words = [rng.choice(WORDS) for _ in range(rng.randint(0, 6))] + ["is"]
            spelled = mangle(rng, token) if value is not None else token
            said += [*words, spelled, "so"]
            read += [*words, None if value is None else (spelled, token, value), "so"]
        return " ".join(said + ["end"]), read + ["end"]

    def answer(self, body):
        """What the model says. The same for the same question; `self.reads` is what must be read."""
        first = self.api.first(body)
        known = [t for t in tokens(first) if not t.startswith("PERSON_7F3KQ2MAX9")]
        assert len(known) == len(self.own), (first, self.own)
        rng = random.Random(f"{SEED}/{self.number}/answer")
        says, self.reads = {"reasoning": None, "arguments": None}, {}
        says["text"], self.reads["text"] = self.text(rng, known)
        if self.api.has_reasoning and rng.random() < 0.4:
            says["reasoning"], self.reads["reasoning"] = self.text(rng, known)
        if self.api.has_calls and rng.random() < 0.5:
            note, self.reads["arguments"] = self.text(rng, known)
            says["arguments"] = json.dumps({"n": [1, {"note": note}], "e": ""}, ensure_ascii=rng.random() < 0.5)
        return says


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


def check_read(case, read):
    for name in ("text", "reasoning", "arguments"):
        said = read[name]
        assert (said is not None) == (name in case.reads), (name, read)
        if name == "arguments" and said is not None:
            tree = json.loads(said)
            said = tree["n"][1]["note"]
            assert tree == {"n": [1, {"note": said}], "e": ""}
        if said is not None:
            matches(case.reads[name], said)
            for value in case.others:
                assert value.lower() not in said.lower(), value


class Play(masking.World):
    def __init__(self, module_weir):
        self.cases = {}
        both = {"pii": {}, "words": {}}
        super().__init__(module_weir, route("mask", input=both, output=both))

    def serve(self, request):
        body = request.json()
        case = self.cases[body["model"]]
        case.sent = json.dumps(body, ensure_ascii=False)
        says = case.answer(body)
        return case.api.stream(says, lambda t: cut(case.rng, t)) if body.get("stream") else case.api.whole(says)

    def check(self, number, apis):
        case = Case(number, apis)
        question = case.question()
        self.cases[question["model"]] = case
        read = case.api.read(self.ask("mask", question, path=case.api.path))
        check_read(case, read)
        sent = case.sent.lower()
        digits = "".join(c for c in sent if c.isdigit())
        for value in case.own:
            assert value.lower() not in sent and (len(normal(value)) < 8 or normal(value) not in digits), value
        answer = self.post("mask", {**question, "stream": True}, path=case.api.path)
        assert answer.status_code == 200, answer.text
        streamed = case.api.read_stream(answer.text)
        if case.api.path == messages.PATH and read["arguments"]:  # a whole one is an object
            streamed["arguments"] = json.dumps(json.loads(streamed["arguments"]))
        assert streamed == read, number
        del self.cases[question["model"]]


@pytest.fixture(scope="module")
def play(module_weir):
    made = Play(module_weir)
    yield made
    made.model.close()


@pytest.mark.parametrize("first", range(0, ROUNDS, AT_ONCE))
@pytest.mark.parametrize("name", APIS)
def test_random_conversations(play, name, first):
    numbers = range(first, min(first + AT_ONCE, ROUNDS))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in pool.map(lambda number: play.check(number, APIS[name]), numbers):
            pass
