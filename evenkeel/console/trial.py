"""Page of a trial: both prompts and answers, their differences, the rating and the labels.

The question in a prompt is the user's own words, which are stored with a trial if its template was learned.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console import diffs
from evenkeel.console.access import form_token, visitor_of
from evenkeel.console.rendering import SECOND_RATINGS, STAGES, AnyRequest, PathText, QueryText
from evenkeel.core import rewordings
from evenkeel.core.labels import scorer_words
from evenkeel.core.text import visible
from evenkeel.core.verdict import BASELINE, stage_of
from evenkeel.release.goldens.candidates import golden_from
from evenkeel.stores.sealing import SealError
from evenkeel.stores.trial_index import Narrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.diffs import DiffRun, SideBySide
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.stores.archive import ArchivedExchange
    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.verdict_log import VerdictLog


# Words below which the user's whole turn is the question.
_LEAST_WORDS: Final = 4
_TURN: Final = re.compile(r"(?:\A|\n\n)(?:user|human): ")
_ROLE: Final = re.compile(r"(?:\A|\n\n)(?:system|developer|user|human|assistant|tool): ")


def question(prompt: str, asked: Sequence[tuple[int, int]] = ()) -> str:
    """Return the question in a prompt.

    Args:
        prompt: "role: text" blocks, a blank line between, as trials store them.
        asked: spans of the user's own words, in characters, if known; else the user's last turn is taken.
    """
    return " … ".join(filter(None, (prompt[start:end].strip() for start, end in _spans(prompt, asked))))


def reworded_question(prompt: str, variant: str, asked: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Return the question before and after its rewording; both prompts if more than it was changed."""
    # A rewording may change the text's length, so its end is counted from the end of the prompt.
    spans = _spans(prompt, asked)
    start, end = spans[0][0], spans[-1][1]
    until = len(variant) - (len(prompt) - end)
    if start <= until and prompt[:start] == variant[:start] and prompt[end:] == variant[until:]:
        return prompt[start:end], variant[start:until]
    return prompt, variant


def _spans(prompt: str, asked: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the question in order, at least one."""
    spans = []
    for start, end in sorted(asked):
        # A span that does not fit is of another prompt.
        if 0 <= start < end <= len(prompt):
            spans.append((start, end))
    words = sum(len(prompt[start:end].split()) for start, end in spans)
    return spans if words >= _LEAST_WORDS else [_last_turn(prompt)]


def _last_turn(prompt: str) -> tuple[int, int]:
    """Return the span of the user's last turn; all of a prompt without turns."""
    start = 0
    for turn in _TURN.finditer(prompt):
        start = turn.end()
    after = _ROLE.search(prompt, start)
    return start, after.start() if after else len(prompt)


_PAGE_CHARS = 60_000
_QUESTION_CHARS = 6_000
# Seconds before and after a trial in which other steps of its run are looked for.
_RUN_S = 3_600.0
_MOST_STEPS = 500
# Unchanged words of a prompt shown on each side of what was reworded.
_CONTEXT_WORDS = 40


def _exchange_and_golden(
    sources: ConsoleSources, exchange_id: str
) -> tuple[ArchivedExchange | None, Golden | None]:
    """Return the exchange of a trial, which can be approved, and the golden that it already is."""
    # Without its key an exchange is as good as gone here; the page of the trial says what is missing.
    with contextlib.suppress(SealError):
        if exchange := sources.archive.find(exchange_id):
            return exchange, golden_from(exchange, sources.goldens)
    return None, sources.goldens.find(exchange_id)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The texts behind a verdict, with differences marked."""

    unchanged_prompt: bool
    """True if the words are the same: of a control, and where tools or parameters are reworded."""
    question: tuple[DiffRun, ...]
    """Question in the prompt, without the template."""
    answers: SideBySide
    no_candidate: bool
    """True if the replay gave no answer."""
    whole_prompt: tuple[DiffRun, ...] = ()
    """The prompt with its template; empty if `question` is all of it."""
    control: tuple[DiffRun, ...] = ()
    """The control's answer, with the words marked that the original's answer lacks."""


class TrialView(NamedTuple):
    """A verdict with its descriptions for people."""

    verdict: Verdict
    exhibit: Exhibit | None = None
    """Texts of the trial; None once they have been pruned."""

    @property
    def name(self) -> str:
        """Name of the rewording, or that of the control."""
        return (
            "control"
            if self.verdict.perturbation == BASELINE
            else rewordings.label(self.verdict.perturbation)
        )

    @property
    def severity(self) -> str:
        """Severity; "" for perturbations that have no degrees."""
        graded = rewordings.category(self.verdict.perturbation).graded
        # Not rounded: 0.07 and 0.13 are typing on a desktop and on a phone.
        return f"{self.verdict.severity:g}" if graded else ""

    @property
    def scorer(self) -> str:
        """Description of who decided the rating, and whether the judge was needed."""
        if self.verdict.scoring.scorer != "judge" or self.verdict.rating is None:
            return scorer_words(self.verdict.scoring.scorer)
        return STAGES[stage_of(self.verdict.scoring.details)]

    @property
    def failure(self) -> str:
        """Reason why there is no rating, "" if there is one."""
        failure = self.verdict.failure
        return f"{failure.metric}: {failure.reason.replace('_', ' ')}" if failure else ""


def exhibit_in_full(evidence: Evidence, control: Answer | None = None) -> Exhibit:
    """Return the texts at the length that a trial's own page shows, with the control's answer if kept."""
    answer, prompt, variant = evidence.reference.shown, evidence.prompt, evidence.variant
    replayed = evidence.candidate.shown if evidence.candidate else ""
    # There is nothing to mark, so the question is cut as one text.
    if prompt == variant:
        shown = plain(question(prompt, evidence.asked), _QUESTION_CHARS)
    else:
        before, after = reworded_question(prompt, variant, evidence.asked)
        shown = diffs.inline(before, after, context_words=_CONTEXT_WORDS, max_chars=_QUESTION_CHARS)
    whole = diffs.inline(prompt, variant, context_words=diffs.MAX_WORDS, max_chars=_PAGE_CHARS)
    return Exhibit(
        unchanged_prompt=prompt == variant,
        question=shown,
        whole_prompt=whole if whole != shown else (),
        answers=diffs.side_by_side(answer, replayed, max_chars=_PAGE_CHARS),
        no_candidate=evidence.candidate is None,
        control=diffs.side_by_side(answer, control.shown, max_chars=_PAGE_CHARS).right if control else (),
    )


def plain(text: str, max_chars: int = _PAGE_CHARS) -> tuple[DiffRun, ...]:
    """Return a text without marks, cut to a length."""
    return diffs.inline(text, text, context_words=0, max_chars=max_chars)


class Texts(NamedTuple):
    """Prompts and answers of a trial, or the reason why there are none."""

    evidence: Evidence | None
    missing: str = ""
    """Reason why there are no texts, as a sentence; "" if there are."""


_NOT_STORED: Final = "Prompt and answers are no longer stored."


def texts_of(log: VerdictLog, verdict_id: str) -> Texts:
    """Return the texts of a trial that can be read, and the reason for those that cannot."""
    try:
        evidence = log.evidence(verdict_id)
    except SealError as error:
        return Texts(None, f"Prompt and answers cannot be read: {error}.")
    return Texts(evidence, "" if evidence else _NOT_STORED)


def session_steps(log: VerdictLog, verdict: Verdict) -> list[Verdict]:
    """Return a verdict for each tried step of a trial's session, in order; [] if it has none.

    The trial stands for its own step, the control for each other one. A prompt holds the steps before it, so
    the prompts of one run become longer.
    """
    if not verdict.origin.session:
        return []
    narrow = replace(
        Narrow.by(session=verdict.origin.session, perturbation=BASELINE),
        since=verdict.scored_at - _RUN_S,
        until=verdict.scored_at + _RUN_S,
    )
    steps = {}
    for logged in log.read_before(None, _MOST_STEPS, narrow).verdicts:
        steps[logged.verdict.exchange_id] = logged.verdict
    steps[verdict.exchange_id] = verdict
    return sorted(steps.values(), key=lambda step: (step.origin.prompt_chars, step.scored_at))


def trial_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/verdicts/{id}`; `?blind=1` leaves out how it was rated, for somebody who is about to rate it."""

    # The path type also takes ids that hold a slash.
    @get("/verdicts/{verdict_id:path}", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest, verdict_id: PathText, blind: QueryText = None) -> Response[bytes]:
        verdict = sources.log.find(verdict_id.removeprefix("/"))
        if verdict is None:
            raise NotFoundException(detail="There is no trial with this id in the log.")
        # Texts are pruned before verdicts, so a trial may be there without them.
        texts, others = texts_of(sources.log, verdict.id), siblings(sources.log, verdict)
        evidence, control = texts.evidence, _control_of(sources.log, others)
        again = control.evidence.candidate if control.evidence else None
        labels = sources.labels.of_verdict(verdict.id)
        exchange, golden = _exchange_and_golden(sources, verdict.exchange_id)
        return renderer.response(
            "trial.html",
            second_ratings=SECOND_RATINGS,
            one=TrialView(verdict, exhibit_in_full(evidence, again) if evidence else None),
            gaps=_gaps(verdict, texts, control),
            request=visible(exchange.request[:_PAGE_CHARS]) if exchange else "",
            trace_url=_trace_url(sources.trace_url, verdict.trace_id),
            exchange=exchange,
            golden=golden,
            steps=session_steps(sources.log, verdict),
            siblings=[TrialView(other) for other in others],
            labels=labels,
            # Once somebody has rated the trial, hiding the rating helps nobody.
            blind=bool(blind) and not labels,
            token=form_token(request),
            visitor=visitor_of(request),
        )

    return [page]


def _control_of(log: VerdictLog, others: Iterable[Verdict]) -> Texts:
    for trial in others:
        if trial.perturbation == BASELINE:
            return texts_of(log, trial.id)
    return Texts(None)


_KEPT: Final = (
    "Texts are kept of the newest trials only, and for a limited time (storage.evidence and "
    "storage.evidence_days)."
)
# Placeholders of redaction, such as "[EMAIL_1]".
_REDACTED: Final = re.compile(r"\[[A-Z][A-Z_]*_\d+\]")


def _gaps(verdict: Verdict, texts: Texts, control: Texts) -> list[str]:
    """Explain what is missing from a trial, in a sentence or two for each gap."""
    gaps = []
    if texts.missing:
        gaps.append(texts.missing if texts.missing != _NOT_STORED else f"{_NOT_STORED} {_KEPT}")
    elif verdict.perturbation != BASELINE and (
        control.evidence is None or control.evidence.candidate is None
    ):
        # The verdict keeps the control's rating after its texts are gone.
        if verdict.control.rating is None and verdict.control.similarity is None:
            gaps.append("There is no rated control of this exchange, so chance cannot be ruled out.")
        else:
            gaps.append("The control was rated; its answer is no longer stored.")
    if texts.evidence and _REDACTED.search(texts.evidence.prompt):
        gaps.append("Values such as e-mail addresses were replaced before anything was stored.")
    return gaps


def siblings(log: VerdictLog, verdict: Verdict) -> list[Verdict]:
    """Return the other trials of the same exchange, the control first."""
    others = []
    for trial in log.of_exchange(verdict.exchange_id):
        if trial.id != verdict.id:
            others.append(trial)
    return sorted(
        others, key=lambda other: (rewordings.position(other.perturbation), other.severity, other.id)
    )


def _trace_url(template: str | None, trace_id: str) -> str | None:
    return template.replace("{trace_id}", trace_id) if template and trace_id else None
