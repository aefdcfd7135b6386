"""Pairwise judges: how often they prefer the answer that people do, and how often the order decides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.calls import Call
from evenkeel.lab.judge_audit.questions import PROMPTS, system_message
from evenkeel.lab.rows import Row, check_columns, is_missing, read_rows
from evenkeel.llm.observer import Message
from evenkeel.metrics.judge.prompts import Question, marked, sendable, unforgeable_tag
from evenkeel.monitor.estimate.agreement import Share, cluster_share, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from random import Random

    from evenkeel.metrics.judge.reply import Reply


METRIC = "audit.preference"
VERSION = 1

_SIDES = (1, 2)
_IN_ORDER, _SWAPPED = "swap = False", "swap = True"
"""Keys of LLMBar's result files."""
_KNOWN = (
    "item", "input", "output_1", "output_2", "label", "results", "winner", "winner_swapped",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PairCase:
    """Two answers to one request."""

    id: str
    request: str
    output_1: str
    output_2: str
    label: int
    """1 or 2: the better answer according to people."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Which answer the judge preferred, by the answers' own numbers in both orders of showing them."""

    in_order: int | Failure
    """Answer 1 was shown first."""
    swapped: int | Failure
    """Answer 2 was shown first."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """A file of pairs."""

    source: str
    cases: tuple[PairCase, ...]
    recorded: tuple[Preference, ...] | None
    """One per case, if the file has a judge's results."""


def holds_pairs(path: Path) -> bool:
    """Whether a file is about pairs rather than about ratings of single texts."""
    return {"output_1", "output_2"} <= read_rows(path)[0].cells.keys()


def read_pairs(path: Path) -> Pairs:
    """Pairs from a JSON array or lines, with `input`, `output_1`, `output_2` and `label` (1 or 2).

    A judge's results may come along: `winner` and `winner_swapped` by the answers' own numbers, or `results`
    as LLMBar records them. There the last entry with both orders counts, which is the outcome where
    a judge was asked again to make up its mind.

    Raises: InputError naming file, place and field.
    """
    rows = read_rows(path)
    check_columns(rows, required=("input", "output_1", "output_2", "label"), known=_KNOWN)
    cases = []
    for number, row in enumerate(rows, start=1):
        label = row.whole("label", row.cells["label"])
        if label not in _SIDES:
            raise row.error("label", f"is {label}; it is 1 or 2, the better answer's number")
        item = row.text("item", str(number))
        request, one, two = (row.text(field, "") for field in ("input", "output_1", "output_2"))
        cases.append(PairCase(item, request, one, two, label))
    recorded = None
    if all("results" in row.cells for row in rows):
        recorded = tuple(_from_results(row) for row in rows)
    elif all({"winner", "winner_swapped"} <= row.cells.keys() for row in rows):
        recorded = tuple(Preference(_winner(row, "winner"), _winner(row, "winner_swapped")) for row in rows)
    return Pairs(path.name.removesuffix(".gz").removesuffix(".json"), tuple(cases), recorded)


def _winner(row: Row, field: str) -> int | Failure:
    return _side(row, field, row.cells[field])


def _side(row: Row, field: str, value: Any) -> int | Failure:
    if is_missing(value) or (isinstance(value, str) and value.strip().lower() == "tie"):
        return Failure(METRIC, VERSION, "no_preference", "The judge preferred neither.")
    side = row.whole(field, value)
    if side not in _SIDES:
        raise row.error(field, f"{side} is not the number of an answer, 1 or 2")
    return side


def _from_results(row: Row) -> Preference:
    results = row.cells["results"]
    both = [
        entry
        for entry in (results if isinstance(results, list) else [])
        if isinstance(entry, dict)
        and isinstance(entry.get(_IN_ORDER), dict)
        and isinstance(entry.get(_SWAPPED), dict)
    ]
    if not both:
        raise row.error("results", f'has no entry with "{_IN_ORDER}" and "{_SWAPPED}"')
    last = both[-1]
    return Preference(
        _side(row, "results", last[_IN_ORDER].get("winner")),
        _side(row, "results", last[_SWAPPED].get("winner")),
    )


def plan(cases: Sequence[PairCase]) -> list[Call[tuple[int, bool]]]:
    """Both orders of every pair. Places are (index of the case, whether swapped)."""
    return [
        Call((index, swapped), _question(case, swapped=swapped))
        for index, case in enumerate(cases)
        for swapped in (False, True)
    ]


def preferences(
    cases: Sequence[PairCase], replies: Mapping[tuple[int, bool], Reply]
) -> tuple[Preference, ...]:
    """What the replies to `plan` say, one per case."""

    def side(index: int, *, swapped: bool) -> int | Failure:
        outcome = replies[index, swapped].outcome
        if isinstance(outcome, Failure):
            return outcome
        return sum(_SIDES) - outcome.rating if swapped else outcome.rating

    return tuple(
        Preference(side(index, swapped=False), side(index, swapped=True)) for index in range(len(cases))
    )


def _question(case: PairCase, *, swapped: bool) -> Question:
    first, second = (case.output_2, case.output_1) if swapped else (case.output_1, case.output_2)
    texts = {"REQUEST": case.request, "ANSWER 1": first, "ANSWER 2": second}
    tag = unforgeable_tag(map(sendable, texts.values()))
    shown = (marked(label, text, tag) for label, text in texts.items())
    user = "\n\n".join([PROMPTS["preference"]["task"], *shown, PROMPTS["preference"]["output"]])
    messages = (Message("system", system_message("preference", tag)), Message("user", user))
    return Question(METRIC, VERSION, messages, scale=_SIDES)


@dataclass(frozen=True, slots=True)
class PairwiseReport:
    """One pairwise judge."""

    judge: str
    pairs: int
    accuracy: Share
    """Share of rulings, over both orders, that name the answer people preferred. Its interval is
    drawn over pairs, because the two rulings about one pair are not independent."""
    swap_consistency: Share
    """Share of pairs with the same preference in both orders."""
    right_both_ways: Share
    """Share of pairs with the right preference in both orders."""
    first_shown: Share
    """Share of rulings for the answer that was shown first; 0.5 without a liking for a place."""
    failures: dict[str, int] = field(default_factory=dict)
    """Rulings that are none, by reason."""


def pairwise_report(
    judge: str, cases: Sequence[PairCase], preferences: Sequence[Preference], *, times: int, rng: Random
) -> PairwiseReport:
    """Count one judge's preferences against the labels.

    A ruling that failed is neither right nor wrong: it is in `failures` only, and its pair is left out of
    the consistency.

    Args:
        judge: its name.
        cases: the pairs.
        preferences: one per pair.
        times: resamples for the intervals of accuracy and place.
        rng: draws them.
    """
    right: list[tuple[int, int]] = []
    first: list[tuple[int, int]] = []
    failures: Counter[str] = Counter()
    consistent = both_right = both = 0
    for case, preference in zip(cases, preferences, strict=True):
        sides = (preference.in_order, preference.swapped)
        failures.update(side.reason for side in sides if isinstance(side, Failure))
        given = [(place, side) for place, side in enumerate(sides, start=1) if not isinstance(side, Failure)]
        right.append((sum(side == case.label for _, side in given), len(given)))
        # In order, answer 1 is shown first; swapped, answer 2 is.
        first.append((sum(side == place for place, side in given), len(given)))
        if len(given) == len(sides):
            both += 1
            consistent += sides[0] == sides[1]
            both_right += sides[0] == sides[1] == case.label
    return PairwiseReport(
        judge=judge,
        pairs=len(cases),
        accuracy=cluster_share(right, times=times, rng=rng),
        swap_consistency=wilson(consistent, both),
        right_both_ways=wilson(both_right, both),
        first_shown=cluster_share(first, times=times, rng=rng),
        failures=dict(sorted(failures.items())),
    )
