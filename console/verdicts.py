"""Verdicts as people check them: what was changed in the prompt, and what changed in the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from evenkeel.console import diffs, links, wording
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import PROVENANCE, stage_of
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Evidence, QualityScore, Verdict
    from evenkeel.stores.verdict_log import VerdictLog

RatingFilter = Literal["all", "shifted", "3", "2", "1", "failed"]

_RATINGS: dict[str, RatingFilter] = {name: name for name in get_args(RatingFilter)}

SHOWN = 20
"""Verdicts on the overview."""

SEARCHED = 400
"""Newest trials of a route and perturbation that are searched for a rating: the log has no index on it."""

_LIST_PROMPT_CHARS = 1000
_LIST_ANSWER_CHARS = 1600
_PAGE_CHARS = 60_000
_CONTEXT_WORDS = 9
_LONG_PROMPT_CHARS = 3_000
_PAGE_CONTEXT_WORDS = 40


@dataclass(frozen=True, slots=True)
class Choice:
    """What the list is narrowed to; None = all."""

    rating: RatingFilter = "all"
    route: str | None = None
    perturbation: str | None = None

    @classmethod
    def of(cls, rating: str | None, route: str | None, perturbation: str | None) -> Choice:
        """Read a query string's values; an unknown rating means all, an empty text means none."""
        known = _RATINGS.get(rating or "", "all")
        return cls(known, route or None, perturbation or None)

    def parts(self, **changes: str | None) -> dict[str, str | None]:
        """The choice as parts of a link, with some of them changed."""
        rating = None if self.rating == "all" else self.rating
        return {"route": self.route, "perturbation": self.perturbation, "rating": rating} | changes


@dataclass(frozen=True, slots=True)
class FilterLink:
    """A link that narrows the list."""

    label: str
    href: str
    active: bool


@dataclass(frozen=True, slots=True)
class Filters:
    """The links above the list."""

    ratings: tuple[FilterLink, ...]
    perturbations: tuple[FilterLink, ...]
    routes: tuple[FilterLink, ...]


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One quality metric on both answers, each on the metric's scale."""

    name: str
    reference: str
    candidate: str
    of: str
    """ of 3" for ratings, else ""."""
    change: Literal["same", "better", "worse", "changed"]


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The texts behind a verdict, with differences marked."""

    unchanged_prompt: bool
    prompt: tuple[Run, ...]
    answers: SideBySide
    no_candidate: bool
    """Whether the replay gave no answer."""
    whole_prompt: tuple[Run, ...] = ()
    """The prompt without gaps, where `prompt` has some and the page has room."""


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict, ready to print."""

    id: str
    element_id: str
    href: str
    rating: int | None
    rating_words: str
    perturbation: str
    severity: str
    """"" for the baseline."""
    route: str
    model: str
    at: str
    at_iso: str
    at_exact: str
    scorer: str
    explanation: str
    details: tuple[tuple[str, str], ...]
    """Scores behind a cheap rating: name and value."""
    quality: tuple[QualityRow, ...]
    baseline: str
    """How the identical resend of the same exchange was rated, "" if it was not."""
    failure: str
    cost: str
    replay: str
    exhibit: Exhibit | None
    """None once the texts have been pruned."""


@dataclass(frozen=True, slots=True)
class VerdictList:
    """The latest verdicts with the links that narrow them."""

    filters: Filters
    verdicts: tuple[VerdictView, ...]
    choice: Choice
    searched: int
    """How many trials were looked at; if few match, older ones may exist."""

    @property
    def opened(self) -> str:
        """Id of the verdict shown opened: the newest that moved, else the newest; "" if there is none."""
        moved = next((found for found in self.verdicts if found.rating in {1, 2}), None)
        chosen = moved or next(iter(self.verdicts), None)
        return chosen.id if chosen else ""


class Exhibitor:
    """Marks differences for the overview's list, remembering the work: verdicts never change."""

    def __init__(self) -> None:
        self._remembered: Callable[[str, str, str, str], tuple[tuple[Run, ...], SideBySide]]
        self._remembered = lru_cache(maxsize=256)(_marked_short)

    def exhibit(self, evidence: Evidence) -> Exhibit:
        """The texts cut to the length that suits a list."""
        candidate = answer_text(evidence.candidate)
        prompt, answers = self._remembered(
            evidence.prompt, evidence.variant, answer_text(evidence.reference), candidate
        )
        return Exhibit(evidence.prompt == evidence.variant, prompt, answers, evidence.candidate is None)


def exhibit_in_full(evidence: Evidence) -> Exhibit:
    """The texts at the length of a page of their own; of a long prompt also what surrounds the changes."""
    whole = diffs.inline(
        evidence.prompt, evidence.variant, context_words=diffs.MAX_WORDS, max_chars=_PAGE_CHARS
    )
    is_long = sum(len(run.text) for run in whole) > _LONG_PROMPT_CHARS
    around = diffs.inline(
        evidence.prompt, evidence.variant, context_words=_PAGE_CONTEXT_WORDS, max_chars=_LONG_PROMPT_CHARS
    )
    return Exhibit(
        unchanged_prompt=evidence.prompt == evidence.variant,
        prompt=around if is_long else whole,
        whole_prompt=whole if is_long else (),
        answers=diffs.side_by_side(
            answer_text(evidence.reference), answer_text(evidence.candidate), max_chars=_PAGE_CHARS
        ),
        no_candidate=evidence.candidate is None,
    )


def latest(
    log: VerdictLog,
    choice: Choice,
    *,
    exhibitor: Exhibitor,
    routes: Iterable[str],
    perturbations: Iterable[str],
    now: float,
) -> VerdictList:
    """The newest verdicts of a choice, with the links to other choices.

    Args:
        log: where they are read from.
        choice: what to show.
        exhibitor: marks the differences.
        routes: names to offer as filters.
        perturbations: names to offer as filters.
        now: Unix time in seconds.
    """
    limit = SHOWN if choice.rating == "all" else SEARCHED
    found = log.latest(limit, route=choice.route, perturbation=choice.perturbation)
    shown = [verdict for verdict in found if matches(verdict, choice.rating)][:SHOWN]
    views = []
    for verdict in shown:
        evidence = readable_evidence(log, verdict.id)
        views.append(view(verdict, exhibitor.exhibit(evidence) if evidence else None, now))
    return VerdictList(_filters(choice, routes, perturbations), tuple(views), choice, limit)


def matches(verdict: Verdict, rating: RatingFilter) -> bool:
    """Whether a verdict passes the filter; "shifted" is a rating below 3, "failed" none at all."""
    if rating == "all":
        return True
    if rating == "failed":
        return verdict.rating is None
    if rating == "shifted":
        return bool(verdict.shifted)
    return verdict.rating == int(rating)


def view(verdict: Verdict, exhibit: Exhibit | None, now: float) -> VerdictView:
    """Put a verdict into words."""
    failure = verdict.failure
    return VerdictView(
        id=verdict.id,
        element_id=f"v-{links.path_part(verdict.id)}",
        href=links.verdict_link(verdict.id),
        rating=verdict.rating,
        rating_words=wording.RATINGS.get(verdict.rating, "not rated") if verdict.rating else "not rated",
        perturbation=rewordings.label(verdict.perturbation),
        severity=figures.number(verdict.severity, 1)
        if rewordings.category(verdict.perturbation).graded
        else "",
        route=verdict.route,
        model=verdict.model,
        at=figures.moment(verdict.scored_at, now),
        at_iso=figures.iso(verdict.scored_at),
        at_exact=figures.moment_exact(verdict.scored_at),
        scorer=_decided(verdict),
        explanation=verdict.explanation,
        details=_details(verdict.details),
        quality=tuple(quality_row(score) for score in verdict.quality),
        baseline="" if verdict.baseline_rating is None else wording.RATINGS.get(verdict.baseline_rating, ""),
        failure=f"{failure.metric}: {failure.reason.replace('_', ' ')}. {failure.detail}".strip()
        if failure
        else "",
        cost=f"{verdict.tokens:,} tokens, {figures.usd(verdict.cost_usd)}",
        replay=f"{figures.number(verdict.replay_s, 1)} s",
        exhibit=exhibit,
    )


def answer_text(answer: Answer | None) -> str:
    """An answer's text and the tools it called, a line each; "" if there is no answer."""
    if answer is None:
        return ""
    calls = [f"→ {call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join([answer.text, *calls] if answer.text else calls)


def _marked_short(
    prompt: str, variant: str, reference: str, candidate: str
) -> tuple[tuple[Run, ...], SideBySide]:
    return (
        diffs.inline(prompt, variant, context_words=_CONTEXT_WORDS, max_chars=_LIST_PROMPT_CHARS),
        # Words beyond the cut are not shown, so comparing far more than the cut is wasted.
        diffs.side_by_side(
            reference[: 2 * _LIST_ANSWER_CHARS],
            candidate[: 2 * _LIST_ANSWER_CHARS],
            max_chars=_LIST_ANSWER_CHARS,
        ),
    )


def _decided(verdict: Verdict) -> str:
    """Who decided the rating, and whether the judge was needed."""
    if verdict.scorer != "judge" or verdict.rating is None:
        return wording.scorer_words(verdict.scorer)
    return wording.stage_words(stage_of(verdict.details))


def _details(details: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    scores = [
        (wording.score_words(name), figures.number(value, 2))
        for name, value in details.items()
        if name not in PROVENANCE
    ]
    others = [
        (words, wording.RATINGS.get(round(details[name]), "not rated"))
        for name, words in wording.SECOND_RATINGS.items()
        if name in details
    ]
    return (*scores, *others)


def quality_row(score: QualityScore) -> QualityRow:
    """One metric on both answers, in words."""
    change: Literal["same", "better", "worse", "changed"] = "same"
    if score.changed:
        change = score.direction or "changed"
    # Ratings are whole numbers, ratios are shown to two digits.
    reference, candidate = (f"{round(value, 2):g}" for value in (score.reference, score.candidate))
    of = " of 3" if score.scale == "rating" else ""
    return QualityRow(wording.quality_words(score.metric), reference, candidate, of, change)


def _filters(choice: Choice, routes: Iterable[str], perturbations: Iterable[str]) -> Filters:
    ratings: Sequence[tuple[str, RatingFilter]] = (
        ("all", "all"),
        ("moved (1 or 2)", "shifted"),
        ("1 different message", "1"),
        ("2 details differ", "2"),
        ("3 same content", "3"),
        ("not rated", "failed"),
    )

    def link(label: str, *, active: bool, **changes: str | None) -> FilterLink:
        return FilterLink(label, links.verdicts_link(**choice.parts(**changes)), active)

    return Filters(
        ratings=tuple(
            link(label, active=choice.rating == name, rating=None if name == "all" else name)
            for label, name in ratings
        ),
        perturbations=(
            link("all", active=choice.perturbation is None, perturbation=None),
            *(
                link(rewordings.label(name), active=choice.perturbation == name, perturbation=name)
                for name in sorted(perturbations, key=rewordings.position)
            ),
        ),
        routes=(
            link("all", active=choice.route is None, route=None),
            *(link(name, active=choice.route == name, route=name) for name in sorted(routes)),
        ),
    )
