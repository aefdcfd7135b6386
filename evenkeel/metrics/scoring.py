"""Two-stage score of a pair: the similarity of the answers and, if they differ, whether quality changed."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import NOTHING, Spend, total
from evenkeel.core.languages import base_tag, told_apart
from evenkeel.core.verdict import DECIDED_BY, INTERNAL_ERROR, STAGES, Failure, Judgement
from evenkeel.metrics.entity import SlotMatch
from evenkeel.metrics.identity import IDENTITY, identical, is_empty
from evenkeel.metrics.judge.group import GroupRater
from evenkeel.metrics.judge.raters import JudgedQuality, JudgeNoise, JudgeRater
from evenkeel.metrics.protocol import SCALE, Rating
from evenkeel.metrics.quality.bundles import BUNDLES
from evenkeel.metrics.quality.measurement import measure_all
from evenkeel.metrics.quality.workflow_steps import WorkflowSteps
from evenkeel.metrics.similarity.likeness import Likeness, likeness
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import UnreadableError, flat
from evenkeel.metrics.tasks import Task, find_task
from evenkeel.metrics.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Format, Pair
    from evenkeel.core.verdict import Obligation, Scorer, Stage
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.protocol import Metric, Rater
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.quality.measurement import PairQuality

log = logging.getLogger("evenkeel")

_SAME, _OTHER = max(SCALE), min(SCALE)


def ignored(pair: Pair, language_of: LanguageOf | None) -> tuple[Obligation, ...]:
    """Return what the variant asked of the candidate's form and did not get.

    An answer of tool calls alone owes neither, and an extraction no language: it copies what it found. A
    language that is not certain is not held against an answer.

    Args:
        pair: Two answers; `pair.wanted` says what was asked for.
        language_of: Tells a text's language; None = no language is checked.
    """
    if not pair.candidate.text.strip():
        return ()
    obligations: list[Obligation] = []
    if pair.wanted.format not in (None, "free") and not is_valid(pair.candidate.text, pair.wanted.format):
        obligations.append("format")
    if (
        pair.wanted.language is not None
        and pair.task != Task.SLOT_FILLING
        and language_of is not None
        and _is_in_another(base_tag(pair.wanted.language), pair.candidate.text, language_of)
    ):
        obligations.append("language")
    return tuple(obligations)


# A block of code is in no language, and its words are English in any answer.
_CODE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)


def _is_in_another(wanted: str, text: str, language_of: LanguageOf) -> bool:
    """Return whether a text is certainly in another language, and none of its lines in the one wanted.

    An answer that quotes a log or drafts a letter in another language is in its own all the same.
    """
    structure = read_structure(text)
    if isinstance(structure, Structure) and structure.format != "markdown":
        # Keys of data are often English in any language, so only its values are read.
        prose = flat(structure.tree)
    else:
        prose = _CODE.sub("", text)
    language = language_of(prose)
    if language is None or not told_apart(language, wanted):
        return False
    for line in prose.split("\n"):
        language = language_of(line)
        if language is not None and not told_apart(language, wanted):
            return False
    return True


def is_valid(text: str, expected: Format) -> bool:
    """Return whether a text is nothing but a valid text of a format, one fence around it allowed.

    Any text may be Markdown if its fences are closed, and if it is no JSON, XML or HTML as a whole. HTML is
    valid if it has an HTML element and no tag lacks its counterpart where HTML needs one. What is too large
    or nested too deeply to be read is taken to be valid.
    """
    structure = read_structure(text, expected)
    if isinstance(structure, UnreadableError):
        return True
    if structure is not None and structure.format == expected:
        return structure.strict and structure.alone
    other = structure is not None and structure.alone and structure.format != "yaml"
    return expected == "markdown" and bool(text.strip()) and not other


# Comparison of the parts that an answer is made of, on every pair of a task.
_PARTS: Final[dict[Task, Metric]] = {Task.WORKFLOW: WorkflowSteps(), Task.SLOT_FILLING: SlotMatch()}


def measure(pair: Pair, language_of: LanguageOf | None = None) -> Rating:
    """Measure how close the answers of a pair are.

    Args:
        pair: Two answers that are neither identical nor empty.
        language_of: Tells a text's language.

    Returns: a `Rating` whose outcome is None, with its similarity, and among its details the scores behind
        that; or a `Failure` "cross_language" where the variant asked for a language and the reference is not
            certainly in it: answers in two languages cannot be compared in words.
    """
    wanted = pair.wanted.language
    have_words = all(any(map(str.isalpha, side.text)) for side in (pair.reference, pair.candidate))
    if wanted is not None and have_words:
        spoken = language_of(pair.reference.text) if language_of else None
        if spoken is None or told_apart(spoken, base_tag(wanted)):
            gap = f"{wanted} was asked for, and the reference may be in another language."
            return Rating(Failure("heuristic_rater", 8, "cross_language", gap))
    wording = _wording(pair)
    closeness = likeness(wording.reference.text, wording.candidate.text)
    scores = {Likeness.name: closeness}
    if pair.task in _PARTS:
        parts = _PARTS[Task(pair.task)].score(pair)
        if not isinstance(parts, Failure):
            scores[_PARTS[Task(pair.task)].name] = parts
            # Which steps or slots there are says more than their words.
            closeness = (closeness + parts) / 2
    if wording.reference.tool_calls or wording.candidate.tool_calls:
        calls = ToolCalls().score(wording)
        if not isinstance(calls, Failure):
            scores[ToolCalls.name] = calls
            has_text = wording.reference.text.strip() and wording.candidate.text.strip()
            closeness = (closeness + calls) / 2 if has_text else calls
    return Rating(
        None,
        "Not identical; only a judge can tell.",
        scores | {DECIDED_BY: float(STAGES.index("unsure"))},
        similarity=closeness,
    )


def _wording(pair: Pair) -> Pair:
    """Return the pair with data replaced by its values if the two formats differ, so that content counts."""
    structures = read_structure(pair.reference.text), read_structure(pair.candidate.text, pair.wanted.format)
    formats = []
    for side in structures:
        formats.append(side.format if isinstance(side, Structure) else "free")
    if formats[0] == formats[1] or not {"json", "yaml", "xml", "html"}.intersection(formats):
        return pair
    sides = []
    for answer, side in zip((pair.reference, pair.candidate), structures, strict=True):
        sides.append(replace(answer, text=flat(side.tree)) if isinstance(side, Structure) else answer)
    return replace(pair, reference=sides[0], candidate=sides[1])


def no_expense(answers_chars: int, context_chars: int, task: Task) -> Spend:  # noqa: ARG001 - an estimate
    """Return the estimate of a scorer that makes no calls."""
    return Spend(0, 0.0)


class TwoStageScorer:
    """Scorer of pairs by one rater and the qualities of the pair's task.

    1. An answer that ignores the format or the language that the variant asks for is invalid and is not
       rated: it counts as a shift for the worse.
    2. Identical answers are the same, an empty answer is another one than a text: rating 3 and 1, free of
       charge. No other rule rates anything.
    3. Otherwise the rater decides. If it fails there is no rating: a judge that cannot be reached
       is never silently replaced by heuristics, since the two are not on one scale.
    4. A pair whose rating is below 3 goes through the qualities of its task.
       One that fails is a failure of the judgement; the rating and the other qualities stand.

    An exception in any of this spoils the judgement of its pair alone ("internal_error"), and is logged.

    Source: the two-stage protocol behind content delta and quality delta (similarity first, then the
    task's quality metrics on shifted pairs only).
    """

    def __init__(
        self,
        scorer: Scorer,
        rater: Rater | None,
        measures: Mapping[Task, tuple[PairQuality, ...]],
        estimate: Callable[[int, int, Task], Spend] = no_expense,
        language_of: LanguageOf | None = None,
    ) -> None:
        """Put a scorer together.

        Args:
            scorer: Who decides.
            rater: Rates how similar two answers are; None = what is not clear stays unsure.
            measures: The qualities of each task; none for a task that is left out.
            estimate: Characters of both answers, characters of the prompt, task → at most so much.
            language_of: Tells a text's language; without it no answer is found to be in a wrong one.
        """
        self._scorer = scorer
        self._rater = rater
        self._measures = measures
        self._estimate = estimate
        self._language_of = language_of

    @property
    def scorer(self) -> Scorer:
        """Scorer that decides the rating of answers that are not equal."""
        return self._scorer

    def estimate(self, answers_chars: int, context_chars: int, task: str | None) -> Spend:
        """Return the most that scoring a pair can cost, before it is scored.

        Args:
            answers_chars: Characters of both answers together.
            context_chars: Characters of the prompt.
            task: Name of the task.
        """
        return self._estimate(answers_chars, context_chars, find_task(task))

    async def score(self, pair: Pair, *, qualities: bool = True) -> Judgement:
        """Score one pair, as `score_all` scores several."""
        return (await self.score_all([pair], qualities=qualities))[0]

    async def score_all(self, pairs: Sequence[Pair], *, qualities: bool = True) -> list[Judgement]:
        """Score the pairs of an exchange: all are rated together. Work on the CPU is done in threads.

        Args:
            pairs: What is scored.
            qualities: Whether a shifted pair goes through the qualities of its task.

        Returns: for each pair a `Judgement`. If similarity failed it has neither a rating nor is it unsure,
            with the reason as the only failure: "no_text" if neither side has text or a tool call, else the
            rater's. The cost covers every call made. Where the judge fails for a pair of an exchange,
            those that needed no judge fail with it: counted alone, identical answers would make an outage
            look steady, and empty ones like a regression.
        """
        decided = await asyncio.to_thread(lambda: [self._decided(pair) for pair in pairs])
        open_pairs: list[Pair] = []
        for pair, judgement in zip(pairs, decided, strict=True):
            if judgement is None:
                open_pairs.append(pair)
        ratings: Sequence[Rating | None] = [None] * len(open_pairs)
        if self._rater is not None and open_pairs:
            ratings = await self._rate_all(self._rater, open_pairs)
        failed = (rated.outcome for rated in ratings if rated and isinstance(rated.outcome, Failure))
        failure = next(failed, None)
        if failure is not None:
            lost = Judgement(self._scorer, None, failures=(failure,))
            for place, judgement in enumerate(decided):
                if judgement is not None and not judgement.failures:
                    decided[place] = lost
        calls = []
        for pair, rated in zip(open_pairs, ratings, strict=True):
            calls.append(self._judged(pair, rated, qualities=qualities))
        judged = iter(await asyncio.gather(*calls))
        return [judgement or next(judged) for judgement in decided]

    def _decided(self, pair: Pair) -> Judgement | None:
        """Return what `_decide` does, or a failed judgement if that raises."""
        try:
            return self._decide(pair)
        except Exception as error:  # noqa: BLE001 - named boundary: other pairs are paid for
            return Judgement(self._scorer, None, failures=(self._spoiled(error),))

    async def _rate_all(self, rater: Rater, pairs: Sequence[Pair]) -> list[Rating]:
        """Rate pairs together; if that raises each alone, so that only a pair at fault stays without."""
        try:
            return await rater.rate_all(pairs)
        except Exception as error:  # noqa: BLE001 - named boundary, as above
            if len(pairs) == 1:
                return [Rating(self._spoiled(error))]
        ratings: list[Rating] = []
        for pair in pairs:
            ratings += await self._rate_all(rater, [pair])
        return ratings

    async def _judged(self, pair: Pair, rated: Rating | None, *, qualities: bool) -> Judgement:
        """Return what `_judge` does, or a failed judgement if that raises."""
        try:
            return await self._judge(pair, rated, qualities=qualities)
        except Exception as error:  # noqa: BLE001 - named boundary, as above
            spent = rated.spent if rated else NOTHING
            return Judgement(self._scorer, None, failures=(self._spoiled(error),), spent=spent)

    def _spoiled(self, error: Exception) -> Failure:
        """Log an exception, and return the failure of the pair that it has spoiled."""
        log.error("a pair of answers could not be scored", exc_info=error)
        return Failure(self._scorer, 1, INTERNAL_ERROR, "The log has the traceback.")

    def _decide(self, pair: Pair) -> Judgement | None:
        """Return the judgement of a pair that code can decide; None if the pair is to be rated."""
        invalid = ignored(pair, self._language_of)
        if invalid:
            near = likeness(pair.reference.text, pair.candidate.text)
            why = f"The answer ignores the {' and the '.join(invalid)} asked for."
            return Judgement(self._scorer, None, why, unsure=True, similarity=near, invalid=invalid)
        empty = is_empty(pair.reference), is_empty(pair.candidate)
        if all(empty):
            failure = Failure(IDENTITY, 1, "no_text", "Neither answer has text or a tool call.")
            return Judgement(self._scorer, None, failures=(failure,))
        sameness = identical(pair)
        if sameness is not None:
            return Judgement(self._scorer, _SAME, sameness, _by("equality"), similarity=1.0)
        if any(empty):
            why = "Only one side answered."
            return Judgement(self._scorer, _OTHER, why, _by("empty"), similarity=0.0)
        return None

    async def _judge(self, pair: Pair, rated: Rating | None, *, qualities: bool) -> Judgement:
        """Return the judgement of a rated pair, with the qualities of its task if its content shifted."""
        if rated is None or not isinstance(rated.outcome, Failure):
            rated = _with_similarity(rated, await asyncio.to_thread(measure, pair, self._language_of), pair)
        if isinstance(rated.outcome, Failure):
            return Judgement(self._scorer, None, failures=(rated.outcome,), spent=rated.spent)
        shifted = rated.outcome is not None and rated.outcome != _SAME
        measures = self._measures.get(find_task(pair.task), ()) if qualities and shifted else ()
        quality_scores = await measure_all(measures, pair)
        return Judgement(
            self._scorer,
            rated.outcome,
            rated.explanation,
            rated.details,
            quality_scores.scores,
            quality_scores.failures,
            spent=rated.spent.plus(quality_scores.spent),
            rated_by=rated.prompt_version,
            unsure=rated.outcome is None,
            similarity=rated.similarity,
        )


def _by(stage: Stage) -> dict[str, float]:
    return {DECIDED_BY: float(STAGES.index(stage))}


def _with_similarity(judged: Rating | None, measured: Rating, pair: Pair) -> Rating:
    """Return a judge's rating with the similarity beside it; without one what was measured."""
    if judged is None:
        return measured
    if judged.outcome is None:  # a judge on this machine may be unsure, too, and says why
        return replace(measured, explanation=judged.explanation)
    similarity = measured.similarity
    if similarity is None:
        similarity = 1.0 if judged.outcome == _SAME else likeness(pair.reference.text, pair.candidate.text)
    details = measured.details | judged.details | _by("judge")
    return replace(judged, details=details, similarity=similarity)


def heuristic_scorer(
    language_of: LanguageOf | None = None,
    *,
    local_judge: Rater | None = None,
    bundles: Mapping[Task, Bundle] = BUNDLES,
) -> TwoStageScorer:
    """Return a scorer that asks nobody else: it decides about identical and empty answers, and measures.

    Args:
        language_of: Tells a text's language. Default: none is told, so that answers in two languages may
            pass for shifted.
        local_judge: A judge on this machine, which rates the similarity of what is neither identical nor
            empty. It compares two answers and rates none, so qualities are measured as without one.
        bundles: The qualities of each task.
    """
    measures = {task: bundle.measures() for task, bundle in bundles.items()}
    scorer: Scorer = "metrics" if local_judge is None else "judge"
    return TwoStageScorer(scorer, local_judge, measures, language_of=language_of)


def judge_scorer(
    judge: Judge,
    *,
    swap_share: float = 0.0,
    recheck_share: float = 0.0,
    group: int = 1,
    language_of: LanguageOf | None = None,
    bundles: Mapping[Task, Bundle] = BUNDLES,
    count: Callable[[str, str], None] = lambda _what, _outcome: None,
) -> TwoStageScorer:
    """Return a scorer whose similarity and quality ratings are the judge's, except for clear cases.

    The price of its tokens is the judge's own (`Judge(price=…)`). Closing the judge is the
    caller's business.

    Args:
        judge: Whom to ask.
        swap_share: Share of the similarity calls with the sides exchanged, in [0, 1].
        recheck_share: Share of the judged pairs that are judged again, in [0, 1].
        group: Pairs of an exchange that are judged in one call at most; 1 = each alone.
        language_of: Tells a text's language, so that a wrong one is found. Default: none is told.
        bundles: The qualities of each task.
        count: Called with "rechecks" and what came of a rating made again (see `JudgeNoise`), and with
            "group_calls" or "group_pairs" and what came of one (see `GroupRater`).

    Raises: ValueError for a share outside [0, 1].
    """
    asked = GroupRater(judge, most=group, count=count, swap_share=swap_share)
    fresh = JudgeRater(judge, swap_share=swap_share, fresh=True)
    count_again = partial(count, "rechecks")
    noted = JudgeNoise(asked, fresh=fresh, share=recheck_share, count=count_again, turned=asked.turned)
    judged = partial(JudgedQuality, judge)

    def estimate(answers_chars: int, context_chars: int, task: Task) -> Spend:
        calls = [asked.estimate(answers_chars)]
        # Each quality is asked of each answer; half of the answers' characters is that of one.
        one_chars = context_chars + answers_chars // 2
        for prompt in bundles[task].judged:
            call = judged(prompt).estimate(one_chars)
            calls += [call, call]
        return total(calls)

    measures = {task: bundle.measures(judged) for task, bundle in bundles.items()}
    return TwoStageScorer("judge", noted, measures, estimate, language_of)
