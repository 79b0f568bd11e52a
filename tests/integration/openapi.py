"""docs/api/openapi.json: a checker of its schemas that knows what the document uses and refuses the rest,
and never lets a member pass that the document does not name."""

import json
import re

from harness import ROOT

DOCUMENT = json.loads((ROOT / "docs/api/openapi.json").read_text())
KNOWN = """$ref type properties required additionalProperties items enum const allOf description minimum
    minItems maxItems minProperties""".split()
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def resolve(node):
    while "$ref" in node:
        target = DOCUMENT
        for step in node["$ref"][2:].split("/"):
            target = target[step]
        node = target
    return node


def is_type(value, name):
    is_number = name in ("integer", "number") and isinstance(value, bool)
    return isinstance(value, TYPES[name]) and not is_number


def merged(schema):
    """The schema with what its allOf says; allOf has objects only here."""
    schema = resolve(schema)
    out = {"properties": {}, "required": []}
    for part in [merged(one) for one in schema.get("allOf", [])] + [schema]:
        out = {
            **out,
            **part,
            "properties": {**out["properties"], **part.get("properties", {})},
            "required": [*out["required"], *part.get("required", [])],
        }
    return out


def faults(value, schema, path="$"):
    """What is wrong with a value, each as one line that names the place."""
    unknown = set(resolve(schema)) - set(KNOWN)
    assert not unknown, f"the checker does not know {unknown}"
    schema = merged(schema)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path}: {value!r} is none of {schema['enum']}"]
    if "const" in schema and value != schema["const"]:
        return [f"{path}: {value!r} is not {schema['const']!r}"]
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        return [f"{path}: {json.dumps(value)[:60]} is no {' or '.join(names)}"]
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        return [f"{path}: {value} is too small"]
    out = []
    if isinstance(value, list):
        out += [f"{path}: too short"] if len(value) < schema.get("minItems", 0) else []
        out += [f"{path}: too long"] if len(value) > schema.get("maxItems", len(value)) else []
        for i, item in enumerate(value):
            out += faults(item, schema.get("items", {}), f"{path}[{i}]")
    if isinstance(value, dict) and names:
        out += [f"{path}: too few members"] if len(value) < schema.get("minProperties", 0) else []
        out += [f"{path}: no `{name}`" for name in schema["required"] if name not in value]
        for name, item in value.items():
            more = schema.get("additionalProperties", False)
            if name in schema["properties"]:
                out += faults(item, schema["properties"][name], f"{path}.{name}")
            elif isinstance(more, dict):
                out += faults(item, more, f"{path}.{name}")
            elif not more:
                out.append(f"{path}: `{name}` is not in docs/api/openapi.json")
    return out


def pattern_of(path):
    return re.compile("/" + re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path.lstrip("/"))) + "$")


def operation(method, path):
    """The operation that a request is for, the plainest path first; None: there is none."""
    for pattern in sorted(DOCUMENT["paths"], key=lambda p: p.count("{")):
        if pattern_of(pattern).match(path):
            return DOCUMENT["paths"][pattern].get(method.lower())
    return None


def declared_of(op, status):
    """What is said of a status, by itself or with its like."""
    return op["responses"].get(str(status)) or op["responses"].get(f"{status // 100}XX")


def answer_faults(method, path, response):
    """What the document does not say of a real answer: status, type, body, headers of ours."""
    op = operation(method, path)
    if op is None:
        return [f"{method} {path} is not in docs/api/openapi.json"]
    name = f"{method} {path} {response.status_code}"
    declared = declared_of(op, response.status_code)
    if declared is None:
        return [f"{name}: this status is not in docs/api/openapi.json"]
    declared = resolve(declared)
    headers = {header.lower() for header in declared.get("headers", {})}
    out = [
        f"{name}: the header `{header}` is not in docs/api/openapi.json"
        for header in response.headers
        if header.startswith("x-weir-") and header not in headers
    ]
    kind = response.headers.get("content-type", "").split(";")[0]
    if kind not in declared.get("content", {}):
        return [*out, f"{name}: `{kind}` is not in docs/api/openapi.json"] if kind else out
    schema = declared["content"][kind]["schema"]
    if kind == "application/json":
        values = [response.json()]
    elif kind == "text/event-stream":
        data = re.findall(r"(?m)^data: ?(.*)$", re.sub(r"(?s)event: .*?\n\n", "", response.text))
        values = [json.loads(one) for one in data if one != "[DONE]"]
    elif kind == "application/x-ndjson":
        values = [json.loads(line) for line in response.text.splitlines()]
    else:
        values = [response.text]
    return out + [f"{name}: {fault}" for value in values for fault in faults(value, schema)]
