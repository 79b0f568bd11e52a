"""Random scripts: `script(seed, n)` is the n-th of a seed, always the same one.

Weights are chosen so that what has gone wrong before comes often: several choices, tool calls in
fragments and behind a finish_reason, findings cut in two, answers late and out of order."""

import random

import answers
import grpcpeer
import scripts
import servers

WORDS = ["the", "a", "cat", "sat", "mat", "ha", "ha", "river", "naïveté", "Straße", "水", "日本語",
         "😀", "e\u0301", "12", "Dr.", "e.g.", "x=1;", "**bold**", "a-b", "\u200b", "[1]"]  # fmt: skip
ENDS = [". ", ". ", "! ", "? ", ".\n", "\n\n", "\n```\ncode\n```\n", ", ", "; ", "。"]
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA1234567890abcdefghij\n" * 4 + \
    "-----END RSA PRIVATE KEY-----"
BAD = ["jane@example.org", KEY, "4111 1111 1111 1111", "idiot", "дурак", "naïve", "212-555-0123",
       "AKIAIOSFODNN7EXAMPLK", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", *answers.WORDS]  # fmt: skip
TOOL_ARGS = ['{"q":"cat"}', '{"mail":"jane@example.org"}', "{}", '{"a":{"b":[1,"}"]}}',
             '{"t":"rotten \\u0041 \\"x\\""}', "7", '{"open":', "", '{"q":"1"} ', '{"t":"idiot"}']  # fmt: skip
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
API_CHAT = "/api/v2/chat/completions-detection"
API_TEXT = "/api/v2/text/completions-detection"
KINDS = [("chat", 40), ("text", 10), ("api-chat", 17), ("api-text", 8), ("content", 9), ("tgis", 6),
         ("unary", 17), ("check", 3)]  # fmt: skip
AGGREGATIONS = ["aligned", "max_processed_index", "min_processed_index"]
CLASSES = [("step", 60), ("burst", 28), ("race", 12)]


class Maker:
    def __init__(self, seed, n):
        self.r = random.Random(f"weir {seed} {n}")
        self.is_long = config_of(n) == "tight" and self.chance(50)  # long enough for its limits

    def chance(self, percent):
        return self.r.random() * 100 < percent

    def pick(self, weighted):
        names, weights = zip(*weighted)
        return self.r.choices(names, weights)[0]

    # --- texts ---

    def text(self, most=14):
        bad_percent = self.r.choice([0, 0, 6, 20])
        if self.is_long:
            most, bad_percent = most * 15, bad_percent / 10
        out = []
        for _ in range(self.r.randint(0, most)):
            out.append(self.r.choice(BAD) if self.chance(bad_percent) else self.r.choice(WORDS))
            out.append(self.r.choice(ENDS) if self.chance(25) else " ")
        return "".join(out)

    def tokens(self, text):
        """The text in pieces, at times cut inside a surrogate pair or with a half left over."""
        if self.chance(8):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            units = "".join(halves(c) for c in text)
            text = units + ("\ud83d" if self.chance(20) else "")
        size = self.r.choice([1, 4, 4, 9, 30, 200])
        out = []
        while text:
            n = self.r.randint(1, size)
            out.append(text[:n])
            text = text[n:]
        return out[:40] + ["".join(out[40:])] * (len(out) > 40)

    # --- what one choice of a chat says: a list of (delta, members of the choice) ---

    def chat_choice(self):
        ops = []
        if self.chance(75):
            ops.append(({"role": "assistant"} | ({"content": ""} if self.chance(50) else {}), {}))
        for _ in range(self.r.choice([1, 1, 1, 2, 3])):
            ops += self.channel()
        if self.is_long and self.chance(40):  # much to send at once when the text is judged
            ops += self.tool_calls()
        if self.chance(12):
            at = self.r.randint(0, len(ops))
            ops.insert(at, self.oddity())
        return ops

    def channel(self):
        kind = self.pick([("content", 56), ("tools", 20), ("reasoning", 9), ("refusal", 4),
                          ("function", 3), ("audio", 3), ("mixed", 5)])  # fmt: skip
        if kind == "tools":
            return self.tool_calls()
        if kind == "function":
            args = self.tokens(self.r.choice(TOOL_ARGS)) or [""]
            first = ({"function_call": {"name": "f", "arguments": args[0]}}, {})
            return [first] + [({"function_call": {"arguments": a}}, {}) for a in args[1:]]
        pieces = self.tokens(self.text())
        if kind == "audio":
            return [({"audio": {"id": "au1", "transcript": t}}, {}) for t in pieces]
        if kind == "mixed":
            name = self.r.choice(["reasoning_content", "refusal", "tool_calls"])
            extra = self.text(4) if name != "tool_calls" else [self.call(0, "{}")]
            return [({"content": t, name: extra}, {}) for t in pieces[:3]]
        name = {"reasoning": self.r.choice(["reasoning_content", "reasoning"])}.get(kind, kind)
        with_logprobs = kind in ("content", "refusal") and self.chance(18)
        return [({name: t}, self.logprobs(name, t) if with_logprobs else {}) for t in pieces]

    def logprobs(self, channel, text):
        entry = {"token": text, "logprob": -0.5, "top_logprobs": []}
        if self.chance(70):
            entry["bytes"] = list(text.encode("utf-8", "replace"))
        if self.chance(20):
            entry["top_logprobs"] = [{"token": "x", "logprob": -3, "bytes": [120]}]
        return {"logprobs": {channel: [entry]}}

    @staticmethod
    def call(index, args, head=True, n=0):
        call = {"index": index}
        if head:
            call |= {"id": f"call_{index}_{n}", "type": "function"}
        return call | {"function": {"name": f"tool{index}", "arguments": args} if head
                       else {"arguments": args}}  # fmt: skip

    def tool_calls(self):
        ops, n = [], self.r.choice([1, 1, 2, 3])
        streams = []
        for index in range(n):
            args = self.r.choice(TOOL_ARGS) if self.chance(80) else f'{{"t":"{self.r.choice(BAD)}"}}'
            if self.is_long and self.chance(50):
                long = (self.text() * 20)[:6000].encode("ascii", "ignore").decode()
                args = f'{{"t":"{" ".join(long.split())}"}}'
            parts = self.tokens(args) or [""]
            calls = [self.call(index, parts[0])] + [self.call(index, p, False) for p in parts[1:]]
            if self.chance(5):
                calls.append(self.call(index, "{}", True, 1))
            streams.append(calls)
        while any(streams):
            one = self.r.choice([s for s in streams if s])
            calls = [one.pop(0)]
            if self.chance(8) and one:
                calls.append(one.pop(0))
            ops.append(({"tool_calls": calls}, {}))
            if self.chance(5):
                ops.append(({"content": self.text(3)}, {}))
        return ops

    def oddity(self):
        return self.r.choice([
            ({}, {}), ({"content": ""}, {}), ({"content": None}, {}), ({"role": "assistant"}, {}),
            ({"new_member": {"text": "rotten"}}, {}), ({"content": "x"}, {"extra": [1, "idiot"]}),
            ({"annotations": [{"url": "a"}]}, {}), ({"content": [{"type": "text", "text": "p"}]}, {}),
            ({"tool_calls": []}, {}), ({"refusal": None, "content": "y"}, {}),
            ({"content": "z"}, {"stop_reason": None, "token_ids": [1, 2]}),
            ({"content": "w"}, {"content_filter_results": {"hate": {"filtered": False}}}),
        ])  # fmt: skip

    def text_choice(self):
        ops = []
        for piece in self.tokens(self.text()):
            extra = {}
            if self.chance(10):
                extra = {"logprobs": {"tokens": [piece], "token_logprobs": [-1.0],
                                      "top_logprobs": [None], "text_offset": [0]}}  # fmt: skip
            ops.append((piece, extra))
        return ops or [("", {})]

    # --- events of a stream ---

    def finish(self, ops, is_chat):
        """[(delta, members with finish_reason)] with the end where this server puts it."""
        empty = {} if is_chat else ""
        reason = self.r.choice(["stop", "stop", "stop", "length", "tool_calls", "content_filter"])
        how = self.pick([("own", 55), ("last", 18), ("early", 12), ("every", 6), ("none", 6), ("twice", 3)])
        done = [(delta, {**extra, "finish_reason": None}) for delta, extra in ops]
        if how == "every":
            return [(delta, {**extra, "finish_reason": reason}) for delta, extra in ops]
        if how in ("own", "twice"):
            done += [(empty, {"finish_reason": reason})] * (2 if how == "twice" else 1)
        if how in ("last", "early") and done:
            at = len(done) - 1 if how == "last" else self.r.randrange(len(done))
            done[at] = (done[at][0], {**done[at][1], "finish_reason": reason})
        if self.chance(4):
            done = [(d, {n: v for n, v in e.items() if n != "finish_reason" or v}) for d, e in done]
        return done

    def event(self, choices, is_chat):
        event = {"id": "c1", "object": "chat.completion.chunk" if is_chat else "text_completion",
                 "created": 1700000000, "model": "m", "choices": choices}  # fmt: skip
        if self.chance(4):
            event |= self.r.choice([
                {"system_fingerprint": "fp_1"}, {"obfuscation": "xyz"}, {"provider": "P"},
                {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
                {"service_tier": "default"}, {"warnings": [{"type": "W", "message": "m"}]},
                {"detections": {"output": []}}, {"id": "c2"}, {"unknown": "jane@example.org"},
            ])  # fmt: skip
        return event

    def events(self, is_chat):
        n = self.pick([(1, 75), (2, 18), (3, 7)])
        make = self.chat_choice if is_chat else self.text_choice
        member = "delta" if is_chat else "text"
        streams = [self.finish(make(), is_chat) for _ in range(n)]
        usage_each = self.chance(5)
        events = []
        while any(streams):
            live = [i for i in range(n) if streams[i]]
            picked = live if self.chance(6) else [self.r.choice(live)]
            choices = []
            for i in picked:
                delta, extra = streams[i].pop(0)
                choices.append({"index": i, member: delta, **extra})
            events.append(self.event(choices, is_chat))
            if usage_each:
                events[-1]["usage"] = {"prompt_tokens": 3, "completion_tokens": len(events), "total_tokens": 9}
        if self.chance(30):
            events.append({**self.event([], is_chat), "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}})
        if self.chance(3):
            events.insert(0, {**self.event([], is_chat), "prompt_filter_results": [{"prompt_index": 0}]})
        if events and self.chance(2):
            events.insert(self.r.randint(0, len(events)), self.r.choice(events))
        return events

    def items(self, events):
        tidy = self.chance(30)  # every event a write of its own
        items = []
        for event in events:
            item = {"event": event}
            if not tidy and items and self.chance(35):
                item["join"] = True
            if not tidy and self.chance(12):
                item["cuts"] = [self.r.randrange(1, 200) for _ in range(self.r.choice([1, 1, 2]))]
            if self.chance(30) and not has_half(event):
                item["ascii"] = False
            items.append(item)
        if self.chance(9):
            items.insert(self.r.randint(0, len(items)), {"raw": self.model_noise()})
        return items

    def model_noise(self):
        return self.r.choice([
            'data: {"error":{"message":"overloaded","type":"server_error","code":503}}\n\n',
            'event: error\ndata: {"message":"rotten","code":500}\n\n', "data: not json\n\n",
            "data: [1,2]\n\n", 'data: {"id":"x"}\n\n', ": a comment\n\n", "id: 7\nretry: 10\n\n",
            'data: {"object":"error","message":"flat","code":400}\n\n', "garbage without a field\n\n",
            'data: {"id":"c1","choices":[{"index":0}]}\n\n', "data: [DONE]\n\n", 'data: {"choices":{}}\n\n',
            'data: {"id":"c1",\ndata: "object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\n',
            'data: {"id":"c1","id":"c2","choices":[]}\n\n', "\r\n\r\n", 'data: {"choices":[{"index":500,"delta":{"content":"x"}}]}\n\n',
        ])  # fmt: skip

    # --- requests ---

    def batching(self):
        """What a request asks for itself, at times wrongly."""
        return self.r.choice([
            {"mode": "on", "min_chars_per_emit": 12, "max_latency_ms": 10000}, {"mode": "off"},
            {"mode": "on", "max_latency_ms": 10000, "flush_on_sentence": False, "ramp_factor": 3},
            {"mode": "on", "max_latency_ms": 10000, "reasoning": {"min_chars_per_emit": 5}},
            {"mode": "maybe"}, {"min_chars_per_emit": -1}, {"unknown": 1}, 7,
        ])  # fmt: skip

    def detector_ids(self, side, is_chat):
        ids = ["words", "wide", "page", "paragraphs", "pii", "rude", "keys", "book", "cut"]
        if side == "output":
            ids.append("talk" if is_chat else "pair")
        chosen = self.r.sample(ids, self.r.choice([1, 1, 2, 3]))
        return {name: {"threshold": 0.3} if self.chance(10) else {} for name in chosen}

    def detectors(self, is_chat):
        found = {"output": self.detector_ids("output", is_chat)} if self.chance(92) else {}
        if self.chance(20) or not found:
            found["input"] = self.detector_ids("input", is_chat)
        if self.chance(25):
            found["aggregation"] = self.r.choice(AGGREGATIONS)
        return found

    def body(self, is_chat, is_stream):
        question = self.r.choice(["Hi", "Hello there.", "What is 水?"]) if self.chance(90) else self.text() or "?"
        body = {"model": "m"}
        if is_chat:
            messages = [{"role": "user", "content": question}]
            if self.chance(20):
                messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "a"},
                            {"role": "assistant", "content": "b"}, *messages]  # fmt: skip
            body["messages"] = messages
        else:
            body["prompt"] = question
        if is_stream:
            body["stream"] = True
        if self.chance(25):
            body |= self.r.choice([{"temperature": 0.5}, {"n": 2}, {"user": "u"}, {"logprobs": True},
                                   {"stream_options": {"include_usage": True}}, {"x_new": [1]}])  # fmt: skip
        return body

    def masks(self, text):
        cuts = sorted(self.r.sample(range(len(text) + 2), min(4, len(text) + 2)))
        return [cuts[i : i + 2] for i in range(0, len(cuts) - 1, 2)]

    def request(self, kind, is_stream):
        is_chat = kind == "chat"
        body = self.body(is_chat, is_stream)
        headers = {}
        if self.chance(5):
            headers["x-stream-batching"] = self.r.choice([
                "off", "min_chars=8;max_latency_ms=10000", "on", "flush_on_sentence=false", "min_chars=x",
                "what=1", "mode=on;max_latency_ms=10000;first_emit_immediate=false", "maybe"])  # fmt: skip
        if is_stream and self.chance(5):
            body["stream_options"] = {"batching": self.batching()}
        if self.chance(2):
            body.pop(self.r.choice(sorted(body)))
        if self.chance(96):
            route = servers.route_name(self.r.choice(servers.POLICIES),
                                       self.r.choice(sorted(servers.DETECTOR_SETS)),
                                       self.r.choice(sorted(servers.STREAMING)))  # fmt: skip
        else:
            route = self.r.choice(["open", "open-batch", "none"])
        return {"path": f"/{route}{CHAT if is_chat else TEXT}", "headers": headers, "body": body}

    def api_request(self, kind, is_stream):
        is_chat = kind == "api-chat"
        body = self.body(is_chat, is_stream)
        if self.chance(97):
            body["detectors"] = self.detectors(is_chat)
        if is_stream and self.chance(5):
            body["stream_options"] = {"batching": self.batching()}
        if not is_chat and self.chance(12):
            body["_prompt_masks"] = self.masks(body.get("prompt", ""))
        return {"path": API_CHAT if is_chat else API_TEXT, "headers": {}, "body": body}

    # --- whole scripts ---

    def timing(self):
        kind = self.pick(CLASSES)
        return {
            "class": kind,
            "hold": 0 if kind == "race" else self.r.choice([0, 0, 1, 2, -1, -1]),
            "order": self.r.choice(["forward", "reverse", "shuffle"]),
            "shuffle": self.r.randrange(1000),
            "join_head": self.chance(80),
        }

    def faults(self):
        if not self.chance(8):
            return []
        who = self.r.choice(["words", "wide", "page", "paragraphs", "cut", "talk", "pair", "chunky"])
        if who == "chunky":
            return [{"who": who, "nth": self.r.choice([0, 0, 1]), "kind": self.r.choice(grpcpeer.FAULTS)}]
        return [{"who": who, "nth": self.r.choice([0, 0, 1, 2]), "kind": self.r.choice(answers.FAULTS)}]

    def script(self, config):
        kind = self.pick(KINDS)
        script = {
            "kind": kind,
            "config": config,
            "source": "model",
            "items": [],
            "end": self.pick([("done", 90), ("eof", 5), ("cut", 5)]),
            "faults": self.faults(),
            "timing": self.timing(),
        }
        if self.chance(3):
            script["leave"] = self.r.randint(1, 8)
        if kind == "content":
            self.fill_content(script)
        elif kind == "tgis":
            self.fill_tgis(script)
        elif kind == "unary":
            self.fill_unary(script)
        elif kind == "check":
            self.fill_check(script)
        else:
            is_api = kind.startswith("api")
            script["request"] = (self.api_request if is_api else self.request)(kind, True)
            script["items"] = self.items(self.events(kind.endswith("chat")))
            script["join_done"] = self.chance(40)
            if self.chance(3):
                self.fill_failed(script)
        return self.settle(script)

    def settle(self, script):
        """What a fault finds already sent depends on who is faster: no races with faults."""
        has_noise = any("raw" in item for item in script["items"])
        is_whole = script["end"] != "cut" and not script.get("head", {}).get("cut")
        if has_noise or script["faults"] or not is_whole or "leave" in script:
            if script["timing"]["class"] == "race":
                script["timing"]["class"] = "step"
        return script

    def fill_failed(self, script):
        status = self.r.choice([400, 401, 404, 429, 500, 503])
        body = self.r.choice(['{"error":{"message":"no rotten model","type":"t","code":"c"}}',
                              '{"message":"flat"}', "<html>", ""])  # fmt: skip
        script["head"] = {"status": status, "body": body}
        script["items"] = []

    def fill_content(self, script):
        script["source"] = "caller"
        lines = [{"content": t} for t in self.tokens(self.text(20))] or [{"content": "x"}]
        lines = [line for line in lines if not has_half(line)] or [{"content": "x"}]
        ids = self.detector_ids("input", True)
        lines[0] = {"detectors": ids, **lines[0]}
        if self.chance(20):
            lines[0]["aggregation"] = self.r.choice(AGGREGATIONS)
        script["items"] = [{"line": line} for line in lines]
        for item in script["items"]:
            if self.chance(25):
                item["join"] = True
            if self.chance(10):
                item["cuts"] = [self.r.randrange(1, 60)]
        if self.chance(8):
            bad = self.r.choice(['{"content":1}\n', "nonsense\n", '{"content":""}\n', "\n",
                                 '{"content":"a","detectors":{"words":{}}}\n', '{"content":"tail"}'])  # fmt: skip
            script["items"].insert(self.r.randint(1, len(script["items"])), {"raw": bad})
        headers = {"accept": "application/x-ndjson"} if self.chance(40) else {}
        script["request"] = {"path": "/api/v2/text/detection/stream-content", "headers": headers, "body": {}}

    def fill_tgis(self, script):
        script["source"] = "tgis"
        pieces = [p for p in self.tokens(self.text()) if not has_half(p)] or ["x"]
        script["items"] = [{"say": piece} for piece in pieces]
        script["items"][-1]["why"] = self.r.choice([1, 2, 5])
        body = {"model_id": "m", "inputs": "Hi" if self.chance(90) else self.text() or "Hi", "guardrail_config": {}}
        if self.chance(90):
            ids = self.detector_ids("input", True)
            body["guardrail_config"]["output"] = {"models": ids}
        if self.chance(25):
            body["guardrail_config"]["input"] = {"models": {"pii": {}, "words": {}}}
            if self.chance(40):
                body["guardrail_config"]["input"]["masks"] = self.masks(body["inputs"])
        if self.chance(20):
            body["text_gen_parameters"] = {"max_new_tokens": 9, "seed": 4}
        if self.chance(8):
            body = {"model_id": "m", "prompt": "Hi", "detectors": {"pair": {}}}
            path = "/api/v2/text/generation-detection"
            script["request"] = {"path": path, "headers": {}, "body": body}
            return
        stream = "server-streaming-" if self.chance(85) else ""
        path = f"/api/v1/task/{stream}classification-with-text-generation"
        script["request"] = {"path": path, "headers": {}, "body": body}

    def fill_unary(self, script):
        is_chat, is_api = self.chance(70), self.chance(40)
        kind = "chat" if is_chat else "text"
        script["request"] = self.api_request(f"api-{kind}", False) if is_api else self.request(kind, False)
        if self.chance(8):
            self.fill_failed(script)
            return
        choices = [self.unary_choice(i, is_chat) for i in range(self.r.choice([1, 1, 2, 3]))]
        answer = self.event(choices, is_chat)
        answer["object"] = "chat.completion" if is_chat else "text_completion"
        answer["usage"] = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        script["head"] = {"status": 200, "body": scripts.dump(answer), "cut": self.chance(2)}

    def unary_choice(self, index, is_chat):
        choice = {"index": index, "finish_reason": self.r.choice(["stop", "length", "tool_calls"])}
        if not is_chat:
            return choice | {"text": self.text()}
        message = {"role": "assistant", "content": self.text() if self.chance(85) else None}
        if self.chance(25):
            calls = [self.call(i, self.r.choice(TOOL_ARGS)) for i in range(self.r.choice([1, 2]))]
            message["tool_calls"] = [{n: v for n, v in c.items() if n != "index"} for c in calls]
        for name in ("reasoning_content", "refusal"):
            if self.chance(10):
                message[name] = self.text(5)
        if self.chance(6):
            message["extra"] = {"t": self.text(3)}
        return choice | {"message": message}

    def fill_check(self, script):
        if self.chance(10):
            route = servers.route_name("annotate", "near", "plain")
            script["request"] = {"method": "GET", "path": f"/{route}/v1/models", "headers": {}, "body": {}}
            return
        kind = self.r.choice(["content", "chat", "context", "generated"])
        body = {
            "content": {"content": self.text() or "x", "detectors": self.detector_ids("input", True)},
            "chat": {"messages": [{"role": "user", "content": self.text() or "x"}], "detectors": {"talk": {}}},
            "context": {"content": self.text() or "x", "context_type": "docs", "context": [self.text()],
                        "detectors": {"source": {}}},
            "generated": {"prompt": "p", "generated_text": self.text() or "x", "detectors": {"pair": {}}},
        }[kind]  # fmt: skip
        script["request"] = {"path": f"/api/v2/text/detection/{kind}", "headers": {}, "body": body}


def halves(character):
    """A character beyond the first plane as its two surrogates."""
    if ord(character) < 0x10000:
        return character
    code = ord(character) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def has_half(tree):
    if isinstance(tree, str):
        return any("\ud800" <= c <= "\udfff" for c in tree)
    if isinstance(tree, dict):
        return any(has_half(value) for value in tree.values())
    return isinstance(tree, list) and any(has_half(value) for value in tree)


def config_of(n):
    return servers.CONFIGS[n % len(servers.CONFIGS)]


def script(seed, n):
    return Maker(seed, n).script(config_of(n))
