"""The console's words for perturbations, ratings and scorers, and the order they are shown in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.verdict import BANDS_RATING, JUDGED_AGAIN, JUDGED_SWAPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.verdict import Scorer, Stage

CATEGORIES = ("baseline", "general", "positional", "format", "multilingual", "crosslingual", "compound")
"""Columns are grouped in this order; the noise floor comes first."""

_KINDS = (
    "identical",
    "whitespace",
    "spelling",
    "punctuation",
    "casing",
    "paraphrase",
    "tone",
    "context",
    "output_instructions",
    "reordering",
    "mixed",
    "free",
    "json",
    "yaml",
    "xml",
    "html",
    "markdown",
)

_PHRASES = {
    "baseline.identical": "an identical resend",
    "general.casing": "letter-case changes",
    "general.paraphrase": "paraphrasing",
    "general.tone": "changes of tone",
    "positional.context": "moved context",
    "positional.output_instructions": "moved output instructions",
    "positional.reordering": "reordering",
}

RATINGS = {3: "same content", 2: "some details differ", 1: "different message"}
"""The similarity scale in words."""

_SCORERS: dict[Scorer, str] = {
    "judge": "decided by the judge",
    "metrics": "decided by cheap metrics, no judge",
}

_STAGES: dict[Stage, str] = {
    "equality": "equal after normalisation, the judge was not asked",
    "bands": "clear by cheap metrics, the judge was not asked",
    "judge": "decided by the judge",
}

SECOND_RATINGS = {
    BANDS_RATING: "cheap metrics alone",
    JUDGED_AGAIN: "judged again",
    JUDGED_SWAPPED: "judged with sides swapped",
}
"""Ratings beside the one that counts, by the name of the detail that holds them."""

_QUALITY = {
    "faithfulness_proxy": "faithfulness (cheap stand-in)",
    "completeness_proxy": "completeness (cheap stand-in)",
    "citations_proxy": "citations (cheap stand-in)",
}

_SCORES = {
    "rouge_l": "ROUGE-L",
    "json_rouge": "JSON ROUGE",
    "cached": "remembered by the judge's cache",
    "swapped": "calls with sides swapped",
}


def category(perturbation: str) -> str:
    """The part before the dot."""
    return perturbation.partition(".")[0]


def column_label(perturbation: str) -> str:
    """A short column heading: the kind, in words."""
    name, _, kind = perturbation.partition(".")
    if name == "baseline":
        return "noise floor"
    return kind.replace("_", " ") or name


def label(perturbation: str) -> str:
    """The perturbation where no heading names its category: "spelling", "format: yaml"."""
    name = category(perturbation)
    short = column_label(perturbation)
    return short if name in {"baseline", "general"} else f"{name}: {short}"


def language_pair(perturbation: str) -> tuple[str, str] | None:
    """The languages of prompt and answer of a crosslingual kind, ("de", "ja"); None for any other."""
    if category(perturbation) != "crosslingual":
        return None
    source, found, target = perturbation.partition(".")[2].partition("_to_")
    return (source, target) if found else None


def pair_label(perturbation: str) -> str:
    """A crosslingual kind as "de → ja"; any other as its column is headed."""
    pair = language_pair(perturbation)
    return f"{pair[0]} → {pair[1]}" if pair else column_label(perturbation)


def has_severity(perturbation: str) -> bool:
    """Whether a kind's severity says anything: other kinds are all or nothing."""
    return category(perturbation) in {"general", "compound"}


def phrase(perturbation: str) -> str:
    """The perturbation as the end of "answers move under …"."""
    if perturbation in _PHRASES:
        return _PHRASES[perturbation]
    name, _, kind = perturbation.partition(".")
    kind = kind.replace("_", " ")
    if name == "format":
        return "an answer in prose" if kind == "free" else f"an answer in {kind.upper()}"
    if name == "multilingual":
        return f"translation ({kind})"
    if name == "crosslingual":
        return f"another language ({kind})"
    if name == "compound":
        return f"several changes at once ({kind})"
    return f"{kind or name} changes"


def column_order(perturbation: str) -> tuple[int, int, str]:
    """Sort key: the known categories and kinds in the order above, unknown ones after them by name."""
    name, _, kind = perturbation.partition(".")
    place = CATEGORIES.index(name) if name in CATEGORIES else len(CATEGORIES)
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return place, rank, perturbation


def scorer_words(scorer: Scorer) -> str:
    """Who decided a rating, said so that nobody takes a cheap metric for a judge."""
    return _SCORERS.get(scorer, scorer)


def stage_words(stage: Stage) -> str:
    """Which stage of a scorer with a judge decided."""
    return _STAGES[stage]


def quality_words(metric: str) -> str:
    """A quality metric's name; a stand-in is marked as one."""
    return _QUALITY.get(metric, metric.replace("_", " "))


def score_words(metric: str) -> str:
    """The name of a score behind a cheap rating."""
    return _SCORES.get(metric, metric.replace("_", " "))


def listing(parts: Sequence[str]) -> str:
    """Join to "a", "a and b", "a, b and c"."""
    if len(parts) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
