"""The official openai SDK for Node, direct and through the proxy."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.clients.scripted import AUDIO, WORDS, Scripted, sent

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
    name = f"openai-node-{VERSION}"
    cache = getattr(pytestconfig, "cache", None)
    folder = cache.mkdir(name) if cache else tmp_path_factory.mktemp(name)
    found = folder / "node_modules"
    if not (found / "openai" / "package.json").exists():
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            command = ["npm", "install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit"]
            done = subprocess.run(
                [*command, "--no-fund", f"openai@{VERSION}"],
                cwd=fresh,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["npm failed"])[0]
                pytest.skip(f"needs the Node SDK: npm install openai@{VERSION} ({why})")
            # Another process of the same run may have been faster.
            with contextlib.suppress(OSError):
                (Path(fresh) / "node_modules").rename(found)
    return found


@pytest.fixture
def node(node_modules):
    """Starts the script in a mode; it is stopped at the end of the test at the latest."""
    started = []

    def start(mode, port):
        process = subprocess.Popen(
            ["node", str(SCRIPT), mode, f"http://127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "NODE_PATH": str(node_modules)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def endpoint(upstream):
    """The canned model endpoint behind `paths`."""
    upstream.handler = Scripted()
    return upstream.handler


def finished(process):
    """What a script printed, once it has ended well."""
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (0, "")
    return out


def test_every_call_gives_and_sends_the_same(paths, upstream, endpoint, node):
    """Chat, streams, tools, responses, files, audio, images, pages and errors are equal in both places."""
    direct, proxied = paths.both(lambda port: json.loads(finished(node("calls", port))))
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


def test_each_event_is_in_the_application_before_the_next_is_made(paths, upstream, endpoint, node):
    """The endpoint may send an event only after the application has got the one before."""

    def talk(port):
        upstream.call(endpoint.permits.release)  # the comment, of which the SDK says nothing
        upstream.call(endpoint.permits.release)
        process = node("stream", port)
        lines = []
        for line in process.stdout:
            lines.append(line)
            upstream.call(endpoint.permits.release)
        finished(process)
        return lines

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert len(proxied) == 1 + len(WORDS)


def test_a_stream_that_is_left_ends_the_upstream_call(paths, upstream, endpoint, node):
    """The endpoint sees at once that the application has heard enough, while the application lives on."""

    def talk(port):
        for _ in range(3):
            upstream.call(endpoint.permits.release)
        process = node("abort", port)
        lines = [process.stdout.readline() for _ in range(3)]
        # `fetch` opens a connection for later as soon as it has lost one: the last that was used counts.
        wire = [wire for wire in upstream.wires if wire.received][-1]
        upstream.eventually(lambda: wire.ended)
        assert process.poll() is None
        return lines

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert proxied[-1] == b"left\n"
