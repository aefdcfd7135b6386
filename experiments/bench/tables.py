"""The tables of the protocol, made of trials."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

from evenkeel.experiments.bench.shares import mean_std, scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.experiments.bench.rounds import Trial
    from evenkeel.experiments.bench.shares import Figure, Scores

BASELINE: Final = "baseline"
CATEGORIES: Final = (BASELINE, "general", "positional", "format", "multilingual", "crosslingual", "compound")
"""In the order of the columns."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """Everything about one model."""

    model: str
    overall: Scores
    """The mean over the categories, the baseline one of them, as in the paper."""
    perturbed: Scores
    """The mean over the categories without the baseline."""
    categories: Mapping[str, Scores]
    tasks: Mapping[str, Scores]
    """All categories of one task, each weighing the same."""
    languages: Mapping[str, Scores]
    """Of `multilingual`, by language tag."""
    inputs: Mapping[str, Scores]
    """Of `crosslingual`, by the language of the input."""
    answers: Mapping[str, Scores]
    """Of `crosslingual`, by the language of the answer."""
    formats: Mapping[str, Scores]
    kinds: Mapping[str, Scores]
    entities: float | None
    """Mean F1 of slots filled from the original prompts, against the expected entities."""
    failures: Mapping[str, int]
    """Trials without a rating or a quality, by reason."""

    @property
    def rank_key(self) -> tuple[float, str]:
        """The most robust first; without a score last."""
        figure = self.overall.robustness
        return (-figure.value if figure else 1.0, self.model)


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """How hard a category is, over all models."""

    category: str
    mean: float
    drop: float | None
    """Mean minus that of the baseline; None of the baseline itself."""
    mean_std: float | None


@dataclass(frozen=True, slots=True)
class Tables:
    """All of them."""

    models: tuple[ModelRow, ...]
    """The most robust first."""
    difficulty: tuple[CategoryRow, ...]
    """The easiest first."""

    @property
    def categories(self) -> tuple[str, ...]:
        """Those with any figure."""
        return tuple(one for one in CATEGORIES if any(one in row.categories for row in self.models))

    def columns(self, of: Callable[[ModelRow], Mapping[str, Scores]]) -> tuple[str, ...]:
        """The names under which any model has scores, in order of occurrence."""
        return tuple(dict.fromkeys(name for row in self.models for name in of(row)))


def make_tables(
    models: Sequence[str], trials: Iterable[Trial], entities: Mapping[str, Sequence[float]]
) -> Tables:
    """The tables of some models.

    Args:
        models: Their names.
        trials: All trials of all of them.
        entities: By model, F1 of each slot filling.
    """
    by_model: dict[str, list[Trial]] = {name: [] for name in models}
    for trial in trials:
        by_model[trial.model].append(trial)
    rows = [_row(name, by_model[name], entities.get(name, ())) for name in models]
    ranked = tuple(sorted(rows, key=lambda row: row.rank_key))
    return Tables(ranked, _difficulty(ranked))


def _row(model: str, trials: Sequence[Trial], entities: Sequence[float]) -> ModelRow:
    groups = _grouped(trials, lambda one: one.category)
    ordered: dict[str, list[Trial]] = {name: groups[name] for name in CATEGORIES if name in groups}
    rest = {name: group for name, group in ordered.items() if name != BASELINE}
    tasks = _grouped(trials, lambda one: one.task)
    return ModelRow(
        model=model,
        overall=scores(ordered.values()),
        perturbed=scores(rest.values()),
        categories=_scored(ordered),
        tasks={
            name: scores(_grouped(group, lambda one: one.category).values()) for name, group in tasks.items()
        },
        languages=_scored(_grouped(groups.get("multilingual", ()), _detail)),
        inputs=_scored(_grouped(groups.get("crosslingual", ()), lambda one: _detail(one).split("_to_")[0])),
        answers=_scored(_grouped(groups.get("crosslingual", ()), lambda one: _detail(one).split("_to_")[-1])),
        formats=_scored(_grouped(groups.get("format", ()), _detail)),
        kinds=_scored(_grouped(trials, lambda one: one.kind)),
        entities=fmean(entities) if entities else None,
        failures=dict(sorted(Counter(one.failure for one in trials if one.failure).items())),
    )


def _scored(groups: Mapping[str, Sequence[Trial]]) -> dict[str, Scores]:
    found = {name: scores([group]) for name, group in groups.items()}
    return {name: one for name, one in found.items() if one.content_delta is not None}


def _grouped(trials: Iterable[Trial], key: Callable[[Trial], str]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        found[key(trial)].append(trial)
    return dict(found)


def _detail(trial: Trial) -> str:
    return trial.kind.partition(".")[2]


def _difficulty(rows: Sequence[ModelRow]) -> tuple[CategoryRow, ...]:
    found: dict[str, list[Figure]] = {}
    for name in CATEGORIES:
        figures = [
            figure
            for row in rows
            if (one := row.categories.get(name)) is not None and (figure := one.robustness) is not None
        ]
        if figures:
            found[name] = figures
    means = {name: fmean(figure.value for figure in figures) for name, figures in found.items()}
    base = means.get(BASELINE)
    made = [
        CategoryRow(
            name,
            means[name],
            means[name] - base if base is not None and name != BASELINE else None,
            mean_std(figures),
        )
        for name, figures in found.items()
    ]
    return tuple(sorted(made, key=lambda row: (row.category != BASELINE, -row.mean)))
