"""Two-sample test by betting: are reference prompts answered differently than before?

Each answer to a reference prompt joins the *bag* of earlier ones to the same request and gets a rank there, 1
for the odd one (`ReferenceAnswered`). While nothing changes the answers of a bag are exchangeable. So, given
a bag without its order and everything that joins later, the answer that joined last is any of its members
with the same probability: its rank, with ties broken by lot, is uniform in 1 … n and independent of all later
ones, which that description determines. The ranks of all calls are therefore independent and uniform (Vovk,
Gammerman, Shafer 2005, "Algorithmic Learning in a Random World", theorem 8.1), whatever the noise, the
prompts and the order in which they are asked, also where that order depends on earlier ranks.

Bets n·((r/n)^k − ((r−1)/n)^k) on rank r have mean 1 and grow where new answers are the odd ones. The evidence
is the mean over k of their Shiryaev–Roberts sums (as `evenkeel.monitor.detect.e_detector`): less the number
of calls it is a martingale, so alarms at evidence A come after A calls or more on average, and n calls hold
at most n/A of them on average, if the evidence starts again from nothing after each.

Every 24 calls all references are compared at once (`PooledComparison`): that finds what ranks miss where
answers differ almost as much among themselves. Its p-value is exact at each look, so that looks at 6/A find
something n/(4·A) times at most in n calls, on average, while nothing changes. The ranks keep three quarters
of the false alarms: their level is 4/3 of A.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import log, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field

from evenkeel.core.sightings import MovedAnswers
from evenkeel.core.text import named

if TYPE_CHECKING:
    from evenkeel.core.sightings import ReferenceAnswered

BETS: Final = (0.1, 0.25, 0.5, 0.75)
"""Exponents k. The small ones win against changes that make every answer the odd one, the large ones against
changes that merely make it likely."""
RANKS_SHARE: Final = 0.75
"""Share of the false alarms allowed to ranks; the rest is for pooled comparisons."""
# Fewest calls between two pooled comparisons.
_LOOK_EVERY: Final = 24
# Exponent of the bet whose logarithms are summed to find where a run begins.
_RUN_BET: Final = 0.5
# Calls before a run that are considered as its beginning.
_LOOKED_BACK: Final = 48
# Log likelihood ratio below which a beginning is ruled out, compared with the likeliest one.
_UNLIKELY: Final = -2.0
_EXAMPLES: Final = 8
# Most names of models, builds and references that are counted separately in one run.
_NAMES: Final = 64
SUSPECTED: Final = 300.0
"""Evidence from which on all references are asked at once: reached once in that many calls by chance."""
_DAYS: Final = 365
# Suspicions that a route is expected to have, for the rate of false alarms that is promised.
_BURSTS_A_YEAR: Final = 52
FALSE_ALARMS_PER_YEAR: Final = 0.05
"""False alarms per route on which nothing changes, at most on average."""


def alarm_level(calls_per_day: float, burst_calls: float, false_alarms_per_year: float) -> float:
    """Return the level of evidence that limits false alarms a year on a route whose answers do not change.

    Args:
        calls_per_day: calls a day for all references of the route.
        burst_calls: further calls when a change is suspected: by the evidence itself, and once a week for
            another reason.
        false_alarms_per_year: average number of false alarms a year that is tolerated.
    """
    calls = _DAYS * calls_per_day * (1 + burst_calls / SUSPECTED) + _BURSTS_A_YEAR * burst_calls
    return max(1.0, calls / false_alarms_per_year)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceEvidence(MovedAnswers):
    """Evidence of a change: reference prompts are answered differently.

    `after` is the time before which the change is e² times less likely to have come than at the run's first
    answer; the time of that answer, if none came before it.
    """

    requested_model: str
    at: float
    """Unix time in seconds of the answer that decided it."""
    evidence_log10: float
    until: float = 0.0
    """Time after which the change is e² times less likely to have come than with the run; 0 if not known."""


class _Sum(NamedTuple):
    """Sums over the calls of a run: all calls, or those of one reference."""

    asked: int = 0
    likeness: float = 0.0
    own: float = 0.0

    def plus(self, answered: ReferenceAnswered) -> _Sum:
        return _Sum(self.asked + 1, self.likeness + answered.likeness, self.own + answered.own)

    @property
    def moved(self) -> float:
        """Mean shortfall of the new answers' likeness to earlier ones below that among the earlier ones."""
        return (self.own - self.likeness) / self.asked


class ReferenceRun(Struct):
    """Run of calls since the answers began to differ from the earlier ones, if they did.

    It begins where the summed logarithms of one bet were lowest (CUSUM). That is chosen in hindsight, so its
    means exaggerate the change.
    """

    since: float = 0.0
    after: float = 0.0
    drift: float = 0.0
    all: _Sum = _Sum()
    models: dict[str, int] = field(default_factory=dict)
    fingerprints: dict[str, int] = field(default_factory=dict)
    references: dict[str, _Sum] = field(default_factory=dict)

    def add(self, answered: ReferenceAnswered, step: float) -> None:
        """Take one call."""
        self.drift += step
        self.all = self.all.plus(answered)
        _count(self.models, answered.model)
        _count(self.fingerprints, answered.system_fingerprint)
        name = answered.reference
        if name in self.references or len(self.references) < _NAMES:
            self.references[name] = self.references.get(name, _Sum()).plus(answered)


class ReferenceTest(Struct):
    """Test of the references of one route and requested model, over all its prompt versions."""

    level: float
    """Evidence at which a change is found, by `alarm_level`."""
    wealth: list[float] = field(default_factory=lambda: [0.0] * len(BETS))
    run: ReferenceRun = field(default_factory=ReferenceRun)
    recent: list[tuple[float, float]] = field(default_factory=list)
    """Times of the latest calls, each with its step of the logarithm."""

    @property
    def evidence_log10(self) -> float:
        """Evidence as log10; 0 while it is below 1 and means nothing."""
        evidence = sum(self.wealth)
        return log10(evidence) if evidence > 1 else 0.0

    @property
    def suspected_since(self) -> float | None:
        """Unix time in seconds at which the unlike answers began; None if they hint at nothing yet."""
        suspected = sum(self.wealth) >= SUSPECTED and self.run.all.asked > 0
        return self.run.since if suspected else None

    def add(self, answered: ReferenceAnswered) -> ReferenceEvidence | None:
        """Take one call, in the order of the log; return the evidence if it shows a change, and start again.

        A failure says nothing, nor does an answer with fewer than two to compare it with.
        """
        evidence = self._ranked(answered) or self._compared(answered)
        if evidence is not None:
            self.forget()
        return evidence

    def _compared(self, answered: ReferenceAnswered) -> ReferenceEvidence | None:
        """Return the evidence of a pooled comparison, if there is one that is extreme enough."""
        comparison = answered.pooled
        if comparison is None or comparison.p_value > (1 - RANKS_SHARE) * _LOOK_EVERY / self.level:
            return None
        found = asdict(comparison)
        evidence_log10 = -log10(found.pop("p_value"))
        return ReferenceEvidence(
            requested_model=answered.requested_model, at=answered.at, evidence_log10=evidence_log10, **found
        )

    def _ranked(self, answered: ReferenceAnswered) -> ReferenceEvidence | None:
        rank = answered.rank
        if rank is None:
            return None
        step = log(_bet(_RUN_BET, rank, answered.compared))
        # CUSUM: nothing before this call speaks for a change that is still going on.
        if self.run.drift + step <= 0:
            self.run = ReferenceRun()
        else:
            if not self.run.all.asked:
                self.run = ReferenceRun(answered.at, self._after(answered.at))
            self.run.add(answered, step)
        self.recent = [*self.recent[1 - _LOOKED_BACK :], (answered.at, step)]
        entering = 1 / len(BETS)
        for number, k in enumerate(BETS):
            self.wealth[number] = (entering + self.wealth[number]) * _bet(k, rank, answered.compared)
        # A step up of the evidence is one of the run: it never decides on an empty one.
        enough = sum(self.wealth) >= self.level / RANKS_SHARE and self.run.all.asked > 0
        return self._evidence(answered) if enough else None

    def forget(self) -> None:
        """Start again without evidence, after a found change or a stated one that explains the evidence."""
        self.wealth = [0.0] * len(BETS)
        self.run = ReferenceRun()
        self.recent = self.recent[-1:]

    def _after(self, first: float) -> float:
        """Return the time after which the change of a run came, given the time of the run's first answer."""
        after, likely, possible = first, 0.0, True
        for at, step in reversed(self.recent):
            if possible:
                after = at
            likely += step
            possible = likely > _UNLIKELY
        return after

    def _until(self) -> float:
        """Return the time until which the change may have come; 0 if the run is too long to say."""
        until, likely, asked = 0.0, 0.0, self.run.all.asked
        for at, step in self.recent[-asked:] if asked <= len(self.recent) else ():
            if likely < -_UNLIKELY:
                until = at
            likely += step
        return until

    def _evidence(self, answered: ReferenceAnswered) -> ReferenceEvidence:
        run = self.run
        moved = sorted(run.references, key=lambda name: (-run.references[name].moved, name))
        return ReferenceEvidence(
            requested_model=answered.requested_model,
            models=_frequent(run.models),
            fingerprints=_frequent(run.fingerprints),
            at=answered.at,
            after=run.after,
            since=run.since,
            until=self._until(),
            calls=run.all.asked,
            evidence_log10=self.evidence_log10,
            likeness=run.all.likeness / run.all.asked,
            own=run.all.own / run.all.asked,
            references=tuple(moved[:_EXAMPLES]),
        )


def _bet(k: float, rank: int, compared: int) -> float:
    won: float = (rank / compared) ** k - ((rank - 1) / compared) ** k
    return compared * won


def _count(names: dict[str, int], name: str) -> None:
    if name and (name in names or len(names) < _NAMES):
        names[named(name)] = names.get(named(name), 0) + 1


def _frequent(names: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (-names[name], name)))
