"""Store of the change response: runs of goldens, gates and checks, scores, responses, bursts and settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.cells import Standing  # noqa: TC001 - read by msgspec
from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.stores.documents import Documents


# Golden runs kept for each route.
_RUNS_KEPT: Final = 400


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """Result of one golden in one run."""

    golden: str
    """Id and version of the golden, as `key_of` writes them."""
    breaches: dict[str, bool] = field(default_factory=dict)
    """Breaches by measure: True if the answer breaches it. Measures that failed are left out."""
    scores: dict[str, float] = field(default_factory=dict)
    """Scores by metric, in [0, 1]; 1 = as approved."""
    failure: str = ""
    """Reason why there is no answer or no score, in snake case; "" if there is one."""


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """Run of all goldens of a route, each asked once."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    change: str
    """Id of the change that the run looks into."""
    model: str
    """Model name that most of the answers returned."""
    deciding: tuple[str, ...]
    """Measures that can show a change; the others are only shown."""
    judged: bool
    """True if a judge took part in the scores."""
    results: tuple[GoldenResult, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    """Goldens that could not be asked, by reason."""


Move = Literal["better", "worse", "changed", "same"]


@dataclass(frozen=True, slots=True)
class ScoredReference:
    """Comparison of the new answer to a reference prompt with an earlier one."""

    reference: str
    """Id of the reference."""
    qualities: dict[str, Move] = field(default_factory=dict)
    """Verdict on the new answer by metric; empty where the content is the same."""
    failure: str = ""
    """Reason why there are no scores, in snake case; "" if there are some."""


class QualityTally(NamedTuple):
    """Counts of one quality metric over all references that were scored."""

    metric: str
    worse: int
    better: int
    changed: int
    """References whose quality differs without being better or worse, as far as the metric can tell."""
    n: int


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Two-stage scores of the answers before and after a change that nobody announced."""

    change: str
    """Id of the change."""
    route: str
    at: float
    """Unix time in seconds."""
    judged: bool
    """True if a judge scored; False for heuristics alone."""
    results: tuple[ScoredReference, ...]

    @property
    def scored(self) -> int:
        """Number of references with scores."""
        return sum(not result.failure for result in self.results)

    @property
    def tallies(self) -> tuple[QualityTally, ...]:
        """Counts by quality metric; the metric that moved in the most references comes first."""
        scored = []
        for result in self.results:
            if not result.failure:
                scored.append(result.qualities)
        tallies = []
        # A dictionary as a set that keeps the order in which metrics were first seen.
        metrics: dict[str, None] = {}
        for score in scored:
            metrics |= dict.fromkeys(score)
        for metric in metrics:
            moves = [score.get(metric, "same") for score in scored]
            counts = (moves.count("worse"), moves.count("better"), moves.count("changed"))
            tallies.append(QualityTally(metric, *counts, len(moves)))
        return tuple(
            sorted(tallies, key=lambda tally: (-tally.worse - tally.better - tally.changed, tally.metric))
        )


@dataclass(frozen=True, slots=True)
class ReleaseRun:
    """Result of one run of `evenkeel gate` or `evenkeel check`, in words for people."""

    id: str
    at: float
    """Unix time in seconds."""
    kind: Literal["gate", "check"]
    subject: str
    """Candidate, or prompt, that was asked."""
    beside: str
    """Reference, or models; "" without any."""
    standing: Standing
    """Colour of the verdict."""
    verdict: str
    headline: str
    """Verdict and its reason in one sentence."""
    details: tuple[str, ...]
    """Lines about each measure, or about each category of rewordings."""
    asked: str
    """Goldens that were compared, or rounds that were made."""
    calls: int
    usd: float


class Override(NamedTuple):
    """Override that samples a route more until a given time: a burst."""

    route: str
    rate: float
    until: float
    """Unix time in seconds."""
    change: str
    """Id of the change that caused the burst."""


class _Claim(NamedTuple):
    change: str
    at: float


class _SettingsVersion(NamedTuple):
    fingerprint: str
    values: dict[str, str]


_RUNS: Final = Collection(
    name="golden_runs",
    key=("id",),
    fields=("route",),
    kept=_RUNS_KEPT,
    kept_of="route",
    body=plain(GoldenRun),
)
_RELEASES: Final = Collection(name="release_runs", key=("id",), kept=_RUNS_KEPT, body=plain(ReleaseRun))
# Scores kept for each route.
_SCORES_KEPT: Final = 100
_SCORES: Final = Collection(
    name="reference_scores",
    key=("change",),
    fields=("route",),
    kept=_SCORES_KEPT,
    kept_of="route",
    body=plain(AnswerScores),
)
_RESPONSES_KEPT: Final = 1_000
_RESPONSES: Final = Collection(
    name="change_responses", key=("change",), kept=_RESPONSES_KEPT, body=plain(_Claim)
)
_BURSTS: Final = Collection(name="bursts", key=("route",), body=plain(Override))
_SETTINGS: Final = Collection(name="settings_versions", key=("fingerprint",), body=plain(_SettingsVersion))


class ChangeStore:
    """Store of the change response. Calls block on storage; several processes may share it."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_RUNS, _RELEASES, _SCORES, _RESPONSES, _BURSTS, _SETTINGS)

    def put_run(self, run: GoldenRun) -> None:
        """Keep a run of goldens; it replaces a run of the same id."""
        self._documents.put(_RUNS, run)

    def runs(self) -> list[GoldenRun]:
        """Return all runs that are kept, oldest first."""
        return self._documents.history(_RUNS)

    def revision(self) -> int:
        """Number that grows with every run that is kept."""
        return self._documents.revision(_RUNS)

    def put_release(self, run: ReleaseRun) -> None:
        """Keep the result of a gate or a check."""
        self._documents.put(_RELEASES, run)

    def releases(self) -> list[ReleaseRun]:
        """Return the results of gates and checks, oldest first."""
        return self._documents.history(_RELEASES)

    def put_scores(self, scores: AnswerScores) -> None:
        """Keep the scores of a change; they replace earlier scores of the same change."""
        self._documents.put(_SCORES, scores)

    def scores(self) -> dict[str, AnswerScores]:
        """Return the scores that are kept, by the id of the change."""
        documents: dict[str, AnswerScores] = {}
        for document in self._documents.history(_SCORES):
            documents[document.change] = document
        return documents

    def respond(self, change: str, at: float) -> bool:
        """Claim the response to a change. Return False if another process has claimed it."""
        # Of several monitors, the one whose document is stored first has the claim.
        return self._documents.add(_RESPONSES, _Claim(change, at))

    def put_burst(self, override: Override) -> None:
        """Sample a route more; replaces its earlier override."""
        self._documents.put(_BURSTS, override)

    def drop_burst(self, route: str) -> None:
        """Sample a route again as the settings say."""
        self._documents.drop(_BURSTS, route)

    def bursts(self, now: float) -> list[Override]:
        """Return the overrides that are in force at `now`, ordered by route."""
        # One that has ended stays until the route's next burst replaces it.
        overrides = self._documents.history(_BURSTS)
        return sorted(override for override in overrides if override.until > now)

    def put_settings(self, fingerprint: str, values: Mapping[str, str]) -> None:
        """Remember the settings behind a fingerprint."""
        self._documents.add(_SETTINGS, _SettingsVersion(fingerprint, dict(values)))

    def settings(self, fingerprint: str) -> dict[str, str] | None:
        """Return the settings behind a fingerprint; None if they were never stored."""
        version = self._documents.find(_SETTINGS, fingerprint)
        return None if version is None else version.values
