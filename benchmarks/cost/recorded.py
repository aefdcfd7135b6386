"""Exchanges whose answers real models gave, compared by the project's own scorer.

Recorded are the answers of a version to a question, those of another version to the same question, and on
some routes reruns and answers to the question in other words:

- `classify`: GPT-4o five times at temperature 0 on multiple-choice questions, in JSON (llm_stability); the
  same questions plainly asked, as the reworded prompt; GPT-3.5 as the other version.
- `extract`: GPT-4 of March 2023, and of June as the other version (llm_drift); reruns are planted as
  `benchmarks.upgrades.noise` has them, since each question was answered once.
- `write`: GPT-3.5 on explanations (pbss), with another phrasing of the same intent as the reworded prompt and
  Mistral as the other version; a rerun at the other temperature, and further ones planted.

The rest is composed. Each trial has a rerun of its own, but for `general.paraphrase`, which has the answer to
the reworded prompt where there is one. What falls has its prompts answered by the other version, on as many
exchanges as it takes for the stated points. Questions are drawn with replacement, as if each exchange
were about one of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice, pairwise
from random import Random
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from benchmarks.cost.bill import Length
from benchmarks.cost.plans import Made, inline, kinds_of, verdict_of
from benchmarks.cost.play import World
from benchmarks.cost.world import QUIET, ROUTES, Exchange, Fall, Version, drawn, struck
from benchmarks.kit import Table
from benchmarks.upgrades import noise, recordings
from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import HEURISTIC_RATING, SAME_CONTENT, stage_of
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.cascade import CascadeRater
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import TwoStageScorer
from tests.kit.recorded import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.planner import Trial

    FinalAnswer = Callable[[str], str | None]

REWORDED: Final = "general.paraphrase"
_CLASSIFY, _EXTRACT, _WRITE = ROUTES
_RERUNS: Final = 4
_OF_A_TASK: Final = 50
"""Questions of a task of llm_drift."""
_PHRASINGS: Final = 2
"""Of an intent, that are asked; each has the next one as its reworded prompt."""
_SAME_RERUNS: Final = 0.9
"""Share of the reruns without a final answer that the scripted judge takes for the same content."""
_AUDITED: Final = 0.05


class Said(NamedTuple):
    """What is recorded about a question."""

    route: str
    task: str
    prompt: str
    original: str
    reruns: tuple[str, ...]
    other: tuple[str, ...]
    """The other version's."""
    reworded: tuple[str, ...] = ()
    """To the prompt in other words; empty if that was not asked."""
    other_reworded: tuple[str, ...] = ()
    right: str | None = None
    """The right final answer, as far as it is recorded."""


class Rated(NamedTuple):
    """An answer, compared with the original one."""

    rating: int
    similarity: float
    worse: bool
    judged: bool
    """Whether the judge was asked."""

    @property
    def moved(self) -> bool:
        """Whether its content moved."""
        return self.rating < SAME_CONTENT


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question with all its answers compared."""

    version: Version
    length: Length
    reruns: tuple[Rated, ...]
    other: tuple[Rated, ...]
    reworded: tuple[Rated, ...]
    other_reworded: tuple[Rated, ...]

    def answers(self, kinds: Collection[str], *, fallen: bool) -> tuple[Rated, ...]:
        """Those that a trial is drawn from."""
        if REWORDED in kinds and self.reworded:
            return self.other_reworded if fallen else self.reworded
        return self.other if fallen else self.reruns


_LETTER: Final = re.compile(r"boxed\{\s*(?:\\text\{)?\(?([A-E])|\(([A-E])\)")
_PATTERNS: Final = {
    "opinionqa": re.compile(r"^\s*\(?([A-H])\b"),
    "prime": re.compile(r"\[?\b(yes|no)\b\]?", re.IGNORECASE),
    "counthappynumber": re.compile(r"boxed\{?\s*(\d+)"),
}


def _letter(text: str) -> str | None:
    found = _LETTER.findall(text)
    return "".join(found[-1]) if found else None


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.findall(text)
    return found[-1].lower() if found else None


def _as_json(text: str) -> tuple[str, ...]:
    """The letter of an answer, in JSON as the other answers of the route are; none if it has none."""
    letter = _letter(text)
    return (f'{{"Answer":"{letter}"}}',) if letter else ()


def _in_json(text: str) -> str | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return str(found.get("Answer")) if isinstance(found, dict) else None


def _choices() -> Iterator[Said]:
    """Of `classify`."""
    plain: dict[tuple[str, str, str], str] = {}
    for row in rows_of("llm_stability/survivor_runs_8models.jsonl.gz"):
        plain.setdefault((row["model"], row["task"], row["qid"]), row["response"])
    runs: dict[tuple[str, str], list[str]] = {}
    prompts: dict[tuple[str, str], str] = {}
    right: dict[tuple[str, str], str] = {}
    for row in rows_of("llm_stability/gpt4o_strict_json_7tasks_5runs.jsonl.gz"):
        key = row["task"], row["qid"]
        runs.setdefault(key, []).append(row["response"])
        if row.get("prompt"):
            prompts[key] = "\n".join(message["content"] for message in row["prompt"])
        right[key] = row["gt"].strip("()")
    for (task, number), said in runs.items():
        other = _as_json(plain.get(("gpt-35_OAI", task, number), ""))
        reworded = _as_json(plain.get(("gpt-4o_OAI", task, number), ""))
        if other and reworded:
            key = task, number
            yield Said(_CLASSIFY, task, prompts[key], said[0], tuple(said[1 : 1 + _RERUNS]), other, reworded,
                       other, right[key])  # fmt: skip


def _upgraded() -> Iterator[Said]:
    """Of `extract`."""
    found, planted = recordings.llm_drift(), noise.reruns()
    before, after = (found.answers[name] for name in ("gpt-4-0314", "gpt-4-0613"))
    for task in _PATTERNS:
        places = [
            place
            for place in found.answered("gpt-4-0314", "gpt-4-0613")
            if found.prompts[place].task == task
        ]  # fmt: skip
        others = [before[place][0] for place in places]
        for place in Random(task).sample(places, _OF_A_TASK):
            said, chance = before[place][0], Random(f"{task}/{place}")
            reruns = tuple(planted.rerun(said, others, chance) for _ in range(_RERUNS))
            yield Said(_EXTRACT, task, found.prompts[place].text, said, reruns, (after[place][0],))


def _explained() -> Iterator[Said]:
    """Of `write`."""
    said, planted = recordings.pbss_by_temperature(), noise.hot()
    usual, other = "gpt-3.5-turbo", "mistralai_Mistral-7B-Instruct-v0.2"
    intents: dict[str, list[str]] = {}
    found = recordings.pbss()
    for prompt in found.prompts:
        intents.setdefault(prompt.task, []).append(prompt.text)
    for intent, prompts in intents.items():
        others = [said[usual, prompt]["0.2"] for prompt in prompts]
        for prompt, reworded in islice(pairwise(prompts), _PHRASINGS):
            original, rerun = (said[usual, prompt][temperature] for temperature in ("0.2", "1.3"))
            chance = Random(prompt)
            reruns = (rerun, *(planted.rerun(original, others, chance) for _ in range(_RERUNS - 1)))
            yield Said(
                _WRITE,
                intent,
                prompt,
                original,
                reruns,
                other=tuple(said[other, prompt].values()),
                reworded=tuple(said[usual, reworded].values()),
                other_reworded=tuple(said[other, reworded].values()),
            )


class _Heuristics(HeuristicRater):
    """Rates every pair once."""

    def __init__(self) -> None:
        super().__init__(language_of=language_of)
        self._known: dict[Pair, Rating] = {}

    async def rate(self, pair: Pair) -> Rating:
        if pair not in self._known:
            self._known[pair] = self.rate_now(pair)
        return self._known[pair]


class _ScriptedJudge:
    """Says that two answers are the same if they come to the same final answer.

    Where there are no final answers, they are the same if they are as alike as nine reruns of ten are.
    """

    def __init__(self, final: FinalAnswer | None, heuristics: _Heuristics, least: float) -> None:
        self._final = final
        self._heuristics = heuristics
        self._least = least

    async def rate(self, pair: Pair) -> Rating:
        if self._final is None:
            near = (await self._heuristics.rate(pair)).similarity or 0.0
            return Rating(SAME_CONTENT if near >= self._least else 2)
        ends = self._final(pair.reference.text), self._final(pair.candidate.text)
        return Rating(SAME_CONTENT if ends[0] == ends[1] else 1)


def _pair(reference: str, candidate: str) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "")


def _scorer(final: FinalAnswer | None, heuristics: _Heuristics, least: float) -> TwoStageScorer:
    judge = cast("Any", _ScriptedJudge(final, heuristics, least))
    cascade = CascadeRater(heuristics, judge, audit_share=_AUDITED)
    return TwoStageScorer("judge", cast("Any", cascade), {}, language_of=language_of)


def _rated(scorer: TwoStageScorer, final: FinalAnswer | None, said: Said, candidate: str) -> Rated:
    found = inline(scorer.score(_pair(said.original, candidate), qualities=False))
    ends = [final(text) if final else None for text in (said.original, candidate)]
    return Rated(
        rating=found.rating or 1,  # two languages, or none: nothing that a judge would call the same
        similarity=found.similarity or 0.0,
        worse=said.right is not None and ends[0] == said.right != ends[1],
        judged=stage_of(found.details) == "judge" or HEURISTIC_RATING in found.details,
    )


def _question(scorer: TwoStageScorer, final: FinalAnswer | None, said: Said) -> Question:
    rated = cache(partial(_rated, scorer, final, said))
    rows = (said.reruns, said.other, said.reworded, said.other_reworded)
    version = Version(said.task, 1.0, 0.0, 1.0, len(said.prompt))
    length = Length(estimate_tokens(said.prompt), estimate_tokens(said.original))
    return Question(version, length, *(tuple(map(rated, row)) for row in rows))


@cache
def questions() -> Mapping[str, Mapping[str, Sequence[Question]]]:
    """By route and task; a few thousand pairs are compared for them.

    Raises: NoDataError if the recordings are not here.
    """
    found: dict[str, dict[str, list[Question]]] = {route: {} for route in ROUTES}
    explained = list(_explained())
    heuristics = _Heuristics()
    pairs = [_pair(one.original, text) for one in explained for text in one.reruns]
    reruns = [inline(heuristics.rate(pair)).similarity or 0.0 for pair in pairs]
    least = quantiles(reruns, n=100)[round(100 * (1 - _SAME_RERUNS)) - 1]
    for said in chain(_choices(), _upgraded(), explained):
        final: FinalAnswer | None = None
        if said.route == _CLASSIFY:
            final = _in_json
        elif said.route == _EXTRACT:
            final = partial(_found, _PATTERNS[said.task])
        # All explanations are one kind of prompt, whatever they are about.
        task = "explain" if said.route == _WRITE else said.task
        one = _question(_scorer(final, heuristics, least), final, said._replace(task=task))
        found[said.route].setdefault(task, []).append(one)
    return found


class Moves(NamedTuple):
    """How often content moves on a route, every task alike."""

    reruns: float
    reworded: float
    """By the reworded prompt; as often as reruns where that was not asked."""
    other: float
    """In answers of the other version."""
    judged: float
    """Share of the compared answers that a judge was asked about."""

    @property
    def per_point(self) -> float:
        """Exchanges to be struck for each whose answer moves because of it."""
        return 1 / (self.other - self.reruns)


@cache
def moves(route: str) -> Moves:
    """What was measured of a route's questions."""

    def share(of: Callable[[Question], Sequence[Rated]], what: str) -> float:
        tasks = questions()[route].values()
        return fmean(fmean(fmean(getattr(one, what) for one in of(q)) for q in some) for some in tasks)

    return Moves(
        share(lambda one: one.reruns, "moved"),
        share(lambda one: one.reworded or one.reruns, "moved"),
        share(lambda one: one.other, "moved"),
        share(lambda one: one.reruns, "judged"),
    )


@dataclass(frozen=True, slots=True)
class Asked(Exchange):
    """An exchange about a recorded question; what moves it is answered by the other version."""

    question: Question


def exchange(seed: int, number: int, fall: Fall = QUIET, *, fallen: str = "") -> Asked:
    """As `benchmarks.cost.world.exchange`."""
    route, cluster, draws = drawn(seed, number)
    tasks = questions()[route]
    question = draws.choice(tasks[draws.choice(sorted(tasks))])
    found = struck(fall, draws, moves(route).per_point) if route == fallen else struck(QUIET, draws)
    return Asked(number, route, question.version, cluster, *found, seed, question)


def answer(one: Asked, trial: Trial, control: Verdict | None) -> Made:
    """A recorded answer and its verdict, the same for the same trial of the same exchange."""
    kinds = kinds_of(trial.perturbation)
    chance = Random(f"{one.seed}/{one.number}/{trial.perturbation.name}/answer")
    rated = chance.choice(one.question.answers(kinds, fallen=one.is_struck(kinds)))
    verdict = verdict_of(
        one, trial, control, rating=rated.rating, similarity=rated.similarity, worse=rated.worse
    )
    return Made(verdict, trial.can_wait, 0, rated.judged)


def length(one: Asked) -> Length:
    """Tokens of its prompt and of its answer, as recorded."""
    return one.question.length


WORLD: Final = World(exchange, answer, length, frozenset((route, REWORDED) for route in (_CLASSIFY, _WRITE)))


def routes() -> Table:
    """What was measured of the recorded answers themselves."""
    rows = []
    for route in ROUTES:
        tasks, found = questions()[route], moves(route)
        some = [one for task in tasks.values() for one in task]
        rows.append(
            (route, len(some), round(fmean(one.length.prompt for one in some)),
             round(fmean(one.length.answer for one in some)), f"{found.reruns:.1%}",
             f"{found.reworded:.1%}" if any(one.reworded for one in some) else None,
             f"{found.other:.1%}", f"{found.judged:.0%}", f"{0.15 * found.per_point:.0%}")
        )  # fmt: skip
    heads = ("route", "questions", "tokens of a prompt", "of an answer", "reruns moved",
             "reworded prompt moved", "other version moved", "reruns judged",
             "struck for 15 points")  # fmt: skip
    return Table("cost-recorded-routes", heads, tuple(rows))


def named(table: Table) -> Table:
    """A table of plays as the page calls that of recorded answers."""
    return replace(table, name=table.name.replace("cost-", "cost-recorded-"))
