"""The report on a change: what was noticed, what it did to the traffic, and its likely cause.

Each thing that was noticed speaks for one cause, unless something else that was noticed explains it
(`docs/changes.md` has the rules as a table). One cause left: that is it. Two left: "unclear", and both are
named. None left: nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.cells import ChangeMark
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.gate import Verdict as GateVerdict
from evenkeel.monitor.estimate import Counts, proportion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.changes.goldens import GoldenAlarm, GoldenHistory
    from evenkeel.monitor.changes.record import ChangeRecord, Tally
    from evenkeel.monitor.detect.gate import GateReport


_SHOWN_VALUES: Final = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """After minus before, in [−1, 1], with its interval."""

    value: float
    lower: float
    upper: float

    @property
    def moved(self) -> bool:
        """Whether "no difference" lies outside the interval."""
        return self.lower > 0 or self.upper < 0


@dataclass(frozen=True, slots=True)
class Sides:
    """One figure before and after; None where there are too few observations."""

    before: Estimate | None
    after: Estimate | None

    @property
    def difference(self) -> Difference | None:
        """After minus before; None if one of them is not known.

        The interval covers the difference whenever both intervals cover their truth.
        """
        before, after = self.before, self.after
        if before is None or after is None:
            return None
        return Difference(after.value - before.value, after.lower - before.upper, after.upper - before.lower)

    @property
    def moved(self) -> bool:
        """Whether the intervals have no value in common."""
        return self.difference is not None and self.difference.moved

    @property
    def rose(self) -> bool:
        """Whether it moved up."""
        return self.difference is not None and self.difference.lower > 0


@dataclass(frozen=True, slots=True)
class CellSides:
    """A perturbation before and after, whatever the model."""

    perturbation: str
    content_delta: Sides
    excess: Sides
    """Of the resend both are None."""
    robustness: Sides

    @property
    def worse(self) -> bool:
        """Whether answers shift more often, beyond both intervals."""
        return self.content_delta.rose or self.excess.rose


@dataclass(frozen=True, slots=True)
class TraitSides:
    """How the exchanges spread over the values of a trait: shares in [0, 1]."""

    trait: str
    shares: tuple[tuple[str, float, float], ...]
    """Value, share before, share after; the most frequent ones."""
    distance: float
    """Total variation distance in [0, 1]: the share of exchanges that would have to be others."""


@dataclass(frozen=True, slots=True)
class JudgeSides:
    """What is known of the judge before and after."""

    noise: Sides
    """P(another rating when the same pair is judged again)."""
    swap_consistency: Sides
    agreement: Sides
    """P(the judge says what the bands said)."""

    @property
    def moved(self) -> bool:
        """Whether any of them did."""
        return self.noise.moved or self.swap_consistency.moved or self.agreement.moved


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is compared."""

    exchanges_before: int
    exchanges_after: int
    pooled: Sides
    """Content delta over all perturbations, the resend aside. Every exchange counts once, whatever the number
    of its trials: these are not independent of each other."""
    cells: tuple[CellSides, ...]
    """The resend first, then by name."""
    traits: tuple[TraitSides, ...]
    judge: JudgeSides

    @property
    def worse(self) -> tuple[str, ...]:
        """Perturbations whose answers shift more often than before; the resend is one of them."""
        return tuple(cell.perturbation for cell in self.cells if cell.worse)

    @property
    def moved(self) -> tuple[str, ...]:
        """Perturbations whose answers shift more or less often than before."""
        return tuple(
            cell.perturbation for cell in self.cells if cell.content_delta.moved or cell.excess.moved
        )


def compare(before: Tally, after: Tally, *, alpha: float = 0.05, min_trials: int = 30) -> Comparison:
    """Both sides of a change.

    Args:
        before: Traffic before it.
        after: Traffic since.
        alpha: Probability with which any of the intervals of one figure (content delta, say) over all
            perturbations together may ever miss the truth; so also that one of them is said to have moved
            though it did not.
        min_trials: Nothing is said about fewer observations.
    """
    names = sorted(before.cells.keys() | after.cells.keys(), key=lambda name: (name != BASELINE, name))
    level = alpha / max(1, 2 * len(names))
    return Comparison(
        exchanges_before=before.exchanges,
        exchanges_after=after.exchanges,
        pooled=Sides(
            _pooled(before, alpha / 2, min_trials),
            _pooled(after, alpha / 2, min_trials),
        ),
        cells=tuple(_cell(name, before, after, level, min_trials) for name in names),
        traits=tuple(
            _trait(name, before, after) for name in sorted(before.traits.keys() & after.traits.keys())
        ),
        judge=_judge(before, after, alpha / 2, min_trials),
    )


def _pooled(tally: Tally, alpha: float, min_trials: int) -> Estimate | None:
    """Shifted trials, scaled down to one trial an exchange.

    The mean over an exchange is one observation in [0, 1]; the interval of a rate covers the mean of such
    observations too, since its evidence is convex in each of them.
    """
    counts = [tally.counts(name) for name in tally.cells if name != BASELINE]
    trials, shifted = sum(one.trials for one in counts), sum(one.shifted for one in counts)
    exchanges = min(tally.exchanges, trials)
    if exchanges < max(1, min_trials):
        return None
    return proportion(round(shifted * exchanges / trials), exchanges, alpha=alpha)


def _cell(name: str, before: Tally, after: Tally, alpha: float, min_trials: int) -> CellSides:
    both = [tally.counts(name) for tally in (before, after)]

    def sides(figure: Callable[..., Estimate | None]) -> Sides:
        return Sides(*(figure(counts, alpha=alpha, min_trials=min_trials) for counts in both))

    excess = sides(Counts.excess) if name != BASELINE else Sides(None, None)
    return CellSides(name, sides(Counts.content_delta), excess, sides(Counts.robustness))


def _trait(name: str, before: Tally, after: Tally) -> TraitSides:
    old, new = before.traits[name], after.traits[name]
    n_old, n_new = max(1, old.total()), max(1, new.total())
    rows = [
        (value, old.get(value, 0) / n_old, new.get(value, 0) / n_new)
        for value in sorted(old.keys() | new.keys())
    ]
    distance = sum(abs(was - now) for _, was, now in rows) / 2
    rows.sort(key=lambda row: (-max(row[1:]), row[0]))
    return TraitSides(name, tuple(rows[:_SHOWN_VALUES]), distance)


def _judge(before: Tally, after: Tally, alpha: float, min_trials: int) -> JudgeSides:
    def sides(yes: str, no: str) -> Sides:
        counted = [(getattr(tally.judge, yes), getattr(tally.judge, no)) for tally in (before, after)]
        return Sides(
            *(proportion(one, one + other, alpha=alpha, min_trials=min_trials) for one, other in counted)
        )

    return JudgeSides(
        sides("other_again", "same_again"),
        sides("same_swapped", "other_swapped"),
        sides("agreed", "disagreed"),
    )


class Cause(StrEnum):
    """What is behind a change."""

    PROMPT = "prompt_edited"
    MODEL = "model_swapped"
    PARAMETERS = "parameters_changed"
    PROVIDER = "provider_changed_silently"
    """Same names, other answers."""
    TRAFFIC = "traffic_moved"
    JUDGE = "judge_drifted"
    SETTINGS = "settings_changed"
    """evenkeel's own."""
    NOTHING = "nothing"
    """The change that was noticed has no measurable effect."""
    UNCLEAR = "unclear"
    """Two causes or more speak for themselves."""


SAID: Final = {
    Cause.PROMPT: "the prompt was edited",
    Cause.MODEL: "the model was swapped",
    Cause.PARAMETERS: "the request parameters were changed",
    Cause.PROVIDER: "the provider changed something silently",
    Cause.TRAFFIC: "the traffic moved",
    Cause.JUDGE: "the judge drifted",
    Cause.SETTINGS: "the settings of evenkeel were changed",
    Cause.NOTHING: "nothing that matters",
    Cause.UNCLEAR: "unclear",
}
"""For people."""

_SPEAKS_FOR: Final = {
    kinds.PROMPT: Cause.PROMPT,
    kinds.MODEL: Cause.MODEL,
    kinds.REQUESTED_MODEL: Cause.MODEL,
    kinds.PARAMETERS: Cause.PARAMETERS,
    kinds.TRAFFIC: Cause.TRAFFIC,
    kinds.JUDGE: Cause.JUDGE,
    kinds.JUDGE_DRIFT: Cause.JUDGE,
    kinds.SETTINGS: Cause.SETTINGS,
    kinds.ANSWERS: Cause.PROVIDER,
    kinds.RATINGS: Cause.PROVIDER,
    kinds.GOLDENS: Cause.PROVIDER,
}
"""A fingerprint alone proves nothing, as providers change theirs daily; it may explain changed answers."""

_OURS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT, kinds.PARAMETERS))
_EXPLAINED_BY: Final = {
    # By rule: another judge does not move them. Other perturbations or rewriters may.
    kinds.ANSWERS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS},
    kinds.RATINGS: _OURS | {kinds.TRAFFIC, kinds.SETTINGS, kinds.JUDGE, kinds.JUDGE_DRIFT},
    # The same questions, compared by rule: neither other traffic nor another judge moves them.
    kinds.GOLDENS: _OURS,
    kinds.JUDGE: frozenset((kinds.SETTINGS,)),
    # Where answers are others by rule, a judge that rates them otherwise does what it should.
    kinds.JUDGE_DRIFT: _OURS | {kinds.SETTINGS, kinds.JUDGE, kinds.ANSWERS},
}
_EDITS: Final = ("length", "template")
"""Traits that an edit of the prompt moves by itself."""


class Verdict(NamedTuple):
    """The cause and why."""

    cause: Cause
    among: tuple[Cause, ...]
    """The causes that are left; one for a clear one, several for an unclear one."""
    evidence: tuple[str, ...]
    """What was noticed, one sentence each."""


def likely_cause(
    marks: Sequence[ChangeMark], *, goldens_moved: bool | None, goldens_judged: bool = False
) -> Verdict:
    """The cause that the marks of a change point at.

    Args:
        marks: What was noticed.
        goldens_moved: Whether the goldens of the route are answered otherwise than before; None if that was
            not measured.
        goldens_judged: Whether a judge said so, which a judge that drifts would say as well.
    """
    noticed = [mark.kind for mark in marks]
    present = set(noticed)
    if goldens_moved:
        present.add(kinds.GOLDENS)
    left: dict[Cause, None] = {}
    evidence = []
    for kind in dict.fromkeys([*noticed, *sorted(present)]):
        why = _explained(kind, present, marks, goldens_judged=goldens_judged)
        cause = _SPEAKS_FOR.get(kind)
        # A shift of answers is no news where the goldens, asked since, are answered as before.
        denied = kind in {kinds.ANSWERS, kinds.RATINGS} and goldens_moved is False
        if cause is not None and not why and not denied:
            left[cause] = None
        evidence.append(_sentence(kind, marks, why, denied=denied))
    if goldens_moved is False:
        evidence.append("The goldens are answered as before.")
    elif goldens_moved is None:
        evidence.append("No goldens were replayed, so whether answers changed rests on the traffic alone.")
    among = tuple(left)
    cause = among[0] if len(among) == 1 else Cause.UNCLEAR if among else Cause.NOTHING
    return Verdict(cause, among, tuple(evidence))


def _explained(
    kind: str, present: Iterable[str], marks: Sequence[ChangeMark], *, goldens_judged: bool
) -> str:
    """What else that was noticed explains a kind; "" if nothing does."""
    by = set(_EXPLAINED_BY.get(kind, ()))
    if kind == kinds.GOLDENS and goldens_judged:
        by |= {kinds.JUDGE, kinds.JUDGE_DRIFT, kinds.SETTINGS}
    if kind == kinds.TRAFFIC:
        moved = {mark.before.partition(":")[0] for mark in marks if mark.kind == kinds.TRAFFIC}
        if moved <= set(_EDITS):
            by.add(kinds.PROMPT)
    found = [one for one in kinds.KINDS if one in by and one in present]
    return kinds.NAMES[found[0]] if found else ""


def _sentence(kind: str, marks: Sequence[ChangeMark], explained: str, *, denied: bool) -> str:
    name = kinds.NAMES[kind]
    own = [mark for mark in marks if mark.kind == kind]
    if own:
        said = "; ".join(f"“{mark.before}” → “{mark.after}”" for mark in own)
        text = f"{name[0].upper()}{name[1:]}: {said}"
    else:
        text = "Goldens: answered otherwise than before"
    if explained:
        return f"{text} (explained by: {explained})."
    if denied:
        return f"{text} (the goldens do not show it)."
    return f"{text}."


_SAME_TIME_S: Final = 86_400.0
"""A golden alarm belongs to a change that came at most so long before the run that decided it."""

Effect = Literal["worse", "none_seen", "unknown"]


@dataclass(frozen=True, slots=True)
class GoldenSide:
    """What the goldens of the route say about a change."""

    verdict: GateVerdict | None
    """Of the replay after the change; None if there was none."""
    settled: bool
    """Whether evidence decided it."""
    asked: int
    breaches: tuple[tuple[str, float, float | None], ...]
    """Measure, share of the goldens that breach it now, and before; None where that is not known."""
    reason: str = ""
    """Why nothing could be measured, "" if it could."""
    alarm: GoldenAlarm | None = None
    """Of the canaries, if they noticed it."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """One change."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    marks: tuple[ChangeMark, ...]
    cause: Cause
    among: tuple[Cause, ...]
    """The causes that compete, if it is unclear."""
    evidence: tuple[str, ...]
    effect: Effect
    """Whether answers got worse: on the traffic or on the goldens."""
    effects: tuple[str, ...]
    """What got worse, one sentence each."""
    comparison: Comparison | None
    """The traffic before and after; None for a change that only canaries noticed."""
    goldens: GoldenSide | None
    settings: tuple[str, ...] = ()
    """Which settings differ, one line each."""
    also: str = ""
    """Id under which the canaries reported it before the traffic showed it; "" if they did not."""

    @property
    def title(self) -> str:
        """Route and cause in a few words."""
        said = SAID[self.cause]
        if self.cause is Cause.UNCLEAR:
            said = f"unclear: {' or '.join(SAID[cause] for cause in self.among)}"
        return f"{self.route}: {said}"


def reports_of(
    records: Sequence[ChangeRecord],
    history: GoldenHistory,
    *,
    settings: Mapping[str, Sequence[str]] | None = None,
    min_trials: int = 30,
) -> tuple[ChangeReport, ...]:
    """All changes, the newest first.

    Args:
        records: Of all routes, as the fold has them.
        history: Of the goldens.
        settings: Which settings differ, by the fingerprint after the change.
        min_trials: Nothing is said about fewer observations.
    """
    alarms = list(history.alarms)
    found = []
    for record in sorted(records, key=lambda one: one.at, reverse=True):
        own = next((alarm for alarm in alarms if _belongs(alarm, record)), None)
        if own is not None:
            alarms.remove(own)
        judged = record.id in history.judged
        found.append(
            _of_record(record, history.gates.get(record.id), own, settings or {}, min_trials, judged=judged)
        )
    found += [_of_alarm(alarm) for alarm in alarms]
    return tuple(sorted(found, key=lambda one: (-one.at, one.id)))


def _belongs(alarm: GoldenAlarm, record: ChangeRecord) -> bool:
    return alarm.route == record.route and alarm.since - 1 <= record.at <= alarm.at + _SAME_TIME_S


def _of_record(
    record: ChangeRecord,
    gate: GateReport | None,
    alarm: GoldenAlarm | None,
    settings: Mapping[str, Sequence[str]],
    min_trials: int,
    *,
    judged: bool,
) -> ChangeReport:
    comparison = compare(record.before, record.after, min_trials=min_trials)
    goldens = _goldens(gate, alarm)
    verdict = likely_cause(
        record.marks,
        goldens_moved=_moved(gate, alarm),
        goldens_judged=judged or (alarm is not None and alarm.judged),
    )
    effects = _effects(comparison, goldens)
    measured = any(cell.content_delta.before and cell.content_delta.after for cell in comparison.cells)
    known = measured or (gate is not None and gate.verdict is not GateVerdict.COULD_NOT_MEASURE)
    differ = [
        line for mark in record.marks if mark.kind == kinds.SETTINGS for line in settings.get(mark.after, ())
    ]
    return ChangeReport(
        id=record.id,
        route=record.route,
        at=record.at,
        marks=record.marks,
        **verdict._asdict(),
        effect="worse" if effects else "none_seen" if known else "unknown",
        effects=effects,
        comparison=comparison,
        goldens=goldens,
        settings=tuple(differ),
        also=_alarm_id(alarm) if alarm is not None else "",
    )


def _of_alarm(alarm: GoldenAlarm) -> ChangeReport:
    """A change that only the canaries noticed."""
    mark = ChangeMark(
        kinds.GOLDENS,
        f"{alarm.measure}: {alarm.before:.0%}",
        f"{alarm.measure}: {alarm.after:.0%}",
        alarm.at,
        0,
    )
    verdict: Verdict = likely_cause([mark], goldens_moved=True)
    goldens = _goldens(None, alarm)
    return ChangeReport(
        id=_alarm_id(alarm),
        route=alarm.route,
        at=alarm.at,
        marks=(mark,),
        **verdict._asdict(),
        effect="worse",
        effects=_effects(None, goldens),
        comparison=None,
        goldens=goldens,
    )


def _alarm_id(alarm: GoldenAlarm) -> str:
    return hashlib.sha256(f"{alarm.route}\0goldens\0{alarm.run}".encode()).hexdigest()[:12]


def _moved(gate: GateReport | None, alarm: GoldenAlarm | None) -> bool | None:
    """Whether the goldens are answered otherwise; None if that is not settled."""
    if alarm is not None:
        return True
    if gate is None or not gate.settled:
        return None
    return gate.verdict is GateVerdict.REGRESSION


def _goldens(gate: GateReport | None, alarm: GoldenAlarm | None) -> GoldenSide | None:
    if gate is None and alarm is None:
        return None
    if gate is None:
        assert alarm is not None
        return GoldenSide(None, True, 0, ((alarm.measure, alarm.after, alarm.before),), alarm=alarm)
    return GoldenSide(
        gate.verdict,
        gate.settled,
        gate.asked,
        tuple((one.measure.name, one.candidate, one.reference) for one in gate.findings if one.n),
        gate.reason,
        alarm,
    )


def _effects(comparison: Comparison | None, goldens: GoldenSide | None) -> tuple[str, ...]:
    found = []
    pooled = comparison.pooled if comparison else None
    if pooled is not None and pooled.rose and pooled.before is not None and pooled.after is not None:
        found.append(
            f"Over all perturbations answers shift in {pooled.after.value:.0%} of the trials, "
            f"{pooled.before.value:.0%} before."
        )
    for cell in comparison.cells if comparison else ():
        sides = cell.content_delta if cell.content_delta.rose else cell.excess
        if cell.worse and sides.before is not None and sides.after is not None:
            found.append(
                f"{cell.perturbation}: answers shift in {sides.after.value:.0%} of the trials, "
                f"{sides.before.value:.0%} before."
            )
    if goldens is not None and (goldens.verdict is GateVerdict.REGRESSION or goldens.alarm is not None):
        for measure, now, before in goldens.breaches:
            if now > (before or 0.0):
                was = "" if before is None else f", {before:.0%} before"
                found.append(f"Goldens: {now:.0%} breach {measure}{was}.")
    return tuple(found)
