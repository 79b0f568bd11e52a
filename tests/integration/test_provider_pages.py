"""The configurations in docs/providers.md, docs/providers/ and docs/vllm.md are good, as they stand
there, and so are those that are shipped: not one has a warning."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs/providers.md", *sorted((ROOT / "docs/providers").glob("*.md"))]
KEYS = "OPENAI_API_KEY AZURE_KEY AZURE_OPENAI_API_KEY GEMINI_API_KEY ANTHROPIC_API_KEY".split()


def blocks(page):
    return re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text())


SHIPPED = [*sorted((ROOT / "config").glob("*.yaml")), ROOT / "deploy/kubernetes/base/weir.yaml"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/vllm.md"], ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_configuration_is_good(weir, page):
    found = blocks(page)
    assert found
    for text in found:
        done = weir.run("--check-config", "--config", weir.write_config(text),
                        env={name: "key" for name in KEYS})
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
