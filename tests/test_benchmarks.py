"""Benchmarks run, with their smallest arguments."""

import json
import subprocess
import sys

import pytest

from tests.house import ROOT

PUBLIC_DATA = pytest.mark.shared_data

# Left out: `proxy` needs wrk, `chaos` takes minutes whatever it is given.
BENCHMARKS = (
    "agents --steps 50",
    "cost --few --plays 1",
    "detection --runs 1 --exchanges 100",
    "detection.references --runs 0 --years 20 --days 5",
    pytest.param("similarity --most 20 --no-encoder", marks=PUBLIC_DATA),
)


def said(role, content=None, **more):
    """A message of a conversation."""
    return {"role": role, "content": content, **more}


def called(call, name, requestor, **arguments):
    """A call of a tool as tau2-bench has it."""
    return [{"id": call, "name": name, "arguments": arguments, "requestor": requestor}]


# Runs of agents as tau-bench and tau2-bench publish them.
CALL = {"function": {"arguments": '{"id": "u1"}', "name": "get_user"}, "id": "c1", "type": "function"}
TAU = [
    {"task_id": 0, "reward": 0.0, "info": {"error": "EOF"}, "traj": [], "trial": 0},
    {
        "task_id": 7,
        "reward": 1.0,
        "info": {},
        "traj": [
            said("system", "Policy."),
            said("user", "Cancel it."),
            said("assistant", tool_calls=[CALL], function_call=None),
            said("tool", "{}", tool_call_id="c1", name="get_user"),
            said("assistant", "Done."),
            said("user", "###STOP###"),
        ],
        "trial": 2,
    },
]
MESSAGES = [
    said("assistant", "How can I help?", tool_calls=None, turn_idx=0),
    said("user", "Cancel it.", tool_calls=None, raw_data={}),
    said("user", tool_calls=called("d", "restart", "user")),
    said("tool", "ok", id="d", requestor="user", error=False),
    said("assistant", tool_calls=called("c1", "get_user", "assistant", id="u1")),
    said("tool", "{}", id="c1", requestor="assistant", error=False),
    said("assistant", "Done.", tool_calls=None, cost=0.1),
]
TAU2 = {
    "info": {"environment_info": {"policy": "Policy.", "tool_defs": None}},
    "tasks": [],
    "simulations": [{"task_id": "7", "trial": 2, "messages": MESSAGES}],
}


@pytest.mark.system
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_runs(benchmark):
    """The program exits with 0 and prints figures."""
    name, *arguments = benchmark.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


@pytest.mark.system
@pytest.mark.parametrize("recorded", [TAU, TAU2], ids=["tau-bench", "tau2-bench"])
def test_recorded_runs_are_played_as_published(recorded, tmp_path):
    """Two steps: a greeting is none, a run that failed has none, and the user's own tools are hidden."""
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(recorded))
    command = [sys.executable, "-m", "benchmarks.agents", "--runs", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "| runs | 2 |" in done.stdout
