"""Configuration trees for the tests: small, complete, and needing nothing outside the process."""

CONTENT = "/api/v2/text/detection/content"
CHAT = "/v1/chat/completions"
NAMED_CHAT = "/strict/v1/chat/completions"


def config(**parts):
    """A model, a chunker, a detector and two routes; `parts` replace or add sections."""
    tree = {
        "openai": {"builtin": "demo"},
        "chunkers": {"windows": {"builtin": "window", "size": 400, "overlap": 64}},
        "detectors": {
            "pii": {
                "type": "text_contents",
                "builtin": "regex",
                "params": {"regex": ["email"]},
                "chunker_id": "windows",
            }
        },
        "routes": [
            {"name": "default", "output": {"pii": {}}, "on_detection": "annotate"},
            {"name": "strict", "output": {"pii": {}}, "on_detection": "block"},
        ],
    }
    tree.update(parts)
    return tree
