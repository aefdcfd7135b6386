"""A judge that errs, and what labels and audits make of it: estimates, intervals and false alarms.

Run: python -m benchmarks.prediction_powered [--runs 20] [--trials 6000] [--streams 400]

First the mean: coverage and width of the prediction-powered interval, of the labels alone and of the judge
alone, on simulated judges and on LLMBar (../shared/data beside the repository; left out where absent), where
people's preferences are known and recorded judges' are predictions. Then the monitor itself, fold and alert:
resends mostly equal word by word, variants mostly not, nothing truly moves, and the judge errs on everything
it is asked. "corrected" has 5 % of the equal pairs audited, "labelled" a label on 2 % of the trials besides.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenkeel.core.verdict import BASELINE, DECIDED_BY, HEURISTIC_RATING, STAGES, Verdict
from evenkeel.monitor.estimate import bounded_mean
from evenkeel.monitor.estimate.prediction_powered import Sample, prediction_powered_mean
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.labels import Said, label_of
from evenkeel.stores.verdict_log import LoggedLabel, LoggedVerdict
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkeel.core.cells import CellReport

_EQUALITY: Final = float(STAGES.index("equality"))
_JUDGE: Final = float(STAGES.index("judge"))
_KIND: Final = "general.spelling"
_ROUTE: Final = "chat"
_SECOND: Final = 2
_ITEMS: Final = 4_000
_LOOKS: Final = (250, 500, 1_000, 2_000, _ITEMS)
_SET_UPS: Final = (("as rated", 0.0, 0.0), ("audited", 0.05, 0.0), ("labelled", 0.05, 0.02))


class Source(NamedTuple):
    """Items with what people say of each and what a judge does."""

    name: str
    said: NDArray[np.float64]
    judged: NDArray[np.float64]


def simulated(rate: float, error: float, rng: np.random.Generator) -> Source:
    """A judge that errs on the same share of both kinds."""
    said = (rng.random(_ITEMS) < rate).astype(float)
    judged = np.abs(said - (rng.random(_ITEMS) < error))
    return Source(f"simulated, {rate:.0%} shifted, {error:.0%} errors", said, judged)


def recorded() -> list[Source]:
    """LLMBar's recorded judges: whether people, and a judge, prefer the second answer."""
    found = []
    for name in ("ChatGPT_Vanilla", "GPT-4_Vanilla"):
        path = DATA / "llmbar" / "evaluators_Natural" / f"{name}.json.gz"
        if path.exists():
            rows = json.loads(gzip.decompress(path.read_bytes()))
            said = np.array([float(row["label"] == _SECOND) for row in rows])
            winners = [row["results"][0]["swap = False"]["winner"] for row in rows]
            judged = np.array([float(str(winner) == str(_SECOND)) for winner in winners])
            wrong = float(np.abs(said - judged).mean())
            found.append(Source(f"LLMBar, {name.partition('_')[0]}, {wrong:.0%} errors", said, judged))
    return found


def measured(source: Source, share: float, streams: int, rng: np.random.Generator) -> str:
    """A row: for each of the three the streams whose intervals held at every look, and the last width.

    A stream draws items with replacement, so the truth is the mean over all of them.
    """
    truth = float(source.said.mean())
    held: dict[str, list[bool]] = {"powered": [], "labels": [], "judge": []}
    widths: dict[str, list[float]] = {"powered": [], "labels": [], "judge": []}
    for _ in range(streams):
        items = rng.integers(len(source.said), size=_ITEMS)
        said, judged, drawn = source.said[items], source.judged[items], rng.random(_ITEMS) < share
        right = dict.fromkeys(held, True)
        for n in _LOOKS:
            samples = Counter(
                Sample(one, truly if known else None, share)
                for one, truly, known in zip(judged[:n].tolist(), said[:n].tolist(), drawn[:n], strict=True)
            )
            found = {
                "powered": prediction_powered_mean(samples),
                "labels": bounded_mean(Counter(said[:n][drawn[:n]].tolist())),
                "judge": bounded_mean(Counter(judged[:n].tolist())),
            }
            for name, one in found.items():
                if one is not None:
                    right[name] &= one.lower <= truth <= one.upper
                if n == _ITEMS:
                    widths[name].append(one.upper - one.lower if one else 1.0)
        for name, hit in right.items():
            held[name].append(hit)
    cells = " | ".join(f"{np.mean(held[name]):.3f}, {np.mean(widths[name]):.3f}" for name in held)
    return f"| {source.name} | {share * _ITEMS:.0f} | {cells} |"


def exchange(
    number: int, *, error: float, audit: float, label: float, rng: np.random.Generator
) -> list[Verdict]:
    """The resend and one trial of an exchange in which nothing truly moved."""
    found: list[Verdict] = []
    for kind, equal in ((BASELINE, 0.95), (_KIND, 0.02)):
        wrong = 2 if rng.random() < error else 3
        details, share = {DECIDED_BY: _JUDGE}, 0.0
        rating = wrong
        if rng.random() < equal:
            share = audit
            if rng.random() < audit:
                details[HEURISTIC_RATING] = 3.0
            else:
                details, rating = {DECIDED_BY: _EQUALITY}, 3
        control = found[0] if found else None
        found.append(
            Verdict(
                id=f"x{number}-{kind}",
                exchange_id=f"x{number}",
                scored_at=float(number),
                route=_ROUTE,
                model="m",
                perturbation=kind,
                perturbation_version=1,
                severity=0.0,
                seed=0,
                scorer="judge",
                rating=rating,
                baseline_rating=control.rating if control else None,
                baseline_proven=control.proven if control else None,
                details=details,
                audit_share=share,
                label_share=label,
            )
        )
    return found


class Outcome(NamedTuple):
    """One run."""

    alarms: int
    report: CellReport


def run(trials: int, *, error: float, audit: float, label: float, rng: np.random.Generator) -> Outcome:
    """Alarms of the perturbed cell, and its last report."""
    state, offset, alarms = MonitorState(MonitorSettings()), 0, 0
    for number in range(trials):
        for one in exchange(number, error=error, audit=audit, label=label, rng=rng):
            offset += 1
            events = state.apply(LoggedVerdict(offset, one)).events
            alarms += sum(event.kind == "raised" and event.what != "drift" for event in events)
            if one.drawn:
                offset += 1
                said = Said("ann", rating=3, drawn=True)
                state.apply(LoggedLabel(offset, label_of(one, said, at=one.scored_at)))
    (report,) = (one for one in state.reports() if one.key.perturbation == _KIND)
    return Outcome(alarms, report)


def monitored(name: str, runs: int, trials: int, *, error: float, audit: float, label: float) -> str:
    """A row: runs with an alarm, alarms per trials, and the last excess with its interval."""
    rng = np.random.default_rng(round(error * 100))
    found = [run(trials, error=error, audit=audit, label=label, rng=rng) for _ in range(runs)]
    excess = [one.report.excess for one in found]
    value = np.mean([one.value for one in excess if one])
    held = np.mean([one.lower <= 0 <= one.upper for one in excess if one])
    width = np.mean([one.upper - one.lower for one in excess if one])
    alarms = sum(one.alarms for one in found)
    hit = sum(one.alarms > 0 for one in found)
    return (
        f"| {error:.0%} | {name} | {hit} of {runs} | {alarms} in {runs * trials:,} trials |"
        f" {value * 100:+.1f} | {held:.2f} | {width:.3f} | {found[-1].report.corrected_by} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--trials", type=int, default=6_000)
    parser.add_argument("--streams", type=int, default=400)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(17)
    sources = [simulated(0.1, 0.05, rng), simulated(0.1, 0.15, rng), *recorded()]
    print("| predictions | labels | prediction-powered | labels alone | judge alone |\n|---|---|---|---|---|")
    for source in sources:
        for share in (0.02, 0.1):
            print(measured(source, share, options.streams, rng), flush=True)
    print("\n| judge's errors | set-up | runs with an alarm | alarms | mean | holds 0 | width | labels |")
    print("|---|---|---|---|---|---|---|---|")
    for error in (0.05, 0.15):
        for name, audit, label in _SET_UPS:
            found = monitored(name, options.runs, options.trials, error=error, audit=audit, label=label)
            print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
