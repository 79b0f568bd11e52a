"""Detector services that people run already, each as its contract says: the request is checked to
the letter, limits and error shapes are the service's own. All find the word `bad`, case ignored.

    judge = judges.Tei()
    judge.config()          what `detectors: NAME:` says to use it
    judge.texts             every text it was asked about, in order
    judge.sizes             how many texts each request had
"""

import re
import time
from urllib.parse import parse_qs, urlsplit

import service as services
from service import reply

KEY = "key-of-the-service"


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(status)
        self.status, self.body = status, body


def only(body, **members):
    """The request has these members, with these types, and no others."""
    assert set(body) <= set(members), f"unknown members: {set(body) - set(members)}"
    for name, kind in members.items():
        assert name not in body or isinstance(body[name], kind), (name, body[name])


class Judge(services.Service):
    protocol, path, health, max_texts = None, None, "/health", None
    extra, reached = {}, {}

    def __init__(self):
        self.texts, self.sizes = [], []
        self.poison = None  # a text that contains this is refused with 4xx
        super().__init__(self.serve_one)

    def config(self, service=(), **more):
        """`service` adds to how it is reached, `more` to the detector."""
        how = {"hostname": "127.0.0.1", "port": self.port, **self.reached, **dict(service)}
        return {"type": "text_contents", "protocol": self.protocol, "service": how,
                "chunker_id": "whole_doc_chunker", **self.extra, **more}  # fmt: skip

    def serve_one(self, request):
        path = urlsplit(request.path).path
        if request.method == "GET":
            return reply("ok" if path == self.health else "", 200 if path == self.health else 404)
        assert (request.method, path) == ("POST", self.path), request.path
        assert request.header("content-type") == "application/json"
        body = request.json()
        try:
            texts = self.texts_of(request, body)
            self.sizes.append(len(texts))
            self.texts += texts
            if self.max_texts and len(texts) > self.max_texts:
                raise Refused(*self.too_many(len(texts)))
            if self.poison and any(self.poison in text for text in texts):
                raise Refused(*self.refusal("this text is refused"))
            return reply(self.answer_for(texts))
        except Refused as refused:
            return reply(refused.body, refused.status)

    def too_many(self, n):
        return self.refusal(f"{n} texts are more than {self.max_texts}")

    def is_bad(self, text):
        return "bad" in text.lower()

    def score(self, text):
        return 0.9 if self.is_bad(text) else 0.1


class Tei(Judge):
    protocol, path, max_texts = "tei", "/predict", 32
    extra = {"labels": {"SAFE": None, "BAD": {"detection": "badness", "detection_type": "test"}}}

    def texts_of(self, request, body):
        only(body, inputs=list, truncate=bool, raw_scores=bool, truncation_direction=str)
        inputs = body["inputs"]
        if not inputs:
            raise Refused(400, {"error": "`inputs` cannot be empty", "error_type": "Empty"})
        assert all(isinstance(one, list) and len(one) == 1 for one in inputs), "no batch form"
        assert all(isinstance(one[0], str) for one in inputs)
        return [one[0] for one in inputs]

    def too_many(self, n):
        return 413, {"error": f"batch size {n} > maximum allowed batch size 32",
                     "error_type": "Validation"}  # fmt: skip

    def refusal(self, words):
        return 422, {"error": words, "error_type": "Tokenizer"}

    def overload(self):
        return reply({"error": "Model is overloaded", "error_type": "Overloaded"}, 429)

    def answer_for(self, texts):
        rows = [{"BAD": self.score(text), "SAFE": 1 - self.score(text)} for text in texts]
        return [[{"score": score, "label": label}
                 for label, score in sorted(row.items(), key=lambda one: -one[1])]
                for row in rows]  # fmt: skip


class Vllm(Judge):
    protocol, path = "vllm_classify", "/classify"
    extra = {"labels": {"SAFE": None, "BAD": {"detection": "badness", "detection_type": "test"}},
             "model": "guard"}  # fmt: skip

    def texts_of(self, request, body):
        only(body, model=str, input=list, truncate_prompt_tokens=int, user=str, priority=int,
             add_special_tokens=bool, use_activation=bool)  # fmt: skip
        if body.get("model") != "guard":
            raise Refused(404, {"error": {"message": f"The model `{body.get('model')}` does not exist.",
                                          "type": "NotFoundError", "param": "model", "code": 404}})  # fmt: skip
        assert body["input"] and all(isinstance(text, str) for text in body["input"])
        return body["input"]

    def refusal(self, words):
        return 400, {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}

    def overload(self):
        return reply({"error": {"message": "too busy", "type": "x", "param": None, "code": 503}}, 503)

    def answer_for(self, texts):
        data = []
        for i, text in enumerate(texts):
            probs = [1 - self.score(text), self.score(text)]
            data.append({"index": i, "label": ["SAFE", "BAD"][probs[1] > probs[0]],
                         "probs": probs, "num_classes": 2})  # fmt: skip
        return {"id": "classify-1", "object": "list", "created": int(time.time()),
                "model": "guard", "data": data,
                "usage": {"prompt_tokens": 3, "total_tokens": 3}}  # fmt: skip


class Moderation(Judge):
    protocol, path, health = "openai_moderation", "/v1/moderations", "/v1/models"
    extra = {"labels": {"badness": {"detection_type": "test"}}, "model": "omni-moderation-latest"}
    reached = {"api_token": "JUDGE_KEY"}

    def texts_of(self, request, body):
        if request.header("authorization") != f"Bearer {KEY}":
            raise Refused(401, {"error": {"message": "Incorrect API key provided.", "param": None,
                                          "type": "invalid_request_error", "code": "invalid_api_key"}})  # fmt: skip
        only(body, model=str, input=list)
        assert body["input"] and all(isinstance(text, str) for text in body["input"])
        return body["input"]

    def refusal(self, words):
        return 400, {"error": {"message": words, "type": "invalid_request_error", "param": "input",
                               "code": None}}  # fmt: skip

    def overload(self):
        return reply({"error": {"message": "Rate limit reached", "type": "requests", "param": None,
                                "code": "rate_limit_exceeded"}}, 429)  # fmt: skip

    def answer_for(self, texts):
        results = []
        for text in texts:
            scores = {"badness": self.score(text), "violence/graphic": 0.001}
            results.append({"flagged": self.is_bad(text),
                            "categories": {name: score > 0.5 for name, score in scores.items()},
                            "category_scores": scores,
                            "category_applied_input_types": {name: ["text"] for name in scores}})  # fmt: skip
        return {"id": "modr-1", "model": "omni-moderation-latest", "results": results}


class Presidio(Judge):
    protocol, path, max_texts = "presidio", "/analyze", 1
    extra = {"language": "en", "labels": {"BADNESS": {"detection": "badness", "detection_type": "test"}}}

    def texts_of(self, request, body):
        only(body, text=str, language=str, entities=list, score_threshold=(int, float),
             return_decision_process=bool, correlation_id=str, context=list)  # fmt: skip
        if not body.get("text"):
            raise Refused(500, {"error": "No text provided"})
        if body.get("language") != "en":
            raise Refused(500, {"error": "No matching recognizers were found to serve the request."})
        self.threshold = body.get("score_threshold", 0)
        return [body["text"]]

    def refusal(self, words):
        return 400, {"error": words}

    def overload(self):
        return reply("Service Unavailable", 503, "text/plain")

    def answer_for(self, texts):
        return [{"entity_type": "BADNESS", "start": m.start(), "end": m.end(), "score": 0.9,
                 "analysis_explanation": None,
                 "recognition_metadata": {"recognizer_name": "Bad", "recognizer_identifier": "1"}}
                for m in re.finditer("bad", texts[0], re.I) if 0.9 >= self.threshold]  # fmt: skip


class Oip(Judge):
    protocol, path, health = "oip", "/v2/models/guard/infer", "/v2/health/ready"
    extra = {"model": "guard", "input_name": "text", "output_name": "logits", "activation": "softmax",
             "labels": {"SAFE": None, "BAD": {"detection": "badness", "detection_type": "test"}}}  # fmt: skip

    def texts_of(self, request, body):
        only(body, id=str, parameters=dict, inputs=list, outputs=list)
        [tensor] = body["inputs"]
        only(tensor, name=str, shape=list, datatype=str, data=list, parameters=dict)
        if tensor["name"] != "text":
            raise Refused(400, {"error": f"unexpected inference input '{tensor['name']}'"})
        assert tensor["datatype"] == "BYTES" and tensor["shape"] == [len(tensor["data"])]
        assert body["outputs"] == [{"name": "logits"}]
        return tensor["data"]

    def refusal(self, words):
        return 400, {"error": words}

    def overload(self):
        return reply({"error": "Exceeds maximum queue size"}, 503)

    def answer_for(self, texts):
        rows = [[-2.0, 2.0] if self.is_bad(text) else [2.0, -2.0] for text in texts]
        return {"model_name": "guard", "model_version": "1",
                "outputs": [{"name": "logits", "datatype": "FP32", "shape": [len(texts), 2],
                             "data": [number for row in rows for number in row]}]}  # fmt: skip


class Azure(Judge):
    protocol, path, max_texts = "azure_content_safety", "/contentsafety/text:analyze", 1
    health, reached = "/contentsafety/text/blocklists", {"api_token": "JUDGE_KEY"}
    extra = {"api_version": "2024-09-01",
             "labels": {"Hate": {"detection": "badness", "detection_type": "test"}}}  # fmt: skip

    def check_call(self, request):
        assert parse_qs(urlsplit(request.path).query) == {"api-version": ["2024-09-01"]}
        assert request.header("authorization") is None
        if request.header("ocp-apim-subscription-key") != KEY:
            raise Refused(401, {"error": {"code": "401", "message": "Access denied due to invalid "
                                          "subscription key or wrong API endpoint."}})  # fmt: skip

    def texts_of(self, request, body):
        self.check_call(request)
        only(body, text=str, categories=list, blocklistNames=list, haltOnBlocklistHit=bool,
             outputType=str)  # fmt: skip
        assert body["outputType"] == "EightSeverityLevels"
        if not 0 < len(body["text"]) <= 10000:
            raise Refused(*self.refusal("The length of the text is more than 10000"))
        return [body["text"]]

    def refusal(self, words):
        return 400, {"error": {"code": "InvalidRequestBody", "message": words, "details": []}}

    def overload(self):
        return reply({"error": {"code": "429", "message": "Requests have exceeded rate limit."}}, 429)

    def answer_for(self, texts):
        return {"blocklistsMatch": [], "categoriesAnalysis": [
            {"category": "Hate", "severity": 6 if self.is_bad(texts[0]) else 0},
            {"category": "Violence", "severity": 0}]}  # fmt: skip


class Shield(Azure):
    path = "/contentsafety/text:shieldPrompt"
    extra = {"api_version": "2024-09-01", "shield": True,
             "labels": {"UserPromptAttack": {"detection": "badness", "detection_type": "test"}}}  # fmt: skip

    def texts_of(self, request, body):
        self.check_call(request)
        only(body, userPrompt=str, documents=list)
        return [body["userPrompt"]]

    def answer_for(self, texts):
        return {"userPromptAnalysis": {"attackDetected": self.is_bad(texts[0])},
                "documentsAnalysis": []}  # fmt: skip


class Qwen(Judge):
    """A guard model behind a chat endpoint, saying what its card says it says."""

    protocol, path, health, max_texts = "chat_judge", "/v1/chat/completions", "/v1/models", 1
    extra = {"preset": "qwen3guard", "model": "guard",
             "labels": {"Violent": {"detection": "badness", "detection_type": "test"}}}  # fmt: skip

    def texts_of(self, request, body):
        only(body, model=str, messages=list, temperature=int, max_tokens=int, stream=bool)
        if body["model"] != "guard":
            raise Refused(404, {"error": {"message": "no such model", "type": "NotFoundError",
                                          "param": None, "code": 404}})  # fmt: skip
        assert body["stream"] is False
        for message in body["messages"]:
            only(message, role=str, content=str)
        return [self.text_in(body["messages"])]

    def text_in(self, messages):
        [message] = messages
        assert message["role"] == "user"
        return message["content"]

    def refusal(self, words):
        return 400, {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}}

    def overload(self):
        return reply({"error": {"message": "busy", "type": "x", "param": None, "code": 429}}, 429)

    def says(self, text):
        return "Safety: Unsafe\nCategories: Violent" if self.is_bad(text) else "Safety: Safe\nCategories: None"

    def answer_for(self, texts):
        return {"id": "c-1", "object": "chat.completion", "created": 1, "model": "guard",
                "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None,
                             "message": {"role": "assistant", "content": self.says(texts[0])}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}  # fmt: skip


class Custom(Qwen):
    """Any model, told in words what to say."""

    extra = {"preset": "custom", "model": "guard", "verdict": r"^\s*(yes|no)\b", "positive": ["yes"],
             "messages": [{"role": "system", "content": "Is it bad? Answer yes or no."},
                          {"role": "user", "content": "<{text}>"}],
             "labels": {"yes": {"detection": "badness", "detection_type": "test"}}}  # fmt: skip

    def text_in(self, messages):
        assert [message["role"] for message in messages] == ["system", "user"]
        return messages[1]["content"].removeprefix("<").removesuffix(">")

    def says(self, text):
        return " Yes, it is." if self.is_bad(text) else "No."


class Fms(Judge):
    protocol, path = "fms", "/api/v1/text/contents"

    def texts_of(self, request, body):
        only(body, contents=list, detector_params=dict)
        assert request.header("detector-id")
        return body["contents"]

    def refusal(self, words):
        return 422, {"code": 422, "message": words}

    def overload(self):
        return reply({"code": 503, "message": "busy"}, 503)

    def answer_for(self, texts):
        return [[{"start": m.start(), "end": m.end(), "text": m.group(), "detection": "badness",
                  "detection_type": "test", "score": 0.9} for m in re.finditer("bad", text, re.I)]
                for text in texts]  # fmt: skip


ALL = [Fms, Tei, Vllm, Moderation, Presidio, Oip, Azure, Shield, Qwen, Custom]


