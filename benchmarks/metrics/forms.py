"""JSON answers: what metrics that read the format see, and what metrics that read spelling take it for."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.metrics.columns import FLOOR, area, columns, pairs_of, readers, there
from benchmarks.metrics.table import Table
from evenkeel.core.pair import Wanted
from testing.recorded import FENCED, Texts, runs, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.metrics.columns import Column, Models

_TASK: Final = "college_mathematics"
"""The task whose questions were also answered in a fence."""


class Form(NamedTuple):
    """Pairs with the same value in two forms."""

    name: str
    pairs: list[Texts]
    wanted: Wanted


def measure(models: Models | None, *, seed: int, most: int) -> tuple[Table, ...]:
    """How metrics order the same answer in another form and another answer in the same form.

    Other answers are real: two identical runs of GPT-4o that disagree. So are the fenced ones. YAML and
    XML are the real answers, written anew.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples.
        most: Pairs of a kind at most.
    """
    answers = strict_json()
    rng = random.Random(f"{seed}.forms")
    other = _sample(_disagreeing(answers), most, rng)
    forms = [
        Form("fenced", _sample(_fenced(answers), most, rng), Wanted()),
        Form(
            "YAML", _sample([_rewritten(one, _yaml) for one in _firsts(answers)], most, rng), Wanted("yaml")
        ),
        Form("XML", _sample([_rewritten(one, _xml) for one in _firsts(answers)], most, rng), Wanted("xml")),
    ]
    metrics = readers("lexical", "equality", "structured", "entity")
    differing = columns(pairs_of(other), metrics, models)
    reformed = {form.name: columns(pairs_of(form.pairs, form.wanted), metrics, models) for form in forms}
    rows: list[tuple[float | str | None, ...]] = []
    for name, far in differing.items():
        areas = [_area(found[name], far) for found in reformed.values()]
        means = [_mean(far), *(_mean(found[name]) for found in reformed.values())]
        if all(cell in (None, 0.5) for cell in areas):
            continue
        rows.append((f"{name} (floor)" if name == FLOOR else name, *means, *areas))
    names = list(reformed)
    counts = ", ".join(f"{form.name} {len(form.pairs)}" for form in forms)
    return (
        Table(
            "forms",
            (
                "metric",
                "mean: other answer, same form",
                *(f"mean: same answer, {name}" for name in names),
                *(f"area: {name}" for name in names),
            ),
            tuple(rows),
            2,
            (f"Pairs: other answer {len(other)}, {counts}.",),
        ),
    )


def _sample(texts: list[Texts], most: int, rng: random.Random) -> list[Texts]:
    return rng.sample(texts, min(most, len(texts)))


def _area(close: Column, far: Column) -> float | None:
    left, right = there(close), there(far)
    if 2 * len(left) <= len(close) or 2 * len(right) <= len(far):
        return None
    return area(left, right)


def _mean(column: Column) -> float | None:
    found = there(column)
    return sum(found) / len(found) if 2 * len(found) > len(column) else None


def _firsts(answers: dict[tuple[str, str], list[str]]) -> list[str]:
    return [texts[0] for texts in answers.values() if _value(texts[0]) is not None]


def _disagreeing(answers: dict[tuple[str, str], list[str]]) -> list[Texts]:
    """Of each question the first run and the first later one that says something else."""
    found: list[Texts] = []
    for texts in answers.values():
        first = _value(texts[0])
        later = [one for one in texts[1:] if _value(one) not in (None, first)]
        if first is not None and later:
            found.append(Texts(texts[0], later[0]))
    return found


def _fenced(answers: dict[tuple[str, str], list[str]]) -> list[Texts]:
    """Answers that agree, once in a line and once indented in a fence."""
    fenced = {one.question: one.text for one in runs() if one.condition == FENCED and one.run == 0}
    return [
        Texts(texts[0], fenced[question])
        for (task, question), texts in answers.items()
        if task == _TASK
        and question in fenced
        and _value(texts[0]) is not None
        and _value(texts[0]) == _value(fenced[question].strip("`\n").removeprefix("json"))
    ]


def _value(text: str) -> str | None:
    """The option that an answer names, without brackets; None if it is no JSON object of one."""
    try:
        read = json.loads(text)
    except ValueError:
        return None
    answer = read.get("Answer") if isinstance(read, dict) else None
    return answer.strip("() ").casefold() if isinstance(answer, str) else None


def _rewritten(text: str, write: Callable[[str], str]) -> Texts:
    return Texts(text, write(json.loads(text)["Answer"]))


def _yaml(answer: str) -> str:
    return f"Answer: {json.dumps(answer)}\n"


def _xml(answer: str) -> str:
    return f"<reply><Answer>{answer}</Answer></reply>"
