"""The configurations in docs/providers.md and docs/providers/ are good, as they stand there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs/providers.md", *sorted((ROOT / "docs/providers").glob("*.md"))]
KEYS = "OPENAI_API_KEY AZURE_KEY AZURE_OPENAI_API_KEY GEMINI_API_KEY ANTHROPIC_API_KEY".split()


def blocks(page):
    return re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_configuration_is_good(weir, page):
    found = blocks(page)
    assert found
    for text in found:
        done = weir.run("--check-config", "--config", weir.write_config(text),
                        env={name: "key" for name in KEYS})
        assert done.returncode == 0, done.stdout.decode()
        assert b"0 warnings" in done.stdout or b": ok" in done.stdout, done.stdout.decode()


def test_the_page_names_every_vendor():
    index = PAGES[0].read_text()
    assert len(PAGES) == 6
    for page in PAGES[1:]:
        assert f"(providers/{page.name})" in index
