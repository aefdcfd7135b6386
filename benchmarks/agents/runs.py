"""Runs of agents: recorded ones as tau-bench and tau2-bench publish them, and made-up ones of a shop.

tau-bench keeps the runs of one model as a JSON list; each has `task_id`, `trial`, and in `traj` the messages
of a chat completion with its tool calls. tau2-bench keeps them under `simulations`, in messages of another
shape: arguments are an object, a result names its call in `id`, and users may have tools, which the agent
never sees. The policy beside them is the system prompt. Definitions of the tools are in neither, so they are
made from the calls.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of an agent at a task."""

    task: str
    trial: str
    messages: tuple[Message, ...]

    def steps(self) -> Iterator[AgentStep]:
        """Yield each answer of the agent with everything before it. A greeting answers nobody."""
        asked = False
        for place, message in enumerate(self.messages):
            if message["role"] == "assistant" and asked:
                yield AgentStep(self, self.messages[:place], message)
            asked = asked or message["role"] == "user"


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One answer of a run."""

    run: AgentRun
    before: tuple[Message, ...]
    answer: Message

    @property
    def number(self) -> int:
        """Number of answers before it."""
        return sum(message.get("role") == "assistant" for message in self.before)


def read_runs(path: Path) -> list[AgentRun]:
    """Read the runs of one model, in tau-bench's or tau2-bench's shape; those that failed have no steps."""
    recorded = json.loads(path.read_text("utf-8"))
    runs: list[AgentRun] = []
    if isinstance(recorded, dict):
        policy = recorded["info"]["environment_info"]["policy"]
        for entry in recorded["simulations"]:
            messages = [{"role": "system", "content": policy}, *_of_agent(entry["messages"])]
            runs.append(_run(entry, messages))
    else:
        for entry in recorded:
            runs.append(_run(entry, [_plain(message) for message in entry["traj"]]))
    return runs


def _run(entry: dict[str, Any], messages: list[Message]) -> AgentRun:
    return AgentRun(str(entry.get("task_id")), str(entry.get("trial", 0)), tuple(messages))


def _plain(message: Message) -> Message:
    """Return a message with the members that a request may have: recorded ones carry more."""
    kept = ("role", "content", "tool_calls", "tool_call_id", "name")
    return {name: message[name] for name in kept if message.get(name) is not None or name == "content"}


def _of_agent(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages of a tau2-bench run that the agent sees, in the shape of a chat completion."""
    for message in messages:
        role, calls = message["role"], message.get("tool_calls") or ()
        if role == "tool":
            # Results of several calls may stand in one message.
            for result in message.get("tool_messages") or (message,):
                if result.get("requestor") != "user":
                    yield {"role": "tool", "tool_call_id": result["id"], "content": result["content"]}
        elif role == "assistant" and calls:
            made = [tool_call(call["id"], call["name"], call["arguments"]) for call in calls]
            together = [message["tool_calls"][0] for message in made]
            yield {"role": "assistant", "content": message.get("content"), "tool_calls": together}
        elif not calls:
            yield {"role": role, "content": message.get("content")}


def tools_of(runs: Iterable[AgentRun]) -> list[Message]:
    """Return definitions of all tools that the runs call, with the arguments that they use."""
    arguments: dict[str, set[str]] = {}
    for run in runs:
        for message in run.messages:
            for call in message.get("tool_calls") or ():
                function = call["function"]
                names = arguments.setdefault(function["name"], set())
                names.update(_arguments(function["arguments"]))
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": name.replace("_", " ").capitalize(),
                "parameters": {"type": "object", "properties": {key: {} for key in sorted(arguments[name])}},
            },
        }
        for name in sorted(arguments)
    ]


def _arguments(text: str) -> Iterable[str]:
    try:
        decoded = json.loads(text)
    except ValueError:
        return ()
    return decoded if isinstance(decoded, dict) else ()


_WISHES: Final = (
    ("I want my money back for order {order}, it came broken.", "refund"),
    ("Order {order} has not arrived. Where is it?", "track"),
    ("Please send order {order} to {city} instead, I have moved.", "readdress"),
    ("I ordered {order} by mistake and want to stop it.", "cancel"),
)
_CITIES: Final = ("Leeds", "Porto", "Graz", "Lund", "Ghent")


def made_up_runs(count: int, seed: int) -> list[AgentRun]:
    """Return runs of a shop's agent: five steps each, every one with orders and people of its own."""
    return [_made_up(number, Random(f"{seed}/{number}")) for number in range(count)]


def _made_up(number: int, rng: Random) -> AgentRun:
    wish, tool = rng.choice(_WISHES)
    order, city, customer = f"#W{rng.randrange(10**7):07}", rng.choice(_CITIES), f"c-{rng.randrange(10**6)}"
    named = {"order_id": order, "customer_id": customer}
    arguments = {"refund": {"amount": rng.randrange(5, 300)}, "readdress": {"city": city}}.get(tool, {})
    calls = (
        ("find_customer", {"order_id": order}, {"customer_id": customer, "tier": rng.choice("ABC")}),
        ("get_order", named, {"order_id": order, "state": "sent", "items": rng.randrange(1, 5)}),
        (tool, {**named, **arguments}, {"done": True}),
    )
    messages: list[Message] = [
        {"role": "system", "content": "You are the agent of a shop. Call one tool at a time."},
        {"role": "user", "content": wish.format(order=order, city=city)},
    ]
    for place, (name, given, result) in enumerate(calls):
        identity = f"call_{number}_{place}"
        messages.append(tool_call(identity, name, given))
        messages.append({"role": "tool", "tool_call_id": identity, "content": json.dumps(result)})
    messages += [
        {"role": "assistant", "content": f"That is done for order {order}. Is there anything else?"},
        {"role": "user", "content": "No, thank you. Can you confirm it in one sentence?"},
        {"role": "assistant", "content": f"Your request about order {order} has been carried out."},
    ]
    return AgentRun(str(number), "0", tuple(messages))


def tool_call(identity: str, name: str, arguments: dict[str, Any]) -> Message:
    """Return an assistant's message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }
