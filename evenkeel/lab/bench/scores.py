"""Scores over trials, with intervals that know which trials belong together, and the tables made of them.

The trials of one issue hang together: they share prompts, answers and, in every run, the same variants.
So issues are the sample, not trials. An interval is that of Korn and Graubard: Clopper and Pearson's exact
interval for the number of independent trials that would leave as much uncertainty as the issues' own spread
does. Where nothing or everything happened there is no spread to see, and each issue counts as one trial.

Source: Korn, Graubard 1998, "Confidence intervals for proportions with small expected number of positive
counts estimated from survey data".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, NamedTuple

from scipy.special import betaincinv, stdtrit

from evenkeel.core import rewordings
from evenkeel.core.cells import is_unrated
from evenkeel.core.verdict import CONTRAST
from evenkeel.monitor.estimate import Counts
from evenkeel.monitor.estimate.counts import UNSURE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.lab.bench.trials import BenchTrial
    from evenkeel.monitor.estimate.counts import QualityOutcome

# Probability with which an interval may miss the truth.
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """A share in [0, 1]."""

    value: float
    """Mean over the runs."""
    std: float | None
    """Standard deviation over the runs; None for a single one."""
    lower: float
    upper: float
    """Interval of 95 % for another sample of issues."""
    n: int
    """Trials behind it."""


@dataclass(frozen=True, slots=True)
class GroupScores:
    """Scores of some trials of a model. Each is None where nothing was measured."""

    robustness: Figure | None
    """1 − content delta × quality delta."""
    content_delta: Figure | None
    quality_delta: Figure | None
    invalid: float = 0.0
    """Share of answers that ignore the format or language asked for, in [0, 1]: they count as shifts whose
    quality changed."""


# Counts by whether a quality changed.
_QUALITIES: Final[Mapping[bool | None, QualityOutcome]] = {None: "unscored", True: "mixed", False: "same"}


class IssueCount(NamedTuple):
    """Successes among the trials of one issue."""

    successes: int
    trials: int


def interval(groups: Sequence[Mapping[str, IssueCount]]) -> tuple[float, float] | None:
    """The interval of a share, or of the mean of several shares over the same issues.

    Args:
        groups: For each share, by issue, the successes and trials.

    Returns: (lower, upper) in [0, 1]; None without trials.
    """
    filled = []
    for group in groups:
        if _trials([group]):
            filled.append(group)
    if not filled:
        return None
    # An issue has one distance over all shares, since its trials in each of them move together.
    off: dict[str, float] = defaultdict(float)
    shares = []
    for group in filled:
        trials = sum(part.trials for part in group.values())
        share = sum(part.successes for part in group.values()) / trials
        shares.append(share)
        for issue, part in group.items():
            off[issue] += (part.successes - share * part.trials) / trials / len(filled)
    share, issues = fmean(shares), len(off)
    every = _trials(filled)
    # Variance of a ratio between clusters, as surveys estimate it (Taylor linearisation).
    variance = issues / (issues - 1) * sum(distance**2 for distance in off.values()) if issues > 1 else 0.0
    effective = float(issues)
    if variance > 0 and 0 < share < 1:
        # No more than there are: issues that happen to be alike prove nothing.
        effective = min(float(every), share * (1 - share) / variance)
        # The variance of a few issues is less certain than that of many trials: the t quantiles allow for it.
        effective *= (stdtrit(max(1, every - 1), 1 - _ALPHA / 2) / stdtrit(issues - 1, 1 - _ALPHA / 2)) ** 2
    hits = share * effective
    lower = betaincinv(hits, effective - hits + 1, _ALPHA / 2) if share > 0 else 0.0
    upper = betaincinv(hits + 1, effective - hits, 1 - _ALPHA / 2) if share < 1 else 1.0
    # The effective number is no integer, so that rounding could leave the share just outside.
    return min(float(lower), share), max(float(upper), share)


def scores(groups: Iterable[Sequence[BenchTrial]]) -> GroupScores:
    """The scores of a model over some groups of trials, each group weighing the same.

    A group alone gives the score of a category, a language or a format; all categories give the overall
    score. A shift whose quality is not known counts as one like the others, and the interval of the
    robustness allows for all such shifts changed and for none. Every interval allows for all unrated trials
    shifted and for none: a judge that fails is missed where answers differ.
    """
    filled = []
    for group in groups:
        if any(trial.shifted is not None for trial in group):
            filled.append(group)
    if not filled:
        return GroupScores(None, None, None)
    shifted, shifted_at_most, scored, changed, changed_at_most = [], [], [], [], []
    invalid = []
    for group in filled:
        known = []
        for trial in group:
            if trial.shifted is not None or is_unrated(trial.failure):
                known.append(trial)
        shifted.append(_parts(known, lambda trial: trial.shifted is True))
        shifted_at_most.append(_parts(known, lambda trial: trial.shifted is not False))
        scored.append(_parts([trial for trial in group if trial.changed is not None], _is_changed))
        changed.append(_parts(known, _is_changed))
        changed_at_most.append(
            _parts(known, lambda trial: trial.shifted is not False and trial.changed is not False)
        )
        with_rating = sum(trial.shifted is not None for trial in group)
        invalid.append(sum(bool(trial.invalid) for trial in group) / with_rating)
    rated = sum(trial.shifted is not None for group in filled for trial in group)
    content, loss = _between(shifted, shifted_at_most), _between(changed, changed_at_most)
    runs = _runs(filled)
    return GroupScores(
        _figure(runs, _robustness, (1 - loss[1], 1 - loss[0]), rated),
        _figure(runs, lambda counts: counts.content_delta_value, content, rated),
        _figure(runs, lambda counts: counts.quality_delta_value, interval(scored), _trials(scored)),
        fmean(invalid),
    )


def _between(
    fewest: Sequence[Mapping[str, IssueCount]], most: Sequence[Mapping[str, IssueCount]]
) -> tuple[float, float]:
    """Return the interval that holds those of the fewest successes there may be and of the most."""
    low, high = interval(fewest), interval(most)
    assert low is not None
    assert high is not None
    return low[0], high[1]


def _is_changed(trial: BenchTrial) -> bool:
    return trial.changed is True


def _parts(trials: Iterable[BenchTrial], succeeds: Callable[[BenchTrial], bool]) -> dict[str, IssueCount]:
    counts_by_name: dict[str, IssueCount] = {}
    for trial in trials:
        before = counts_by_name.get(trial.item, IssueCount(0, 0))
        counts_by_name[trial.item] = IssueCount(before.successes + succeeds(trial), before.trials + 1)
    return counts_by_name


def _trials(groups: Iterable[Mapping[str, IssueCount]]) -> int:
    total = 0
    for group in groups:
        total += sum(part.trials for part in group.values())
    return total


def _counts(trials: Iterable[BenchTrial]) -> Counts:
    """The trials in the form that live traffic is counted in; what a quality moved to is not known."""
    counts = Counts()
    for trial in trials:
        if trial.shifted is not None:
            counts.rate(trial.rating or UNSURE, _QUALITIES[trial.changed] if trial.shifted else None)
    return counts


def _robustness(counts: Counts) -> float | None:
    content, quality = counts.content_delta_value, counts.quality_delta_value
    if content is None or quality is None:
        # Where nothing moved no quality was asked, and nothing was lost.
        return 1.0 if content == 0 else None
    return 1 - content * quality


def _runs(groups: Sequence[Sequence[BenchTrial]]) -> list[list[Counts]]:
    by_run: dict[int, list[list[BenchTrial]]] = {}
    for number, group in enumerate(groups):
        for trial in group:
            by_run.setdefault(trial.run, [[] for _ in groups])[number].append(trial)
    runs = []
    for run in sorted(by_run):
        runs.append([_counts(trials) for trials in by_run[run]])
    return runs


def _figure(
    runs: Sequence[Sequence[Counts]],
    value: Callable[[Counts], float | None],
    span: tuple[float, float] | None,
    n: int,
) -> Figure | None:
    means = []
    for counts in runs:
        figures_known = []
        for count in counts:
            if (figure := value(count)) is not None:
                figures_known.append(figure)
        if figures_known:
            means.append(fmean(figures_known))
    if not means or span is None:
        return None
    mean = fmean(means)
    spread = stdev(means) if len(means) > 1 else None
    return Figure(mean, spread, min(span[0], mean), max(span[1], mean), n)


def mean_std(figures: Iterable[Figure]) -> float | None:
    """The mean of the standard deviations over runs; None for single runs."""
    deviations = []
    for figure in figures:
        if figure.std is not None:
            deviations.append(figure.std)
    return fmean(deviations) if deviations else None


BASELINE: Final = "baseline"
CATEGORIES: Final = ("general", "positional", "format", "multilingual", "crosslingual")
"""Categories of the paper. Others that were measured are shown, and count in no mean."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """Everything about one model."""

    model: str
    overall: GroupScores
    """The mean of the baseline and the five categories of the paper, as far as they were measured."""
    perturbed: GroupScores
    """The mean over the same categories without the baseline."""
    likeness: Mapping[str, float]
    """Means of the reference metrics by name, over the same categories without the baseline, in [0, 1]."""
    categories: Mapping[str, GroupScores]
    tasks: Mapping[str, GroupScores]
    """All categories of one task, each weighing the same."""
    languages: Mapping[str, GroupScores]
    """Scores of `multilingual`, by language tag."""
    formats: Mapping[str, GroupScores]
    kinds: Mapping[str, GroupScores]
    sensitivity: Figure | None
    """Share of the answers to another question (category `contrast`) that moved, as they should; None if none
    was asked. No other figure counts these trials."""
    entities: float | None
    """Mean F1 of slots filled from the original prompts, against the expected entities."""
    failures: Mapping[str, int]
    """Trials without a rating or a quality, by reason."""


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """Difficulty of a category, over all models."""

    category: str
    mean: float
    drop: float | None
    """Mean minus that of the baseline; None of the baseline itself."""
    mean_std: float | None


@dataclass(frozen=True, slots=True)
class BenchTables:
    """All of them."""

    models: tuple[ModelRow, ...]
    """The most robust first."""
    difficulty: tuple[CategoryRow, ...]
    """The easiest first."""

    def columns(self, of: Callable[[ModelRow], Mapping[str, object]]) -> tuple[str, ...]:
        """The names under which any model has scores, in order of occurrence."""
        names: dict[str, None] = {}
        for row in self.models:
            names.update(dict.fromkeys(of(row)))
        return tuple(names)


def make_tables(
    models: Sequence[str], trials: Iterable[BenchTrial], entities: Mapping[str, Sequence[float]]
) -> BenchTables:
    """The tables of some models.

    Args:
        models: Their names.
        trials: All trials of all of them.
        entities: By model, F1 of each slot filling.
    """
    by_model: dict[str, list[BenchTrial]] = {}
    for name in models:
        by_model[name] = []
    for trial in trials:
        by_model[trial.model].append(trial)
    rows = []
    for name in models:
        rows.append(_row(name, by_model[name], entities.get(name, ())))
    ranked = tuple(sorted(rows, key=_rank))
    return BenchTables(ranked, _difficulty(ranked))


def _rank(row: ModelRow) -> tuple[float, str]:
    figure = row.overall.robustness
    return (-figure.value if figure else 1.0, row.model)


def _row(model: str, every: Sequence[BenchTrial], entities: Sequence[float]) -> ModelRow:
    groups = _grouped(every, lambda trial: trial.category)
    contrasts = groups.pop(CONTRAST, [])
    ordered: dict[str, list[BenchTrial]] = {}
    for name in sorted(groups, key=rewordings.position):
        ordered[name] = groups[name]
    trials = list(chain.from_iterable(ordered.values()))
    baseline, rest = ordered.get(BASELINE, []), {}
    for name, group in ordered.items():
        if name in CATEGORIES:
            rest[name] = group
    tasks = _grouped(chain(baseline, *rest.values()), lambda trial: trial.task)
    return ModelRow(
        model=model,
        overall=scores([baseline, *rest.values()]),
        perturbed=scores(rest.values()),
        likeness=_likeness(rest.values()),
        categories=_scored(ordered),
        tasks={name: _over_categories(group) for name, group in tasks.items()},
        languages=_scored(_grouped(_asking(trials, "language"), _detail)),
        formats=_scored(_grouped(_asking(trials, "format"), _detail)),
        kinds=_scored(_grouped(trials, lambda trial: trial.kind)),
        sensitivity=scores([contrasts]).content_delta if contrasts else None,
        entities=fmean(entities) if entities else None,
        failures=dict(sorted(Counter(trial.failure for trial in every if trial.failure).items())),
    )


def _asking(trials: Iterable[BenchTrial], form: str) -> list[BenchTrial]:
    """Return the trials whose perturbation asks for another language, or for another format."""
    asking = []
    for trial in trials:
        if rewordings.category(trial.kind).asks_for == form:
            asking.append(trial)
    return asking


def _over_categories(trials: Iterable[BenchTrial]) -> GroupScores:
    return scores(_grouped(trials, lambda trial: trial.category).values())


def _likeness(groups: Iterable[Sequence[BenchTrial]]) -> dict[str, float]:
    likeness_by_name: dict[str, list[float]] = {}
    for group in groups:
        by_metric: dict[str, list[float]] = {}
        for trial in group:
            for name, score in trial.likeness.items():
                by_metric.setdefault(name, []).append(score)
        for name, scores_of_group in by_metric.items():
            likeness_by_name.setdefault(name, []).append(fmean(scores_of_group))
    return {name: fmean(means) for name, means in likeness_by_name.items()}


def _scored(groups: Mapping[str, Sequence[BenchTrial]]) -> dict[str, GroupScores]:
    scores_by_name = {}
    for name, group in groups.items():
        group_scores = scores([group])
        if group_scores.content_delta is not None:
            scores_by_name[name] = group_scores
    return scores_by_name


def _grouped(trials: Iterable[BenchTrial], key: Callable[[BenchTrial], str]) -> dict[str, list[BenchTrial]]:
    trials_by_name: dict[str, list[BenchTrial]] = defaultdict(list)
    for trial in trials:
        trials_by_name[key(trial)].append(trial)
    return dict(trials_by_name)


def _detail(trial: BenchTrial) -> str:
    return trial.kind.partition(".")[2]


def _difficulty(rows: Sequence[ModelRow]) -> tuple[CategoryRow, ...]:
    figures: dict[str, list[Figure]] = {}
    for row in rows:
        for name, scores_of_category in row.categories.items():
            if scores_of_category.robustness is not None:
                figures.setdefault(name, []).append(scores_of_category.robustness)
    means = {}
    for name, own in figures.items():
        means[name] = fmean(figure.value for figure in own)
    base = means.get(BASELINE)
    made = []
    for name in sorted(figures, key=rewordings.position):
        drop = means[name] - base if base is not None and name != BASELINE else None
        made.append(CategoryRow(name, means[name], drop, mean_std(figures[name])))
    return tuple(sorted(made, key=lambda row: (row.category != BASELINE, -row.mean)))
