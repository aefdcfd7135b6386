"""Causes that reports name for planted changes; a wrong cause must never be named alone.

Each planted change is a generated log of one route: 900 exchanges in which nothing happens, then 1,100 after
the change. Every exchange has a resend and two rewordings. The log is read once with reference prompts and a
judge's panel, and once without them.

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
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.verdict_log import Entry

RUNS: Final = 4  # logs of each change
BEFORE: Final = 900  # exchanges before the change
EXCHANGES: Final = 2_000  # exchanges of a log
# Exchanges between the edit of a prompt and a regression at the provider that follows it.
LATER: Final = 60
_MINUTE_S: Final = 60.0
_REWORDINGS: Final = ("general.casing", "general.spelling")
_NOISE: Final = 0.04  # probability that a resend moves the answer
_PANEL_PAIRS: Final = 60
_PANEL_NOISE: Final = 0.03  # probability that the judge rates a pair of the panel differently
_PANEL_EVERY: Final = 240  # exchanges between two rounds of the panel
_REFERENCE_EVERY: Final = 12  # exchanges between two calls about a reference
# Entries of the log between two looks at the reports.
_LOOK_EVERY: Final = 150
# Ratings of pairs whose answers are the same, and of pairs that differ.
_SAME: Final = 3
_DIFFERENT: Final = 2


@dataclass(frozen=True, slots=True)
class World:
    """State of model, prompt, traffic and judge at one moment."""

    moved: float = 0.12
    """Probability that a rewording moves the answer."""
    strictness: float = 0.0
    """Probability that the judge rates equal answers as different; negative: different answers as equal."""
    answers: int = 0
    """Number of the model behind the name; reference prompts reveal it."""
    model: str = "m-1"
    prompt: str = "v1"
    parameters: str = "temperature=0.2"
    judge: str = "judge-1"
    chars: int = 400
    task: str = "summary"


@dataclass(frozen=True, slots=True)
class PlantedChange:
    """Planted change and the causes that a report may name for it."""

    name: str
    truth: tuple[Cause, ...]
    after: World
    between: World | None = None
    """World of the first `LATER` exchanges after the change, if it comes in two steps."""
    before: World = World()

    def world(self, number: int) -> World:
        """Return the world of an exchange."""
        if number < BEFORE:
            return self.before
        if self.between is not None and number < BEFORE + LATER:
            return self.between
        return self.after


_WORSE: Final = 0.45  # share of answers that move after a regression
# The names also seed the logs.
CHANGES: Final = (
    PlantedChange("provider silently better", (Cause.PROVIDER,), World(0.05, answers=1), None, World(0.45)),
    PlantedChange("provider silently worse", (Cause.PROVIDER,), World(_WORSE, answers=1)),
    PlantedChange("harder traffic mix", (Cause.TRAFFIC,), World(_WORSE, chars=2_000, task="contract")),
    PlantedChange("harder questions that look alike", (Cause.TRAFFIC,), World(_WORSE)),
    PlantedChange("judge silently stricter", (Cause.JUDGE,), World(strictness=0.3)),
    PlantedChange("judge silently more lenient", (Cause.JUDGE,), World(0.45, -0.8), None, World(0.45)),
    PlantedChange("judge swapped by name", (Cause.JUDGE,), World(strictness=0.3, judge="judge-2")),
    PlantedChange("prompt edited", (Cause.PROMPT,), World(_WORSE, prompt="v2")),
    PlantedChange(
        "prompt edited, provider falls 60 exchanges later",
        (Cause.PROVIDER,),
        World(_WORSE, prompt="v2", answers=1),
        World(prompt="v2"),
    ),
    PlantedChange(
        "prompt edited and provider falls at once",
        (Cause.PROVIDER, Cause.PROMPT),
        World(_WORSE, prompt="v2", answers=1),
    ),
    PlantedChange(
        "parameters with an effect",
        (Cause.PARAMETERS,),
        World(_WORSE, parameters="temperature=1.2"),
    ),
    PlantedChange("another model by name", (Cause.MODEL,), World(_WORSE, model="m-2", answers=1)),
    PlantedChange(
        "provider falls, harmless model by name 60 later",
        (Cause.PROVIDER,),
        World(_WORSE, model="m-2", answers=1),
        World(_WORSE, answers=1),
    ),
    PlantedChange(
        "harmless model by name, provider falls 60 later",
        (Cause.PROVIDER,),
        World(_WORSE, model="m-2", answers=2),
        World(model="m-2", answers=1),
    ),
    PlantedChange(
        "judge silently stricter, harmless edit 60 later",
        (Cause.JUDGE,),
        World(strictness=0.3, prompt="v2"),
        World(strictness=0.3),
    ),
    PlantedChange(
        "harder questions that look alike, harmless edit 60 later",
        (Cause.TRAFFIC,),
        World(_WORSE, prompt="v2"),
        World(_WORSE),
    ),
)


def entries(change: PlantedChange, seed: int, *, asked: bool) -> Iterator[Entry]:
    """Yield the log of a planted change.

    Args:
        change: The change to plant.
        seed: Seed of the log.
        asked: Whether reference prompts and the judge's panel are asked again.
    """
    choice = random.Random(f"{change.name}/{seed}")
    for number in range(EXCHANGES):
        world = change.world(number)
        at = 1_800_000_000.0 + number * _MINUTE_S
        yield from _trials(world, number, at, choice)
        if asked and number % _REFERENCE_EVERY == 0:
            yield _reference(world, number, at, choice)
        if asked and number % _PANEL_EVERY == _PANEL_EVERY - 1:
            yield _panel(world, change.before, number, at, choice)


def _trials(world: World, number: int, at: float, choice: random.Random) -> Iterator[Verdict]:
    def draw_rating(moved: float) -> int:
        differs = choice.random() < moved
        if world.strictness >= 0:
            differs = differs or choice.random() < world.strictness
        else:
            differs = differs and choice.random() >= -world.strictness
        return _DIFFERENT if differs else _SAME

    control = draw_rating(_NOISE)
    chars = round(world.chars * choice.lognormvariate(0.0, 0.3))
    for perturbation in (BASELINE, *_REWORDINGS):
        rating = control if perturbation == BASELINE else draw_rating(world.moved)
        yield Verdict(
            id=f"v{number}-{perturbation}",
            exchange_id=f"e{number}",
            scored_at=at,
            route="chat",
            model=world.model,
            perturbation=perturbation,
            perturbation_version=1,
            severity=0.3,
            seed=number,
            scoring=Scoring("judge", rated_by="wording-1", judge_model=world.judge),
            rating=rating,
            similarity=round(choice.uniform(0.5, 1.0), 3),
            control=Control() if perturbation == BASELINE else Control(rating=control),
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
        f"r{number // _REFERENCE_EVERY % 24}",
        compared,
        below,
        1,
        0.4 if world.answers else 0.8,
        0.8,
    )


def _panel(world: World, first: World, number: int, at: float, choice: random.Random) -> PanelRated:
    """Return a round of the panel: half of its pairs differ, and 3 % of the ratings are wrong by chance."""
    # A judge of another name starts a panel of its own: nothing in it was rated by the first judge.
    shift = world.strictness - first.strictness if world.judge == first.judge else 0.0

    def draw_rating(usual: int, shift: float) -> int:
        rating = usual
        if choice.random() < _PANEL_NOISE:
            rating = _SAME + _DIFFERENT - rating
        movable = _SAME if shift > 0 else _DIFFERENT
        if rating == movable and choice.random() < abs(shift):
            rating = _SAME + _DIFFERENT - rating
        return rating

    pairs = []
    for usual in (_DIFFERENT, _SAME) * (_PANEL_PAIRS // 2):
        earlier = tuple(draw_rating(usual, 0.0) for _ in range(YARDSTICK))
        pairs.append(PairRated(earlier, draw_rating(usual, shift)))
    since = at - _PANEL_EVERY * _MINUTE_S
    return PanelRated(f"panel/{number}", at, "chat", f"{world.judge} wording-1", since, tuple(pairs))


@dataclass(frozen=True, slots=True)
class Result:
    """Causes named in one run."""

    last: str
    """Outcome at the end: "right", "among", "wrong" or "none"."""
    ever_wrong: bool
    """True if any report named a wrong cause alone at any look."""
    effects: tuple[str, ...]


def run(change: PlantedChange, seed: int, *, asked: bool) -> Result:
    """Fold the log of a planted change and read its reports as it grows."""
    state = MonitorState(MonitorSettings())
    ever_wrong = False
    for offset, entry in enumerate(entries(change, seed, asked=asked), 1):
        state.apply(logged(offset, entry))
        if offset % _LOOK_EVERY == 0 and "wrong" in _outcomes(_effective_reports(state), change):
            ever_wrong = True
    reports = _effective_reports(state)
    outcomes = _outcomes(reports, change)
    # The gravest outcome counts if there are several reports.
    last = "none"
    for outcome in ("among", "right", "wrong"):
        if outcome in outcomes:
            last = outcome
    return Result(last, ever_wrong, tuple(report.effect for report in reports))


def _effective_reports(state: MonitorState) -> list[ChangeReport]:
    """Return the reports which say that answers, or their ratings, changed."""
    reports = reports_of(state.change_records(), GoldenHistory({}, {}))
    return [report for report in reports if report.findings]


def _outcomes(reports: list[ChangeReport], change: PlantedChange) -> set[str]:
    """Return "right", "among" and "wrong", as far as the causes of the reports are."""
    outcomes = set()
    for report in reports:
        if report.cause in change.truth:
            outcomes.add("right")
        elif report.cause is Cause.UNCLEAR and set(change.truth) & set(report.among):
            outcomes.add("among")
        else:
            outcomes.add("wrong")
    return outcomes


def lines(first: int) -> Iterator[str]:
    """Yield the table of all planted changes; `first` is the seed of their first run."""
    yield "| case | asked again | right | cannot be told apart | wrong | none | ever wrong | effect |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    for change in CHANGES:
        for asked in (True, False):
            outcomes = Counter[str]()
            effects = Counter[str]()
            wrong = 0
            for seed in range(first, first + RUNS):
                result = run(change, seed, asked=asked)
                outcomes[result.last] += 1
                effects.update(result.effects)
                wrong += result.ever_wrong
            listed = ", ".join(f"{effect} {count}" for effect, count in effects.most_common())
            yield (
                f"| {change.name} | {'yes' if asked else 'no'} | {outcomes['right']} | {outcomes['among']} | "
                f"{outcomes['wrong']} | {outcomes['none']} | {wrong} | {listed} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run")
    for line in lines(parser.parse_args().seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
