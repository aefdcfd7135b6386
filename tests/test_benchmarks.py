"""Benchmarks run, with their smallest arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.house import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC_DATA = pytest.mark.shared_data

# Left out: `proxy` needs wrk, `chaos` takes minutes whatever it is given.
BENCHMARKS = (
    "agents --steps 50",
    "cost --few --plays 1",
    "detection --runs 1 --exchanges 100",
    "detection.references --runs 0 --years 20 --days 5",
    pytest.param("similarity --most 20 --no-encoder", marks=PUBLIC_DATA),
)


# Runs of agents as tau-bench and tau2-bench publish them.
CALL = {"function": {"arguments": '{"id": "u1"}', "name": "get_user"}, "id": "c1", "type": "function"}
TAU = [
    {"task_id": 0, "reward": 0.0, "info": {"error": "EOF"}, "traj": [], "trial": 0},
    {
        "task_id": 7,
        "reward": 1.0,
        "info": {},
        "traj": [
            {"role": "system", "content": "Policy."},
            {"role": "user", "content": "Cancel it."},
            {"content": None, "role": "assistant", "tool_calls": [CALL], "function_call": None},
            {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": "{}"},
            {"content": "Done.", "role": "assistant"},
            {"role": "user", "content": "###STOP###"},
        ],
        "trial": 2,
    },
]
TAU2 = {
    "info": {"environment_info": {"policy": "Policy.", "tool_defs": None}},
    "tasks": [],
    "simulations": [
        {
            "task_id": "7",
            "trial": 2,
            "messages": [
                {"role": "assistant", "content": "How can I help?", "tool_calls": None, "turn_idx": 0},
                {"role": "user", "content": "Cancel it.", "tool_calls": None, "raw_data": {}},
                {
                    "role": "user",
                    "content": None,
                    "tool_calls": [{"id": "d", "name": "restart", "arguments": {}, "requestor": "user"}],
                },
                {"role": "tool", "id": "d", "content": "ok", "requestor": "user", "error": False},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "name": "get_user", "arguments": {"id": "u1"}, "requestor": "assistant"}
                    ],
                },
                {"role": "tool", "id": "c1", "content": "{}", "requestor": "assistant", "error": False},
                {"role": "assistant", "content": "Done.", "tool_calls": None, "cost": 0.1},
            ],
        }
    ],
}


@pytest.mark.system
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_runs(benchmark: str) -> None:
    """The program exits with 0 and prints figures."""
    name, *arguments = benchmark.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


@pytest.mark.system
@pytest.mark.parametrize("recorded", [TAU, TAU2], ids=["tau-bench", "tau2-bench"])
def test_recorded_runs_are_played_as_published(recorded: object, tmp_path: Path) -> None:
    """Two steps: a greeting is none, a run that failed has none, and the user's own tools are hidden."""
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(recorded))
    command = [sys.executable, "-m", "benchmarks.agents", "--runs", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "| runs | 2 |" in done.stdout
