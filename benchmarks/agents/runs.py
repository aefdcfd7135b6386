"""Runs of agents: recorded ones as tau-bench and tau2-bench publish them, and made-up ones of a shop.

tau-bench keeps the runs of a model as a JSON list; each run has `task_id`, `trial`, and in `traj` the
messages of a chat completion with its tool calls. tau2-bench keeps them under `simulations`, in messages of
another shape: arguments are an object, a result names its call in `id`, and users may have tools, which the
agent never sees. Its `policy` is the system prompt. Neither has definitions of the tools, so they are made
from the calls.
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
    """Run of an agent at a task."""

    task: str
    trial: str
    messages: tuple[Message, ...]

    def steps(self) -> Iterator[AgentStep]:
        """Yield each answer of the agent with everything before it. A greeting is no answer."""
        asked = False
        for place, message in enumerate(self.messages):
            if message["role"] == "assistant" and asked:
                yield AgentStep(self, self.messages[:place], message)
            asked = asked or message["role"] == "user"


@dataclass(frozen=True, slots=True)
class AgentStep:
    """Answer of a run with the messages before it."""

    run: AgentRun
    before: tuple[Message, ...]
    answer: Message

    @property
    def number(self) -> int:
        """Number of answers before it."""
        return sum(message.get("role") == "assistant" for message in self.before)


def read_runs(path: Path) -> list[AgentRun]:
    """Read the runs of a model in tau-bench's or tau2-bench's shape; failed runs have no steps."""
    document = json.loads(path.read_text("utf-8"))
    runs: list[AgentRun] = []
    if isinstance(document, dict):
        policy = document["info"]["environment_info"]["policy"]
        for entry in document["simulations"]:
            messages = [{"role": "system", "content": policy}, *_visible_messages(entry["messages"])]
            runs.append(_run(entry, messages))
    else:
        for entry in document:
            runs.append(_run(entry, list(map(_request_message, entry["traj"]))))
    return runs


def _run(entry: dict[str, Any], messages: list[Message]) -> AgentRun:
    return AgentRun(str(entry.get("task_id")), str(entry.get("trial", 0)), tuple(messages))


def _request_message(message: Message) -> Message:
    """Return a recorded message without the members that a request cannot have."""
    request_message = {"role": message["role"], "content": message["content"]}
    for name in ("tool_calls", "tool_call_id", "name"):
        if message.get(name) is not None:
            request_message[name] = message[name]
    return request_message


def _visible_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages of a tau2-bench run that the agent sees, in the shape of a chat completion."""
    for message in messages:
        role = message["role"]
        calls = message.get("tool_calls") or ()
        if role == "tool":
            # One message may hold the results of several calls.
            for result in message.get("tool_messages") or (message,):
                if result.get("requestor") != "user":
                    yield {"role": "tool", "tool_call_id": result["id"], "content": result["content"]}
        elif role == "assistant" and calls:
            tool_calls = [tool_call(call["id"], call["name"], call["arguments"]) for call in calls]
            yield {"role": "assistant", "content": message.get("content"), "tool_calls": tool_calls}
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
    definitions = []
    for name, argument_names in sorted(arguments.items()):
        properties: dict[str, Any] = {argument: {} for argument in sorted(argument_names)}
        function = {
            "name": name,
            "description": name.replace("_", " ").capitalize(),
            "parameters": {"type": "object", "properties": properties},
        }
        definitions.append({"type": "function", "function": function})
    return definitions


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
    """Return runs of a shop's agent with five steps each, and with orders and people of their own."""
    return [_made_up_run(number, Random(f"{seed}/{number}")) for number in range(count)]


def _made_up_run(number: int, rng: Random) -> AgentRun:
    wish, tool = rng.choice(_WISHES)
    order = f"#W{rng.randrange(10**7):07}"
    city = rng.choice(_CITIES)
    customer = f"c-{rng.randrange(10**6)}"
    named = {"order_id": order, "customer_id": customer}
    # The amount is drawn for every tool, so that the draws after it do not depend on the tool.
    amount = rng.randrange(5, 300)
    arguments: dict[str, Any] = {"refund": {"amount": amount}, "readdress": {"city": city}}.get(tool, {})
    # Name, arguments and result of each call.
    calls: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("find_customer", {"order_id": order}, {"customer_id": customer, "tier": rng.choice("ABC")}),
        ("get_order", named, {"order_id": order, "state": "sent", "items": rng.randrange(1, 5)}),
        (tool, {**named, **arguments}, {"done": True}),
    )
    messages: list[Message] = [
        {"role": "system", "content": "You are the agent of a shop. Call one tool at a time."},
        {"role": "user", "content": wish.format(order=order, city=city)},
    ]
    for place, (name, call_arguments, result) in enumerate(calls):
        call_id = f"call_{number}_{place}"
        call = tool_call(call_id, name, call_arguments)
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)})
    messages += [
        {"role": "assistant", "content": f"That is done for order {order}. Is there anything else?"},
        {"role": "user", "content": "No, thank you. Can you confirm it in one sentence?"},
        {"role": "assistant", "content": f"Your request about order {order} has been carried out."},
    ]
    return AgentRun(str(number), "0", tuple(messages))


def tool_call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call of an assistant's message."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
