"""The playground in a real browser, and what serves it. Pictures: build/*/playground/."""

import re
import shutil

import clients
import configs
import harness
import mock as mocks
import pytest

HOSTILE = 'Look: <img src=x onerror=boom()> "&amp;" by eve@example.com 😀 and bob@example.com.'
KEY = "a-key-for-tests"
ASK = {"model": "m", "messages": [{"role": "user", "content": "clean"}]}

# --- what serves it ---


@pytest.fixture(scope="module")
def w(module_weir):
    return module_weir()


@pytest.fixture(scope="module")
def keyed(module_weir):
    config = configs.config(playground=True, auth={"keys_env": "KEYS_OF_A_TEST"})
    return module_weir(config, env={"KEYS_OF_A_TEST": KEY})


def test_the_page_is_one_page(w):
    answer = w.api.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    # nothing is fetched from anywhere: no address with a host but names of XML
    assert set(re.findall(r"https?://[a-z0-9.]+", answer.text)) <= {
        "http://www.w3.org",
        "https://example.com",
        "https://collector.example.net",
    }
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", answer.text)
    assert "innerHTML" not in answer.text and "eval(" not in answer.text


def test_the_page_is_not_sent_twice(w):
    etag = w.api.get("/").headers["etag"]
    again = w.api.get("/", headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == etag
    assert w.api.get("/", headers={"if-none-match": '"other"'}).status_code == 200
    assert w.api.head("/").status_code == 200 and w.api.post("/", json={}).status_code == 405


def test_no_page_where_it_is_off(weir):
    server = weir(configs.config())
    assert server.api.get("/").status_code == 404
    assert server.api.get("/playground/info").status_code == 404


def test_the_page_needs_no_key_but_its_requests_do(keyed):
    assert keyed.api.get("/").status_code == 200
    assert keyed.api.get("/playground/info").status_code == 401
    assert keyed.api.post("/v1/chat/completions", json=ASK).status_code == 401
    with_key = {"authorization": f"Bearer {KEY}"}
    assert keyed.api.get("/playground/info", headers=with_key).status_code == 200


def test_what_the_page_is_told(keyed):
    info = keyed.api.get("/playground/info", headers={"authorization": f"Bearer {KEY}"}).json()
    version = info.pop("version")
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert info == {
        "model": "demo",
        "public_api": True,
        "routes": [
            {"name": "default", "base": "/v1", "policy": "annotate", "input": [],
             "output": ["pii"]},
            {"name": "strict", "base": "/strict/v1", "policy": "block", "input": [],
             "output": ["pii"]},
        ],
        "detectors": [{"id": "pii", "type": "text_contents", "builtin": True}],
    }  # fmt: skip


# --- in the browser ---


@pytest.fixture(scope="module")
def hostile_model(tmp_path_factory):
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("mock"))
    yield servers("--text", HOSTILE)
    servers.stop_all()


@pytest.fixture(scope="module")
def other(module_weir, hostile_model):
    """Another model than ours: one that says hostile things."""
    service = {"hostname": "127.0.0.1", "port": hostile_model.ports["api"]}
    return module_weir(configs.config(openai={"service": service}, playground=True))


@pytest.fixture(scope="module")
def masked(module_weir, tmp_path_factory):
    """A route that masks, and a model that repeats what it was asked."""
    servers = mocks.Mocks(harness.binary("weir-mock"), tmp_path_factory.mktemp("echo"))
    service = {"hostname": "127.0.0.1", "port": servers("--scenario", "echo").ports["api"]}
    mask = {"key_env": "MASK_KEY", "scope": "route"}
    route = {"name": "private", "input": {"pii": {}}, "output": {"pii": {}}, "on_detection": "mask", "mask": mask}
    config = configs.config(openai={"service": service}, playground=True, routes=[route])
    yield module_weir(config, env={"MASK_KEY": "a key of sixteen bytes or more"})
    servers.stop_all()


@pytest.fixture(scope="module")
def seen(w, other, keyed, masked):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed: tools/bootstrap test")
    folder = harness.build_folder() / "playground"
    folder.mkdir(exist_ok=True)
    job = {
        "base": w.url(),
        "other": other.url(),
        "keyed": keyed.url(),
        "masked": masked.url(),
        "key": KEY,
        "browser": browser,
        "folder": str(folder),
    }
    found = clients.run("playground.cjs", [job], seconds=500)[0]
    assert "error" not in found, found
    return found


KINDS = ["email_address", "us-phone-number", "credit_card", "github_token"]


@clients.needed
def test_a_stream_with_findings(seen):
    page = seen["stream"]
    assert page["state"] == "Done, 6 findings" and page["findings"] == KINDS + ["idiot", "fool"]
    assert page["marks"][0] == "maria.lopez@example.com" and len(page["marks"]) == 6
    told = dict(zip(page["request_headers"], page["headers"]))
    assert told["x-weir-route"] == "default" and told["x-weir-policy"] == "annotate"
    assert "output=content" in told["x-weir-guarded"]
    assert len(page["lines"]) > 5 and set(page["lines"]) == {1}  # no name is broken
    assert set(page["lanes"]) >= {"regex", "secrets"} and "pieces came" in page["timeline"]
    assert page["held"] == "Nothing is held back"
    assert page["events"].startswith('data: {"id"') and "weir-trace" not in page["events"]
    during = page["during"]
    assert re.fullmatch(r"\d+ characters held back", during["held"])
    assert len(during["text"]) < len(page["text"])


@clients.needed
def test_a_block(seen):
    page = seen["block"]
    assert page["state"] == "Blocked" and not page["marks"]
    assert "I can't help with that." in page["blocked"] and "help" not in page["text"]
    assert "example.com" not in page["text"] and page["held"].endswith("never left")
    assert "email_address" in page["findings"]
    page = seen["block_input"]
    assert page["state"] == "Blocked" and page["text"] in ("", None)
    assert page["prompt_marks"] == ["4111 1111 1111 1111"]
    assert "never reached the model" in page["input_note"]


@clients.needed
def test_a_redaction(seen):
    page = seen["redact"]
    assert page["state"] == "Done, redacted"
    assert page["marks"] == [f"[{kind}]" for kind in KINDS] and page["findings"] == KINDS
    assert "maria" not in page["text"] and page["text"].endswith("another one.")


SDKS = {
    "messages": ("/redact", "from anthropic import Anthropic", '"@anthropic-ai/sdk"', "/redact/v1/messages"),
    "responses": ("/redact/v1", "client.responses.create(", "client.responses.create({", "/redact/v1/responses"),
}


@clients.needed
@pytest.mark.parametrize("name", SDKS)
def test_other_apis(seen, w, name):
    page = seen[name]
    base, python, script, path = SDKS[name]
    assert page["told"]["state"].startswith("Done, ") and page["thought"]
    assert page["redacted"]["state"] == "Done, redacted"
    assert page["redacted"]["marks"] == [f"[{kind}]" for kind in KINDS]
    assert page["redacted"]["text"] == seen["redact"]["text"]
    assert page["state"] == "Blocked" and "I can't help with that." in page["blocked"]
    assert "example.com" not in page["text"] and "help" not in page["text"]
    snippets = page["snippets"]
    assert page["api"] == w.url() + base and f'base_url="{w.url()}{base}"' in snippets["Python"]
    assert python in snippets["Python"] and script in snippets["JavaScript"] and path in snippets["curl"]


@clients.needed
def test_a_mask(seen):
    page = seen["mask"]
    wrote, received, back = page["columns"]
    assert wrote.startswith("Write to jane@example.org")
    assert re.fullmatch(r"Write to EMAIL_ADDRESS_[0-9A-Z]{10}.*, please\.", received)
    assert back == "Write to jane@example.org, please."
    assert page["heads"] == ["You wrote", "The model received", "What came back"]
    assert not page["is_text_shown"]


@clients.needed
def test_detectors_of_ones_own_choice(seen):
    page = seen["chosen"]
    assert page["headers"] == []
    assert page["findings"] == ["aws_access_key_id", "github_token", "password"]


@clients.needed
def test_the_detector_tab(seen):
    page = seen["detectors"]
    assert page["scan_marks"] == ["bob@example.com", "a@example.org"]
    assert page["scan_text"].startswith("👩‍👧 bob@") and "<img src=x" in page["scan_text"]
    assert page["images"] == 0 and page["scan_state"].startswith("2 findings in ")
    assert "regex 2 findings" in page["by"] and "secrets clean" in page["by"]


@clients.needed
def test_another_model_may_say_what_it_likes(seen):
    page = seen["hostile"]
    assert page["text"] == HOSTILE and page["images"] == 0
    assert page["marks"] == ["eve@example.com", "bob@example.com"]


@clients.needed
def test_errors_are_words(seen):
    page = seen["refused"]
    assert page["state"] == "Failed"
    assert "The request was refused: " in page["failed"] and "detector" in page["failed"]
    assert page["claims"] == 0  # nothing is said of what the model received, or of what left


@clients.needed
def test_keys(seen):
    page = seen["key"]
    assert page["before"] == "An API key is needed here." and page["wrong"] == 1
    assert page["state"] == "Done, nothing found"
    assert KEY not in page["command"] and "Bearer $WEIR_API_KEY" in page["command"]


@clients.needed
def test_stopping_and_keys_of_the_keyboard(seen):
    assert seen["stopped"]["state"] == "Stopped" and seen["stopped"]["text"]
    assert seen["keyboard"]["state"] == "Done, nothing found"
    assert seen["keyboard"]["tab"] == "tab-detectors"


@clients.needed
def test_curl_does_the_same(seen, w):
    command = seen["curl"]["command"]
    assert command.startswith("curl -sN 'http://127.0.0.1:") and "it'\\''s $HOME" in command
    assert "x-weir-trace" not in command


@clients.needed
def test_dark_and_light_and_small(seen):
    assert seen["theme"]["light"] == seen["stream"]["ground"]
    assert seen["theme"]["ground"] == seen["phone"]["ground"] == seen["block"]["ground"]
    assert seen["theme"]["ground"] != seen["theme"]["light"]
    assert seen["phone"]["width"] <= 360 and seen["phone"]["state"] == "Done, nothing found"


@clients.needed
def test_nobody_complains_and_nothing_is_fetched(seen):
    for name, page in seen.items():
        if name != "functions":
            assert not page["complaints"] and not page["outside"], name


@clients.needed
def test_the_page_says_how_long_it_drew(seen, w):
    def reported():
        lines = w.health.get("/metrics").text.splitlines()
        counts = [line for line in lines if line.startswith("weir_ui_render_seconds_count{")]
        return counts and "other" not in counts[0] and float(counts[0].split()[-1]) > 0

    harness.wait_until(reported, "a report of the page")


@clients.needed
def test_the_page_begins_with_what_it_is_for(seen, w):
    page = seen["first"]
    assert page["route"] == "redact" and page["base"] == f"{w.url()}/redact/v1"
    assert f'base_url="{w.url()}/redact/v1"' in page["snippet"] and page["landmark"]
    assert "gateway" in page["tagline"]


@clients.needed
def test_a_conversation(seen):
    page = seen["talk"]
    assert page["card"]["prompt_marks"] == ["4111 1111 1111 1111"]
    assert page["card"]["received"] == "My card is [credit_card], say something clean."
    assert len(page["turns"]) == 2 and page["turns"][0].endswith("say something clean.")
    assert page["roles"] == ["user", "assistant"] * 2 + ["user"]
    assert page["after"] == "Nothing asked yet" and "baseURL: " in page["javascript"]


@clients.needed
def test_small_things(seen):
    assert seen["empty"]["sent"] == 0 and seen["empty"]["hint"] == "Write something first."
    assert seen["reasoning"]["is_open"]
    assert "no room" in seen["broken"]["failed"] and "Request id id-8" in seen["broken"]["failed"]
    assert seen["redact"]["received"] == "The same" and seen["block_input"]["received"] == "Nothing"


@clients.needed
def test_the_api_is_shown(seen):
    assert "/v1/chat/completions" in seen["api"]["paths"] and "/readyz" in seen["api"]["paths"]
    assert {"messages", "detections", "message_index"} <= set(seen["api"]["members"])


@clients.needed
def test_axe_has_nothing_against_it(seen):
    found = {name: page["barriers"] for name, page in seen.items() if name != "functions"}
    assert {name: what for name, what in found.items() if what} == {}


@clients.needed
def test_texts_and_offsets(seen):
    got = seen["functions"]
    # what is on the page stays there when more comes
    assert got["kept"] == ["one two three four", 5, True, "one"]
    assert got["split"] == ["a", "😀", "b"]
    assert got["cut"] == [["a"], ["😀", "x"], ["b", "x", "y"], ["c", "x", "late"], ["def", "late"]]
    assert got["redacted"] == [["Hi "], ["[x]", "x", "w"], ["😀"], ["[y]", "y", "z"], ["."]]
    assert got["touching"] == [["[x]", "x", "y"], ["!"]]
    assert got["unlike"] == [["abc"]]
    events = [
        {"name": "x", "data": "1\n2"},
        {"name": "message", "data": "3"},
        {"name": "message", "data": "5"},
    ]
    assert got["events"] == got["whole"] == events
    assert got["quoted"] == "'it'\\''s'"
