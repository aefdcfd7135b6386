"""Answers reworded or compressed by a model: taken apart, whatever their form, and checked afterwards."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.degrade.data import value_of, with_value
from evenkeel.lab.calibrate.degrade.data_formats import at, leaf_paths, read_document
from evenkeel.lab.calibrate.degrade.engine import NotDegradableError, units_touched
from evenkeel.lab.calibrate.degrade.sentences import TextForm, is_code, read_units
from evenkeel.lab.calibrate.degrade.workflow import groups, regrouped
from evenkeel.lab.calibrate.degrade.writing import write_like
from evenkeel.metrics.structured.json import find_json
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError
from evenkeel.release.calibration.calibration import FailureMode

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.release.calibration.forms import Form


_LEAST_WORDS: Final = 3
"""Of a value that can be said in other words: names and codes have none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer, taken apart."""

    noun: str
    """What a part is called."""
    size: int
    """How many units the answer has; a severity is a share of them."""
    texts: tuple[str, ...]
    free: frozenset[int]
    """Indices of the texts that may be changed: no code."""
    reworded: Callable[[Mapping[int, str]], Answer]
    """The answer with other texts in some places."""
    merged: Callable[[Collection[int], Mapping[int, str]], Answer] | None
    """The answer with the texts at some places merged into those before; what is said there now is given by
    the first place of each group. None if neighbours do not go together: values of different keys."""
    count: Callable[[Answer], int]
    """How many units an answer of the same form has."""


def read_parts(answer: Answer, form: Form) -> Parts:
    """Take an answer apart.

    Raises:
        NotDegradableError: The answer does not have the form; "tool_calls": its steps are names of tools.
        WorkflowError: Its workflow cannot be read.
    """
    match form:
        case "workflow":
            return _steps(answer)
        case "data":
            return _values(answer)
        case "prose" | "list":
            return _units(answer, form)


def _units(answer: Answer, form: TextForm) -> Parts:
    text = read_units(answer.text, form)
    units = text.units

    def reworded(said: Mapping[int, str]) -> Answer:
        return replace(answer, text=text.written([[said.get(i, unit)] for i, unit in enumerate(units)]))

    def merged(joints: Collection[int], said: Mapping[int, str]) -> Answer:
        slots = [[] if i in joints else [said.get(i, unit)] for i, unit in enumerate(units)]
        return replace(answer, text=text.written(slots))

    free = frozenset(i for i, unit in enumerate(units) if not is_code(unit))
    noun = "sentence" if form == "prose" else "item"
    return Parts(
        noun, len(units), units, free, reworded, merged, lambda made: len(read_units(made.text, form).units)
    )


def _steps(answer: Answer) -> Parts:
    if answer.tool_calls:
        raise NotDegradableError("tool_calls", "names of tools cannot be said otherwise")
    given = read_answer(answer).arranged()
    size = len(given.steps)

    def written(found: Workflow) -> Answer:
        return replace(answer, text=write_like(found, answer.text))

    def reworded(said: Mapping[int, str]) -> Answer:
        return written(Workflow(tuple(said.get(i, step) for i, step in enumerate(given.steps)), given.edges))

    def merged(joints: Collection[int], said: Mapping[int, str]) -> Answer:
        texts = [said.get(i, step) for i, step in enumerate(given.steps) if i not in joints]
        return written(regrouped(given, groups(size, joints), texts))

    return Parts(
        "step", size, given.steps, frozenset(range(size)), reworded, merged,
        lambda made: len(read_answer(made).steps),
    )  # fmt: skip


def _values(answer: Answer) -> Parts:
    document = read_document(answer.text)
    paths = list(leaf_paths(document.root))
    entries = [at(document.root, path) for path in paths]
    # Values that hold nothing to reword are not shown: they may be many, and codes are copied wrongly.
    values = {i: text for i, entry in enumerate(entries) if _says(text := value_of(entry) or "")}
    shown, texts = list(values), tuple(values.values())

    def reworded(said: Mapping[int, str]) -> Answer:
        return document.edited(
            answer, {paths[shown[i]]: [with_value(entries[shown[i]], text)] for i, text in said.items()}
        )

    def count(made: Answer) -> int:
        return sum(1 for _ in leaf_paths(read_document(made.text).root))

    return Parts("value", len(paths), texts, frozenset(range(len(texts))), reworded, None, count)


def _says(text: str) -> bool:
    return len(text.split()) >= _LEAST_WORDS or sum(letter >= "\u2e80" for letter in text) >= 2 * _LEAST_WORDS


NAME: Final = "degrade_by_model"
VERSION: Final = 1
_TRIES: Final = 3
"""Calls at most, of each model."""
_LONGEST = 4
"""A part reworded has at most so many times its characters, and at least that fraction, a few words more."""
_WORDS_MORE = 40
_MOST_TOLD = 12
"""Complaints in one prompt."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

Rewrite = Callable[[str], Awaitable[str | Failure]]
"""Sends a prompt to a model; its text, or why there is none. Never raises for what a model can do."""

_PROMPTS: Final[dict[str, str]] = tomllib.loads(
    files(__package__).joinpath("by_model.toml").read_text("utf-8")
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a model is asked to do."""

    parts: Parts
    groups: Mapping[int, range]
    """By the first: the parts that become one; a part that is changed by itself is a group of one."""
    is_shorter: bool
    """Whether the text of a group must become shorter than its parts; else it keeps its numbers."""

    @property
    def kept(self) -> list[int]:
        """The parts that there are afterwards, by what is their number before."""
        gone = {i for group in self.groups.values() for i in group[1:]}
        return [i for i in range(len(self.parts.texts)) if i not in gone]


async def model_degraded(
    rewrite: Rewrite,
    given: Answer,
    form: Form,
    mode: FailureMode,
    severity: float,
    rng: random.Random,
    *,
    stronger: Rewrite | None = None,
) -> Answer | Failure:
    """The answer with max(1, ⌈n · severity⌉) of its n units reworded, or so many fewer by merging.

    The units are chosen by `rng`. What comes back is checked: every unit is there, the chosen ones and no
    others are changed; a reworded one keeps its numbers and about its length, a merged one is shorter than
    its parts and has no number that they lack; the answer put together has as many units as it should.
    The next try names the faults of the last. Values of data are not merged but shortened one by one.

    Args:
        rewrite: Asks a model.
        given: What is degraded.
        form: What it is made of, see `form_of`.
        mode: "reworded" (expected score 1) or "compressed" (expected score 1 − severity).
        severity: Share of the units, in (0, 1].
        rng: Chooses the units.
        stronger: Asks a better model, when the first has used up its tries or failed.

    Returns: the answer; the failure of the last one asked; or a `Failure` "checks_failed" with what was
        wrong last, or with the reason for which the answer cannot be degraded so ("too_few_units" …).

    Raises:
        ValueError: A severity outside (0, 1], or another mode.
    Source: static checks, feedback, number of tries and escalation as in appendix A of WorkflowPerturb.
    """
    try:
        plan = _plan(read_parts(given, form), mode, severity, rng)
    except (NotDegradableError, WorkflowError) as error:
        return Failure(NAME, VERSION, error.reason, str(error))
    prompt = _prompt(plan, mode)
    complaints: list[str] = []
    failed: Failure | None = None
    asked = prompt
    for ask in (rewrite, *([] if stronger is None else [stronger])):
        failed = None
        for _ in range(_TRIES):
            said = await ask(asked)
            if isinstance(said, Failure):
                failed = said
                break
            found = _checked(plan, said)
            if not isinstance(found, list):
                return found
            complaints = found
            told = "\n".join(f"- {complaint}" for complaint in complaints[:_MOST_TOLD])
            asked = prompt + _PROMPTS["again"].format(complaints=told)
    return failed or Failure(NAME, VERSION, "checks_failed", " ".join(complaints)[:300])


def _plan(parts: Parts, mode: FailureMode, severity: float, rng: random.Random) -> _Plan:
    touched = units_touched(parts.size, severity)
    if mode is FailureMode.COMPRESSED and parts.merged is not None:
        joints = [i for i in range(1, len(parts.texts)) if {i - 1, i} <= parts.free]
        _require(len(joints), touched, parts.noun)
        return _Plan(parts, _grouped(sorted(rng.sample(joints, touched))), is_shorter=True)
    if mode not in (FailureMode.REWORDED, FailureMode.COMPRESSED):
        raise ValueError(f"a model rewords or compresses; {mode} is done by rule")
    free = sorted(parts.free)
    _require(len(free), touched, parts.noun)
    chosen = sorted(rng.sample(free, touched))
    return _Plan(parts, {i: range(i, i + 1) for i in chosen}, is_shorter=mode is FailureMode.COMPRESSED)


def _require(size: int, touched: int, noun: str) -> None:
    if size < touched:
        raise NotDegradableError("too_few_units", f"{size} {noun}s can be changed so, not {touched}")


def _grouped(joints: Sequence[int]) -> dict[int, range]:
    """Runs of parts that are merged, by their first."""
    found: dict[int, range] = {}
    first = -1
    for joint in joints:
        if first < 0 or joint != found[first].stop:
            first = joint - 1
        found[first] = range(first, joint + 1)
    return found


def _prompt(plan: _Plan, mode: FailureMode) -> str:
    noun = plan.parts.noun
    shown = json.dumps(
        {str(i + 1): text for i, text in enumerate(plan.parts.texts)}, ensure_ascii=False, indent=0
    )
    if any(len(group) > 1 for group in plan.groups.values()):
        which = "; ".join(
            " and ".join(str(i + 1) for i in group) + " into one" for group in plan.groups.values()
        )
        asked = _PROMPTS["merge"].format(which=f"the {noun}s {which}", noun=noun)
    else:
        numbers = ", ".join(str(i + 1) for i in plan.groups)
        which = f"the {noun}{'s' if len(plan.groups) > 1 else ''} {numbers}"
        asked = _PROMPTS["reword" if mode is FailureMode.REWORDED else "shorten"].format(which=which)
    return _PROMPTS["shown"].format(noun=noun, parts=shown) + asked + _PROMPTS["form"]


def _checked(plan: _Plan, said: str) -> Answer | list[str]:
    """The answer that a model's words make; or what is wrong with them."""
    texts = _read(said)
    if isinstance(texts, str):
        return [texts]
    complaints = list(faults(plan.parts.texts, texts, plan.groups, shorter=plan.is_shorter))
    if complaints:
        return complaints
    changed = {i: texts[str(i + 1)].strip() for i in plan.groups}
    joints = {i for group in plan.groups.values() for i in group[1:]}
    parts = plan.parts
    try:
        made = parts.merged(joints, changed) if joints and parts.merged else parts.reworded(changed)
        count = parts.count(made)
    except (NotDegradableError, WorkflowError) as error:
        return [f"It makes no proper text: {error}."]
    if count != parts.size - len(joints):
        return [
            f"Together there are {count} {parts.noun}s instead of {parts.size - len(joints)}: keep each one."
        ]
    return made


def faults(
    before: Sequence[str], after: Mapping[str, str], groups: Mapping[int, range], *, shorter: bool
) -> Iterator[str]:
    """What is wrong with a model's texts, in words for it; nothing if nothing is.

    Args:
        before: The parts, in order.
        after: What the model made of them, by number from 1.
        groups: By the first: the parts that were to become one.
        shorter: Whether groups must become shorter; else they keep their numbers.
    """
    first = {i: start for start, group in groups.items() for i in group}
    for index, text in enumerate(before):
        number = str(index + 1)
        start = first.get(index)
        if start is not None and start != index:
            if number in after:
                yield f"Number {number} should be left out: it is merged into {start + 1}."
        elif number not in after:
            yield f"Number {number} is missing."
        elif start is None:
            if after[number] != text:
                yield f"Number {number} was changed and should not be."
        else:
            whole = [before[i] for i in groups[start]]
            yield from (f"Number {number} {fault}." for fault in _text_faults(whole, after[number], shorter))
    for number in after:
        if not (number.isascii() and number.isdecimal() and 0 < int(number[:9]) <= len(before)):
            yield f"There is no number {number[:20]}."


def _text_faults(before: Sequence[str], after: str, shorter: bool) -> Iterator[str]:  # noqa: FBT001 - inner
    text = " ".join(before)
    own, new = sorted(_NUMBER.findall(text)), sorted(_NUMBER.findall(after))
    if not after.strip():
        yield "is empty"
    elif after.split() == text.split():
        yield "is the same as before"
    elif "\n" in after.strip() and "\n" not in text:
        yield "has line breaks"
    elif shorter:
        if len(after) >= len(text):
            yield (
                "is not shorter than before" if len(before) == 1 else "is not shorter than its parts together"
            )
        if any(number not in own for number in new):
            yield "has numbers that were not there before"
    else:
        if own != new:
            yield "does not have the same numbers as before"
        if len(after) > _LONGEST * len(text) + _WORDS_MORE:
            yield "became much longer"
        if _LONGEST * len(after) + _WORDS_MORE < len(text):
            yield "became much shorter"


def _read(said: str) -> dict[str, str] | str:
    """The object in a model's answer, whatever it says around it; else what is wrong."""
    try:
        excerpt = find_json(said)
        found = json.loads(said[excerpt.start : excerpt.end]) if excerpt and excerpt.strict else None
    except (UnreadableError, ValueError, RecursionError) as error:
        return f"The JSON cannot be read: {error}."
    if excerpt is None:
        return "There is no JSON object in it."
    if not excerpt.strict:
        return "The JSON is not valid."
    if not isinstance(found, dict):
        return "It is not a JSON object."
    if not all(isinstance(text, str) for text in found.values()):
        return "Each number must have one text."
    return found
