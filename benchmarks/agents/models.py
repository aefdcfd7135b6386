"""Scripted models that play runs: with noise and planted faults, or with other recorded runs of a task.

A model gets the body of a request and finds its step by the answers in it, which no perturbation changes.
Among steps after the same answers it finds the step by the user's words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rapidfuzz import fuzz, process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from benchmarks.agents.runs import AgentRun, AgentStep, Message

Fault = Literal["none", "tool", "argument"]


class StepModel(Protocol):
    """Model that answers requests of steps."""

    def answer(self, body: bytes, rng: Random) -> Message:
        """Return the message with which it answers a request."""
        ...


class StepFinder:
    """Finder of the step that a request asks for."""

    def __init__(self, runs: Sequence[AgentRun]) -> None:
        # Steps by the answers before them, then by the users' words.
        self._steps: dict[str, dict[str, AgentStep]] = {}
        for run in runs:
            for step in run.steps():
                self._steps.setdefault(_key(step.before), {})[_words(step.before)] = step

    def find(self, messages: Sequence[Message]) -> AgentStep:
        """Return the step of a request's messages, some words of which may be changed."""
        steps = self._steps[_key(messages)]
        words = _words(messages)
        if words in steps:
            return steps[words]
        return steps[process.extractOne(words, steps.keys(), scorer=fuzz.ratio)[0]]


def _key(messages: Sequence[Message]) -> str:
    answers = []
    for message in messages:
        if message.get("role") == "assistant":
            answers.append([message.get("content"), message.get("tool_calls")])
    return json.dumps([len(messages), answers], sort_keys=True)


def _words(messages: Sequence[Message]) -> str:
    return "\n".join(str(message.get("content")) for message in messages if message.get("role") == "user")


@dataclass(slots=True)
class PlantedModel:
    """Model that answers as its runs do, with noise in all answers and a fault in reworded steps."""

    finder: StepFinder
    tools: Sequence[str]
    fault: Fault = "none"
    rate: float = 0.15
    noise: float = 0.03

    def answer(self, body: bytes, rng: Random) -> Message:
        """Return the recorded answer, or a faulty one."""
        messages = json.loads(body)["messages"]
        step = self.finder.find(messages)
        if rng.random() < self.noise:
            return self._faulty(step.answer, rng.choice(("tool", "argument")), rng)
        reworded = _words(messages) != _words(step.before)
        if reworded and rng.random() < self.rate:
            return self._faulty(step.answer, self.fault, rng)
        return step.answer

    def _faulty(self, answer: Message, fault: Fault, rng: Random) -> Message:
        if fault == "none" or not answer.get("tool_calls"):
            return answer
        # The recorded answer is used again, so the fault goes into a deep copy.
        changed: Message = json.loads(json.dumps(answer))
        function = changed["tool_calls"][0]["function"]
        if fault == "tool":
            function["name"] = self.tools[(self.tools.index(function["name"]) + 1) % len(self.tools)]
            return changed
        arguments: dict[str, Any] = json.loads(function["arguments"])
        name = min(arguments)
        arguments[name] = f"{arguments[name]}{rng.randrange(10)}"
        function["arguments"] = json.dumps(arguments)
        return changed


@dataclass(slots=True)
class RecordedModel:
    """Model that answers as a random recorded run of the same task did at that step."""

    finder: StepFinder
    runs: Sequence[AgentRun]
    _answers: dict[tuple[str, int], list[Message]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.runs:
            for step in run.steps():
                self._answers.setdefault((run.task, step.number), []).append(step.answer)

    def answer(self, body: bytes, rng: Random) -> Message:
        """Return the answer of a run of the task, or of the run itself if no other run got that far."""
        step = self.finder.find(json.loads(body)["messages"])
        return rng.choice(self._answers.get((step.run.task, step.number)) or [step.answer])
