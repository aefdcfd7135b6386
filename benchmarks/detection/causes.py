"""Causes named for planted changes: never a wrong one alone.

Each case is a generated log of one route: 900 exchanges in which nothing happens, then 1,100 after a change.
Of each exchange there are a resend and two rewordings. The same log is read with reference prompts and a
judge's panel beside the traffic, and without them.

    python -m benchmarks.detection.causes [--seed 0]
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.panel import YARDSTICK, PairRated, PanelRated
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.core.verdict import BASELINE, Control, Origin, Scoring, Verdict
from evenkeel.monitor.changes import Cause
from evenkeel.monitor.changes.goldens import GoldenHistory
from evenkeel.monitor.changes.report import reports_of
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.verdict_log import Entry

RUNS: Final = 4
BEFORE: Final = 900
EXCHANGES: Final = 2_000
LATER: Final = 60
"""Exchanges between an edit and a provider's fall that follows it."""
_MINUTE_S: Final = 60.0
_REWORDINGS: Final = ("general.casing", "general.spelling")
_NOISE: Final = 0.04
_PANEL_PAIRS: Final = 60
_PANEL_NOISE: Final = 0.03
_PANEL_EVERY: Final = 240
_REFERENCE_EVERY: Final = 12
_SETTINGS: Final = MonitorSettings(min_trials=30)


@dataclass(frozen=True, slots=True)
class World:
    """What answers, asks and rates at one moment."""

    moved: float = 0.12
    """Probability that a rewording moves the answer."""
    strictness: float = 0.0
    """Probability that the judge calls two equal answers different; negative: two different ones equal."""
    answers: int = 0
    """Number of the model behind the name: reference prompts see it."""
    model: str = "m-1"
    prompt: str = "v1"
    parameters: str = "temperature=0.2"
    judge: str = "judge-1"
    chars: int = 400
    task: str = "summary"


@dataclass(frozen=True, slots=True)
class Case:
    """Planted change and what a report may call its cause."""

    name: str
    truth: frozenset[Cause]
    after: World
    between: World | None = None
    """World of the first `LATER` exchanges after the change, where the change comes in two steps."""
    before: World = World()

    def world(self, number: int) -> World:
        """Return the world of an exchange."""
        if number < BEFORE:
            return self.before
        if self.between is not None and number < BEFORE + LATER:
            return self.between
        return self.after


_WORSE: Final = 0.45
CASES: Final = (
    Case("provider silently better", frozenset({Cause.PROVIDER}), World(0.05, answers=1), None, World(0.45)),
    Case("provider silently worse", frozenset({Cause.PROVIDER}), World(_WORSE, answers=1)),
    Case("harder traffic mix", frozenset({Cause.TRAFFIC}), World(_WORSE, chars=2_000, task="contract")),
    Case("harder questions that look alike", frozenset({Cause.TRAFFIC}), World(_WORSE)),
    Case("judge silently stricter", frozenset({Cause.JUDGE}), World(strictness=0.3)),
    Case("judge silently more lenient", frozenset({Cause.JUDGE}), World(0.45, -0.8), None, World(0.45)),
    Case("judge swapped by name", frozenset({Cause.JUDGE}), World(strictness=0.3, judge="judge-2")),
    Case("prompt edited", frozenset({Cause.PROMPT}), World(_WORSE, prompt="v2")),
    Case(
        "prompt edited, provider falls 60 exchanges later",
        frozenset({Cause.PROVIDER}),
        World(_WORSE, prompt="v2", answers=1),
        World(prompt="v2"),
    ),
    Case(
        "prompt edited and provider falls at once",
        frozenset({Cause.PROVIDER, Cause.PROMPT}),
        World(_WORSE, prompt="v2", answers=1),
    ),
    Case(
        "parameters with an effect",
        frozenset({Cause.PARAMETERS}),
        World(_WORSE, parameters="temperature=1.2"),
    ),
    Case("another model by name", frozenset({Cause.MODEL}), World(_WORSE, model="m-2", answers=1)),
)


def entries(case: Case, seed: int, *, asked: bool) -> Iterator[Entry]:
    """Yield the log of a case.

    Args:
        case: What happens.
        seed: Seed of the log.
        asked: Whether reference prompts and the judge's panel are asked again.
    """
    choice = random.Random(f"{case.name}/{seed}")
    for number in range(EXCHANGES):
        world, at = case.world(number), 1_800_000_000.0 + number * _MINUTE_S
        yield from _trials(world, number, at, choice)
        if asked and number % _REFERENCE_EVERY == 0:
            yield _reference(world, number, at, choice)
        if asked and number % _PANEL_EVERY == _PANEL_EVERY - 1:
            yield _panel(world, case.before, number, at, choice)


def _trials(world: World, number: int, at: float, choice: random.Random) -> Iterator[Verdict]:
    def rated(moved: float) -> int:
        differs = choice.random() < moved
        if world.strictness >= 0:
            differs = differs or choice.random() < world.strictness
        else:
            differs = differs and choice.random() >= -world.strictness
        return 2 if differs else 3

    control = rated(_NOISE)
    chars = round(world.chars * choice.lognormvariate(0.0, 0.3))
    for kind in (BASELINE, *_REWORDINGS):
        rating = control if kind == BASELINE else rated(world.moved)
        yield Verdict(
            id=f"v{number}-{kind}",
            exchange_id=f"e{number}",
            scored_at=at,
            route="chat",
            model=world.model,
            perturbation=kind,
            perturbation_version=1,
            severity=0.3,
            seed=number,
            scoring=Scoring("judge", rated_by="wording-1", judge_model=world.judge),
            rating=rating,
            similarity=round(choice.uniform(0.5, 1.0), 3),
            control=Control() if kind == BASELINE else Control(rating=control),
            origin=Origin(
                task=world.task,
                prompt_version=world.prompt,
                requested_model="m",
                parameters=world.parameters,
                prompt_chars=chars,
                prompt_language="en",
            ),
        )


def _reference(world: World, number: int, at: float, choice: random.Random) -> ReferenceAnswered:
    compared = 6
    below = choice.randrange(2) if world.answers else choice.randrange(compared)
    return ReferenceAnswered(
        f"reference/{number}",
        at,
        "chat",
        world.model,
        "m",
        world.prompt,
        f"r{number // _REFERENCE_EVERY % 24}",
        "round",
        compared,
        below,
        1,
        0.4 if world.answers else 0.8,
        0.8,
    )


def _panel(world: World, first: World, number: int, at: float, choice: random.Random) -> PanelRated:
    """Return a round of the panel: half of its pairs differ, and 3 % of ratings are others by chance."""
    shift = world.strictness - first.strictness if world.judge == first.judge else 0.0

    def rated(usual: int, shift: float) -> int:
        if choice.random() < _PANEL_NOISE:
            usual = 5 - usual
        moves = usual == 3 if shift > 0 else usual == 2  # noqa: PLR2004 - an equal pair, a different one
        return 5 - usual if moves and choice.random() < abs(shift) else usual

    pairs = []
    for usual in (2, 3) * (_PANEL_PAIRS // 2):
        earlier = tuple(rated(usual, 0.0) for _ in range(YARDSTICK))
        pairs.append(PairRated(earlier, rated(usual, shift)))
    since = at - _PANEL_EVERY * _MINUTE_S
    return PanelRated(f"panel/{number}", at, "chat", f"{world.judge} wording-1", since, tuple(pairs))


@dataclass(frozen=True, slots=True)
class Result:
    """Causes named in one run."""

    last: str
    """Outcome at the end: "right", "among", "wrong" or "none"."""
    ever_wrong: bool
    """True if any report called a wrong cause alone at any time, looking every 50 exchanges."""
    named: tuple[str, ...]
    """Causes named at the end, "prompt" or "prompt|provider"."""
    effects: tuple[str, ...]


def run(case: Case, seed: int, *, asked: bool) -> Result:
    """Fold the log of a case and read its reports as it grows."""
    state = MonitorState(_SETTINGS)
    ever_wrong, found = False, ()
    for offset, entry in enumerate(entries(case, seed, asked=asked), 1):
        state.apply(logged(offset, entry))
        if offset % 150 == 0:
            found = _told(state)
            ever_wrong = ever_wrong or any(_judged(report, case) == "wrong" for report in found)
    found = _told(state)
    outcomes = [_judged(report, case) for report in found]
    last = next((one for one in ("wrong", "right", "among") if one in outcomes), "none")
    named = tuple("|".join(report.among) for report in found)
    return Result(last, ever_wrong, named, tuple(report.effect for report in found))


def _told(state: MonitorState) -> tuple[ChangeReport, ...]:
    """Return the reports that say that answers, or their ratings, changed."""
    reports = reports_of(state.change_records(), GoldenHistory({}, {}))
    return tuple(report for report in reports if report.findings)


def _judged(report: ChangeReport, case: Case) -> str:
    if report.cause in case.truth:
        return "right"
    if report.cause is Cause.UNCLEAR:
        return "among" if case.truth & set(report.among) else "wrong"
    return "wrong"


def lines(first: int) -> Iterator[str]:
    """Yield the table of all cases; `first` is the seed of their first run."""
    yield "| case | asked again | right | cannot be told apart | wrong | none | ever wrong | effect |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    for case in CASES:
        for asked in (True, False):
            results = [run(case, seed, asked=asked) for seed in range(first, first + RUNS)]
            counted = Counter(result.last for result in results)
            wrong = sum(result.ever_wrong for result in results)
            effects = Counter(effect for result in results for effect in result.effects)
            said = ", ".join(f"{effect} {count}" for effect, count in effects.most_common())
            yield (
                f"| {case.name} | {'yes' if asked else 'no'} | {counted['right']} | {counted['among']} | "
                f"{counted['wrong']} | {counted['none']} | {wrong} | {said} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run")
    for line in lines(parser.parse_args().seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
