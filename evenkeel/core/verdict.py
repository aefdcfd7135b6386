"""Verdicts: the outcome of one trial, and the only input of estimates, detectors and gauges.

The steps that led to a rating are among its details, as numbers under the names `DECIDED_BY` and
`JUDGED_…`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.pair import AS_BEFORE, Answer, AnswerForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Scorer = Literal["judge", "metrics"]
"""Source of the similarity rating: an LLM judge, or the heuristics alone."""

Direction = Literal["better", "worse", "mixed"]

QualityScale = Literal["rating", "ratio", "agreement"]
"""Scale of the values of a quality score.

"rating": 1, 2 or 3, 3 = best, each answer judged alone. "ratio": in [0, 1], 1 = best, each answer
measured alone. "agreement": in [0, 1], how far the candidate agrees with the reference, whose own value
is 1 by definition; it says that quality changed but not for whom.
"""

BASELINE = "baseline.identical"
"""Name of the identical resend. Changes in its answers are noise."""

CONTRAST: Final = "contrast"
"""Category of the trials that ask another question: their answers must move."""

SAME_CONTENT: Final = 3
"""The best rating of the similarity scale 1 to 3; below it the content has shifted."""

NO_PARAMETERS: Final = "none"
"""Parameters of a request that has none besides its prompt."""

# Bytes of the digest that decide; 48 bits are far finer than any share that somebody sets.
_DRAWN_BYTES: Final = 6

Obligation = Literal["format", "language"]
"""Requirement that a variant puts on its answer, and that the answer may ignore."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A measurement that could not be made. Counted by reason; never turned into a number."""

    metric: str
    version: int
    reason: str
    """Short snake_case word, usable as a label: "timeout", "rate_limited", "no_text" …"""
    detail: str = ""
    """Explanation in one sentence for people. Holds no credentials."""


REPLAY: Final = "replay"
"""Metric of the failures of replays; any other belongs to a judge or a metric."""

INTERNAL_ERROR: Final = "internal_error"
"""Reason of what a fault in our code, or in another package's, has spoiled."""


@dataclass(frozen=True, slots=True)
class QualityScore:
    """Scores of both answers in one quality metric; high = good."""

    metric: str
    """e.g. "faithfulness"."""
    version: int
    reference: float
    candidate: float
    scale: QualityScale = "rating"
    tolerance: float = 0.0
    """Largest difference that is still the same quality; 0 for everything that is counted exactly."""

    @property
    def changed(self) -> bool:
        """Return whether the answers differ in this metric by more than its tolerance."""
        return abs(self.reference - self.candidate) > self.tolerance

    @property
    def direction(self) -> Literal["better", "worse"] | None:
        """Direction of the change; None if there is none, or if the scale cannot tell."""
        if not self.changed or self.scale == "agreement":
            return None
        return "better" if self.candidate > self.reference else "worse"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result of two-stage scoring of one pair.

    Without a rating and not unsure, `failures` names why the similarity could not be rated. `quality` is
    empty for a rating of 3: the second stage only looks at pairs that may have shifted.
    """

    scorer: Scorer
    rating: int | None
    """Similarity 3 (same content), 2 (some details differ), 1 (different message)."""
    explanation: str = ""
    details: dict[str, float] = field(default_factory=dict)
    """Scores behind a heuristic rating, by metric name, e.g. {"rouge_l": 0.81}."""
    quality: tuple[QualityScore, ...] = ()
    failures: tuple[Failure, ...] = ()
    spent: Spend = NOTHING
    """Cost of every call made, also of those that failed."""
    rated_by: str = ""
    """Version of the judge's prompt, such as "similarity@1"; "" if no judge was asked."""
    unsure: bool = False
    """True if there is no rating because the answers differ and no judge was asked."""
    similarity: float | None = None
    """Similarity of the answers in [0, 1]; None if it could not be measured."""
    invalid: tuple[Obligation, ...] = ()
    """Requirements of the variant that the answer ignores."""

    @property
    def shifted(self) -> bool | None:
        """Return whether the content shifted; None without a rating: `unsure`, or as `failures` say."""
        return content_shifted(self.rating, self.invalid)


# The records below without `gc` hold no cycles: a fold keeps many, which the collector need not visit.


class Evidence(Struct, frozen=True, omit_defaults=True):
    """Prompts and answers that a person needs to check a verdict. Stored with it for a limited time."""

    prompt: str
    variant: str
    reference: Answer
    candidate: Answer | None
    asked: tuple[tuple[int, int], ...] = ()
    """Spans of the user's own words in `prompt`, in characters; the rest is template, data or an earlier
    turn. () if they are not known."""


class Origin(Struct, frozen=True, omit_defaults=True, gc=False):
    """Properties of the original request and its answer, used to group verdicts."""

    task: str | None = None
    prompt_version: str | None = None
    """Version that the application names, else the fingerprint of the learned template."""
    requested_model: str | None = None
    """Model name that the request asked for."""
    system_fingerprint: str | None = None
    """Fingerprint that the endpoint returned with the answer."""
    parameters: str = ""
    """Parameters of the request other than its prompt, sorted by name: "max_tokens=300 temperature=0.2
    tools=1a2b3c4d"; `NO_PARAMETERS` if there are none, "" if they are not known."""
    prompt_chars: int = 0
    """Length of the prompt in characters; 0 if unknown."""
    template_share: float | None = None
    """Share of the prompt that is template, in [0, 1]."""
    prompt_language: str | None = None
    """Language of the user's input, as a base tag ("de"); None if uncertain."""
    client: str = ""
    """Name of the client that sent the request, as in `Exchange.client`; "" if unknown."""
    tool: str = ""
    """First tool that the original answer calls; "" if it calls none."""
    session: str = ""
    """Name of the run or conversation that the request belongs to, 16 hex digits; "" if none is known."""


ToolDifference = Literal["none", "called", "tool", "order", "arguments", "text"]
"""First difference between two answers to a request that offers tools, in this order: only one of them calls
a tool, they call other tools, or the same ones in another order, with other arguments, or their texts
differ."""


class ToolStep(Struct, frozen=True, omit_defaults=True, gc=False):
    """Comparison of the tool calls of a trial's answer with those of the original."""

    difference: ToolDifference = "none"
    before: str = ""
    """Tool that the original calls where the two differ first, "" if it calls none there. Empty for equal
    calls, as are the other fields."""
    after: str = ""
    """Tool that the trial's answer calls there; the same one where only arguments differ."""
    arguments: tuple[str, ...] = ()
    """Paths of the arguments that differ, such as ".customer.id", at most eight."""


class Scoring(Struct, frozen=True, omit_defaults=True, gc=False):
    """Scorer of a trial, and the steps that led to its rating."""

    scorer: Scorer
    rated_by: str = ""
    """Version of the judge's prompt, such as "similarity@1"; "" if no judge was asked."""
    judge_model: str = ""
    """Model of the judge; "" if no judge was asked."""
    explanation: str = ""
    details: dict[str, float] = msgspec.field(default_factory=dict)
    """Scores behind a heuristic rating, by metric name, and the steps that led to a rating."""


class Control(Struct, frozen=True, omit_defaults=True, gc=False):
    """Outcome of the identical resend of the same exchange; all None if there is none."""

    rating: int | None = None
    similarity: float | None = None
    worse: bool | None = None
    """True if the quality of the resend got worse; None if unknown."""
    tools: ToolStep | None = None
    """Comparison of the resend's tool calls; see `Verdict.tools`."""

    @property
    def shifted(self) -> bool | None:
        """Return whether the content of the resend shifted; None without a rating."""
        return content_shifted(self.rating)


class Selection(Struct, frozen=True, omit_defaults=True, gc=False):
    """Probabilities with which the trial was selected."""

    exchange_weight: float = 1.0
    """Horvitz–Thompson weight of the exchange, in (0, 1]: lowest chance with which any exchange is tried at
    the time, over this one's."""
    path_weight: float = 1.0
    """The same within the exchange, in (0, 1]: chance of this trial if the rewordings it belongs to had held
    together, over its chance given that they did or did not."""
    split_of: str = ""
    """Id of the trial of several rewordings whose shift this trial traces to a single one; "" if this trial
    was drawn independently of any such shift."""
    label_share: float = 0.0
    """Probability with which the verdict is drawn for a person's label; 0 if nobody is asked."""


class TrialCost(Struct, frozen=True, omit_defaults=True, gc=False):
    """Cost of the trial: replay and judge."""

    tokens: int = 0
    usd: float = 0.0
    replay_s: float = 0.0
    """Duration of the replay in seconds."""


NO_ORIGIN: Final = Origin()
NO_CONTROL: Final = Control()
ALWAYS_SELECTED: Final = Selection()
NO_COST: Final = TrialCost()


class Verdict(Struct, frozen=True, omit_defaults=True, gc=False):
    """The outcome of one trial: one exchange, one perturbation, one replay.

    A trial without an outcome (replay failed, judge failed) is a verdict with `failure` set. It is
    counted and shown but enters no estimate.
    """

    id: str
    """Derived from exchange, perturbation and severity: appending twice changes nothing."""
    exchange_id: str
    scored_at: float
    """Unix time in seconds."""
    route: str
    model: str
    """Model name returned for the original, else the one requested."""
    perturbation: str
    """`category.kind`."""
    perturbation_version: int
    severity: float
    """Severity in [0, 1]; 0 for the baseline."""
    seed: int
    scoring: Scoring
    rating: int | None
    similarity: float | None = None
    """Similarity of the answers in [0, 1]; None if it could not be measured."""
    unsure: bool = False
    """True if there is no rating because the answers differ and no judge was asked."""
    invalid: tuple[Obligation, ...] = ()
    """Requirements of the variant that the answer ignores."""
    failure: Failure | None = None
    """Reason why there is no outcome; None exactly if there is a rating or the trial is `unsure`."""
    quality: tuple[QualityScore, ...] = ()
    quality_failures: tuple[Failure, ...] = ()
    """Quality metrics that could not be measured on a shifted pair."""
    control: Control = NO_CONTROL
    tools: ToolStep | None = None
    """Comparison of the tool calls; None if the request offers no tools, or if there is no outcome."""
    origin: Origin = NO_ORIGIN
    wanted: AnswerForm = AS_BEFORE
    """The form that the variant asked for."""
    selection: Selection = ALWAYS_SELECTED
    cost: TrialCost = NO_COST
    settings: str = ""
    """Fingerprint of the settings under which the trial was made; "" if it is not known."""
    trace_id: str = ""
    """32 hex digits of the trace in which the trial was made, "" if it was not traced."""

    @property
    def weight(self) -> float:
        """Return the weight of the trial in estimates of its cell, in (0, 1]."""
        return self.selection.exchange_weight * self.selection.path_weight

    @property
    def is_control(self) -> bool:
        """Return whether the trial is the identical resend, of which every exchange has one."""
        return self.perturbation == BASELINE

    @property
    def is_answered(self) -> bool:
        """Return whether the replay brought an answer, so that a missing rating is the judge's failure."""
        return self.failure is None or self.failure.metric != REPLAY

    @property
    def is_contrast(self) -> bool:
        """Return whether the trial asked another question, so that its answer had to move."""
        return self.perturbation.startswith(f"{CONTRAST}.")

    @property
    def as_control(self) -> Control:
        """Outcome of an identical resend, in the form that the other trials of its exchange store."""
        return Control(self.rating, self.similarity, self.worse, self.tools)

    def repeated(self, detail: str) -> bool | None:
        """Return whether a further rating, kept as this detail, equals the first; None without the detail.

        A rating by a judge that was asked again, or with the sides swapped, repeats its rating of the pair
        alone.
        """
        other = self.scoring.details.get(detail)
        if other is None:
            return None
        alone = self.scoring.details.get(JUDGED_ALONE) if detail in (JUDGED_AGAIN, JUDGED_SWAPPED) else None
        return other == (self.rating if alone is None else alone)

    @property
    def drawn(self) -> bool:
        """Return whether the verdict was drawn for labeling; decided by its id and the label share."""
        return drawn_for_label(self.id, self.selection.label_share)

    @property
    def shifted(self) -> bool | None:
        """Return whether the content shifted; None without a rating. An invalid answer has shifted."""
        return content_shifted(self.rating, self.invalid)

    @property
    def grade(self) -> float | None:
        """Grade of the answer in [0, 1]: its similarity, or the mean of similarity and rating.

        0 for an invalid answer; None without a similarity.
        """
        if self.invalid:
            return 0.0
        return None if self.similarity is None else _grade(self.similarity, self.rating)

    @property
    def graded_loss(self) -> float | None:
        """Return the grade of the identical resend minus that of the variant, in [−1, 1].

        The difference of two grades in [0, 1], of which each is the mean of similarity and rating (3 = 1,
        2 = ½, 1 = 0), or similarity alone where either answer has no rating. An invalid answer has grade 0.
        None without a similarity of both.
        """
        if self.control.similarity is None or (self.similarity is None and not self.invalid):
            return None
        # Ratings count only if both answers have one: else two different scales would be compared.
        rated = self.rating is not None and self.control.rating is not None
        control = _grade(self.control.similarity, self.control.rating if rated else None)
        if self.invalid or self.similarity is None:
            return control
        return control - _grade(self.similarity, self.rating if rated else None)

    @property
    def quality_changed(self) -> bool | None:
        """Return whether a content shift changed any quality metric.

        None if the pair is not shifted, or if that is unknown: no metric changed, but one failed. An invalid
        answer is a worse one.
        """
        if self.invalid:
            return True
        if not self.shifted or not self.quality:
            return None
        if any(score.changed for score in self.quality):
            return True
        # A metric that failed might have changed: "unchanged" would be a guess.
        return None if self.quality_failures else False

    @property
    def worse(self) -> bool | None:
        """Return whether quality got worse overall; None if unknown.

        An answer whose content did not move did not get worse; an invalid one did. "mixed" is not worse.
        """
        if not self.shifted:
            return self.shifted
        return None if self.quality_changed is None else self.direction == "worse"

    @property
    def direction(self) -> Direction | None:
        """Direction in which quality changed; None if it did not.

        "mixed" if some metrics rose and others fell, or if none that changed can tell the direction.
        """
        if not self.quality_changed:
            return None
        if self.invalid:
            return "worse"
        directions = {score.direction for score in self.quality} - {None}
        return directions.pop() if len(directions) == 1 else "mixed"


def drawn_for_label(verdict_id: str, share: float) -> bool:
    """Return whether a verdict is in the random share that is drawn for a person's label."""
    # The prefix keeps this draw independent of others that are made from the same id.
    digest = hashlib.sha256(f"label/{verdict_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:_DRAWN_BYTES], "big") < share * (1 << 8 * _DRAWN_BYTES)


def _grade(similarity: float, rating: int | None) -> float:
    if rating is None:
        return similarity
    return (similarity + (rating - 1) / (SAME_CONTENT - 1)) / 2


def content_shifted(rating: int | None, invalid: Sequence[Obligation] = ()) -> bool | None:
    """Return whether content shifted: always for an invalid answer, else by rating; None without a rating."""
    if invalid:
        return True
    return None if rating is None else rating < SAME_CONTENT


Stage = Literal["equality", "empty", "judge", "unsure"]
STAGES: Final[tuple[Stage, ...]] = ("equality", "empty", "judge", "unsure")
"""Stage that decided a rating: the answers are identical, only one of them is empty, the judge decided, or
there is no judge to decide. A stage's index is its number in the details."""

DECIDED_BY: Final = "decided_by"
"""Detail of every rating: the index of its stage."""
JUDGED_AGAIN: Final = "judged_again"
"""Detail of a repeated rating: the judge's second rating of the same pair."""
JUDGED_SWAPPED: Final = "judged_swapped"
"""Detail of a repeated rating: the judge's rating of the pair with its sides swapped."""
JUDGED_TOGETHER: Final = "judged_together"
"""Detail of a rating that the judge gave in one call with others: the number of candidates."""
JUDGED_ALONE: Final = "judged_alone"
"""Detail of such a rating that was repeated: the judge's rating of the pair alone. The ratings in
`JUDGED_AGAIN` and `JUDGED_SWAPPED` are then compared with this one."""


def stage_of(details: Mapping[str, float]) -> Stage:
    """Return the stage that decided a rating, by its details.

    Returns: "judge" if they do not say; "unsure" for a number that no stage has.
    """
    number = details.get(DECIDED_BY)
    if number is None:
        return "judge"
    # A log may be older than the stages of today.
    return STAGES[int(number)] if 0 <= number < len(STAGES) else "unsure"
