"""Reference prompts alone: calls until a change is found, and false alarms without one.

Run from the root of the repository:
python -m benchmarks.detection.references [--seed 1] [--runs 20] [--years 200]
python -m benchmarks.detection.references --runs 10 --shares 1 0.3 0.1

Reads ../shared/data beside the repository; without it, counts only false alarms and says so. The changes are
recorded: LLMDrift's upgrades of two models under one name, with planted noise because each question has one
answer; GPT-4o's answers under other instructions, with its real noise at temperature 0; and answers to the
same intents in 30 wordings and temperatures, treated as reruns, which is more noise than a temperature of 0.7
makes. False alarms are counted over simulated years of the default calls, in which answers are drawn anew and
ranked as in production.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import chi2

from benchmarks.kit import ResultTable
from evenkeel.core.pair import Answer
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.lab.recorded.answers import RecordedAnswers
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.monitor.detect.references import (
    BETS,
    FALSE_ALARMS_PER_YEAR,
    RANKS_SHARE,
    ReferenceTest,
    alarm_level,
)
from evenkeel.settings.replay import References
from evenkeel.shadow.references.keeper import A_SET
from evenkeel.shadow.references.pace import BURST_CALLS, BURSTS_A_DAY, DAY_S
from evenkeel.shadow.references.pooling import EVERY, pooled
from evenkeel.shadow.references.ranking import ranked
from evenkeel.stores.references import FULL, RIPE, KeptAnswer, Reference
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenkeel.stores.references import Source

USUAL: Final = References()
LEVEL: Final = alarm_level(USUAL.calls_per_day, BURST_CALLS, FALSE_ALARMS_PER_YEAR)
# Calls after a change until it counts as not found.
MOST: Final = 400
_SOON_H: Final = 2.0  # the hours of changes found later are not averaged
# The hours of only the first few recorded changes are measured: few answers of the others differ from noise.
_PLAIN: Final = 5
PLANTED: Final = 0.3
"""Share of a question's answers that are altered if only one was recorded."""
_SAME: Final = 1e-9  # sums that differ by less are ties
# Number of p-values that are tested for being uniform.
_TESTED: Final = 100_000
# Shares of resends that are worded differently: none, a usual one, and GPT-4o's.
NOISE: Final = (0.0, 0.3, 0.84)
# Sources of the first answers of a reference; all later ones were asked for.
_FIRST_SOURCES: Final[tuple[Source, ...]] = ("original", "resend")

SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - stops of other scripts

_cached_likeness = cache(likeness)


def altered(text: str, other: str, rng: random.Random) -> str:
    """Return a text with a sentence left out, two neighbours exchanged, or a sentence of another text put in.

    The only sentence of a text is always replaced by one of the other text.
    """
    sentences = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        sentences.append(text[start : match.end()])
        start = match.end()
    sentences.append(text[start:])
    theirs = [sentence for sentence in SENTENCE_END.split(other) if sentence.strip()]
    place = rng.randrange(len(sentences))
    kind = rng.choice(("left out", "exchanged", "taken")) if len(sentences) > 1 else "taken"
    if kind == "left out":
        del sentences[place]
    elif kind == "exchanged":
        place = min(place, len(sentences) - 2)
        first, second = sentences[place : place + 2]
        sentences[place] = second.rstrip() + _trailing_space(first)
        sentences[place + 1] = first.rstrip() + _trailing_space(second)
    elif theirs:
        sentences[place] = rng.choice(theirs) + _trailing_space(sentences[place])
    return "".join(sentences)


def _trailing_space(sentence: str) -> str:
    return sentence[len(sentence.rstrip()) :]


def _alike(first: str, second: str) -> float:
    """Return the likeness of two texts; each pair of texts is compared once."""
    if first == second:
        return 1.0
    return _cached_likeness(min(first, second), max(first, second))


class Reruns:
    """Answers to one prompt: several are drawn without replacement; a single one is altered at random."""

    def __init__(self, samples: Sequence[str], others: Sequence[str], rng: random.Random) -> None:
        self._samples = rng.sample(samples, len(samples))
        self._others = others
        self._rng = rng
        self._next = 0

    def draw(self) -> str:
        """Return the next answer."""
        rng = self._rng
        if len(self._samples) == 1:
            sample = self._samples[0]
            if rng.random() < PLANTED:
                return altered(sample, rng.choice(self._others), rng)
            return sample
        if self._next == len(self._samples):
            rng.shuffle(self._samples)
            self._next = 0
        self._next += 1
        return self._samples[self._next - 1]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A recorded change: the answers to each prompt before and after it."""

    name: str
    prompts: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    others: tuple[tuple[str, ...], tuple[str, ...]]
    """Answers before and after the change from which planted noise takes sentences."""
    questions: tuple[str, ...] = ()
    """Text of each prompt, if it is known."""

    @property
    def noise(self) -> float:
        """Mean unlikeness of two recorded answers before the change; 0 if each prompt has only one."""
        likenesses = []
        for before, _ in self.prompts:
            if len(before) > 1:
                likenesses.append(_alike(before[0], before[1]))
        return 1 - statistics.fmean(likenesses) if likenesses else 0.0


class ReferenceRoute:
    """A route whose reference prompts are asked after a recorded change."""

    def __init__(self, upgrade: Upgrade, first: int, rng: random.Random) -> None:
        """Choose references and fill them.

        Args:
            upgrade: The recorded change.
            first: Answers from before the change that each reference has.
            rng: Chooses references and answers.
        """
        chosen = rng.sample(upgrade.prompts, min(A_SET, len(upgrade.prompts)))
        self._old = [Reruns(before, upgrade.others[0], rng) for before, _ in chosen]
        self._new = [Reruns(after, upgrade.others[1], rng) for _, after in chosen]
        self._rng = rng
        self._references: list[Reference] = []
        for place, reruns in enumerate(self._old):
            answers = []
            for number in range(first):
                source = _FIRST_SOURCES[number] if number < len(_FIRST_SOURCES) else "asked"
                answers.append(KeptAnswer(Answer(reruns.draw()), 1e3 * number + place, "m", source))
            reference = Reference(
                id=f"{place:03}", route="r", requested_model="m", prompt_version="p", path="", request="",
                taken_at=0.0, answers=tuple(answers),
            )  # fmt: skip
            self._references.append(reference)
        self.test = ReferenceTest(LEVEL)
        self.calls = 0

    def ask(self, *, changed: bool) -> bool:
        """Ask the next reference of the old or the changed model; return True if this finds the change."""
        place = self.calls % len(self._references)
        answer = Answer((self._new if changed else self._old)[place].draw())
        reference = self._references[place]
        ranking = ranked([kept.answer for kept in reference.answers], answer, alike=_alike)
        noted = ReferenceAnswered(
            f"reference/{self._rng.random()}", float(self.calls), "r", "m", "m", f"{place}",
            *ranking[:5],
        )  # fmt: skip
        self._references[place] = reference.answered(KeptAnswer(answer, 1e6 + self.calls, "m", "asked"))
        self.calls += 1
        if self.calls % EVERY == 0:
            noted = replace(noted, pooled=pooled(self._references, LEVEL, _alike))
        return self.test.add(noted) is not None


def calls_until_found(upgrade: Upgrade, first: int, rng: random.Random) -> int:
    """Return the calls after a change until it is found; `MOST` + 1 if it is not."""
    route = ReferenceRoute(upgrade, first, rng)
    while route.calls < MOST:
        if route.ask(changed=True):
            return route.calls
    return MOST + 1


def hours_until_found(upgrade: Upgrade, share: float, rng: random.Random) -> tuple[float | None, int]:
    """Return the hours from a change until it is found, None after a day, and the calls made by then.

    Calls come at the pace of the default settings; once the evidence hints at a change, 60 come at once.

    Args:
        upgrade: Recorded change.
        share: Share of the answers that the new model gives.
        rng: Chooses references and answers.
    """
    route = ReferenceRoute(upgrade, FULL, rng)
    pause_s = DAY_S / USUAL.calls_per_day
    at_s = rng.random() * pause_s
    burst_left = 0
    bursts: set[float] = set()
    while at_s < DAY_S:
        if route.ask(changed=rng.random() < share):
            return at_s / 3_600, route.calls
        hint = route.test.suspected_since
        if hint is not None and hint not in bursts and len(bursts) < BURSTS_A_DAY:
            bursts.add(hint)
            burst_left = BURST_CALLS
        if burst_left:
            burst_left -= 1
        else:
            at_s += pause_s
    return None, route.calls


def hours_table(runs: int, seed: int, shares: Sequence[float]) -> ResultTable:
    """Return how soon each recorded change is found at default settings, by share of the answers."""
    rows: list[tuple[str | float | None, ...]] = []
    for upgrade in islice(upgrades(), _PLAIN):
        for share in shares:
            soon = []
            calls_in_a_day = []
            for run in range(runs):
                rng = random.Random(f"{seed} {share} {run}")
                hours, calls = hours_until_found(upgrade, share, rng)
                if hours is not None:
                    calls_in_a_day.append(calls)
                if hours is not None and hours <= _SOON_H:
                    soon.append(hours)
            rows.append(
                (
                    upgrade.name,
                    share,
                    len(soon) / runs,
                    len(calls_in_a_day) / runs,
                    statistics.median(soon) if soon else None,
                    statistics.median(calls_in_a_day) if calls_in_a_day else None,
                )
            )
    return ResultTable(
        "references-hours",
        ("change", "share", "found in 2 h", "found in 24 h", "hours of those in 2 h", "calls, median"),
        tuple(rows),
        notes=(f"{USUAL.calls_per_day} calls a day, {BURST_CALLS} at once on a hint; {runs} runs.",),
    )


def upgrades() -> Iterator[Upgrade]:
    """Yield the recorded changes."""
    drift = RecordedAnswers.load(DATA / "llm_drift")
    for before, after in (("gpt-4-0314", "gpt-4-0613"), ("gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613")):
        yield _upgrade(f"{before} → {after.rpartition('-')[2]}, five tasks", drift, before, after)
    stability = DATA / "llm_stability"
    conditions = RecordedAnswers.load(
        stability / "gpt4o_math_10_prompt_conditions.jsonl.gz", version_from="condition"
    )
    for before, after in (
        ("0", "grice"), ("schema", "str_chomsky"), ("0", "answ_schema"), ("grice", "gricean_long"),
        ("no_ling", "chomsky"), ("no_grice", "no_ling"),
    ):  # fmt: skip
        yield _upgrade(f"GPT-4o, instructions {before} → {after}", conditions, before, after, 2)
    yield from _wordings()


def _upgrade(name: str, recorded: RecordedAnswers, before: str, after: str, needed: int = 1) -> Upgrade:
    pairs = []
    questions = []
    all_before: list[str] = []
    all_after: list[str] = []
    for place, prompt in enumerate(recorded.prompts):
        old = tuple(_texts(recorded, place, before))
        new = tuple(_texts(recorded, place, after))
        if len(old) >= needed and len(new) >= needed:
            pairs.append((old, new))
            questions.append(prompt.text)
            all_before += old
            all_after += new
    return Upgrade(name, tuple(pairs), (tuple(all_before), tuple(all_after)), tuple(questions))


def _texts(recorded: RecordedAnswers, place: int, version: str) -> list[str]:
    return [sample.text for sample in recorded.samples(place, version)]


def _wordings() -> Iterator[Upgrade]:
    """Yield changes whose intents have 15 wordings at two temperatures, as if these were reruns."""
    recorded = RecordedAnswers.load(DATA / "pbss")
    by_intent: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for place, prompt in enumerate(recorded.prompts):
        for version in recorded.versions:
            by_intent[prompt.task or prompt.text][version] += _texts(recorded, place, version)
    gpt, mistral, openchat = recorded.versions
    for before, after in ((gpt, openchat), (gpt, mistral), (openchat, mistral)):
        pairs = []
        for answers in by_intent.values():
            pairs.append((tuple(answers[before]), tuple(answers[after])))
        name = f"{_short_name(before)} → {_short_name(after)}, wordings as reruns"
        yield Upgrade(name, tuple(pairs), ((), ()))


def _short_name(version: str) -> str:
    return version.partition("_")[0].removesuffix("ai")


def found_table(runs: int, seed: int) -> ResultTable:
    """Return the calls until each change is found, with two first answers and with four."""
    rows = []
    for upgrade in upgrades():
        cells: list[str | float | None] = [upgrade.name, upgrade.noise]
        for first in (2, 4):
            calls = []
            for run in range(runs):
                calls.append(calls_until_found(upgrade, first, random.Random(f"{seed} {run}")))
            calls.sort()
            slowest = calls[max(0, round(0.9 * runs) - 1)]
            cells += [statistics.median(calls), slowest if slowest <= MOST else None]
            cells.append(sum(number <= MOST for number in calls) / runs)
        rows.append(tuple(cells))
    return ResultTable(
        "references-found",
        (
            "change", "1 − likeness of reruns", "calls, two answers", "in 9 of 10", "found",
            "calls, four answers", "in 9 of 10 ", "found ",
        ),
        tuple(rows),
        notes=(f"{A_SET} references; medians of {runs} runs; evidence {LEVEL:,.0f}; at most {MOST} calls.",),
    )  # fmt: skip


def _weights(noise: float, answers: int) -> NDArray[np.float64]:
    """Return probabilities of some answers, so that two draws differ in this share of all pairs."""
    # One answer has probability a, the others share the rest: 1 − a² − (1 − a)²/(k − 1) = noise.
    most = 1 - 1 / answers
    spread = float(np.sqrt(max(0.0, 1 - min(noise, most) / most)))
    first = 1 / answers + most * spread
    return np.array([first] + [(1 - first) / (answers - 1)] * (answers - 1))


class Years:
    """Many routes at once on which nothing changes: answers are drawn at random and ranked by likeness."""

    def __init__(self, noise: float, routes: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        wordings = len(_WORDINGS)
        self._alike = np.empty((wordings, wordings))
        for row, first in enumerate(_WORDINGS):
            for column, second in enumerate(_WORDINGS):
                self._alike[row, column] = _alike(first, second)
        self._chances = np.cumsum(_weights(noise, wordings))
        # Number of answers of each wording that each reference of each route has.
        self._bags = np.zeros((A_SET, routes, wordings), dtype=np.int64)
        self._routes = routes
        self._wealth = np.zeros((len(BETS), routes))
        self.alarms = 0
        self.p_values: list[NDArray[np.float64]] = []

    def _draw(self) -> NDArray[np.int64]:
        """Draw the wording of each route's next answer."""
        uniform = self._rng.random(self._routes) * self._chances[-1]
        return np.searchsorted(self._chances, uniform).astype(np.int64)

    def ask(self, place: int) -> None:
        """Ask every route about a reference; with 16 answers it starts again from two new ones."""
        bags = self._bags[place]
        every = np.arange(self._routes)
        if not bags[0].sum() or bags[0].sum() >= RIPE:
            bags[:] = 0
            for _ in range(2):
                bags[every, self._draw()] += 1
        new = self._draw()
        bags[every, new] += 1
        count = int(bags[0].sum())
        sums = bags @ self._alike - np.diag(self._alike)
        mine = sums[every, new][:, None]
        below = (bags * (sums < mine - _SAME)).sum(axis=1)
        ties = (bags * (np.abs(sums - mine) <= _SAME)).sum(axis=1)
        lots = self._rng.random(self._routes)
        rank = below + 1 + (lots * ties).astype(np.int64)
        self.p_values.append((below + (1 - lots) * ties) / count)
        k = np.array(BETS)[:, None]
        bets = count * ((rank / count) ** k - ((rank - 1) / count) ** k)
        self._wealth = (self._wealth + 1 / len(BETS)) * bets
        alarmed = self._wealth.sum(axis=0) >= LEVEL / RANKS_SHARE
        self.alarms += int(alarmed.sum())
        self._wealth[:, alarmed] = 0.0


def alarms_table(years: int, days: int, seed: int) -> ResultTable:
    """Return the false alarms a year and a test of uniform ranks, for each share of noise."""
    calls = days * USUAL.calls_per_day
    rows = []
    for noise in NOISE:
        simulated = Years(noise, years, seed)
        for number in range(calls):
            simulated.ask(number % A_SET)
            if len(simulated.p_values) * years > _TESTED:
                simulated.p_values.pop(0)
        first = np.concatenate(simulated.p_values)[:_TESTED]
        counts, _ = np.histogram(first, bins=20, range=(0.0, 1.0))
        expected = len(first) / 20
        uniform = float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 19))
        rows.append((noise, simulated.alarms, 365 * simulated.alarms / (years * days), uniform))
    return ResultTable(
        "references-alarms",
        ("resends worded otherwise", f"alarms in {years} routes", "a year", "p of uniform ranks"),
        tuple(rows),
        digits=3,
        notes=(
            f"At most {FALSE_ALARMS_PER_YEAR:g} a year are stated.",
            f"{calls:,} calls each; the last {_TESTED:,} p-values.",
        ),
    )


_WORDINGS: Final = (
    "It takes four days.", "Four days.", "Delivery takes four working days.", "About four days, usually.",
    "You will have it in four days.", "Four days, or five at Christmas!",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20, help="runs of each change")
    parser.add_argument("--years", type=int, default=200, help="routes without a change, for a year each")
    parser.add_argument("--days", type=int, default=365, help="days of a year")
    parser.add_argument("--shares", type=float, nargs="*", default=[], help="only hours, by share of answers")
    options = parser.parse_args()
    if options.shares:
        _print(hours_table(options.runs, options.seed, options.shares))
        return
    if options.runs and not DATA.is_dir():
        print("no data beside the repository (../shared/data): false alarms only", file=sys.stderr)
    _print(alarms_table(options.years, options.days, options.seed))
    if options.runs and DATA.is_dir():
        _print(found_table(options.runs, options.seed))


def _print(table: ResultTable) -> None:
    print(f"## {table.name}\n\n{table.markdown()}", flush=True)


if __name__ == "__main__":
    main()
