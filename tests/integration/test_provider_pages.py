"""The configurations on the pages of providers, of detector services and of vLLM are good, as they stand
there, and so are those that are shipped: not one has a warning."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs/providers.md", *sorted((ROOT / "docs/providers").glob("*.md"))]
SERVICES = sorted((ROOT / "docs/detector-services").glob("*.md"))
KEYS = "OPENAI_API_KEY AZURE_KEY AZURE_OPENAI_API_KEY GEMINI_API_KEY ANTHROPIC_API_KEY WEIR_SEAL_KEY".split()


def blocks(page):
    return re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text())


SHIPPED = [*sorted((ROOT / "config").glob("*.yaml")), ROOT / "deploy/kubernetes/base/weir.yaml"]


@pytest.mark.parametrize(
    "page", [*PAGES, *SERVICES, ROOT / "docs/vllm.md"], ids=lambda page: f"{page.parent.name}-{page.stem}"
)
def test_every_configuration_is_good(weir, page):
    found = blocks(page)
    assert found
    for text in found:
        done = weir.run("--check-config", "--config", weir.write_config(text),
                        env={name: "a-key-of-sixteen-letters" for name in KEYS})
        assert done.returncode == 0, done.stdout.decode()
        assert b"0 warnings" in done.stdout or b": ok" in done.stdout, done.stdout.decode()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_shipped_has_no_warning(weir, path):
    done = weir.run("--check-config", "--config", path)
    assert (done.returncode, done.stdout.decode()) == (0, f"{path}: ok\n")


def test_the_page_names_every_vendor():
    index = PAGES[0].read_text()
    assert len(PAGES) == 6
    for page in PAGES[1:]:
        assert f"(providers/{page.name})" in index


def test_every_protocol_has_a_page():
    index = (ROOT / "docs/detector-services.md").read_text()
    text = (ROOT / "src/conf/conf_protocol.c").read_text()
    words = set(re.findall(r'"(\w+)"', text[text.index("weir_conf__protocols[]") : text.index("NULL}")]))
    elsewhere = {"fms": "detector-api.md", "stream": "streaming-detector.md"}
    assert [page.stem for page in SERVICES] == sorted(words - elsewhere.keys())
    for name in [*elsewhere.values(), *(f"detector-services/{page.name}" for page in SERVICES)]:
        assert f"({name})" in index
