"""The official openai SDK for Node, direct and through the proxy."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.scripted import AUDIO, WORDS, Scripted, sent
from tests.services import installed

VERSION = "6.49.0"
"""The last one that runs on Node 20 as well as on later ones."""

SCRIPT = Path(__file__).with_name("node_calls.cjs")
TEXT = "".join(WORDS)


@pytest.fixture(scope="session")
def node_modules(pytestconfig, tmp_path_factory):
    """Folder with the SDK: installed once and kept in pytest's cache, if it has one."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"needs {program}: apt-get install nodejs npm (Node 20 or later)")
    options = "--no-save --no-package-lock --ignore-scripts --no-audit --no-fund"
    command = ["npm", "install", *options.split(), f"openai@{VERSION}"]
    return installed(pytestconfig, tmp_path_factory, f"openai-node-{VERSION}", "node_modules", command)


def test_every_call_gives_and_sends_the_same(paths, upstream, node_modules):
    """Chat, streams, tools, responses, files, audio, images, pages and errors are equal in both places."""

    def seen_by_node(port):
        done = subprocess.run(
            ["node", str(SCRIPT), f"http://127.0.0.1:{port}"],
            env={**os.environ, "NODE_PATH": str(node_modules)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return json.loads(done.stdout)

    upstream.handler = Scripted()
    direct, proxied = paths.both(seen_by_node)
    assert list(proxied) == list(direct)
    for name, seen in direct.items():
        assert proxied[name] == seen, name
    assert len(upstream.requests) % 2 == 0
    requests = sent(upstream.requests)
    half = len(requests) // 2
    for first, second in zip(requests[:half], requests[half:], strict=True):
        assert second == first
    # What is compared is what was meant.
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in proxied["chat stream"][:-1]) == TEXT
    assert base64.b64decode(proxied["speech"]) == AUDIO
    assert len(proxied["batches"]) == 6
    assert proxied["error 429"]["error"] == "RateLimitError"
    assert not any("text" in seen for seen in proxied.values() if isinstance(seen, dict) and "error" in seen)
