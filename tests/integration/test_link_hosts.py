"""No spelling of an address leads past `allow`: random ones, judged by node's URL parser."""

import json
import random
import shutil
import subprocess

import harness
import pytest

SCRIPT = harness.ROOT / "tests" / "integration" / "node" / "link_hosts.cjs"
COUNT = 1500

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def drawn(seed):
    args = ["node", str(SCRIPT), str(seed), str(COUNT)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=250, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_home(host):
    return ("." + host.rstrip(".")).endswith(".ok.test")


@needs_node
def test_no_spelling_leads_past_allow(weir, tmp_path):
    seed = random.randrange(1 << 40)
    links = {"type": "text_contents", "builtin": "links", "params": {"allow": ["ok.test"]}}
    config = weir.write_config({"detectors": {"l": {**links, "chunker_id": "whole_doc_chunker"}}})
    texts = drawn(seed)
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, row in enumerate(texts):
        (folder / str(i)).write_bytes(row["text"].encode())
    done = weir.run("detect", "--json", "--config", str(config), str(folder))
    assert done.returncode == 2, done.stderr
    found = {int(json.loads(x)["file"].rsplit("/")[-1]) for x in done.stdout.decode().splitlines()}
    missed = [row for i, row in enumerate(texts) if i not in found and not is_home(row["host"])]
    assert missed == [], f"seed {seed}"
