"""Real reruns against real rewordings, and answers in JSON: what metrics tell apart.

Metrics that read the format are compared with those that read spelling.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kit import Table
from benchmarks.metrics.columns import (
    FLOOR,
    area,
    area_error,
    columns,
    pairs_of,
    readers,
    there,
)
from benchmarks.metrics.human import fitted
from evenkeel.core.pair import Wanted
from tests.kit.recorded import FENCED, Texts, gpt4o, pbss, runs, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.metrics.columns import Column, Fit, Models


class Question(NamedTuple):
    """Two kinds of pairs, and whether a metric tells them apart."""

    name: str
    close: str
    far: str


QUESTIONS: Final = (
    Question("GPT-4o: rerun > reworded", "GPT-4o: rerun", "GPT-4o: reworded"),
    Question("GPT-4o: same > other conclusion", "GPT-4o: same conclusion", "GPT-4o: other conclusion"),
    Question("GPT-4o: reworded > other question", "GPT-4o: reworded", "GPT-4o: other question"),
    Question("PBSS: rerun > reworded", "PBSS: rerun", "PBSS: reworded"),
    Question("PBSS: reworded > other intent", "PBSS: reworded", "PBSS: other intent"),
)
_OF_TEXT: Final = ("lexical", "equality", "surface")


def measure_reruns(
    models: Models | None, *, seed: int, most: int, learn_on: int | None = None
) -> tuple[Table, ...]:
    """Area under the ROC curve of every metric that can read free answers.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples.
        most: Pairs of a kind at most.
        learn_on: Pairs of STS-B that the combinations are fitted to, at most; None = all.
    """
    kinds = _kinds(seed, most)
    metrics = readers(*_OF_TEXT)
    scored = {kind: columns(pairs_of(texts), metrics, models) for kind, texts in kinds.items()}
    for name, (combined, curve) in fitted(models, seed=seed, most=learn_on).items():
        for found in scored.values():
            found[name] = _predicted(curve, [found[metric] for metric in combined.metrics])
    return (_areas(scored, seed),)


def _predicted(curve: Fit, used: Sequence[Column]) -> Column:
    """What a fit expects of each pair; None where a metric could not score it."""
    rows = zip(*used, strict=True)
    return [None if None in row else curve.predict([[float(cell or 0)] for cell in row])[0] for row in rows]


def _kinds(seed: int, most: int) -> dict[str, list[Texts]]:
    found = {f"GPT-4o: {kind}": texts for kind, texts in gpt4o(runs()).items()}
    found |= {f"PBSS: {kind}": texts for kind, texts in pbss(random.Random(f"{seed}.pbss")).items()}
    return {
        kind: random.Random(f"{seed}.{kind}").sample(texts, min(most, len(texts)))
        for kind, texts in found.items()
    }


def _areas(scored: Mapping[str, Mapping[str, Column]], seed: int) -> Table:
    rows: list[tuple[float | str | None, ...]] = []
    widest = 0.0
    rng = random.Random(f"{seed}.resamples")
    silent: list[str] = []
    gaps: list[str] = []
    for name in next(iter(scored.values())):
        cells: list[float | None] = []
        for question in QUESTIONS:
            close, far = there(scored[question.close][name]), there(scored[question.far][name])
            known = _mostly(scored[question.close][name]) and _mostly(scored[question.far][name])
            cells.append(area(close, far) if known else None)
            if known:
                widest = max(widest, area_error(close, far, rng))
        told = [cell for cell in cells if cell is not None]
        if not told or all(cell == 0.5 for cell in told):  # noqa: PLR2004 - blind
            silent.append(name)
            continue
        rows.append((f"{name} (floor)" if name == FLOOR else name, *cells))
        missing = sum(found[name].count(None) for found in scored.values())
        gaps += [f"{name} {missing}"] if missing else []
    counts = ", ".join(f"{kind} {len(column[FLOOR])}" for kind, column in scored.items())
    return Table(
        "reruns",
        ("metric", *(question.name for question in QUESTIONS)),
        tuple(rows),
        2,
        (
            f"Pairs: {counts}.",
            f"No figure is further than {widest:.2f} from the truth (95 %, resampled).",
            f"Left out, as they say the same of every such pair or of none: {', '.join(silent)}."
            if silent
            else "",
            f"Pairs that could not be scored and are left out: {', '.join(gaps)}." if gaps else "",
        ),
    )


def _mostly(column: Column) -> bool:
    """Whether more than half of the pairs could be scored."""
    return 2 * len(there(column)) > len(column)


_TASK: Final = "college_mathematics"
"""The task whose questions were also answered in a fence."""


class Form(NamedTuple):
    """Pairs with the same value in two forms."""

    name: str
    pairs: list[Texts]
    wanted: Wanted


def measure_forms(models: Models | None, *, seed: int, most: int) -> tuple[Table, ...]:
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
