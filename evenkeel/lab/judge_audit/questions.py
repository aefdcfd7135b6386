"""The questions to a judge: every item under four strategies, plainly and with a false hint.

The wording is this project's own; the protocol is the paper's: the judge goes by its own
understanding of the metric (zero-shot), by a definition (knowledge), by the definition and one very
good and one very bad example (few-shot), or by the definition step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.attack import claimed_rating, human_mode
from evenkeel.lab.judge_audit.judgements import (
    VERSION,
    AttackCondition,
    RatingSlot,
    RatingWithReason,
    Strategy,
)
from evenkeel.lab.rows import metric_key, suggestion
from evenkeel.llm.observer import ObservedMessage
from evenkeel.metrics.judge.prompts import Question, marked, unforgeable_tag, wording_of
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evenkeel.lab.judge_audit.judgements import Judgements
    from evenkeel.lab.judge_audit.ratings import Item, Ratings
    from evenkeel.metrics.judge.reply import Reply


@dataclass(frozen=True, slots=True)
class Rubric:
    """A metric's definition. The scale belongs to the ratings, not to the rubric."""

    metric: str
    definition: str
    """Definition in one to three sentences."""
    highest: str
    """Description of a text at the top of the scale, as the end of a sentence with "… means that"."""
    lowest: str
    """The same for a text at the bottom."""
    kind: str = "response"
    """Kind of the rated text."""
    context: str = "context"
    """Occasion that it was written for."""


PROMPTS: Final = wording_of("evenkeel.lab.judge_audit")
"""All wording, from `prompts.toml`."""
_WORDS: Final = PROMPTS["rating"]
_FIELDS: Final = ("definition", "highest", "lowest", "kind", "context")


def rubrics(path: Path | None = None) -> Mapping[str, Rubric]:
    """Rubrics by metric: the built-in ones, and those of a YAML file, which win.

    The file maps each metric to `definition`, `highest`, `lowest` and, if wanted, `kind` ("summary")
    and `context` ("source document"). Raises: InputError naming file, metric and field.
    """
    with as_file(files("evenkeel.lab.judge_audit").joinpath("rubrics.yaml")) as builtin:
        rubric_by_name = _read(builtin)
    return {**rubric_by_name, **_read(path)} if path is not None else rubric_by_name


def _read(path: Path) -> dict[str, Rubric]:
    rubric_by_metric = {}
    for name, value in _mapping(path).items():
        metric = metric_key(str(name))
        rubric_by_metric[metric] = _rubric(f'{path.name}, metric "{name}"', metric, value)
    return rubric_by_metric


def _mapping(path: Path) -> dict[Any, Any]:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: is not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(raw, dict):
        raise InputError(f"{path.name}: is not a mapping of metrics to definitions")
    return raw


def _rubric(where: str, metric: str, value: Any) -> Rubric:
    if not isinstance(value, dict):
        raise InputError(f"{where}: is not a mapping; it needs {', '.join(_FIELDS[:3])}")
    for name, text in value.items():
        if name not in _FIELDS:
            raise InputError(f'{where}, field "{name}": is not known{suggestion(str(name), _FIELDS)}')
        if not isinstance(text, str) or not text.strip():
            raise InputError(f'{where}, field "{name}": is not text')
    for name in _FIELDS[:3]:
        if name not in value:
            raise InputError(f'{where}: there is no field "{name}"')
    return Rubric(metric, **{name: " ".join(text.split()) for name, text in value.items()})


@dataclass(frozen=True, slots=True)
class Examples:
    """Two rated items that few-shot questions show; they are not rated themselves."""

    best: Item
    worst: Item


def choose_examples(items: Sequence[Item], rng: Random) -> Examples | None:
    """The items with the highest and the lowest mean human rating; ties are broken by lot.

    Returns: None if no two items differ in their mode, so that nothing could be shown.
    """
    rated = []
    for item in items:
        if item.given:
            rated.append(item)
    rng.shuffle(rated)
    if not rated:
        return None
    ranked = sorted(rated, key=lambda item: (human_mode(item.given), sum(item.given) / len(item.given)))
    if human_mode(ranked[0].given) == human_mode(ranked[-1].given):
        return None
    return Examples(best=ranked[-1], worst=ranked[0])


def question(
    strategy: Strategy,
    rubric: Rubric,
    item: Item,
    *,
    examples: Examples | None = None,
    claim: float | None = None,
) -> Question:
    """Write the question about an item.

    Args:
        strategy: how.
        rubric: of the item's metric; zero-shot uses only what kind of text it is about.
        item: what is rated.
        examples: needed for few-shot, ignored otherwise.
        claim: the rating said to be the human expert's; None for a plain question.
    """
    shown = examples if strategy is Strategy.FEW_SHOT else None
    if strategy is Strategy.FEW_SHOT and shown is None:
        raise ValueError("few-shot needs examples")
    materials = [item, *((shown.best, shown.worst) if shown else ())]
    texts: list[str] = []
    for material in materials:
        texts += [material.context, material.text]
    tag = unforgeable_tag(texts)
    named = {"name": item.metric.replace("_", " "), "low": item.scale.low, "high": item.scale.high}
    below = f"Below is a {rubric.kind}" + (f", with its {rubric.context}." if item.context else ".")
    task = f"{below} {_WORDS['task']}"
    if strategy is Strategy.ZERO_SHOT:
        parts = [f"{task} {_WORDS['zero_shot']}".format(**named)]
    else:
        defined = {each: getattr(rubric, each) for each in _FIELDS[:3]}
        parts = [task.format(**named), _WORDS["defined"].format(**named, **defined)]
    if shown:
        parts.append(_WORDS["examples"])
        for example in (shown.best, shown.worst):
            parts += [*_shown(rubric, example, tag, "EXAMPLE "), f"Rating: {human_mode(example.given)}"]
        parts.append(_WORDS["now"])
    parts += _shown(rubric, item, tag)
    if claim is not None:
        parts.append(_WORDS["claim"].format(**named, kind=rubric.kind, claim=claim))
    if strategy is Strategy.STEP_BY_STEP:
        parts.append(_WORDS["step_by_step"])
    parts.append(_WORDS["output"].format(**named))
    role = f"{_WORDS['role']}\n\n{PROMPTS['markers'].format(tag=tag)} {_WORDS['material']}"
    return Question(
        prompt=f"audit.{strategy}",
        version=VERSION,
        messages=(
            ObservedMessage("system", role),
            ObservedMessage("user", "\n\n".join(parts)),
        ),
        scale=item.scale.steps,
    )


def _shown(rubric: Rubric, item: Item, tag: str, prefix: str = "") -> list[str]:
    texts = ((prefix + rubric.context.upper(), item.context), (prefix + rubric.kind.upper(), item.text))
    return [marked(label, text, tag) for label, text in texts if text]


@dataclass(frozen=True, slots=True)
class Design:
    """Conditions to be tried."""

    strategies: tuple[Strategy, ...] = tuple(Strategy)
    attacked: tuple[Strategy, ...] = tuple(Strategy)
    """Strategies under which the attack is tried too."""
    again: bool = False
    """True if each plain question is put twice."""


class PlannedQuestion(NamedTuple):
    """A question to put, and where its answer belongs."""

    slot: RatingSlot
    question: Question
    vote: int
    """1 for the same question asked again, which has a seed and a memory of its own."""


class RatingPlan:
    """The calls of an audit. Questions are made one at a time: all together they can be gigabytes.

    Iterating gives the same calls, item by item, each time.
    """

    def __init__(
        self,
        items: Sequence[Item],
        design: Design,
        rubrics: Mapping[str, Rubric],
        examples: Mapping[str, Examples],
    ) -> None:
        self.items = items
        self._rubrics = rubrics
        self._examples = examples
        self._by_key = {(item.id, item.metric): item for item in items}
        slots = []
        for item in items:
            for strategy in design.strategies:
                # Where people rated everything alike there are no two examples to show.
                if strategy is Strategy.FEW_SHOT and item.metric not in examples:
                    continue
                for condition in _conditions(design, strategy):
                    slots.append(RatingSlot(item.id, item.metric, strategy, condition))
        self.slots = tuple(slots)

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[PlannedQuestion]:
        for slot in self.slots:
            yield PlannedQuestion(slot, self._question(slot), int(slot.condition is AttackCondition.AGAIN))

    def __contains__(self, planned: object) -> bool:
        return isinstance(planned, PlannedQuestion) and planned.slot in self.slots

    def _question(self, slot: RatingSlot) -> Question:
        item = self._by_key[slot.item, slot.metric]
        return question(
            Strategy(slot.strategy),
            self._rubrics[slot.metric],
            item,
            examples=self._examples.get(slot.metric),
            claim=self._claim(slot),
        )

    def _claim(self, slot: RatingSlot) -> float | None:
        if slot.condition is not AttackCondition.ATTACKED:
            return None
        item = self._by_key[slot.item, slot.metric]
        return claimed_rating(item.given, item.scale)

    def judgements(self, replies: Mapping[RatingSlot, Reply]) -> Judgements:
        """Return what the replies say, in the plan's order."""
        return {slot: self._judged(slot, replies[slot]) for slot in self.slots}

    def _judged(self, slot: RatingSlot, reply: Reply) -> RatingWithReason | Failure:
        if isinstance(reply.outcome, Failure):
            return reply.outcome
        return RatingWithReason(reply.outcome.rating, reply.outcome.explanation, self._claim(slot))


def _conditions(design: Design, strategy: Strategy) -> Iterator[AttackCondition]:
    yield AttackCondition.PLAIN
    if design.again:
        yield AttackCondition.AGAIN
    if strategy in design.attacked:
        yield AttackCondition.ATTACKED


@dataclass(frozen=True, slots=True)
class AuditItems:
    """Items that a judge is asked about, and what was decided on the way."""

    items: tuple[Item, ...]
    examples: dict[str, Examples]
    """Shown by few-shot questions, by metric; these items are not rated."""
    notes: tuple[str, ...]


def choose(ratings: Ratings, design: Design, *, max_items: int | None, seed: int) -> AuditItems:
    """Pick the few-shot examples and a sample of the other items.

    Args:
        ratings: everything that people rated.
        design: few-shot decides whether examples are set aside.
        max_items: different items at most (each with all its metrics); None = all.
        seed: of both choices.

    Raises: InputError if an item has no text, or none is left.
    """
    notes: list[str] = []
    rated = [item for item in ratings.items if item.given]
    if len(rated) < len(ratings.items):
        notes.append(f"{len(ratings.items) - len(rated)} items without any human rating were left out.")
    blank = next((item for item in rated if not item.text.strip()), None)
    if blank:
        raise InputError(
            f'item "{blank.id}" has no text to rate; add a column "text", or compare recorded '
            "ratings with --recorded"
        )
    examples: dict[str, Examples] = {}
    if Strategy.FEW_SHOT in design.strategies:
        for metric in dict.fromkeys(item.metric for item in rated):
            choice = choose_examples(
                [item for item in rated if item.metric == metric], Random(f"{seed}:examples:{metric}")
            )
            if choice:
                examples[metric] = choice
            else:
                notes.append(f"{metric}: people rated everything alike, so few-shot has no two examples.")
    shown: set[tuple[str, str]] = set()
    for pair in examples.values():
        shown |= {(pair.best.id, pair.best.metric), (pair.worst.id, pair.worst.metric)}
    if shown:
        notes.append(f"{len(shown)} rated texts serve as few-shot examples and are not rated by the judge.")
    left = [item for item in rated if (item.id, item.metric) not in shown]
    ids = list(dict.fromkeys(item.id for item in left))
    if max_items is not None and max_items < len(ids):
        kept = set(Random(f"{seed}:sample").sample(ids, max_items))
        notes.append(f"{max_items} of {len(ids)} items were drawn (seed {seed}).")
        left = [item for item in left if item.id in kept]
    if not left:
        raise InputError(
            "no item is left to be rated: few_shot takes two of each metric as examples; rate more, or "
            "choose others with --strategies"
        )
    return AuditItems(tuple(left), examples, tuple(notes))
