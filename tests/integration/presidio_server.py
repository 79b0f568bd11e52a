"""Presidio's analyzer behind the two paths of its own service, for test_presidio.py. Runs in an
interpreter that has `presidio-analyzer`: its engine and its pattern recognizers, on spaCy's blank
English pipeline, since trained ones are not in a package registry."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine


class Blank(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}


def make_engine():
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"])
    registry.remove_recognizer("SpacyRecognizer")
    return AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = None

    def do_GET(self):
        self.answer(200, "Presidio Analyzer service is up")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            found = self.engine.analyze(
                text=body["text"], language=body["language"], entities=body.get("entities"),
                score_threshold=body.get("score_threshold"))  # fmt: skip
            self.answer(200, [one.to_dict() for one in found])
        except ValueError as error:  # as its own service has it
            self.answer(500, {"error": str(error)})

    def answer(self, status, body):
        data = json.dumps(body, default=str).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    Handler.engine = make_engine()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    sys.stdin.close()
    server.serve_forever()
