"""One trial: both prompts and both answers, what was changed and what changed, its rating, and its labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from litestar import MediaType, Request, Response, get
from litestar.params import FromPath, FromQuery

from evenkeel.console import diffs, links, wording
from evenkeel.console.access import form_token, visitor_of
from evenkeel.console.labels import feedback, siblings
from evenkeel.core import figures, rewordings
from evenkeel.core.labels import scorer_words
from evenkeel.core.verdict import PROVENANCE, stage_of
from evenkeel.monitor.changes.report import SAID
from evenkeel.stores.labels import CountedLabels
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, GoldenSources
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
class Approval:
    """What the page of a trial offers for its exchange."""

    exchange_id: str
    archived: bool
    """Whether the exchange is still there to be approved."""
    empty: bool
    """Whether its answer says nothing, so that it cannot be approved."""
    golden_href: str
    """The golden that it is under its own id already, "" if it is none."""


def approval(sources: GoldenSources, exchange_id: str) -> Approval:
    """Whether a trial's exchange can be approved, or has been."""
    exchange = sources.archive.find(exchange_id)
    answer = exchange.answer if exchange else None
    known = sources.store.find(exchange_id) is not None
    return Approval(
        exchange_id,
        archived=exchange is not None,
        empty=answer is not None and not answer.text and not answer.tool_calls,
        golden_href=links.golden_link(exchange_id) if known else "",
    )


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
        return scorer_words(verdict.scorer)
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


VerdictId = FromPath[str]
QueryText = FromQuery[str | None]


class Beside(NamedTuple):
    """A change of the route before or after a trial."""

    href: str
    text: str
    trials_href: str
    """The trials on the same side of it."""


class Sibling(NamedTuple):
    """Another trial of the same exchange."""

    href: str
    perturbation: str
    severity: str
    rating: int | None
    rating_words: str


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`; `?blind=1` leaves out how it was rated, for somebody who is about to rate it."""
    counted = CountedLabels(sources.labels)

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True)
    def page(
        request: Request[Any, Any, Any], verdict_id: VerdictId, blind: QueryText = None
    ) -> Response[bytes]:
        verdict = sources.log.find(verdict_id.removeprefix("/"))
        if verdict is None:
            content = renderer.page(
                "message.html",
                title="Verdict not found",
                text="There is no verdict of this id in the log.",
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        now = sources.clock()
        evidence = sources.log.evidence(verdict.id)
        store = sources.labels
        said = feedback(store, counted(), verdict.id, verdict.judge_model, now) if store else None
        content = renderer.page(
            "trial.html",
            here="/trials",
            verdict=view(verdict, exhibit_in_full(evidence) if evidence else None, now),
            raw=verdict,
            trace_url=_trace_url(sources.trace_url, verdict.trace_id),
            approval=approval(sources.goldens, verdict.exchange_id) if sources.goldens else None,
            siblings=_siblings(sources, verdict),
            before=_change(sources, verdict, now, after=False),
            after=_change(sources, verdict, now, after=True),
            feedback=said,
            blind=bool(blind) and said is not None and not said.labels,
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    return [page]


def _siblings(sources: ConsoleSources, verdict: Verdict) -> tuple[Sibling, ...]:
    return tuple(
        Sibling(
            links.verdict_link(one.id),
            rewordings.label(one.perturbation),
            figures.number(one.severity, 1) if rewordings.category(one.perturbation).graded else "",
            one.rating,
            words,
        )
        for one, words in siblings(sources.log, verdict)
    )


def _change(sources: ConsoleSources, verdict: Verdict, now: float, *, after: bool) -> Beside | None:
    """The first change of the route after the trial, or the last one before it."""
    of_route = [one for one in (sources.change_reports or tuple)() if one.route == verdict.route]
    if after:
        found = min(
            (one for one in of_route if one.at > verdict.scored_at), key=lambda one: one.at, default=None
        )
    else:
        found = max(
            (one for one in of_route if one.at <= verdict.scored_at), key=lambda one: one.at, default=None
        )
    if found is None:
        return None
    side = "before" if after else "after"
    return Beside(
        links.change_link(found.id),
        f"{SAID[found.cause]}, {figures.moment(found.at, now)}",
        links.trials_link(change=found.id, side=side, perturbation=verdict.perturbation),
    )


def _trace_url(template: str | None, trace_id: str) -> str | None:
    """Where the trial's trace can be looked at; None if it has none or nobody said where."""
    return template.replace("{trace_id}", trace_id) if template and trace_id else None
