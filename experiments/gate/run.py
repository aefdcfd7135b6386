"""One run of the gate: goldens in a drawn order, a few at a time, until the evidence settles it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.experiments.gate.asking import BudgetUsedUpError, EndpointUnusableError
from evenkeel.experiments.gate.sides import Task, Unasked
from evenkeel.monitor.detect.gate import Shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.gate.asking import Asker, Ledger
    from evenkeel.experiments.gate.scoring import Scored, Scoring
    from evenkeel.experiments.gate.sides import SideName
    from evenkeel.monitor.detect.gate import Gate, GateReport, Measured
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Fallen:
    """A golden that the candidate answers worse than the reference."""

    golden: Golden
    differences: Mapping[str, float]
    """By measure, where above 0."""
    answer: Answer
    """The candidate's, the first that breaches one of them."""
    rating: int | None
    """1, 2 or 3; None if it was not rated."""
    explanation: str

    @property
    def weight(self) -> tuple[float, int]:
        """For sorting: the worst is the highest."""
        return sum(self.differences.values()), -(self.rating or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is shown."""

    report: GateReport
    source: str
    """Where the goldens come from."""
    candidate: str
    """What it is, in a line."""
    reference: str
    """The same; "" if none was asked."""
    scored_by: str
    planned_calls: int
    """Calls to both sides that asking all goldens takes."""
    ledger: Ledger
    fallen: tuple[Fallen, ...]
    """Worst first."""
    failures: Mapping[str, str]
    """What was said about each reason why goldens could not be measured, once."""
    notes: tuple[str, ...] = ()
    seed: int = 0
    repeats: int = 1
    duration_s: float = 0.0

    @property
    def saved_calls(self) -> int:
        """Calls that were not needed because the answer was settled before."""
        return max(0, self.planned_calls - self.ledger.calls - self.ledger.remembered)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found about one golden."""

    measured: Measured | Failure
    fallen: Fallen | None = None


@dataclass(slots=True)
class Course:
    """What a run leaves behind besides the gate's counts."""

    fallen: list[Fallen] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """The first detail of each reason."""
    cut_short: str = ""
    """Why it stopped before it was settled, "" if it did not."""


def shuffled(tasks: Sequence[Task | Unasked], seed: int) -> list[Task | Unasked]:
    """The tasks in an order that follows from the seed and the goldens, not from how they were given."""
    ordered = sorted(tasks, key=lambda task: (task.golden.id, task.golden.version))
    Random(f"{seed}:gate").shuffle(ordered)
    return ordered


class Run:
    """Asks and scores goldens for a gate."""

    def __init__(
        self,
        gate: Gate,
        asker: Asker,
        scoring: Scoring,
        *,
        ledger: Ledger,
        repeats: int = 1,
        concurrency: int = 8,
        task_of: Callable[[Golden], str | None] = lambda golden: golden.task,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Put a run together.

        Args:
            gate: Takes what is found.
            asker: Asks both sides.
            scoring: Scores each answer beside the approved one.
            ledger: Where the judge's costs are added.
            repeats: Calls to each side for each golden.
            concurrency: Calls under way at the same time, roughly: as many goldens are begun as make so many.
            task_of: Name of a golden's task.
            progress: Told after each golden.
        """
        self._gate = gate
        self._asker = asker
        self._scoring = scoring
        self._ledger = ledger
        self._repeats = repeats
        self._concurrency = concurrency
        self._task_of = task_of
        self._progress = progress

    async def run(self, tasks: Sequence[Task | Unasked]) -> Course:
        """Take the tasks in order until the gate is settled or there are no more.

        Those that cannot be asked come first of all: if they are too many, nothing is spent.

        Answers come in any order; they are taken in that of the tasks, so that a quick answer does not
        count before a slow one, and a run can be repeated.
        """
        course = Course()
        for one in tasks:
            if isinstance(one, Unasked):
                self._gate.leave_out(one.failure)
                course.failures.setdefault(one.failure.reason, one.failure.detail)
        asked = [task for task in tasks if isinstance(task, Task)]
        waiting = iter(asked)
        begun: deque[asyncio.Task[Looked]] = deque()
        try:
            while not self._gate.settled:
                while len(begun) < self._ahead(asked) and (task := next(waiting, None)) is not None:
                    begun.append(asyncio.create_task(self._look(task)))
                if not begun:
                    break
                self._take(await begun.popleft(), course)
        except EndpointUnusableError as error:
            course.cut_short = str(error)
        except BudgetUsedUpError:
            course.cut_short = "the budget was used up before the evidence settled anything"
        finally:
            for look in begun:
                look.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
        return course

    def _ahead(self, tasks: Sequence[Task]) -> int:
        """Goldens under way at the same time. More of them would be asked in vain once it is settled."""
        sides = next((len(task.requests) for task in tasks), 1)
        return max(1, round(self._concurrency / (sides * self._repeats)))

    def _take(self, looked: Looked, course: Course) -> None:
        self._gate.take(looked.measured)
        if looked.fallen is not None:
            course.fallen.append(looked.fallen)
        failed = [looked.measured] if isinstance(looked.measured, Failure) else looked.measured.values()
        for one in failed:
            if isinstance(one, Failure):
                course.failures.setdefault(one.reason, one.detail)
        self._progress()

    async def _look(self, task: Task) -> Looked:
        places = [(side, number) for side in task.requests for number in range(self._repeats)]
        calls = [
            asyncio.create_task(self._asker.ask(side, task.requests[side], number)) for side, number in places
        ]
        try:
            answers = await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        failure = next((answer for answer in answers if isinstance(answer, Failure)), None)
        if failure is not None:
            return Looked(failure)
        said = [answer for answer in answers if not isinstance(answer, Failure)]
        scored = await self._scores(task, said)
        found: dict[SideName, list[tuple[Answer, Scored]]] = {}
        for (side, _), answer, one in zip(places, said, scored, strict=True):
            found.setdefault(side, []).append((answer, one))
        return _looked(task, found)

    async def _scores(self, task: Task, answers: Sequence[Answer]) -> list[Scored]:
        """The scores of each answer. Answers that are equal are scored once, so they score alike."""
        by_content: dict[tuple[object, ...], Scored] = {}
        scores = []
        for answer in answers:
            key = (answer.text, answer.tool_calls)
            if key not in by_content:
                pair = Pair(task.golden.answer, answer, task.context, self._task_of(task.golden))
                by_content[key] = scored = await self._scoring.score(pair)
                self._ledger.cost_usd += scored.opinions_usd
                if scored.judgement is not None:
                    self._ledger.cost_usd += scored.judgement.cost_usd
                    self._ledger.judge_tokens += scored.judgement.tokens
            scores.append(by_content[key])
        return scores


def _looked(task: Task, found: Mapping[SideName, Sequence[tuple[Answer, Scored]]]) -> Looked:
    measured: Measured = {}
    names = dict.fromkeys(name for _, scored in found["candidate"] for name in scored.breaches)
    for name in names:
        shares = {side: _share([scored for _, scored in each], name) for side, each in found.items()}
        failure = next((share for share in shares.values() if isinstance(share, Failure)), None)
        known = {side: share for side, share in shares.items() if not isinstance(share, Failure)}
        measured[name] = failure or Shares(known["candidate"], known.get("reference"))
    differences = {
        name: shares.difference
        for name, shares in measured.items()
        if isinstance(shares, Shares) and shares.difference > 0
    }
    if not differences:
        return Looked(measured)
    answer, scored = next(
        one for one in found["candidate"] if any(one[1].breaches[name] is True for name in differences)
    )
    rating = scored.judgement.rating if scored.judgement else None
    explanation = scored.judgement.explanation if scored.judgement else ""
    return Looked(measured, Fallen(task.golden, differences, answer, rating, explanation))


def _share(scored: Sequence[Scored], name: str) -> float | Failure:
    """Share of the answers that breach a measure; the failure if that is unknown of one of them."""
    breaches = [one.breaches[name] for one in scored]
    failure = next((breach for breach in breaches if isinstance(breach, Failure)), None)
    return failure or sum(breach is True for breach in breaches) / len(breaches)
