"""Reports on changes: their marks, their effects on the answers, and their likely causes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core import figures
from evenkeel.core.verdict import Failure
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.causes import SAID, Candidate, Cause, Experiments, likely_cause
from evenkeel.monitor.changes.comparison import Comparison, compare, shifted_traits
from evenkeel.monitor.changes.effects import (
    EFFECTS,
    FOUND,
    Effect,
    Finding,
    effect_of,
    likeness,
    measured,
    noticed,
    of_goldens,
    of_references,
    of_scores,
)
from evenkeel.monitor.changes.onset import onset_of
from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateReport, GateRules, GateVerdict, Shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.changes.causes import Strength
    from evenkeel.monitor.changes.kinds import AskedAgain
    from evenkeel.monitor.changes.record import ChangeRecord, SilentState
    from evenkeel.monitor.changes.stay import End
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import AnswerScores, GoldenRun


# Causes that make the ratings of the two sides incomparable.
_YARDSTICKS: Final = frozenset((Cause.JUDGE, Cause.SETTINGS))
_JUDGE: Final = frozenset((kinds.JUDGE, kinds.JUDGE_PANEL))
PROVEN: Final = "a silent change by the provider"
STRENGTHS: Final[dict[Strength, str]] = {
    "shown": "shown by experiment",
    "changed": "changed at that time",
    "possible": "not ruled out",
}
"""Phrases for the evidence of a candidate."""


_STATES: Final[dict[SilentState, str]] = {
    "found": "Found: the same requests get different answers than before.",
    "reversed": "Over: answers are back to what they were.",
    "replaced": "Over: answers changed once more; a later report says how.",
    "settled": "Found, and a day old: later answers are compared with the new ones.",
}
"""Descriptions of the states, for people."""


class Names(NamedTuple):
    """Names that the endpoint returned for itself."""

    before: str
    """Name before the change; "" if it did not change or is not known."""
    after: tuple[str, ...]
    """Names after the change, the most frequent first; empty if the endpoint gives none."""

    def said(self, missing: str) -> str:
        """Describe the names for people; `missing` if there is none."""
        after = figures.listing([f"“{name}”" for name in self.after])
        if self.before:
            return f"“{self.before}” before, {after} since"
        return f"{after}, no change was noticed" if after else missing


@dataclass(frozen=True, slots=True)
class SilentSide:
    """Evidence of a silent change of a route."""

    route: str
    state: SilentState
    references: ReferenceEvidence
    models: Names
    """Model names that the endpoint returned."""
    fingerprints: Names
    scores: AnswerScores | None
    """Scores of the answers before and after, if reference prompts were scored."""

    @property
    def when(self) -> str:
        """Time at which the change came about, for people."""
        after, since = self.references.after, max(self.references.since, self.references.until)
        first, last = figures.date_and_time(after), figures.date_and_time(since)
        if after >= since or first == last:
            return f"about {last}"
        return f"between {first} and {last}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Facts at the head of the report, as pairs of name and text."""
        return [
            ("State", _STATES[self.state]),
            ("Began", self.when),
            ("Requested model", self.references.requested_model or "none named"),
            ("Route", self.route),
            ("Reference prompts", likeness(self.references)),
            ("Returned model", self.models.said("no name was returned")),
            ("System fingerprint", self.fingerprints.said("none was returned")),
        ]


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """Report on one change."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    marks: tuple[ChangeMark, ...]
    cause: Cause
    candidates: tuple[Candidate, ...]
    """Candidates for the cause, in the order of their evidence."""
    evidence: tuple[str, ...]
    """Sentences about the marks, one for each."""
    ruled_out: tuple[str, ...]
    """Sentences about the causes that were ruled out, one for each."""
    effect: Effect
    """The gravest of the findings."""
    findings: tuple[Finding, ...]
    """Differences measured on the traffic or on the goldens."""
    comparison: Comparison
    """The traffic before and after."""
    goldens: GateReport | None
    """Verdict on the goldens that were asked again after the change."""
    settings: tuple[str, ...] = ()
    """Settings that differ, one line each."""
    silent: SilentSide | None = None
    """Evidence of a silent change; None without any."""
    end: End | None = None
    """Reversal or replacement of the change; None while its values are still in the traffic."""

    @property
    def among(self) -> tuple[Cause, ...]:
        """The causes that are named, in the order of their evidence."""
        return tuple(candidate.cause for candidate in self.candidates)

    @property
    def coincided(self) -> str:
        """Likely cause of the change, in a few words."""
        if self.cause is Cause.UNCLEAR:
            return f"{' or '.join(self.words(cause) for cause in self.among)}, which cannot be told apart"
        return self.words(self.cause)

    def words(self, cause: Cause) -> str:
        """Describe a cause in a few words, with the certainty that the evidence allows."""
        if cause is Cause.PROVIDER and self.silent is not None:
            return PROVEN
        return SAID[cause]

    @property
    def title(self) -> str:
        """Title: the route and the likely cause of the change."""
        return f"{self.route}: {self.coincided}"

    @property
    def rated_differently(self) -> bool:
        """True if the judge or the settings changed, so that ratings of the two sides cannot be compared."""
        return self.cause in _YARDSTICKS or any(mark.kind in _JUDGE for mark in self.marks)

    @property
    def said(self) -> str:
        """Effect of the change, in a few words."""
        if (
            self.effect == "different"
            and self.rated_differently
            and all(finding.rated for finding in self.findings)
        ):
            return "answers are rated differently"
        if self.end is not None:
            until = " before" if self.effect in {"none_seen", "unknown"} else ", until"
            were = EFFECTS[self.effect].replace("answers are", "answers were")
            return f"{were}{until} it was {self.end.how}"
        return EFFECTS[self.effect]

    @property
    def ended(self) -> str:
        """Sentence on when the change was reversed or replaced, and after how long; "" while it lasts."""
        end = self.end
        if end is None:
            return ""
        by = f" by {end.by}" if end.how == "replaced" and end.by else ""
        lasted = figures.duration(max(0.0, end.at - self.at))
        return (
            f"{end.how.capitalize()}{by} at {figures.date_and_time(end.at)}, after {lasted} and "
            f"{figures.count(end.exchanges, 'sampled exchange')}."
        )

    @property
    def finding_lines(self) -> list[str]:
        """Findings as lines, such as "More fragile: general.casing: robustness is 54%, 90% before."."""
        lines = []
        for finding in self.findings:
            differently = self.rated_differently and finding.rated
            lines.append(f"{'Rated differently' if differently else FOUND[finding.effect]}: {finding.text}")
        return lines

    @property
    def candidate_lines(self) -> list[str]:
        """Candidates that coincided with the change, one line each, the best first."""
        lines = []
        for candidate in self.candidates:
            how = STRENGTHS[candidate.strength]
            lines.append(f"{self.words(candidate.cause).capitalize()} ({how}): {candidate.why}")
        return lines

    @property
    def further_evidence(self) -> list[str]:
        """Evidence that no candidate names."""
        told = " ".join(candidate.why for candidate in self.candidates)
        return [line for line in self.evidence if line not in told]


_VERSION: Final = 1
# Largest share of breaches that is put down to chance.
_MOST_NOISE: Final = 0.8


def gate_of(run: GoldenRun, *, noise: float = 0.0) -> GateReport:
    """Return the verdict of the calibrated bundle over one run, as `evenkeel gate` decides.

    Args:
        run: Run after a change.
        noise: Share of breaches that is put down to chance, in [0, 1).
    """
    measures = [GateMeasure(name=name) for name in run.deciding] or [GateMeasure(name="content_shift")]
    goldens = len(run.results) + sum(run.left_out.values())
    gate = Gate(GateRules(tolerance=min(_MOST_NOISE, noise)), measures, goldens=goldens, with_reference=False)
    for reason, count in run.left_out.items():
        for _ in range(count):
            gate.leave_out(Failure("goldens", _VERSION, reason))
    for result in run.results:
        if result.failure:
            gate.take(Failure("goldens", _VERSION, result.failure))
        else:
            gate.take({name: Shares(float(breached), None) for name, breached in result.breaches.items()})
    return gate.report()


@dataclass(frozen=True, slots=True)
class GoldenHistory:
    """Results of the golden runs of all routes."""

    gates: Mapping[str, GateReport]
    """Reports of runs after a change, by the id of the change; the last one of each."""
    latest: Mapping[str, GoldenRun]
    """The last run of each route."""
    judged: frozenset[str] = frozenset()
    """Ids of the changes whose runs were scored with a judge."""


def history_of(runs: Iterable[GoldenRun], *, noise: Mapping[str, float] | None = None) -> GoldenHistory:
    """Return the results of runs, oldest first; `noise` is the noise floor by route."""
    gates: dict[str, GateReport] = {}
    latest: dict[str, GoldenRun] = {}
    judged = set()
    for run in runs:
        if run.judged:
            judged.add(run.change)
        gates[run.change] = gate_of(run, noise=(noise or {}).get(run.route, 0.0))
        latest[run.route] = run
    return GoldenHistory(gates, latest, frozenset(judged))


def reports_of(
    records: Sequence[ChangeRecord],
    history: GoldenHistory,
    *,
    scores: Mapping[str, AnswerScores] | None = None,
    settings: Mapping[str, Sequence[str]] | None = None,
    min_trials: int = 30,
) -> tuple[ChangeReport, ...]:
    """Return all changes, the newest first.

    Args:
        records: Records of all routes, as the fold has them.
        history: History of the goldens.
        scores: Scores of answers to reference prompts, by the id of the change.
        settings: Settings that differ, by the fingerprint after the change.
        min_trials: Fewest observations for an estimate.
    """
    reports = []
    for record in records:
        # Marks of the route's other changes may be why answers moved, too.
        beside: list[ChangeMark] = []
        for other in records:
            if other.route == record.route and other.id != record.id:
                beside += kinds.select(other.marks, kinds.CAUSES)
        differ: list[str] = []
        for mark in kinds.select(record.marks, {kinds.SETTINGS}):
            differ += (settings or {}).get(mark.after, ())
        silent = silent_side(record, (scores or {}).get(record.id))
        comparison = compare(record.before, record.after, min_trials=min_trials)
        report = _of_record(record, silent, comparison, history, beside)
        reports.append(replace(report, settings=tuple(differ)))
    return tuple(sorted(reports, key=lambda report: (-report.at, report.id)))


def _of_record(
    record: ChangeRecord,
    silent: SilentSide | None,
    comparison: Comparison,
    history: GoldenHistory,
    beside: Sequence[ChangeMark],
) -> ChangeReport:
    gate, judged = history.gates.get(record.id), record.id in history.judged
    moved = tuple(measured(comparison))
    findings: list[Finding] = []
    if silent is not None:
        findings.append(of_references(silent.references))
        if silent.scores is not None:
            findings += of_scores(silent.scores)
    findings += moved
    if gate is not None:
        findings += of_goldens(gate, judged=judged)
    # The drift that marked the change is told only where nothing better was measured.
    findings = findings or list(noticed(record.marks))
    causes = likely_cause(
        record.marks,
        Experiments(
            references="moved" if silent is not None else record.references,
            goldens=_moved(gate),
            goldens_judged=judged,
            panel=record.panel,
            judged=record.before.judged or record.after.judged,
        ),
        beside=beside,
        traffic=shifted_traits(record.before, record.after),
        differs=bool(moved),
        onset=onset_of(record.around),
    )
    if silent is not None:
        causes = causes._replace(ruled_out=(*_ruled_out(record.kinds), *causes.ruled_out))
    if causes.cause in _YARDSTICKS or record.kinds & _JUDGE:
        # Ratings of the two sides are not comparable.
        findings = [
            replace(finding, effect="different") if finding.rated else finding for finding in findings
        ]
    is_measured = comparison.measured or (
        gate is not None and gate.verdict is not GateVerdict.COULD_NOT_MEASURE
    )
    return ChangeReport(
        id=record.id,
        route=record.route,
        at=record.at,
        marks=record.marks,
        **causes._asdict(),
        effect=effect_of(findings, is_known=is_measured),
        findings=tuple(findings),
        comparison=comparison,
        goldens=gate,
        silent=silent,
        end=record.end,
    )


def silent_side(record: ChangeRecord, scores: AnswerScores | None = None) -> SilentSide | None:
    """Return the evidence of a silent change in a record; None without any."""
    silent = record.silent
    if silent is None:
        return None

    def names(kind: str, after: tuple[str, ...]) -> Names:
        switched = kinds.select(record.marks, {kind})
        if not switched:
            return Names("", after)
        return Names(switched[0].before, after or (switched[-1].after,))

    evidence = silent.references
    models, fingerprints = (
        names(kinds.MODEL, evidence.models),
        names(kinds.FINGERPRINT, evidence.fingerprints),
    )
    return SilentSide(record.route, silent.state, evidence, models, fingerprints, scores)


def _ruled_out(noticed: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each cause that reference prompts rule out; `noticed` are the kinds of marks."""
    version = "" if kinds.PROMPT in noticed else ", and the prompt version did not change"
    yield f"Your prompt: the reference prompts were sent as your application had sent them{version}."
    yield "Request parameters: they are part of the recorded requests, which were sent unchanged."
    yield "Other traffic: the reference prompts are the same ones, whatever users ask."
    yield "A judge that rates differently: none took part; answers were compared with each other by rule."
    yield "Noise: how far earlier answers to the same request differ from each other is the yardstick."


def _moved(gate: GateReport | None) -> AskedAgain:
    if gate is None or not gate.settled:
        return ""
    return "moved" if gate.verdict is GateVerdict.REGRESSION else "same"
