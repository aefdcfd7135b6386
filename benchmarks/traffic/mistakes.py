"""What release 0.1 got wrong on real traffic, each as a case: what it said then, and what is said now.

The figures of *then* were measured on the code before the detectors were made anew, on the same traffic
or on the recorded endpoints that it imitates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.traffic import measures, streams
from benchmarks.traffic.answers import Answer, Law, Writer
from benchmarks.traffic.measures import false_alarms
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.backtest import backtest
from evenkeel.monitor.changes.goldens import GoldenHistory
from evenkeel.monitor.changes.report import reports_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport


@dataclass(frozen=True, slots=True)
class Mistake:
    """A case: what went wrong, and how it is measured."""

    name: str
    then: str
    run: Callable[[int], Any]
    """What one log shows, by its seed."""
    now: Callable[[Sequence[Any]], str]
    """What several show, in a few words."""
    logs: float = 1.0
    """In proportion to others: how many of these."""


def _share(what: str) -> Callable[[Sequence[Any]], str]:
    return lambda found: f"{what} in {sum(map(bool, found))} of {len(found)} logs"


def _counted(found: Sequence[measures.FalseAlarms]) -> str:
    """How many rows were raised, in how many trials."""
    total = measures.FalseAlarms()
    for one in found:
        total.merge(one)
    return f"{total.alerts.total() or 'none'} in {total.trials:,} trials of both cells"


SOON: Final = 200
"""Requests within which other questions have to be noticed."""
_DRIFT_TRIALS: Final = 10_000


def _drifts(stream: str) -> Callable[[int], measures.FalseAlarms]:
    return lambda seed: false_alarms(stream, _DRIFT_TRIALS, seed)


def early_change(seed: int) -> list[int]:
    """Trials to the alarm where a rate of .05 becomes .15 after the first two hundred."""
    return measures.delays(measures.Step(0.05, 0.15), seed, quiets=(200,))[200].found


def late_figure(seed: int) -> float:
    """The leading figure of a cell whose last five hundred trials shift in .15 and all before in .05."""
    rng = np.random.default_rng(seed)
    found = backtest(_stepped(rng, Law(0.05, 0.05), Law(0.15, 0.15), 5000, 500))
    (cell,) = [one for one in found.cells if one.key.perturbation != BASELINE]
    window = cell.windows["since_change"].content_delta
    return window.value if window else float("nan")


def nightly(seed: int) -> tuple[int, int, int]:
    """Thirty nights of a batch: changes noticed, alerts, and cells without a baseline."""
    rng = np.random.default_rng(seed)
    found = backtest(islice(streams.nightly_batch(rng), streams.NIGHTLY))
    without = sum(one.drift is None for one in found.cells)
    return len(found.changes), len(found.raised), without


def _unwatched(seed: int) -> bool:
    rng = np.random.default_rng(seed)
    return any(one.drift is None for one in backtest(islice(streams.versions_by_day(rng), 10_000)).cells)


def _stepped(
    rng: np.random.Generator, before: Law, after: Law, quiet: int, changed: int, **more: Any
) -> Iterator[Verdict]:
    """Exchanges by one law, then by another; `more` are members of the later ones."""
    writer = Writer()
    for _ in range(quiet):
        yield from writer.exchange(before.draw(rng, 1))
    for _ in range(changed):
        yield from writer.exchange(after.draw(rng, 1), **more)


def misjudged(seed: int) -> tuple[bool, float]:
    """Whether an alert is raised where only the judge errs, and the paired difference that is shown."""
    found = backtest(islice(streams.judge_errs_in_15(np.random.default_rng(seed)), 20_000))
    (cell,) = [one for one in found.cells if one.key.perturbation != BASELINE]
    excess = cell.excess.value if cell.excess else float("nan")
    return any(one.what == "excess" for one in found.raised), excess


def _misjudged_words(found: Sequence[tuple[bool, float]]) -> str:
    points = 100 * np.mean([excess for _, excess in found])
    return f"in {sum(alarm for alarm, _ in found)} of {len(found)} logs, {abs(points):.1f} points above noise"


_BEFORE, _AFTER = 1500, 1500


def _reports(entries: Iterator[Verdict]) -> tuple[ChangeReport, ...]:
    found = backtest(entries)
    return reports_of(found.records, GoldenHistory((), {}, {}))


def fallen_robustness(seed: int) -> list[str]:
    """A prompt version with which robustness falls from .90 to .54 while as many answers shift as before."""
    rng = np.random.default_rng(seed)
    before, after = Law(0.84, 0.84, worse=0.12), Law(0.84, 0.84, worse=0.55, control_worse=0.12)
    return _effects(_reports(_stepped(rng, before, after, _BEFORE, _AFTER, prompt_version="v2")))


def silently_replaced(seed: int) -> list[str]:
    """Another model under the same name: longer answers that vary more, none of them worse."""
    rng = np.random.default_rng(seed)
    before, after = Law(0.1, 0.2, worse=0.0), Law(0.1, 0.35, worse=0.0)
    return _effects(_reports(_stepped(rng, before, after, _BEFORE, _AFTER, answer_chars=700)))


def stricter_judge(seed: int) -> list[str]:
    """The same answers, of which the judge lets fifteen in a hundred more pass no longer."""
    rng = np.random.default_rng(seed)
    law = Law(0.1, 0.15, worse=0.0)

    def rated(answer: Answer) -> Answer:
        strict = not answer.shifted and rng.random() < 0.15 / (1 - law.variant)
        return answer._replace(rating=2) if strict else answer

    def entries() -> Iterator[Verdict]:
        writer = Writer()
        for number in range(_BEFORE + _AFTER):
            drawn = law.draw(rng, 1)
            if number >= _BEFORE:
                drawn = drawn._replace(control=rated(drawn.control), variants=(rated(drawn.variants[0]),))
            yield from writer.exchange(drawn)

    return _effects(_reports(entries()))


def _effects(reports: Sequence[ChangeReport]) -> list[str]:
    """What is said of a change: its effect, what it coincided with, and how loud."""
    return [
        f"{one.effect}, {one.cause}{', critical' if one.severity == 'critical' else ''}" for one in reports
    ]


def _said(found: Sequence[Sequence[str]]) -> str:
    """The words of all logs, the most frequent first."""
    words = [" + ".join(sorted(set(one))) or "no report" for one in found]
    return "; ".join(
        f"{one} ({words.count(one)} of {len(words)})"
        for one in sorted(set(words), key=lambda one: (-words.count(one), one))
    )


MISTAKES: Final = (
    Mistake(
        "bursts: drifts though nothing changed", "within 5,000 trials in 90 to 100 % of the cells",
        _drifts("bursts"), _counted,
    ),
    Mistake(
        "bursts, on the line: alerts and drifts", "one in 508 to 2,004 trials",
        lambda seed: false_alarms("bursts_on_the_line", 20_000, seed), _counted,
    ),
    Mistake(
        "rates .02 and .18 in blocks: drifts", "within 5,000 trials in every cell",
        _drifts("easy_and_hard_blocks"), _counted,
    ),
    Mistake(
        ".05 becomes .15 after 200 trials: not found in 6,000", "83 %", early_change,
        lambda found: f"{np.mean([delay >= measures.CAP for one in found for delay in one]):.0%}; mean delay "
        f"{np.mean([delay for one in found for delay in one]):,.0f} trials",
    ),
    Mistake(
        "the leading figure, when the last 500 trials shift in .15 after .05", ".070", late_figure,
        lambda found: f"{np.mean(found):.3f} since the last change",
    ),
    Mistake(
        "nightly batch, 30 days", "30 changes, no cell has a baseline", nightly,
        lambda found: f"{np.mean([one[0] for one in found]):.1f} changes, "
        f"{np.mean([one[1] for one in found]):.1f} alerts, "
        f"{np.mean([one[2] for one in found]):.1f} of 4 cells without a baseline",
        logs=0.5,
    ),
    Mistake(
        "two prompt versions in turn: drift is off for good", "always", _unwatched,
        _share("a cell without a baseline"), logs=0.5,
    ),
    Mistake(
        "a judge wrong in 15 %, truth 0: an alarm in 10,000 exchanges",
        "in 20 of 20 logs, 11.8 points above noise",
        misjudged, _misjudged_words, logs=0.5,
    ),
    Mistake(
        "floor of .84, other questions answered in 40 %", 'no alert, "Steady"',
        lambda seed: measures.floor_delay(0, seed),
        lambda found: f"alert after {np.mean(found):,.0f} requests, within 200 in "
        f"{sum(one <= SOON for one in found)} of {len(found)} logs",
    ),
    Mistake(
        "robustness falls from .90 to .54 with a prompt version", '"no answers that got worse were seen"',
        fallen_robustness, _said,
    ),
    Mistake(
        "another model under the same name, answers different and not worse",
        '"answers got worse", critical', silently_replaced, _said,
    ),
    Mistake(
        "a judge 15 points stricter", '"provider changed silently", critical', stricter_judge, _said,
    ),
)  # fmt: skip
