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
    """Yield the values of an exchange, by kind; kinds that it has none of are left out."""
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
    """Return the parameters of a request by name, as a verdict states them."""
    return dict(part.split("=", 1) for part in parameters.split() if "=" in part)


def judge_value(verdict: Verdict) -> str:
    """Return the judge and its wording; "" if no judge was asked."""
    return (
        f"{verdict.scoring.judge_model} {verdict.scoring.rated_by}".strip()
        if verdict.scoring.rated_by
        else ""
    )


def traffic(verdict: Verdict) -> dict[str, str]:
    """Return the traits of an exchange's prompt: lengths by their octave, shares by their tenth."""
    origin = verdict.origin
    traits = {"language": origin.prompt_language or "unknown", "task": origin.task or "none"}
    if origin.template_share is not None:
        traits["template"] = _tenth(origin.template_share)
    if origin.prompt_chars:
        octave = origin.prompt_chars.bit_length()
        traits["length"] = f"{2 ** (octave - 1)} to {2**octave - 1} characters"
    return traits


def _tenth(share: float) -> str:
    lower = min(9, int(share * 10)) * 10
    return f"{lower} to {lower + 10} %"
