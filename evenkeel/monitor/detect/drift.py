"""Drift of a rate from what it was, judged stratum by stratum.

Traffic is a mixture. If easy and hard prompts take turns, the rate of all of them together moves all the time
though nothing has changed. So trials are put into *strata* of the same kind, and each is compared only with
former trials of its own stratum. Strata are remembered: a prompt version that comes back finds its
baseline, and a new one begins its own and is no drift. A cluster of near-equal prompts that recurs is
compared with itself, as far as clusters turn out to differ; where most prompts recur, one that is new is
other traffic and only counted at first.

**The test.** A stratum with k hits in n trials predicts its next trial by m = (k + ½)/(n + 1). Gamblers bet
on each trial against m, some on a rise and some on a fall; evidence is the wealth of all, of which 1 enters
with each trial (`evenkeel.monitor.detect.e_detector`). All strata share the wealth, so a shift that is common
to them adds up. The line m is no estimate frozen at some time, it follows all trials, so the baseline works
from early on and gets better with every trial, and its error is part of the bet.

**False alarms.** m is the exact probability of a hit, given all trials before, if the stratum's rate was
drawn from Jeffreys' prior and has not changed since. No bet wins on average then, and the number of trials to
an alarm is at least the level, averaged over that prior. For a single rate it is no theorem:
`python -m benchmarks.detection` measures it for rates from .02 to .5. Whatever is done below is decided
before the next trial is seen or takes wealth away, so it changes nothing about that. The assumption is that
trials of one stratum are independent; of a burst of near-equal ones only the first may be observed.

**The run** of a side is what CUSUM takes for the time since the change: the trials since the sum of
(x − before − tolerance/2) was last at its lowest, `before` being the stratum's rate without the run. An
alarm also needs the run's mean to be the tolerance away from what was expected of it; until then evidence is
held below the level. That keeps out most shifts that are too small to matter, it is no guarantee: the run of
an alarm is a chance high.

**Suspicion** is CUSUM with a likelihood ratio: how much better the trials since it was last 0 fit a risen
rate (a tenth higher, or twice the odds if that is more) than one that is what it was. It comes and goes by
chance within some dozens of trials, so no alert is raised for it; it is for those who choose what to look at
next. Source: Page 1954.

After an alarm the run is taken out of the strata: their rates are those before the change, and stay frozen
until the alert is over. An e-detector then looks for a rate within the tolerance of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import log10
from operator import mul
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.core.suspicion import MOST_SUSPICION, risen_log_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHARES: Final = tuple(0.04 * (0.6 / 0.04) ** (number / 5) for number in range(6))
"""Bets as shares of the largest that cannot go broke. Measured against the eight of a fixed line, which begin
at 0.06: a rise from 0.05 to 0.15 after 200 trials is missed in 9 % instead of 14 %."""
_KEPT: Final = tuple(1 - share for share in SHARES)
"""Factors that a lost bet leaves of each gambler's wealth."""
_ENTERING: Final = 0.5 / len(SHARES)
"""Wealth that enters with each trial on each bet on either side."""
MOST_STRATA: Final = 64
"""Most strata remembered for a cell; the least recently seen is forgotten first."""
MOST_CLUSTERS: Final = 512
_SHARED: Final = 5
"""First trials of a cluster that count for its stratum, too; more would let one cluster speak for all."""
_PRIOR: Final = 0.5
"""Jeffreys' prior of a rate: Beta(½, ½)."""
_ALIKE: Final = (1.0, 4.0, 16.0, 1000.0)
"""Trials that the rate of its stratum weighs in that of a cluster: from "each has a rate of its own" to "all
have the same". Which fits is learned from how well each has predicted the trials so far."""
_FAMILIAR: Final = 10
"""Trials after which a cluster is compared if most prompts recur."""
_MOSTLY: Final = 0.5
"""Share of trials of known clusters above which prompts count as recurring."""
_RECENT: Final = 100
"""Trials over which that share is averaged."""
_LONGEST_RUN: Final = 4
"""Longest run, as a multiple of the trials of its stratum or cluster outside the run (taken as at least a
tenth of a provisional baseline). If these few trials are by chance far from the rate, the run would otherwise
never end."""
_HELD: Final = 0.999
"""Share of the level at which evidence is held for a shift within the tolerance."""
_SUSPECTED_RISE: Final = 0.1
"""Smallest rise that trials are suspected of."""
_LEAST_RATE: Final = 0.05
"""Lowest rate for which a rise is suspected: few trials say little about rare hits."""
_END: Final = 0.001
"""Distance from 0 and 1 that a line for the way back keeps."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Baseline of a rate: approved, or provisional until one is approved."""

    mean: float
    n: int
    """Number of trials behind it."""
    provisional: bool = False
    """True if it was taken from earlier trials and nobody approved it."""


@dataclass(frozen=True, slots=True)
class DriftRules:
    """Rules by which a rate counts as moved."""

    tolerance: float
    """Distance from the baseline that raises no alert, at least 0."""
    mean_trials_between_false_alarms: float
    """Evidence at which the alert changes: the level."""
    provisional_after: int = 100
    """Trials from which on a stratum without an approved baseline is compared with its former trials."""


class DriftState(StrEnum):
    """Position of the rate relative to its baseline, as far as the evidence shows."""

    UNKNOWN = "unknown"
    """State while no stratum has a baseline."""
    LEVEL = "level"
    RISEN = "risen"
    FALLEN = "fallen"


@dataclass(frozen=True, slots=True)
class DriftChange:
    """Change of a rate that left its baseline or came back to it."""

    kind: Literal["risen", "fallen", "recovered"]
    baseline: Baseline
    """Expected rate of the run's trials; `n` counts the trials before the run in their strata."""
    line: float
    """Line that the mean crossed."""
    run_trials: int
    """Trials since the change seems to have begun."""
    run_mean: float
    """Share of hits among them; chosen in hindsight, so it errs towards the change."""


@dataclass(slots=True)
class _Tally:
    """Count of the trials of one stratum or cluster."""

    trials: int = 0
    hits: float = 0.0
    """Number of hits; whole unless a baseline was approved."""

    def add(self, hit: int) -> None:
        self.trials += 1
        self.hits += hit


_NOBODY: Final[Sequence[float]] = (0.0,) * len(SHARES)
"""Wealth before anybody has entered; shared, since most detectors never see a bet."""


class _Run:
    """Wealth of one side's gamblers, and the trials since the change seems to have begun."""

    __slots__ = ("counts", "expected", "hits", "step", "trials", "wealth")

    def __init__(self) -> None:
        self.wealth = _NOBODY
        self.clear()

    def clear(self) -> None:
        """Start a new run with the next trial; the wealth stays."""
        self.step = 0.0
        """Sum of the steps towards the change, above 0 unless the run is empty."""
        self.expected = 0.0
        """Expected number of hits, from the strata's rates before the run."""
        self.trials, self.hits = 0, 0.0
        self.counts = _UNCOUNTED
        """Trials of the run by stratum and cluster."""

    @property
    def shift(self) -> float:
        """Mean of the run minus what was expected."""
        return (self.hits - self.expected) / self.trials if self.trials else 0.0

    @property
    def mean(self) -> float:
        """Share of hits, 0 if the run is empty."""
        return self.hits / self.trials if self.trials else 0.0

    def bet(self, entering: float, odds: float, *, wins: bool) -> None:
        """Let new gamblers enter with a stake on each bet, and settle one trial for everybody.

        A gambler who stakes all they have would win `odds` times as much or lose it.
        """
        # Strict zips cost as much as what is computed, and all have one number per bet.
        if wins:
            self.wealth = [(entering + one) * (1 + share * odds) for share, one in zip(SHARES, self.wealth)]  # noqa: B905
        else:
            self.wealth = [(entering + one) * kept for kept, one in zip(_KEPT, self.wealth)]  # noqa: B905

    def add(self, place: _Place, hit: int, expected: float, step: float) -> None:
        """Add a trial to the run; the run ends when its sum of steps falls to 0."""
        self.step += step
        if self.step > 0:
            self.expected += expected
            self.trials += 1
            self.hits += hit
            self.count(place, hit)
        elif self.trials:
            self.clear()
        else:
            self.step = 0.0

    def count(self, place: _Place, hit: int) -> None:
        """Count a trial of the run under its stratum and cluster."""
        tally = self.counts.get(place)
        if tally is None:
            tally = _Tally()
            if self.counts:
                self.counts[place] = tally
            else:
                self.counts = {place: tally}
        tally.add(hit)

    def to_json(self) -> list[Any]:
        """Return the run as JSON values; floats survive exactly."""
        counts = [[*place, tally.trials, tally.hits] for place, tally in self.counts.items()]
        return [list(self.wealth), self.step, self.expected, self.trials, self.hits, counts]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote, unless the number of bets differs."""
        if len(raw[0]) == len(SHARES):
            self.wealth, self.step, self.expected, self.trials, self.hits, counts = raw
            self.counts = {(row[0], row[1]): _Tally(row[2], row[3]) for row in counts}


_Place = tuple[str, str]
"""Stratum and cluster of a trial; the cluster is "" unless it was seen before."""
_UNCOUNTED: Final[dict[_Place, _Tally]] = {}
"""Counts of an empty run. They are shared, so never added to."""
_EMPTY: Final = _Tally()
_EVEN: Final = (1 / len(_ALIKE),) * len(_ALIKE)
_LEAST: Final = 1e-6
"""Smallest weight of a guess, so that it can recover."""


class DriftAlert:
    """Detector that watches a rate for a rise and a fall by stratum, and for recovery after an alarm."""

    __slots__ = (
        "_alike",
        "_approved",
        "_back",
        "_clusters",
        "_fall",
        "_raised_at",
        "_recurring",
        "_rise",
        "_side",
        "_strata",
        "rules",
        "suspicion",
    )

    def __init__(self, rules: DriftRules, baseline: Baseline | None = None) -> None:
        self.rules = rules
        self._strata: dict[str, _Tally] = {}
        """Strata, the most recently seen last."""
        self._clusters: dict[_Place, _Tally] = {}
        self._alike: Sequence[float] = _EVEN
        """Weights of `_ALIKE`: how well each has predicted, relative to the others."""
        self._recurring = 0.0
        """Share of the latest trials whose cluster was there before."""
        self._approved: dict[str | None, Baseline] = {}
        """Approved baselines by stratum; under None until the next trial names the stratum."""
        self._side: Literal["risen", "fallen"] | None = None
        self._settle()
        if baseline is not None:
            self.approve(baseline)

    def approve(self, baseline: Baseline, stratum: str | None = None) -> None:
        """Compare with this baseline from now on; an alert against the previous one ends.

        Args:
            baseline: Expected rate.
            stratum: To which it belongs; None means the one of the next trial, and that all others are
                forgotten, since a figure of all together says nothing of each.
        """
        if stratum is None:
            self._strata, self._clusters, self._approved = {}, {}, {None: baseline}
        else:
            self._forget(stratum)
            self._begin(stratum, baseline)
        self._settle()

    def close(self) -> None:
        """End an alert whose traffic is gone; the baselines stay."""
        self._settle()

    def _settle(self) -> None:
        self._side, self._raised_at = None, 0.0
        self.suspicion = 0.0
        """Log of the likelihood ratio of a rise by a tenth, at least 0; 0 while the alert is up."""
        self._rise, self._fall, self._back = _Run(), _Run(), _Run()

    def _begin(self, stratum: str, baseline: Baseline | None) -> _Tally:
        tally = self._strata[stratum] = _Tally()
        if baseline is not None:
            self._approved[stratum] = baseline
            tally.trials, tally.hits = baseline.n, baseline.mean * baseline.n
        if len(self._strata) > MOST_STRATA:
            self._forget(next(iter(self._strata)))
        return tally

    def _forget(self, stratum: str) -> None:
        self._strata.pop(stratum, None)
        self._approved.pop(stratum, None)
        for place in [one for one in self._clusters if one[0] == stratum]:
            del self._clusters[place]

    @property
    def state(self) -> DriftState:
        """State of the rate."""
        if self._side is not None:
            return DriftState(self._side)
        return DriftState.UNKNOWN if self.baseline is None else DriftState.LEVEL

    @property
    def up(self) -> bool:
        """True if the rate has left its baseline."""
        return self._side is not None

    @property
    def baseline(self) -> Baseline | None:
        """Baseline of the most recently seen stratum that has one; frozen while the alert is up."""
        if None in self._approved:
            return self._approved[None]
        for stratum, tally in reversed(self._strata.items()):
            if stratum in self._approved:
                return self._approved[stratum]
            if tally.trials >= self.rules.provisional_after:
                return Baseline(tally.hits / tally.trials, tally.trials, provisional=True)
        return None

    @property
    def lines(self) -> tuple[float, float]:
        """Rates on either side of `baseline` from which on it counts as left, in [0, 1].

        Raises:
            ValueError: if there is no baseline.
        """
        baseline = self.baseline
        if baseline is None:
            raise ValueError("there is no baseline yet")
        return max(0.0, baseline.mean - self.rules.tolerance), min(1.0, baseline.mean + self.rules.tolerance)

    @property
    def compared(self) -> frozenset[str]:
        """The strata whose trials are compared with former ones."""
        enough = self.rules.provisional_after
        return frozenset(
            name for name, tally in self._strata.items() if tally.trials >= enough or name in self._approved
        )

    @property
    def evidence(self) -> float:
        """Evidence that the rate has left the baseline; while the alert is up, what it was when raised."""
        return self._raised_at if self.up else sum(self._rise.wealth) + sum(self._fall.wealth)

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1."""
        return log10(self.evidence) if self.evidence > 1 else 0.0

    @property
    def alarm_log10(self) -> float:
        """log10 of the evidence that raises the alert."""
        return log10(self.rules.mean_trials_between_false_alarms)

    def observe(self, observation: int, stratum: str = "", cluster: str = "") -> DriftChange | None:
        """Take one trial; return the change of the alert, if any.

        Args:
            observation: 1 for a hit, else 0.
            stratum: Names what the trial is like; only trials of one stratum are compared.
            cluster: Names the near-equal prompts that the trial belongs to; "" if there are none.

        Raises:
            ValueError: if the observation is neither; nothing has changed.
        """
        if observation not in {0, 1}:
            raise ValueError(f"a trial is 0 or 1, got {observation}")
        hit = int(observation)
        place, tally = self._seen(stratum, cluster)
        if self._side is None:
            self._suspect(self._rate(place, tally), hit)
        compared = self._bets(place, tally) and self._is_familiar(stratum, cluster)
        if compared and self._side is not None:
            return self._bet_back(place, tally, hit)
        if compared:
            self._bet(place, tally, hit)
        self._count(place, tally, hit, cluster)
        return self._reached() if compared else None

    def _suspect(self, rate: float, hit: int) -> None:
        gained = risen_log_ratio(max(rate, _LEAST_RATE), _SUSPECTED_RISE, hit=bool(hit))
        self.suspicion = min(MOST_SUSPICION, max(0.0, self.suspicion + gained))

    def _count(self, place: _Place, tally: _Tally, hit: int, cluster: str) -> None:
        """Count the trial in its stratum and its cluster."""
        if place[1]:
            self._learn(place, tally, hit)
            if tally.trials < _SHARED:
                self._strata[place[0]].add(hit)
        elif cluster:
            self._clusters[place[0], cluster].add(hit)
        tally.add(hit)

    def _learn(self, place: _Place, tally: _Tally, hit: int) -> None:
        chances = self._chances(place, tally, {})
        weights = [
            weight * (chance if hit else 1 - chance)
            for weight, chance in zip(self._alike, chances, strict=True)
        ]
        total = sum(weights)
        self._alike = [max(weight / total, _LEAST) for weight in weights]

    def _seen(self, stratum: str, cluster: str) -> tuple[_Place, _Tally]:
        """Return the tally of a trial's stratum or known cluster, and mark both as newest."""
        known = self._strata.pop(stratum, None)
        if known is None:
            known = self._begin(stratum, self._approved.pop(None, None))
        self._strata[stratum] = known
        if cluster:
            place = (stratum, cluster)
            tally = self._clusters.pop(place, None) or _Tally()
            self._clusters[place] = tally
            if len(self._clusters) > MOST_CLUSTERS:
                del self._clusters[next(iter(self._clusters))]
            if tally.trials:
                return place, tally
        return (stratum, ""), known

    def _is_familiar(self, stratum: str, cluster: str) -> bool:
        """Return whether a trial counts as evidence: not if its prompt is new where prompts recur.

        Where most trials are of clusters that were there before, a new cluster is other traffic. Its first
        trials are only counted, so that it is compared with itself from then on.
        """
        known = self._clusters[stratum, cluster].trials if cluster else 0
        self._recurring += ((known > 0) - self._recurring) / _RECENT
        return not cluster or known >= _FAMILIAR or self._recurring <= _MOSTLY

    def _bets(self, place: _Place, tally: _Tally) -> bool:
        stratum, cluster = place
        if tally.trials >= self.rules.provisional_after or stratum in self._approved:
            return True
        return bool(cluster) and self._strata[stratum].trials >= self.rules.provisional_after

    def _rate(self, place: _Place, tally: _Tally, without: Mapping[_Place, _Tally] | None = None) -> float:
        """Return the rate predicted for a place, without a run's trials if given; in (0, 1)."""
        if not place[1]:
            own = _EMPTY if without is None else without.get(place, _EMPTY)
            return (tally.hits - own.hits + _PRIOR) / (tally.trials - own.trials + 2 * _PRIOR)
        chances = self._chances(place, tally, without)
        return float(sum(map(mul, self._alike, chances))) / sum(self._alike)

    def _chances(self, place: _Place, tally: _Tally, without: Mapping[_Place, _Tally] | None) -> list[float]:
        """Return the rates that each weight in `_ALIKE` predicts for a cluster."""
        own = _EMPTY if without is None else without.get(place, _EMPTY)
        whole = self._rate((place[0], ""), self._strata[place[0]], without)
        hits, trials = tally.hits - own.hits, tally.trials - own.trials
        return [(hits + weight * whole) / (trials + weight) for weight in _ALIKE]

    def _bet(self, place: _Place, tally: _Tally, hit: int) -> None:
        """Bet on a rise and on a fall."""
        rate, margin = self._rate(place, tally), self.rules.tolerance / 2
        rise, fall = self._rise, self._fall
        rise.bet(_ENTERING, (1 - rate) / rate, wins=hit == 1)
        fall.bet(_ENTERING, rate / (1 - rate), wins=hit == 0)
        for run, sign in ((rise, 1), (fall, -1)):
            before = rate
            if run.counts:
                own = run.counts.get(place, _EMPTY).trials
                if own and own > _LONGEST_RUN * max(tally.trials - own, self.rules.provisional_after / 10):
                    run.clear()
                else:
                    before = self._rate(place, tally, run.counts)
            run.add(place, hit, before, sign * (hit - before) - margin)
            if place[1] and tally.trials < _SHARED and run.trials:
                run.count((place[0], ""), hit)

    def _reached(self) -> DriftChange | None:
        """Raise the alert if there is evidence of a shift that matters; else hold it below the level."""
        # Not the property: this is asked after every trial.
        evidence = sum(self._rise.wealth) + sum(self._fall.wealth)
        level = self.rules.mean_trials_between_false_alarms
        if evidence < level:
            return None
        side: Literal["risen", "fallen"] = "risen" if sum(self._rise.wealth) >= evidence / 2 else "fallen"
        run, sign = (self._rise, 1) if side == "risen" else (self._fall, -1)
        if sign * run.shift < self.rules.tolerance:
            for one in (self._rise, self._fall):
                one.wealth = [wealth * _HELD * level / evidence for wealth in one.wealth]
            self.suspicion = 0.0  # what it shows is tolerated
            return None
        for place, tally in run.counts.items():
            whole = self._strata.get(place[0]) if not place[1] else self._clusters.get(place)
            if whole is not None:
                whole.trials -= tally.trials
                whole.hits -= tally.hits
        change = self._change(side, run, sign)
        self._settle()
        self._side, self._raised_at = side, evidence
        return change

    def _bet_back(self, place: _Place, tally: _Tally, hit: int) -> DriftChange | None:
        """Bet against a rate that is still beyond the tolerance."""
        before, sign = self._rate(place, tally), 1 if self._side == "risen" else -1
        line = min(max(before + sign * self.rules.tolerance, _END), 1 - _END)
        odds = line / (1 - line)
        self._back.bet(1 / len(SHARES), odds if sign > 0 else 1 / odds, wins=hit == (sign < 0))
        self._back.add(place, hit, before, sign * (line - hit))
        if sum(self._back.wealth) < self.rules.mean_trials_between_false_alarms:
            return None
        change = self._change("recovered", self._back, sign)
        self._settle()
        return change

    def _change(self, kind: Literal["risen", "fallen", "recovered"], run: _Run, sign: int) -> DriftChange:
        strata = {stratum for stratum, _ in run.counts}
        mean = run.expected / run.trials if run.trials else 0.0
        n = sum(self._strata[one].trials for one in strata if one in self._strata)
        baseline = Baseline(mean, n, provisional=not strata & self._approved.keys())
        if len(strata) == 1 and not baseline.provisional:
            baseline = self._approved[next(iter(strata))]
        line = min(max(baseline.mean + sign * self.rules.tolerance, 0.0), 1.0)
        return DriftChange(kind, baseline, line, run.trials, run.mean)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values; floats survive exactly."""
        numbers = {stratum: number for number, stratum in enumerate(self._strata)}
        return {
            "tolerance": self.rules.tolerance,
            "alike": list(self._alike),
            "recurring": self._recurring,
            "side": self._side,
            "raised_at": self._raised_at,
            "suspicion": self.suspicion,
            "strata": [[name, tally.trials, tally.hits] for name, tally in self._strata.items()],
            "clusters": [
                [numbers[stratum], cluster, tally.trials, tally.hits]
                for (stratum, cluster), tally in self._clusters.items()
            ],
            "approved": [[name, one.mean, one.n, one.provisional] for name, one in self._approved.items()],
            "runs": [run.to_json() for run in (self._rise, self._fall, self._back)],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: DriftRules) -> DriftAlert:
        """Read what `to_json` wrote.

        Baselines and an alert that is up outlive another tolerance, evidence does not.
        """
        alert = cls(rules)
        alert._strata = {name: _Tally(trials, hits) for name, trials, hits in raw["strata"]}
        names = list(alert._strata)
        alert._clusters = {
            (names[number], cluster): _Tally(trials, hits)
            for number, cluster, trials, hits in raw["clusters"]
        }
        alert._approved = {name: Baseline(*one) for name, *one in raw["approved"]}
        alert._side = raw["side"]
        if len(raw["alike"]) == len(_ALIKE):
            alert._alike = raw["alike"]
        alert._recurring = raw["recurring"]
        if alert._side is not None:
            alert._raised_at = max(raw["raised_at"], rules.mean_trials_between_false_alarms)
        alert.suspicion = raw["suspicion"]
        if raw["tolerance"] == rules.tolerance:
            for run, state in zip((alert._rise, alert._fall, alert._back), raw["runs"], strict=True):
                run.read(state)
        return alert
