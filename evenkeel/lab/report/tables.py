"""The tables of the paper, made of what was counted."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import evenkeel.shadow.perturbations  # noqa: F401 - publishes the rewordings
from evenkeel.core import rewordings
from evenkeel.core.cells import Estimate
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.report.counts import GroupKey, ReportCell, worth_a_table
from evenkeel.monitor.estimate import Counts, rollup_estimates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evenkeel.core.rewordings import Category
    from evenkeel.lab.report.counts import Folder, Group, Kind


MEASURES: Final = ("content_delta", "quality_delta", "robustness", "noise_floor", "excess")
"""Measures in the order of the columns."""
# Estimates that a line takes over as they are.
_FOUND: Final = ("content_delta", "quality_delta", "robustness", "quality_worse", "quality_better")
BASELINE_CATEGORY: Final = "baseline"
"""The control among the categories."""
RESEND: Final = frozenset((BASELINE, BASELINE_CATEGORY))
"""Names of its lines."""


@dataclass(frozen=True, slots=True)
class ReportLine:
    """Estimates of some trials; each is None below the minimum number of its observations."""

    route: str
    """"" for all routes."""
    model: str
    """"" for all models."""
    name: str
    """Name of the perturbation, the category or the language; "" for everything."""
    trials: int
    """Perturbed trials with a rating; on the line of the resend, resends with a rating."""
    effective: int | None
    """Trials of a perturbation over their design effect: as many independent trials would tell as much."""
    exchanges: int | None
    """Number of exchanges, on a line about several perturbations; each is one observation."""
    content_delta: Estimate | None
    quality_delta: Estimate | None
    robustness: Estimate | None
    noise_floor: Estimate | None
    excess: Estimate | None
    quality_worse: Estimate | None = None
    quality_better: Estimate | None = None
    mean_of_categories: Estimate | None = None
    """Mean of their robustness, the control's included: as in `evenkeel bench`. Only of a model."""

    @property
    def observations(self) -> int:
        """Number of observations behind the estimates."""
        return (self.exchanges if self.effective is None else self.effective) or 0

    @property
    def measured(self) -> bool:
        """True if the line has a figure."""
        return self.content_delta is not None or self.robustness is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules by which counts become estimates."""

    alpha: float = 0.05
    """Probability with which an interval may ever miss the truth."""
    min_trials: int = 30
    """Nothing is said about fewer observations."""


def cell_line(
    route: str, model: str, name: str, counts: Counts, rules: Rules, *, noise_floor: Estimate | None
) -> ReportLine:
    """A perturbation of a model; the same figures as the monitor's for the same verdicts."""
    estimates = counts.estimates(alpha=rules.alpha, min_trials=rules.min_trials)
    return ReportLine(
        route=route,
        model=model,
        name=name,
        trials=counts.trials,
        effective=round(counts.trials / counts.effect),
        exchanges=None,
        noise_floor=noise_floor,
        # Excess is measured against the resend, so the resend has none.
        excess=None if name in RESEND else estimates.excess,
        **{each: getattr(estimates, each) for each in _FOUND},
    )


def group_line(
    route: str,
    model: str,
    name: str,
    group: Group,
    rules: Rules,
    *,
    noise_floor: Estimate | None = None,
    mean_of_categories: Estimate | None = None,
) -> ReportLine:
    """Several perturbations together, every exchange weighing the same.

    Args:
        route: Where.
        model: Whose answers.
        name: What the perturbations have in common.
        group: Their exchanges.
        rules: How they become estimates.
        noise_floor: Of the resend, for groups that have none of their own.
        mean_of_categories: See `ReportLine`.
    """
    estimates = rollup_estimates(
        group.words,
        alpha=rules.alpha,
        min_exchanges=rules.min_trials,
        effect=group.effect.intervals,
    )
    return ReportLine(
        route=route,
        model=model,
        name=name,
        trials=group.trials,
        effective=None,
        exchanges=estimates.exchanges,
        noise_floor=estimates.noise_floor or noise_floor,
        excess=estimates.excess,
        **{each: getattr(estimates, each) for each in _FOUND},
        mean_of_categories=mean_of_categories,
    )


def mean_of(estimates: list[Estimate]) -> Estimate | None:
    """Return the mean of several estimates and of their intervals; None without an estimate.

    The interval holds with the probability that all of them hold together, so each has to be made with its
    share of alpha.
    """
    if not estimates:
        return None
    n = len(estimates)
    return Estimate(
        sum(estimate.value for estimate in estimates) / n,
        sum(estimate.lower for estimate in estimates) / n,
        sum(estimate.upper for estimate in estimates) / n,
        sum(estimate.n for estimate in estimates),
    )


WORDS: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
"""Fixed words of a report."""
_LANGUAGES: Final = ("language", "languages")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table."""

    key: str
    title: str
    about: str
    what: str
    """Heading of the column with the lines' names; "" where they have none."""
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of a report."""

    whole: ReportLine | None
    """Everything; None without a rated trial."""
    models: tuple[ReportLine, ...]
    """A line for each model of each route."""
    categories: Mapping[tuple[str, str], tuple[ReportLine, ...]]
    """Lines by route and model; the control is one of them."""
    all: tuple[ReportTable, ...]
    """Tables in the order of reading, those without a line left out."""

    @property
    def kinds(self) -> Iterator[ReportLine]:
        """The line of every single perturbation, the control aside."""
        for table in self.all:
            if table.key in {"kinds", "formats", "languages"}:
                yield from table.lines


def make_tables(folder: Folder, rules: Rules) -> Tables:
    """The tables of what a folder counted."""
    return _Maker(folder, rules).made()


class _Maker:
    def __init__(self, folder: Folder, rules: Rules) -> None:
        self._groups = folder.groups()
        self._cells = folder.cells
        self._rules = rules
        self._places = sorted({(key.route, key.model) for key in self._cells})
        self._noise = {
            scope: self._noise_of(self._cells.get(ReportCell(*scope, BASELINE))) for scope in self._places
        }

    def made(self) -> Tables:
        models = []
        for scope in self._places:
            if (line := self._model(*scope)) is not None:
                models.append(line)
        categories = {scope: tuple(self._categories(*scope)) for scope in self._places}
        all_routes = self._groups.get(GroupKey("", ""))
        whole = group_line("", "", "", all_routes, self._rules) if all_routes else None
        lines: dict[str, Iterable[ReportLine]] = {
            "models": self._with_sums(models, whole),
            "difficulty": self._difficulty(),
            "categories": (line for own in categories.values() for line in own),
            "formats": self._single(lambda category: category.asks_for == "format"),
            "languages": self._single(lambda category: category.asks_for in _LANGUAGES),
            "inputs": self._grouped("input"),
            "answers": self._grouped("answer"),
            "kinds": self._single(
                lambda category: category.asks_for is None and category.name != BASELINE_CATEGORY
            ),
        }
        tables = (
            ReportTable(key=key, lines=tuple(finished), **WORDS["tables"][key])
            for key, finished in lines.items()
        )
        return Tables(whole, tuple(models), categories, tuple(table for table in tables if table.lines))

    def _noise_of(self, counts: Counts | None) -> Estimate | None:
        if counts is None:
            return None
        return counts.content_delta(alpha=self._rules.alpha, min_trials=self._rules.min_trials)

    def _model(self, route: str, model: str) -> ReportLine | None:
        group = self._groups.get(GroupKey(route, model))
        if group is None:
            return None
        return group_line(route, model, "", group, self._rules, mean_of_categories=self._mean(route, model))

    def _with_sums(self, models: list[ReportLine], whole: ReportLine | None) -> Iterator[ReportLine]:
        if whole is not None and len(models) > 1:
            yield whole
        routes = [line.route for line in models]
        summed = set()
        for line in models:
            route = line.route
            if routes.count(route) > 1 and len(set(routes)) > 1 and route not in summed:
                summed.add(route)
                yield group_line(route, "", "", self._groups[GroupKey(route, "")], self._rules)
            yield line

    def _mean(self, route: str, model: str) -> Estimate | None:
        """The mean over the categories, each with its share of alpha; None unless all are known."""
        named = self._named("category", route, model)
        resend = self._cells.get(ReportCell(route, model, BASELINE))
        alpha = self._rules.alpha / (len(named) + 1)
        least = self._rules.min_trials
        estimates = []
        for group in named.values():
            estimates.append(rollup_estimates(group.words, alpha=alpha, min_exchanges=least).robustness)
        estimates.append(resend.robustness(alpha=alpha, min_trials=least) if resend else None)
        measured_estimates = [estimate for estimate in estimates if estimate is not None]
        return mean_of(measured_estimates) if len(measured_estimates) == len(estimates) > 1 else None

    def _named(self, kind: Kind, route: str, model: str) -> dict[str, Group]:
        groups = {}
        for key, group in self._groups.items():
            if (key.route, key.model, key.kind) == (route, model, kind):
                groups[key.name] = group
        return dict(sorted(groups.items(), key=lambda item: rewordings.position(item[0])))

    def _categories(self, route: str, model: str) -> Iterator[ReportLine]:
        resend = self._cells.get(ReportCell(route, model, BASELINE))
        if resend is not None:
            yield cell_line(
                route, model, BASELINE_CATEGORY, resend, self._rules, noise_floor=self._noise[route, model]
            )
        for name, group in self._named("category", route, model).items():
            yield group_line(route, model, name, group, self._rules, noise_floor=self._noise[route, model])

    def _grouped(self, kind: Kind) -> Iterator[ReportLine]:
        perturbations = {key.perturbation for key in self._cells}
        if not worth_a_table(self._named(kind, "", ""), perturbations):
            return
        for scope in self._places:
            for name, group in self._named(kind, *scope).items():
                yield group_line(*scope, name, group, self._rules, noise_floor=self._noise[scope])

    def _difficulty(self) -> Iterator[ReportLine]:
        if len(self._places) < 2:  # noqa: PLR2004 - one line a category says the same
            return
        resends = Counts()
        for key, counts in self._cells.items():
            if key.perturbation == BASELINE:
                resends.merge(counts)
        noise = self._noise_of(resends)
        lines = []
        for name, group in self._named("category", "", "").items():
            lines.append(group_line("", "", name, group, self._rules, noise_floor=noise))
        if resends.trials:
            yield cell_line("", "", BASELINE_CATEGORY, resends, self._rules, noise_floor=noise)
        yield from sorted(lines, key=lambda line: -(line.robustness.value if line.robustness else -1.0))

    def _single(self, wanted: Callable[[Category], bool]) -> Iterator[ReportLine]:
        keys = [key for key in self._cells if wanted(rewordings.category(key.perturbation))]
        keys.sort(key=lambda key: (key.route, key.model, rewordings.position(key.perturbation)))
        for key in keys:
            noise = self._noise[key.route, key.model]
            yield cell_line(*key, self._cells[key], self._rules, noise_floor=noise)


def ranked(lines: Iterable[ReportLine]) -> list[ReportLine]:
    """Return the lines with the least robust first and those without a figure last."""
    return sorted(
        lines,
        key=lambda line: (
            line.robustness is None,
            line.robustness.value if line.robustness else 0.0,
            line.route,
            line.model,
            line.name,
        ),
    )
