"""Drift of a rate from what it was, by prompt version and judge.

A prompt version or a judge is something that people can name and change, so trials of each form a *stratum*
and are compared with former trials of the same one. Nothing else divides traffic: every further stratum has
to learn its own rate first, and a fall that is common to all of them waits for that. A new prompt version
borrows: its rate is that of all versions under the same judge, until it has trials of its own. A new judge
borrows nothing.

**The test.** A stratum with k hits in n trials predicts its next trial by (k + 20 r)/(n + 20), with r the
rate of all versions; the only version of a judge by r itself, (k + ½)/(n + 1). Gamblers bet on each trial
against that, some on a rise and some on a fall; evidence is the wealth of all, of which 1 enters with each
trial (`evenkeel.monitor.detect.e_detector`). All strata share the wealth, so a shift that is common to them
adds up. The line is no estimate frozen at some time, it follows all trials, so the baseline works from early
on and gets better with every trial, and its error is part of the bet.

**False alarms.** For one stratum the line is the exact probability of a hit, given all trials before, if its
rate was drawn from Jeffreys' prior and has not changed since. No bet wins on average then, and the number of
trials to an alarm is at least the level, averaged over that prior. For a single rate, or several strata, it
is no theorem: `python -m benchmarks.detection` measures it for rates from .02 to .5. Whatever is done below
is decided before the next trial is seen or takes wealth away, so it changes nothing about that. Trials that
depend on their neighbours are bet on less, and evidence grows fifteenfold at most within a block of forty.

**Unrated trials.** A judge that fails is missed where answers differ, since identical ones need none. So the
share of hits is that of the rated trials, or more if unrated ones were hits. A rise of the one has to leave
all that the other may have been before, and a fall of the other all that the one was.

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

from dataclasses import astuple, dataclass
from enum import StrEnum
from math import log10
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import to_builtins

from evenkeel.core.records import from_plain
from evenkeel.core.suspicion import MOST_SUSPICION, risen_log_ratio
from evenkeel.monitor.detect.e_detector import BlockLimit
from evenkeel.monitor.estimate.blocks import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARES: Final = tuple(0.04 * (0.6 / 0.04) ** (number / 5) for number in range(6))
"""Bets as shares of the largest that cannot go broke. Measured against the eight of a fixed line, which begin
at 0.06: a rise from 0.05 to 0.15 after 200 trials is missed in 9 % instead of 14 %."""
# Factors that a lost bet leaves of each gambler's wealth.
_KEPT: Final = tuple(1 - share for share in SHARES)
# Wealth that enters with each trial on each bet on either side.
_ENTERING: Final = 0.5 / len(SHARES)
MOST_STRATA: Final = 64
"""Most strata remembered for a cell; the least recently seen is forgotten first."""
# Jeffreys' prior of a rate: Beta(½, ½).
_PRIOR: Final = 0.5
# Trials of all versions that the rate of one version borrows.
_BORROWED: Final = 20
# Trials of a version after which it is compared, if there are others.
_FAMILIAR: Final = 10
# Share of trials of known versions above which a new one is an exception, and waits for these trials.
_MOSTLY: Final = 0.5
# Trials over which that share is averaged.
_RECENT: Final = 100
# Longest run, as a multiple of the trials of its stratum outside the run (taken as at least a tenth of a
# provisional baseline). If these few trials are by chance far from the rate, the run would otherwise never
# end.
_LONGEST_RUN: Final = 4
# Share of the level at which evidence is held for a shift within the tolerance.
_HELD: Final = 0.999
# Smallest rise that trials are suspected of.
_SUSPECTED_RISE: Final = 0.1
# Lowest rate for which a rise is suspected: few trials say little about rare hits.
_LEAST_RATE: Final = 0.05
# Factor by which evidence grows within a block at most: bets on a rare hit win more than any other.
_BLOCK_GAIN: Final = 15.0
# Distance from 0 and 1 that a line for the way back keeps.
_END: Final = 0.001


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
    """Trials of a judge from which on they are compared with former ones, if no baseline is approved."""


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
    trials: int = 0
    hits: float = 0.0
    """Number of hits; whole unless a baseline was approved."""
    unrated: int = 0
    """Number of trials that may be hits or not."""

    def add(self, hit: int | None) -> None:
        self.trials += 1
        if hit is None:
            self.unrated += 1
        else:
            self.hits += hit

    def counted(self, *, at_most: bool) -> tuple[int, float]:
        """Return trials and hits, of rated trials alone or with all unrated ones as hits."""
        if at_most:
            return self.trials, self.hits + self.unrated
        return self.trials - self.unrated, self.hits

    def join(self, other: _Tally, sign: int = 1) -> None:
        """Add another count, or take it away with the sign −1."""
        self.trials += sign * other.trials
        self.hits += sign * other.hits
        self.unrated += sign * other.unrated


def _at_most(hit: int | None) -> int:
    """Return 1 for a trial that is a hit or may be one, else 0."""
    return 1 if hit is None else hit


# Wealth before anybody has entered; shared, since most detectors never see a bet.
_NOBODY: Final[Sequence[float]] = (0.0,) * len(SHARES)


class _DriftRun:
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
        """Trials of the run by stratum."""

    @property
    def shift(self) -> float:
        """Mean of the run minus what was expected."""
        return (self.hits - self.expected) / self.trials if self.trials else 0.0

    @property
    def mean(self) -> float:
        """Share of hits, 0 if the run is empty."""
        return self.hits / self.trials if self.trials else 0.0

    def bet(self, entering: float, odds: float, effect: float, *, wins: bool) -> None:
        """Let new gamblers enter with a stake on each bet, and settle one trial for everybody.

        A gambler who stakes all they have would win `odds` times as much or lose it; what is won or lost is
        raised to the power of one over the design effect.
        """
        factors: Sequence[float] = [1 + share * odds for share in SHARES] if wins else _KEPT
        if effect > 1:
            power = 1 / effect
            factors = [factor**power for factor in factors]
        # Strict zips cost as much as what is computed, and all have one number per bet.
        self.wealth = [(entering + wealth) * factor for wealth, factor in zip(self.wealth, factors)]  # noqa: B905

    def scale(self, factor: float) -> None:
        """Take wealth away from everybody alike."""
        self.wealth = [wealth * factor for wealth in self.wealth]

    def add(self, stratum: Stratum, hit: int | None, expected: float, step: float) -> None:
        """Add a trial to the run, an unrated one as a hit; the run ends when its sum of steps falls to 0."""
        self.step += step
        if self.step > 0:
            self.expected += expected
            self.trials += 1
            self.hits += _at_most(hit)
            self.count(stratum, hit)
        elif self.trials:
            self.clear()
        else:
            self.step = 0.0

    def count(self, stratum: Stratum, hit: int | None) -> None:
        """Count a trial of the run under its stratum."""
        tally = self.counts.get(stratum)
        if tally is None:
            tally = _Tally()
            if self.counts:
                self.counts[stratum] = tally
            else:
                self.counts = {stratum: tally}
        tally.add(hit)

    def under(self, judge: str) -> _Tally:
        """Return the count of the run's trials under a judge."""
        tally = _Tally()
        for stratum, counted in self.counts.items():
            if stratum.judge == judge:
                tally.join(counted)
        return tally

    def to_json(self) -> list[Any]:
        """Return the run as JSON values; floats survive exactly."""
        counts = []
        for stratum, tally in self.counts.items():
            counts.append([*stratum, *astuple(tally)])
        return [list(self.wealth), self.step, self.expected, self.trials, self.hits, counts]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote, unless the number of bets differs."""
        if len(raw[0]) == len(SHARES):
            self.wealth, self.step, self.expected, self.trials, self.hits, counts = raw
            self.counts = {Stratum(*row[:2]): _Tally(*row[2:]) for row in counts}


class Stratum(NamedTuple):
    """Trials that are compared with each other."""

    judge: str
    """Judge of the route at the time, and its wording."""
    version: str
    """Version of the prompt."""


ALL: Final = Stratum("", "")
"""Stratum of trials of which neither is known."""
# Counts of an empty run. They are shared, so never added to.
_UNCOUNTED: Final[dict[Stratum, _Tally]] = {}
_EMPTY: Final = _Tally()


class DriftAlert:
    """Detector that watches a rate for a rise and a fall by stratum, and for recovery after an alarm."""

    __slots__ = (
        "_approved",
        "_back",
        "_fall",
        "_judges",
        "_limit",
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
        # Strata, the most recently seen last.
        self._strata: dict[Stratum, _Tally] = {}
        # Trials of all versions by judge.
        self._judges: dict[str, _Tally] = {}
        # Share of the latest trials whose version was there before.
        self._recurring = 0.0
        # Approved baselines by stratum; under None until the next trial names the stratum.
        self._approved: dict[Stratum | None, Baseline] = {}
        self._side: Literal["risen", "fallen"] | None = None
        self._settle()
        if baseline is not None:
            self.approve(baseline)

    def approve(self, baseline: Baseline) -> None:
        """Compare with this baseline from now on; an alert against the previous one ends.

        It belongs to the stratum of the next trial. All others are forgotten, since a figure of all together
        says nothing of each.
        """
        self._strata, self._judges, self._approved = {}, {}, {None: baseline}
        self._settle()

    def close(self) -> None:
        """End an alert whose traffic is gone; the baselines stay."""
        self._settle()

    def _settle(self) -> None:
        self._side, self._raised_at = None, 0.0
        self.suspicion = 0.0
        """Log of the likelihood ratio of a rise by a tenth, at least 0; 0 while the alert is up."""
        self._rise, self._fall, self._back = _DriftRun(), _DriftRun(), _DriftRun()
        self._limit = BlockLimit(_BLOCK_GAIN, BLOCK)

    def _begin(self, stratum: Stratum) -> _Tally:
        tally = self._strata[stratum] = _Tally()
        whole = self._judges.setdefault(stratum.judge, _Tally())
        baseline = self._approved.pop(None, None)
        if baseline is not None:
            self._approved[stratum] = baseline
            for counted in (tally, whole):
                counted.trials, counted.hits = baseline.n, baseline.mean * baseline.n
        if len(self._strata) > MOST_STRATA:
            self._forget(next(iter(self._strata)))
        return tally

    def _forget(self, stratum: Stratum) -> None:
        tally = self._strata.pop(stratum)
        self._approved.pop(stratum, None)
        self._judges[stratum.judge].join(tally, -1)
        if not any(other.judge == stratum.judge for other in self._strata):
            del self._judges[stratum.judge]

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
        for stratum in reversed(self._strata):
            if stratum in self._approved:
                return self._approved[stratum]
            if self._is_compared(stratum):
                tally = self._strata[stratum]
                rated, hits = tally.counted(at_most=False)
                mean = hits / rated if rated else self._rate(stratum)
                return Baseline(mean, tally.trials, provisional=True)
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
    def compared(self) -> frozenset[Stratum]:
        """The strata whose trials are compared with former ones."""
        compared = set()
        for stratum in self._strata:
            if self._is_compared(stratum):
                compared.add(stratum)
        return frozenset(compared)

    @property
    def evidence(self) -> float:
        """Evidence that the rate has left the baseline; while the alert is up, what it was when raised."""
        return self._raised_at if self.up else sum(self._rise.wealth) + sum(self._fall.wealth)

    @property
    def evidence_log10(self) -> float:
        """log10 of `evidence`, and 0 while that is below 1."""
        return log10(self.evidence) if self.evidence > 1 else 0.0

    def observe(
        self, observation: int | None, stratum: Stratum = ALL, effect: float = 1.0
    ) -> DriftChange | None:
        """Take one trial; return the change of the alert, if any.

        Args:
            observation: 1 for a hit, else 0; None for a trial that nobody could rate.
            stratum: Who judges, and which version of the prompt was asked.
            effect: Design effect of the trials before.

        Raises:
            ValueError: if the observation is none of these; nothing has changed.
        """
        if observation not in {0, 1, None}:
            raise ValueError(f"a trial is 0, 1 or None, got {observation}")
        hit = None if observation is None else int(observation)
        tally = self._seen(stratum)
        # Before the trial is counted: what it is compared with must not depend on it.
        self._recurring += ((tally.trials > 0) - self._recurring) / _RECENT
        if self._side is None and hit is not None:
            self._suspect(self._rate(stratum), hit)
        compared = self._is_compared(stratum)
        if compared and self._side is not None:
            return self._bet_back(stratum, hit, effect)
        if compared:
            self._bet(stratum, hit, effect)
        tally.add(hit)
        self._judges[stratum.judge].add(hit)
        return self._reached() if compared else None

    def _suspect(self, rate: float, hit: int) -> None:
        gained = risen_log_ratio(max(rate, _LEAST_RATE), _SUSPECTED_RISE, hit=bool(hit))
        self.suspicion = min(MOST_SUSPICION, max(0.0, self.suspicion + gained))

    def _seen(self, stratum: Stratum) -> _Tally:
        tally = self._strata.pop(stratum, None)
        if tally is None:
            return self._begin(stratum)
        self._strata[stratum] = tally
        return tally

    def _is_compared(self, stratum: Stratum) -> bool:
        """Return whether trials of a stratum are compared with former ones.

        Where most trials are of versions that were there before, a new one may be other traffic. Its first
        trials are only counted. Where versions come and go all the time, waiting would mean to see nothing.
        """
        if stratum in self._approved:
            return True
        whole, own = self._judges[stratum.judge].trials, self._strata[stratum].trials
        if whole < self.rules.provisional_after:
            return False
        return own >= _FAMILIAR or self._recurring <= _MOSTLY

    def _rate(self, stratum: Stratum, run: _DriftRun | None = None, *, at_most: bool = True) -> float:
        """Return the rate predicted for a stratum, in (0, 1).

        Args:
            stratum: With trials before.
            run: Its trials are left out, if given.
            at_most: Whether unrated trials count as hits; else they do not count.
        """
        tally, whole = self._strata[stratum], self._judges[stratum.judge]
        is_alone = tally.trials == whole.trials
        trials, hits = tally.counted(at_most=at_most)
        of_all, hits_of_all = whole.counted(at_most=at_most)
        if run is not None:
            own, own_hits = run.counts.get(stratum, _EMPTY).counted(at_most=at_most)
            judged, judged_hits = run.under(stratum.judge).counted(at_most=at_most)
            trials, hits = trials - own, hits - own_hits
            of_all, hits_of_all = of_all - judged, hits_of_all - judged_hits
        rate = (hits_of_all + _PRIOR) / (of_all + 2 * _PRIOR)
        return rate if is_alone else (hits + _BORROWED * rate) / (trials + _BORROWED)

    def _bet(self, stratum: Stratum, hit: int | None, effect: float) -> None:
        most, least, margin = (
            self._rate(stratum),
            self._rate(stratum, at_most=False),
            self.rules.tolerance / 2,
        )
        rise, fall = self._rise, self._fall
        if hit is not None:
            rise.bet(_ENTERING, (1 - most) / most, effect, wins=hit == 1)
        fall.bet(_ENTERING, least / (1 - least), effect, wins=hit == 0)
        factor = self._limit.excess(sum(rise.wealth) + sum(fall.wealth))
        if factor < 1:
            rise.scale(factor)
            fall.scale(factor)
        trials = self._judges[stratum.judge].trials
        for run, sign in ((rise, 1), (fall, -1)):
            before = most if sign > 0 else least
            if run.counts:
                if run.trials > _LONGEST_RUN * max(trials - run.trials, self.rules.provisional_after / 10):
                    run.clear()
                else:
                    before = self._rate(stratum, run, at_most=sign > 0)
            if hit is not None or sign < 0:
                run.add(stratum, hit, before, sign * (_at_most(hit) - before) - margin)

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
            self._rise.scale(_HELD * level / evidence)
            self._fall.scale(_HELD * level / evidence)
            self.suspicion = 0.0  # what it shows is tolerated
            return None
        for stratum, tally in run.counts.items():
            if stratum in self._strata:
                self._strata[stratum].join(tally, -1)
                self._judges[stratum.judge].join(tally, -1)
        change = self._change(side, run, sign)
        self._settle()
        self._side, self._raised_at = side, evidence
        return change

    def _bet_back(self, stratum: Stratum, hit: int | None, effect: float) -> DriftChange | None:
        """Bet against a rate that is still beyond the tolerance."""
        sign = 1 if self._side == "risen" else -1
        if hit is None and sign < 0:
            return None
        before = self._rate(stratum, at_most=sign > 0)
        line = min(max(before + sign * self.rules.tolerance, _END), 1 - _END)
        odds = line / (1 - line)
        self._back.bet(1 / len(SHARES), odds if sign > 0 else 1 / odds, effect, wins=hit == (sign < 0))
        factor = self._limit.excess(sum(self._back.wealth))
        if factor < 1:
            self._back.scale(factor)
        self._back.add(stratum, hit, before, sign * (line - _at_most(hit)))
        if sum(self._back.wealth) < self.rules.mean_trials_between_false_alarms:
            return None
        change = self._change("recovered", self._back, sign)
        self._settle()
        return change

    def _change(
        self, kind: Literal["risen", "fallen", "recovered"], run: _DriftRun, sign: int
    ) -> DriftChange:
        strata = set(run.counts)
        mean = run.expected / run.trials if run.trials else 0.0
        n = 0
        for stratum in strata:
            # One that came and went since the run began is forgotten by now.
            if stratum in self._strata:
                n += self._strata[stratum].trials
        baseline = Baseline(mean, n, provisional=not strata & self._approved.keys())
        if len(strata) == 1 and not baseline.provisional:
            baseline = self._approved[next(iter(strata))]
        line = min(max(baseline.mean + sign * self.rules.tolerance, 0.0), 1.0)
        return DriftChange(kind, baseline, line, run.trials, run.mean)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values; floats survive exactly."""
        return {
            "tolerance": self.rules.tolerance,
            "recurring": self._recurring,
            "side": self._side,
            "raised_at": self._raised_at,
            "suspicion": self.suspicion,
            "strata": [[*stratum, *astuple(tally)] for stratum, tally in self._strata.items()],
            "judges": [[judge, *astuple(tally)] for judge, tally in self._judges.items()],
            "approved": [[stratum, *astuple(baseline)] for stratum, baseline in self._approved.items()],
            "limit": to_builtins(self._limit),
            "runs": [run.to_json() for run in (self._rise, self._fall, self._back)],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any], rules: DriftRules) -> DriftAlert:
        """Read what `to_json` wrote.

        Baselines and an alert that is up outlive another tolerance, evidence does not.
        """
        alert = cls(rules)
        for judge, version, *counts in raw["strata"]:
            alert._strata[Stratum(judge, version)] = _Tally(*counts)
        for judge, *counts in raw["judges"]:
            alert._judges[judge] = _Tally(*counts)
        for stratum, *baseline in raw["approved"]:
            alert._approved[None if stratum is None else Stratum(*stratum)] = Baseline(*baseline)
        alert._side = raw["side"]
        alert._recurring = raw["recurring"]
        if alert._side is not None:
            alert._raised_at = max(raw["raised_at"], rules.mean_trials_between_false_alarms)
        alert.suspicion = raw["suspicion"]
        if raw["tolerance"] == rules.tolerance:
            for run, state in zip((alert._rise, alert._fall, alert._back), raw["runs"], strict=True):
                run.read(state)
            alert._limit = from_plain(raw["limit"], BlockLimit)
        return alert
