"""What is looked at of each verdict: the values, the traffic's traits, the answers, the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import BANDS_RATING, PROVENANCE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.values import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.verdict import Verdict

_STEPS: Final = 4
"""Classes of likeness that a judge's ratings are compared within."""
_SPANS: Final = tuple(f"{step / _STEPS:.0%} to {(step + 1) / _STEPS:.0%}" for step in range(_STEPS))
_CLASSES: Final = tuple(f"pairs alike by {span}" for span in _SPANS)
_TURNED: Final = tuple(f"pairs in two languages or formats alike by {span}" for span in _SPANS)
_OCTAVE: Final = 2


def stated_values(model: str, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The values of an exchange, by kind; kinds that it has none of are left out."""
    yield kinds.MODEL, model
    if verdict.requested_model:
        yield kinds.REQUESTED_MODEL, verdict.requested_model
    if verdict.system_fingerprint:
        yield kinds.FINGERPRINT, verdict.system_fingerprint
    # While a template is not learned, its version is not known: it is there all the same.
    yield kinds.PROMPT, verdict.prompt_version or UNKNOWN
    if verdict.settings:
        yield kinds.SETTINGS, verdict.settings


def judge_value(verdict: Verdict) -> str:
    """Who rated under which wording; "" if no judge was asked."""
    return f"{verdict.judge_model} {verdict.rated_by}".strip() if verdict.rated_by else ""


def traffic(verdict: Verdict) -> dict[str, str | float]:
    """The traits of an exchange's prompt."""
    found: dict[str, str | float] = {}
    if verdict.prompt_chars:
        found["length"] = float(verdict.prompt_chars)
    if verdict.template_share is not None:
        found["template"] = round(verdict.template_share, 2)
    found["language"] = verdict.prompt_language or "unknown"
    found["task"] = verdict.task or "none"
    return found


def counted_traffic(verdict: Verdict) -> dict[str, str]:
    """The same for counting: lengths by their octave, shares by their tenth."""
    found = {name: value for name, value in traffic(verdict).items() if isinstance(value, str)}
    if verdict.template_share is not None:
        found["template"] = tenth(verdict.template_share)
    if verdict.prompt_chars:
        octave = verdict.prompt_chars.bit_length()
        found["length"] = f"{_OCTAVE ** (octave - 1)} to {_OCTAVE**octave - 1} characters"
    return found


def lengths(verdict: Verdict) -> dict[str, str | float]:
    """How long the user's answer is."""
    return {} if verdict.answer_chars is None else {"answer length": float(verdict.answer_chars)}


def likeness(verdict: Verdict) -> float | None:
    """How alike the two answers are: the mean of the cheap scores in [0, 1]; None without any."""
    details = verdict.details
    total, n = 0.0, 0
    for name in details:
        if name not in PROVENANCE:
            score = details[name]
            if 0 <= score <= 1:
                total += score
                n += 1
    return total / n if n else None


def judged(verdict: Verdict, alike: float | None) -> dict[str, str | float]:
    """What the judge said, by how alike the answers are, and whether it agrees with the cheap metrics.

    Empty if no judge was asked. Pairs of one class look alike, so that a judge that begins to rate them
    otherwise has changed itself; answers that change move pairs from one class to another. Variants that ask
    for another language or format have classes of their own: their answers look little alike though they say
    the same, so that such a kind, where it stops to apply, would pass for another judge.
    """
    if not verdict.rated_by or verdict.shifted is None:
        return {}
    found: dict[str, str | float] = {}
    if alike is not None:
        step = min(_STEPS - 1, int(_STEPS * alike))
        turned = verdict.wanted_language or verdict.wanted_format
        found[(_TURNED if turned else _CLASSES)[step]] = "shifted" if verdict.shifted else "same"
    bands = verdict.details.get(BANDS_RATING)
    if bands is not None:
        found["cheap metrics"] = "agrees" if bands == verdict.rating else "disagrees"
    return found


def tenth(share: float) -> str:
    """A share as the tenth it lies in, "70 to 80 %"."""
    lower = min(9, int(share * 10)) * 10
    return f"{lower} to {lower + 10} %"
