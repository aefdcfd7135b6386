"""The programs on the pages about integrations, run as they stand through a proxy."""

import asyncio
import os
import subprocess
import sys

import pytest
import yaml

from evenkeel.core.verdict import Failure
from evenkeel.runtime.replays import reader, replay_target
from evenkeel.settings import load
from evenkeel.shadow.original import Original
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.integrations.pages import exports, programs, settings_text
from tests.integrations.peers import PEERS, TEXT
from tests.integrations.replaying import replayed

pytestmark = pytest.mark.system

OF_THE_SITE = {"langchain", "anthropic"}
"""Pages whose client is not in the project's own environment."""
CREDENTIALS = {"azure-openai": ("api-key", "for-replays"), "anthropic": ("x-api-key", "for-replays")}
"""Credentials of replays that are not bearer tokens."""


@pytest.fixture
def printed(request, capsys, tmp_path):
    """Runs a program; gives what it printed."""

    def run(block):
        if block.language == "python" and block.page.stem not in OF_THE_SITE:
            names = {"__name__": "__main__"}
            exec(compile(block.text, block.title, "exec"), names)
            if "client" in names:  # the program's end would do that
                names["client"].close()
            return capsys.readouterr().out
        if block.language == "python":
            command, more = sys.executable, {"PYTHONPATH": str(request.getfixturevalue("site"))}
        else:
            command, more = "node", {"NODE_PATH": str(request.getfixturevalue("node_modules"))}
        program = tmp_path / block.title
        program.write_text(block.text, encoding="utf-8")
        done = subprocess.run(
            [command, program], capture_output=True, timeout=240, check=False, env={**os.environ, **more}
        )
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return done.stdout.decode()

    return run


@pytest.fixture
def settings(rig, monkeypatch, tmp_path):
    """Reads a page's settings, with the upstream that stands in for the one it names."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", "for-replays")

    def read(page):
        path = tmp_path / "evenkeel.yaml"
        written = yaml.safe_load(settings_text(page) or "{}")
        (route,) = written.setdefault("routes", [{}])
        route |= {"upstream": rig.upstreams[page], "name": page, "match": {"prefix": f"/{page}"}}
        path.write_text(yaml.safe_dump(written), encoding="utf-8")
        return load(path, {}, {})

    return read


def check_vllm(rig, values, target):
    """Parameters that only vLLM knows are in the replay: it is equal to the request at the server."""
    sent, again = rig.bodies
    assert sent == again
    assert (sent["top_k"], sent["chat_template_kwargs"]) == (20, {"enable_thinking": False})
    assert values.budget.prices["Qwen/Qwen3-8B"].output_usd == 0.2


def check_azure(rig, values, target):
    """A replay goes to the deployment that answered, by the version that was asked for."""
    assert target.url.endswith("/openai/deployments/YOUR-DEPLOYMENT/chat/completions?api-version=2024-10-21")


EXPECTED = {"vllm": check_vllm, "azure-openai": check_azure}
"""Further checks of a page's program."""


@pytest.mark.parametrize("block", programs(), ids=lambda block: f"{block.page.stem}/{block.title}")
def test_a_pages_program_gets_its_answer_and_is_replayed(rig, environment, settings, printed, block):
    """The client prints the text that was captured, and a replay with its own key gets that text again."""
    environment(exports(block.page.stem), block.page.stem)
    rig.bodies.clear()
    output = printed(block).strip()
    values = settings(block.page.stem)
    original = reader(values, TemplateLearner()).read(rig.captured(block.page.stem))
    assert isinstance(original, Original)
    assert original.answer.text == output
    if block.page.stem in PEERS:
        assert output == TEXT
    assert original.origin.task == ("case_summary" if block.title == "task.py" else None)
    target = replay_target(values)(original.exchange)
    assert target.headers[-1] == CREDENTIALS.get(block.page.stem, ("authorization", "Bearer for-replays"))
    replay = asyncio.run(replayed(target, original.view))
    assert not isinstance(replay, Failure)
    assert replay.answer.text == output
    if block.page.stem in EXPECTED:
        EXPECTED[block.page.stem](rig, values, target)
