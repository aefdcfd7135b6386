"""Recorded answers of real versions to the same prompts."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from evenkeel.simulate.importers import import_files
from evenkeel.simulate.model import Message
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from evenkeel.simulate.importers import Recording, VersionFrom


class NoDataError(LookupError):
    """Recorded answers that are not on this machine."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request that was answered."""

    messages: tuple[Message, ...]
    task: str

    @property
    def text(self) -> str:
        """The texts of all messages, a line between them."""
        return "\n".join(message.text for message in self.messages)


@dataclass(slots=True)
class Collection:
    """Prompts, and what each version answered to them."""

    prompts: list[Prompt] = field(default_factory=list)
    answers: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    """By version and the place of the prompt: one answer or several."""
    _places: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, prompt: Prompt, version: str, answer: str) -> None:
        """Take one recorded answer; an empty one is left out."""
        place = self._places.setdefault((prompt.task, prompt.text), len(self.prompts))
        if place == len(self.prompts):
            self.prompts.append(prompt)
        said = self.answers.setdefault(version, {}).setdefault(place, [])
        if answer.strip():
            said.append(answer)

    def answered(self, *versions: str, least: int = 1) -> list[int]:
        """Places of the prompts that each of these versions answered, so many times at least."""
        return [
            place
            for place in range(len(self.prompts))
            if all(len(self.answers[version].get(place, ())) >= least for version in versions)
        ]


def _files(pattern: str) -> list[Path]:
    found = sorted(DATA.glob(pattern))
    if not found:
        raise NoDataError(f"{DATA}/{pattern} is not on this machine")
    return found


def _collected(recordings: Iterable[Recording]) -> Collection:
    found = Collection()
    for recording in recordings:
        prompt = Prompt(recording.messages, recording.task or "")
        for sample in recording.samples:
            found.add(prompt, recording.version, sample.text)
    return found


@cache
def llm_drift() -> Collection:
    """GPT-3.5 of March and June 2023 and GPT-4 likewise on five tasks; one answer a question."""
    found = Collection()
    for recording in import_files(_files("llm_drift/*_eval.csv.gz")).recordings:
        task = (recording.task or "").replace(
            "composite", "prime"
        )  # one table, one question, two right answers
        found.add(Prompt(recording.messages, task), recording.version, recording.samples[0].text)
    return found


def _stability(pattern: str, version_from: VersionFrom) -> list[Recording]:
    return import_files(_files(f"llm_stability/{pattern}"), version_from=version_from).recordings


@cache
def conditions() -> Collection:
    """GPT-4o with ten prompt conditions, each served as a version that answers the plain prompt."""
    return _collected(_stability("gpt4o_math_10_prompt_conditions.jsonl.gz", "condition"))


@cache
def conditions_asked() -> Collection:
    """The same answers as one version, each to the prompt that was sent; the task is the condition."""
    pattern = "gpt4o_math_10_prompt_conditions.jsonl.gz"
    found = Collection()
    served, asked = _stability(pattern, "condition"), _stability(pattern, "model")
    for condition, recording in zip(served, asked, strict=True):
        prompt = Prompt(recording.messages, condition.version)
        found.add(prompt, recording.version, recording.samples[0].text)
    return found


@cache
def strict_json() -> Collection:
    """GPT-4o asked five times for JSON of one letter."""
    return _collected(_stability("gpt4o_strict_json_7tasks_5runs.jsonl.gz", "model"))


@cache
def survivors() -> Collection:
    """Eight models, each asked the same questions several times."""
    return _collected(_stability("survivor_runs_8models.jsonl.gz", "model"))


@cache
def pbss() -> Collection:
    """Three models on 750 prompts, each answered at temperatures 0.2 and 1.3."""
    return _collected(import_files(_files("pbss/results_*.csv.gz")).recordings)


@cache
def pbss_by_temperature() -> dict[tuple[str, str], dict[str, str]]:
    """By model and prompt: the answer by temperature."""
    found: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for path in _files("pbss/results_*.csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found[row["model"], row["prompt"]][row["temperature"]] = row["output"]
    return dict(found)


@cache
def mt_bench() -> Collection:
    """Claude 3 Opus and Claude 3.5 Sonnet on the first turns of MT-bench; one answer a question."""
    asked = {row["question_id"]: row for row in _lines(_files("mt_bench/en_question.jsonl.gz"))}
    found = Collection()
    for row in _lines(_files("mt_bench/en_model_answer_claude-*.jsonl.gz")):
        question = asked[row["question_id"]]
        prompt = Prompt((Message("user", question["turns"][0]),), question["category"])
        found.add(prompt, row["model_id"], row["choices"][0]["turns"][0])
    return found


def _lines(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
