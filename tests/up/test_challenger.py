"""`evenkeel up` with a challenger: two simulated models, a simulated judge, and a restart in between."""

import subprocess
import sys

import pytest

from evenkeel.simulate import ModelState, Simulation, serving
from evenkeel.simulate.judge import JUDGE_MODEL
from tests.kit.relaying import START_S, settings_file
from tests.services import receiver, wait_for

pytestmark = pytest.mark.system


def challenge(*arguments):
    """Run the command as a user does."""
    command = [sys.executable, "-m", "evenkeel", "challenge", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)


def test_a_worse_candidate_is_found_across_a_restart_and_told_once(start, tmp_path):
    """Started by command while evenkeel runs; decided on the page, in the API, by exit code and message."""
    models = [
        ModelState("simulated-1", fragility=0.0, noise=0.0),
        ModelState("candidate", fragility=0.0, noise=1.0, worse_share=1.0),
        ModelState(JUDGE_MODEL),
    ]
    with receiver() as (inbox, messages), serving(Simulation(models)) as upstream:
        route = {"name": "desk", "upstream": upstream, "sampling_rate": 1.0, "trials": {"per_exchange": 0}}
        path = settings_file(
            tmp_path,
            data_dir=str(tmp_path / "data"),
            routes=[route],
            judge={"base_url": f"{upstream}/v1", "model": JUDGE_MODEL},
            budget={"tokens_per_day": None, "usd_per_day": None},
            alerts={"webhook": f"{inbox}hook"},
        )
        config = ("--config", str(path))
        with start(*config) as running:
            begun = challenge(
                "--route", "desk", "--model", "candidate", "--share", "1", "--by", "ann", *config
            )
            assert begun.returncode == 0, begun.stderr
            # The worker may have looked before there was one, and looks again within ten seconds.
            while not (before := pairs(running)):
                running.ask(range(2))
                running.settle()
        with start(*config) as running:
            running.ask(range(100, 124))
            running.settle()
            wait_for(lambda: pairs(running) >= before + 24, "24 more pairs")
            (found,) = running.get("/api/challengers")["challengers"]
            assert found["decision"] == "must_not"
            assert found["worse"]["lower"] > 3
            assert "must not take over on desk" in running.page("/challengers")
            wait_for(
                lambda: [said for said in messages if "must not take over" in said.get("title", "")],
                "it is told",
            )
        done = challenge("status", "--route", "desk", *config)
        assert done.returncode == 1, done.stderr
        assert "must not take over on desk" in done.stdout
        told = [said for said in messages if "take over" in said.get("title", "")]
        assert len(told) == 1


def pairs(running):
    """Number of pairs of the challenger so far."""
    return sum(found["pairs"] for found in running.get("/api/challengers")["challengers"])
