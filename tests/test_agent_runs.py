"""Recorded runs of agents, as tau-bench and tau2-bench publish them, are read as chat completions."""

from __future__ import annotations

import json

from benchmarks.agents.runs import read_runs

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


def test_both_shapes_give_the_same_steps(tmp_path) -> None:
    """The policy is the system prompt; a greeting is no step, and what the user's tools did is hidden."""
    read = []
    for name, recorded in (("tau", TAU), ("tau2", TAU2)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(recorded))
        read.append([run for run in read_runs(path) if any(run.steps())])
    [run], [run2] = read
    assert (run.task, run.trial) == (run2.task, run2.trial) == ("7", "2")
    steps, steps2 = list(run.steps()), list(run2.steps())
    called = {**CALL, "function": {"name": "get_user", "arguments": '{"id": "u1"}'}}
    assert (
        steps[0].answer == steps2[0].answer == {"role": "assistant", "content": None, "tool_calls": [called]}
    )
    assert steps[1].answer == steps2[1].answer == {"role": "assistant", "content": "Done."}
    assert [message["role"] for message in steps[1].before] == ["system", "user", "assistant", "tool"]
    assert steps2[1].before[:2] == (
        {"role": "system", "content": "Policy."},
        {"role": "assistant", "content": "How can I help?"},
    )
    assert steps2[1].before[2:] == (
        steps[1].before[1],
        steps[1].before[2],
        {"role": "tool", "tool_call_id": "c1", "content": "{}"},
    )
