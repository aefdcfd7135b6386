"""Reference prompts alone: calls until a change is found, and false alarms while there is none.

Run from the root of the repository:
python -m benchmarks.detection.references [--seed 1] [--runs 20] [--years 200]
python -m benchmarks.detection.references --runs 10 --shares 1 0.3 0.1

Reads ../shared/data beside the repository; says so and counts only false alarms where it is absent. The
changes are recorded: LLMDrift's upgrades of two models under one name, with noise planted where there is one
answer a question; GPT-4o's answers under other instructions, with its real noise at temperature 0; and
answers to the same intents in 30 wordings and temperatures, taken for reruns, which is more noise than a
temperature of 0.7 makes. False alarms are counted over simulated years of the default calls, in which answers
are drawn anew and ranked as in production.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import chi2

from benchmarks.kit import DOCS, Table
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenkeel.stores.references import Source

DATA: Final = DOCS.parents[1] / "shared" / "data"
USUAL: Final = References()
LEVEL: Final = alarm_level(USUAL.calls_per_day, BURST_CALLS, FALSE_ALARMS_PER_YEAR)
MOST: Final = 400
"""Calls after a change until it counts as not found."""
_SOON_H: Final = 2.0
_PLAIN: Final = 5
"""First of the recorded changes whose hours are measured: the others are told from noise by few answers."""
PLANTED: Final = 0.3
"""Share of the answers that are altered where one was recorded."""
_SAME: Final = 1e-9
_TESTED: Final = 100_000
"""P-values that are tested for being uniform."""
NOISE: Final = (0.0, 0.3, 0.84)
"""Shares of resends that are worded otherwise: none, a usual one, and GPT-4o's."""

SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - stops of other scripts

_known: dict[tuple[str, str], float] = {}


def altered(text: str, other: str, rng: random.Random) -> str:
    """A text with one sentence left out, two neighbours exchanged, or one taken from another text.

    A text of one sentence is exchanged for one of the other text.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    sentences = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    theirs = [sentence for sentence in SENTENCE_END.split(other) if sentence.strip()]
    place = rng.randrange(len(sentences))
    kind = rng.choice(("left out", "exchanged", "taken")) if len(sentences) > 1 else "taken"
    if kind == "left out":
        del sentences[place]
    elif kind == "exchanged":
        place = min(place, len(sentences) - 2)
        first, second = sentences[place : place + 2]
        space, other_space = (sentence[len(sentence.rstrip()) :] for sentence in (first, second))
        sentences[place : place + 2] = [second.rstrip() + space, first.rstrip() + other_space]
    elif theirs:
        kept = sentences[place]
        sentences[place] = rng.choice(theirs) + kept[len(kept.rstrip()) :]
    return "".join(sentences)


def _alike(one: str, other: str) -> float:
    if one == other:
        return 1.0
    key = (one, other) if one < other else (other, one)
    found = _known.get(key)
    if found is None:
        found = _known[key] = likeness(*key)
    return found


class Reruns:
    """Answers to one prompt, drawn without return as far as there are several; a single one is altered."""

    def __init__(self, samples: Sequence[str], others: Sequence[str], rng: random.Random) -> None:
        self._samples = rng.sample(samples, len(samples))
        self._others = others
        self._rng = rng
        self._next = 0

    def draw(self) -> str:
        """One more answer."""
        rng = self._rng
        if len(self._samples) == 1:
            given = self._samples[0]
            return altered(given, rng.choice(self._others), rng) if rng.random() < PLANTED else given
        if self._next == len(self._samples):
            rng.shuffle(self._samples)
            self._next = 0
        self._next += 1
        return self._samples[self._next - 1]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A recorded change: by prompt the answers of before and after."""

    name: str
    prompts: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    others: tuple[tuple[str, ...], tuple[str, ...]]
    """Answers of before and of after that planted noise takes sentences from."""
    questions: tuple[str, ...] = ()
    """Text of each prompt, where it is known."""

    @property
    def noise(self) -> float:
        """How unlike two recorded answers of before are, on average; 0 where there is one each."""
        several = [before for before, _ in self.prompts if len(before) > 1]
        return 1 - statistics.fmean(_alike(*one[:2]) for one in several) if several else 0.0


def calls_until_found(upgrade: Upgrade, first: int, rng: random.Random) -> int | None:
    """Calls after a change until it is found; None if that takes more than 400.

    Args:
        upgrade: what changes.
        first: answers of before that each reference has.
        rng: chooses references and answers.
    """
    chosen = rng.sample(upgrade.prompts, min(A_SET, len(upgrade.prompts)))
    old = [Reruns(before, upgrade.others[0], rng) for before, _ in chosen]
    new = [Reruns(after, upgrade.others[1], rng) for _, after in chosen]
    kept = _first_answers(old, first)
    test = ReferenceTest(LEVEL)
    for number in range(MOST):
        place = number % len(chosen)
        answer = Answer(new[place].draw())
        noted = _answered(number, place, [one.answer for one in kept[place].answers], answer, rng)
        kept[place] = kept[place].answered(KeptAnswer(answer, 1e6 + number, "m", "asked"))
        if (number + 1) % EVERY == 0:
            noted = replace(noted, pooled=pooled(kept, LEVEL, _alike))
        if test.add(noted) is not None:
            return number + 1
    return None


def _first_answers(old: Sequence[Reruns], count: int) -> list[Reference]:
    """Return references with so many answers each of before the change."""
    kept = []
    for place, reruns in enumerate(old):
        kept.append(_reference(place, [Answer(reruns.draw()) for _ in range(count)]))
    return kept


def hours_until_found(upgrade: Upgrade, share: float, rng: random.Random) -> tuple[float | None, int]:
    """Return the hours from a change until it is found, None after a day, and the calls that took.

    Calls come at the pace of the default settings; once the evidence hints at a change, 60 come at once.

    Args:
        upgrade: Recorded change.
        share: Share of the answers that the new model gives.
        rng: Chooses references and answers.
    """
    chosen = rng.sample(upgrade.prompts, min(A_SET, len(upgrade.prompts)))
    old = [Reruns(before, upgrade.others[0], rng) for before, _ in chosen]
    new = [Reruns(after, upgrade.others[1], rng) for _, after in chosen]
    kept = _first_answers(old, FULL)
    test = ReferenceTest(LEVEL)
    pause_s = DAY_S / USUAL.calls_per_day
    at_s, burst_left, bursts = rng.random() * pause_s, 0, set[float]()
    number = 0
    while at_s < DAY_S:
        place = number % len(chosen)
        answer = Answer((new if rng.random() < share else old)[place].draw())
        noted = _answered(number, place, [kept.answer for kept in kept[place].answers], answer, rng)
        kept[place] = kept[place].answered(KeptAnswer(answer, 1e6 + number, "m", "asked"))
        number += 1
        if number % EVERY == 0:
            noted = replace(noted, pooled=pooled(kept, LEVEL, _alike))
        if test.add(noted) is not None:
            return at_s / 3_600, number
        hint = test.suspected_since
        if hint is not None and hint not in bursts and len(bursts) < BURSTS_A_DAY:
            bursts.add(hint)
            burst_left = BURST_CALLS
        at_s += 0.0 if burst_left else pause_s
        burst_left = max(0, burst_left - 1)
    return None, number


def hours_table(runs: int, seed: int, shares: Sequence[float]) -> Table:
    """Return how soon each recorded change is found at default settings, by share of the answers."""
    rows: list[tuple[str | float | None, ...]] = []
    for upgrade in islice(upgrades(), _PLAIN):
        for share in shares:
            trials = []
            for run in range(runs):
                rng = random.Random(f"{seed} {share} {run}")
                trials.append(hours_until_found(upgrade, share, rng))
            within = sorted(hours for hours, _ in trials if hours is not None and hours <= _SOON_H)
            in_a_day = [calls for hours, calls in trials if hours is not None]
            rows.append(
                (
                    upgrade.name,
                    share,
                    len(within) / runs,
                    len(in_a_day) / runs,
                    statistics.median(within) if within else None,
                    statistics.median(in_a_day) if in_a_day else None,
                )
            )
    return Table(
        "references-hours",
        ("change", "share", "found in 2 h", "found in 24 h", "hours of those in 2 h", "calls, median"),
        tuple(rows),
        notes=(f"{USUAL.calls_per_day} calls a day, {BURST_CALLS} at once on a hint; {runs} runs.",),
    )


def _reference(place: int, answers: Sequence[Answer]) -> Reference:
    """A reference with answers of before: the original, the resend, and what it was filled with."""
    sources: tuple[Source, ...] = ("original", "resend")
    kept = tuple(
        KeptAnswer(one, 1e3 * number + place, "m", sources[number] if number < len(sources) else "asked")
        for number, one in enumerate(answers)
    )
    return Reference(
        id=f"{place:03}", route="r", requested_model="m", prompt_version="p", path="", request="",
        taken_at=0.0, answers=kept,
    )  # fmt: skip


def _answered(
    number: int, place: int, bag: Sequence[Answer], answer: Answer, rng: random.Random
) -> ReferenceAnswered:
    said = ranked(bag, answer, alike=_alike)
    name = f"reference/{rng.random()}"
    return ReferenceAnswered(name, float(number), "r", "m", "m", "p", f"{place}", "suspicion", *said[:5])


def upgrades() -> Iterator[Upgrade]:
    """The recorded changes."""
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
    def texts(place: int, version: str) -> tuple[str, ...]:
        return tuple(one.text for one in recorded.samples(place, version))

    pairs, questions = [], []
    for place, prompt in enumerate(recorded.prompts):
        pair = texts(place, before), texts(place, after)
        if min(map(len, pair)) >= needed:
            pairs.append(pair)
            questions.append(prompt.text)
    others = tuple(tuple(one for pair in pairs for one in pair[side]) for side in (0, 1))
    return Upgrade(name, tuple(pairs), (others[0], others[1]), tuple(questions))


def _wordings() -> Iterator[Upgrade]:
    """The same intents in 15 wordings at two temperatures, as if they were reruns of one prompt."""
    recorded = RecordedAnswers.load(DATA / "pbss")
    by_intent: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for place, prompt in enumerate(recorded.prompts):
        for version in recorded.versions:
            said = (one.text for one in recorded.samples(place, version))
            by_intent[prompt.task or prompt.text][version].extend(said)
    gpt, mistral, openchat = recorded.versions
    for before, after in ((gpt, openchat), (gpt, mistral), (openchat, mistral)):
        pairs = tuple((tuple(one[before]), tuple(one[after])) for one in by_intent.values())
        names = " → ".join(name.partition("_")[0].removesuffix("ai") for name in (before, after))
        yield Upgrade(f"{names}, wordings as reruns", pairs, ((), ()))


def found_table(runs: int, seed: int) -> Table:
    """Calls until each change is found, with two first answers and with four."""
    rows = []
    for upgrade in upgrades():
        cells: list[str | float | None] = [upgrade.name, upgrade.noise]
        for first in (2, 4):
            calls = sorted(
                calls_until_found(upgrade, first, random.Random(f"{seed} {run}")) or MOST + 1
                for run in range(runs)
            )
            slowest = calls[max(0, round(0.9 * runs) - 1)]
            cells += [statistics.median(calls), slowest if slowest <= MOST else None]
            cells.append(sum(one <= MOST for one in calls) / runs)
        rows.append(tuple(cells))
    return Table(
        "references-found",
        (
            "change", "1 − likeness of reruns", "calls, two answers", "in 9 of 10", "found",
            "calls, four answers", "in 9 of 10 ", "found ",
        ),
        tuple(rows),
        notes=(f"{A_SET} references; medians of {runs} runs; evidence {LEVEL:,.0f}; at most {MOST} calls.",),
    )  # fmt: skip


def _weights(noise: float, kinds: int) -> NDArray[np.float64]:
    """Chances of some answers, so that two differ in that share of all pairs."""
    # One frequent answer with chance a, the others alike: 1 − a² − (1 − a)²/(k − 1) = noise.
    most = 1 - 1 / kinds
    spread = float(np.sqrt(max(0.0, 1 - min(noise, most) / most)))
    first = 1 / kinds + (1 - 1 / kinds) * spread
    return np.array([first, *[(1 - first) / (kinds - 1)] * (kinds - 1)])


class Years:
    """Many routes at once on which nothing changes: answers drawn by chance, ranked by their likeness."""

    def __init__(self, noise: float, texts: Sequence[Sequence[str]], routes: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._alike = np.array([[[_alike(a, b) for b in one] for a in one] for one in texts])
        self._weights = _weights(noise, len(texts[0]))
        self._bags = np.zeros((len(texts), routes, len(texts[0])), dtype=np.int64)
        self._routes = routes
        self._wealth = np.zeros((len(BETS), routes))
        self.alarms = 0
        self.p_values: list[NDArray[np.float64]] = []

    def _draw(self) -> NDArray[np.int64]:
        chances = np.cumsum(self._weights)
        return np.searchsorted(chances, self._rng.random(self._routes) * chances[-1]).astype(np.int64)

    def ask(self, place: int) -> None:
        """One call of every route, about the same reference; one with 16 answers begins with two new ones."""
        bags = self._bags[place]
        every = np.arange(self._routes)
        if not bags[0].sum() or bags[0].sum() >= RIPE:
            bags[:] = 0
            for _ in range(2):
                bags[every, self._draw()] += 1
        new = self._draw()
        bags[every, new] += 1
        count = int(bags[0].sum())
        sums = bags @ self._alike[place] - np.diag(self._alike[place])
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


def alarms_table(years: int, days: int, seed: int, texts: Sequence[Sequence[str]]) -> Table:
    """False alarms a year, and whether ranks are uniform, by the noise."""
    calls = days * USUAL.calls_per_day
    rows = []
    for noise in NOISE:
        simulated = Years(noise, texts, years, seed)
        for number in range(calls):
            simulated.ask(number % len(texts))
            if len(simulated.p_values) * years > _TESTED:
                simulated.p_values.pop(0)
        first = np.concatenate(simulated.p_values)[:_TESTED]
        counts, _ = np.histogram(first, bins=20, range=(0.0, 1.0))
        expected = len(first) / 20
        uniform = float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 19))
        rows.append((noise, simulated.alarms, 365 * simulated.alarms / (years * days), uniform))
    stated = FALSE_ALARMS_PER_YEAR
    return Table(
        "references-alarms",
        ("resends worded otherwise", f"alarms in {years} routes", "a year", "p of uniform ranks"),
        tuple(rows),
        digits=3,
        notes=(
            f"At most {stated:g} a year are stated. {calls:,} calls each; the last {_TESTED:,} p-values.",
        ),
    )


_WORDED: Final = (
    "It takes four days.", "Four days.", "Delivery takes four working days.", "About four days, usually.",
    "You will have it in four days.", "Four days, or five at Christmas!",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20, help="runs of each change")
    parser.add_argument("--years", type=int, default=200, help="routes without a change, for a year each")
    parser.add_argument("--days", type=int, default=365, help="of a year")
    parser.add_argument("--shares", type=float, nargs="*", default=[], help="only hours, by share of answers")
    options = parser.parse_args()
    if options.shares:
        measured = hours_table(options.runs, options.seed, options.shares)
        print(f"## {measured.name}\n\n{measured.markdown()}", flush=True)
        return
    tables: list[Callable[[], Table]] = [
        partial(alarms_table, options.years, options.days, options.seed, [_WORDED] * A_SET)
    ]
    if DATA.is_dir() and options.runs:
        tables.append(partial(found_table, options.runs, options.seed))
    elif options.runs:
        print("no data beside the repository (../shared/data): false alarms only", file=sys.stderr)
    for table in tables:
        measured = table()
        print(f"## {measured.name}\n\n{measured.markdown()}", flush=True)


if __name__ == "__main__":
    main()
