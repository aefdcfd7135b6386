"""Bundles: one table of the metrics that measure each task. A new task is a new entry.

The prompts of the judged qualities are in `prompts.toml`; an application's own are described in words.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.entity import SameSlots
from evenkeel.metrics.judge.prompts import COMPLETENESS, FAITHFULNESS, Prompt, prompts_of
from evenkeel.metrics.protocol import SCALE
from evenkeel.metrics.quality.workflow_steps import StepsKept
from evenkeel.metrics.tasks import Task, nearest, task_named
from evenkeel.metrics.tool_calls import SameCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenkeel.metrics.quality.measurement import PairQuality

_PROMPTS: Final = prompts_of(__package__)

RESERVED: Final = frozenset(
    ("similarity", "probe", "faithfulness", "completeness", "relevance", "citations", "conciseness")
)
"""Names of qualities that an application's own may not have."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_RATER: Final = "You rate one quality of an answer by a given scale, as a careful human reader would."
# The name becomes a label of series.
_LONGEST_NAME: Final = 40
# Versions of described qualities begin here, out of reach of the built-in ones.
_FIRST_VERSION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Bundle:
    """Metrics of a task."""

    judged: tuple[Prompt, ...] = ()
    """Qualities for which a judge is asked; left out where there is none."""
    by_rule: tuple[PairQuality, ...] = ()
    """Qualities measured with and without a judge."""

    def measures(self, judged: Callable[[Prompt], PairQuality] | None = None) -> tuple[PairQuality, ...]:
        """Return the qualities to measure, in order.

        Args:
            judged: Makes a quality of a prompt, e.g. `partial(JudgedQuality, judge)`; None = no judge.
        """
        if judged is None:
            return self.by_rule
        return tuple(map(judged, self.judged)) + self.by_rule


# Qualities of tasks whose answers may be workflows although the task does not ask for one.
_STEPS: Final[tuple[PairQuality, ...]] = (StepsKept(asked_for=False), SameCalls())

BUNDLES: Final[Mapping[Task, Bundle]] = MappingProxyType(
    {
        Task.CASE_SUMMARY: Bundle((_PROMPTS["case_faithfulness"], _PROMPTS["case_completeness"]), _STEPS),
        Task.CHAT_SUMMARY: Bundle((_PROMPTS["chat_faithfulness"], _PROMPTS["chat_completeness"]), _STEPS),
        Task.QUESTION_ANSWERING: Bundle(
            (
                _PROMPTS["answer_faithfulness"],
                _PROMPTS["answer_completeness"],
                _PROMPTS["relevance"],
                _PROMPTS["citations"],
                _PROMPTS["conciseness"],
            ),
            _STEPS,
        ),
        Task.SLOT_FILLING: Bundle((FAITHFULNESS, COMPLETENESS), (SameSlots(), SameCalls())),
        Task.WORKFLOW: Bundle((FAITHFULNESS, COMPLETENESS), (StepsKept(asked_for=True), SameCalls())),
        Task.CHAT: Bundle((FAITHFULNESS, COMPLETENESS), _STEPS),
    }
)


def chosen(bundle: Bundle, names: Iterable[str], custom: Iterable[Prompt] = ()) -> Bundle:
    """Return a bundle with the judged qualities that the settings name.

    Args:
        bundle: The task's own.
        names: Qualities by name, e.g. ["faithfulness", "politeness"], in the order wanted. Those of another
            task may be named too and are asked in general words.
        custom: Prompts of `custom_prompt` that may be named.

    Returns: the bundle with these judged qualities. What is measured by rule stays: it costs nothing, and
        says nothing where it does not apply.
    Raises: ValueError for a name that no quality has, naming the nearest one, or that is named twice.
    """
    prompt_by_name = {}
    for prompt in (
        FAITHFULNESS,
        COMPLETENESS,
        _PROMPTS["relevance"],
        _PROMPTS["citations"],
        _PROMPTS["conciseness"],
        *bundle.judged,
        *custom,
    ):
        prompt_by_name[prompt.name] = prompt
    wanted = list(names)
    for name in wanted:
        if name not in prompt_by_name:
            raise ValueError(f"no quality {name!r}; {nearest(name, list(prompt_by_name))}")
        if wanted.count(name) > 1:
            raise ValueError(f"the quality {name!r} is named twice")
    return replace(bundle, judged=tuple(prompt_by_name[name] for name in wanted))


def bundles_by(
    qualities: Mapping[str, Iterable[str]], custom: Iterable[Prompt] = ()
) -> Mapping[Task, Bundle]:
    """Return all bundles, with the judged qualities that the settings name for some tasks.

    Args:
        qualities: By name of the task, the names of its qualities; tasks that are left out keep theirs.
        custom: Prompts of `custom_prompt` that may be named.

    Raises: ValueError for a task or a quality that does not exist, naming the nearest one, or two
        entries for one task.
    """
    described = tuple(custom)
    changed: dict[Task, Bundle] = {}
    for name, names in qualities.items():
        task = task_named(name)
        if task in changed:
            raise ValueError(f"the task {task.value!r} is named twice")
        try:
            changed[task] = chosen(BUNDLES[task], names, described)
        except ValueError as error:
            raise ValueError(f"task {task.value!r}: {error}") from error
    return {**BUNDLES, **changed}


def custom_prompt(name: str, description: str, scale: Mapping[int, str]) -> Prompt:
    """Return the prompt that asks a judge about a quality described in words.

    The version follows from the words, in the millions: two wordings under one name are never taken for
    the same metric.

    Args:
        name: Snake case, up to 40 characters, e.g. "politeness".
        description: What to look at, in whole sentences.
        scale: What 3 (best), 2 and 1 mean; exactly these, as all ratings add up to one score.

    Raises: ValueError naming the quality and what is wrong with it.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a quality's name is a snake_case word such as politeness, not {name!r}")
    if name in RESERVED:
        raise ValueError(f"the quality {name!r} is built in; choose another name")
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"the quality {name!r} has a name of more than {_LONGEST_NAME} characters")
    if tuple(sorted(scale)) != SCALE:
        steps = ", ".join(map(str, sorted(scale))) or "nothing"
        raise ValueError(f"the quality {name!r} must say what 3, 2 and 1 mean; it says {steps}")
    texts = [name, " ".join(description.split())]
    lines = ["Scale:"]
    for step in SCALE:
        meaning = " ".join(scale[step].split())
        if not meaning:
            raise ValueError(f"the quality {name!r} does not say what {step} means")
        texts.append(meaning)
        lines.insert(1, f"{step} - {meaning}")
    if not description.strip():
        raise ValueError(f"the quality {name!r} has no description")
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).digest()
    version = _FIRST_VERSION + int.from_bytes(digest[:4], "big") // 4
    question = (
        f'Rate the answer in one respect: "{name.replace("_", " ")}".\n\n{description.strip()}\n\n'
        "Nothing else that is good or bad about the answer matters here."
    )
    return Prompt(name, version, _RATER, question, "\n".join(lines))
