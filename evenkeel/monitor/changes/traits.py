"""Values and traits of an exchange that changes are noticed in, as its verdicts state them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.verdict import Verdict

UNKNOWN: Final = ""
"""Stands for a value that an exchange has, but nobody knows (yet)."""
UNSET: Final = "not set"
"""Stands for a parameter that a request leaves to the provider."""
# Lengths are classed by doublings, since twice as long matters at any length.
_OCTAVE: Final = 2

# 48 bits are far finer than any share.
_DRAWN_BYTES: Final = 6


def evenly_drawn(verdict: Verdict) -> bool:
    """Return whether a verdict is one of an even draw from all exchanges, and from what may be tried on each.

    What is likelier to be tried where answers move is none. Of exchanges that are tried with a larger chance
    than others, another draw takes as many as make the chances equal; it follows from the exchange's id.
    """
    if verdict.selection.split_of or verdict.selection.exchange_weight >= 1:
        return not verdict.selection.split_of
    digest = hashlib.sha256(f"even/{verdict.exchange_id}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:_DRAWN_BYTES], "big")
    return number < verdict.selection.exchange_weight * (1 << 8 * _DRAWN_BYTES)


def stated_values(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The values of an exchange, by kind; kinds that it has none of are left out."""
    yield kinds.MODEL, verdict.model
    if verdict.origin.requested_model:
        yield kinds.REQUESTED_MODEL, verdict.origin.requested_model
    if verdict.origin.system_fingerprint:
        yield kinds.FINGERPRINT, verdict.origin.system_fingerprint
    # While a template is not learned, its version is not known: it is there all the same.
    yield kinds.PROMPT, verdict.origin.prompt_version or UNKNOWN
    if verdict.settings:
        yield kinds.SETTINGS, verdict.settings


def parameters_of(parameters: str) -> dict[str, str]:
    """The parameters of a request by name, from how a verdict has them."""
    return dict(part.split("=", 1) for part in parameters.split() if "=" in part)


def judge_value(verdict: Verdict) -> str:
    """Judge and wording that rated; "" if no judge was asked."""
    return (
        f"{verdict.scoring.judge_model} {verdict.scoring.rated_by}".strip()
        if verdict.scoring.rated_by
        else ""
    )


def traffic(verdict: Verdict) -> dict[str, str | float]:
    """The traits of an exchange's prompt."""
    traits: dict[str, str | float] = {}
    if verdict.origin.prompt_chars:
        traits["length"] = float(verdict.origin.prompt_chars)
    if verdict.origin.template_share is not None:
        traits["template"] = round(verdict.origin.template_share, 2)
    traits["language"] = verdict.origin.prompt_language or "unknown"
    traits["task"] = verdict.origin.task or "none"
    return traits


def counted_traffic(verdict: Verdict) -> dict[str, str]:
    """The same for counting: lengths by their octave, shares by their tenth."""
    traits = {name: value for name, value in traffic(verdict).items() if isinstance(value, str)}
    if verdict.origin.template_share is not None:
        traits["template"] = tenth(verdict.origin.template_share)
    if verdict.origin.prompt_chars:
        octave = verdict.origin.prompt_chars.bit_length()
        traits["length"] = f"{_OCTAVE ** (octave - 1)} to {_OCTAVE**octave - 1} characters"
    return traits


def tenth(share: float) -> str:
    """A share as the tenth it lies in, "70 to 80 %"."""
    lower = min(9, int(share * 10)) * 10
    return f"{lower} to {lower + 10} %"
