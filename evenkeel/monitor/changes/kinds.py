"""The kinds of change read from the verdict log, and those found by a statistical test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core import rewordings

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from evenkeel.core.cells import ChangeMark

AskedAgain = Literal["moved", "same", "due", ""]
"""Outcome of what was asked or rated again since answers moved.

"due": nothing says so far that it is as before, as it was until then. "": too little was asked, if anything.
"""

MODEL: Final = "model"
"""The name that the endpoint returns."""
REQUESTED_MODEL: Final = "requested_model"
"""The name that requests ask for."""
FINGERPRINT: Final = "system_fingerprint"
"""Build of the model, as reported by the endpoint."""
PROMPT: Final = "prompt_version"
"""Version stated by the application, else the fingerprint of the learned template."""
PARAMETERS: Final = "parameters"
"""Request parameters besides the prompt: temperature, token limit, tools, response format."""
SETTINGS: Final = "settings"
"""Fingerprint of evenkeel's own settings."""
JUDGE: Final = "judge"
"""The judge's model, or the wording it rates under."""
RATINGS: Final = "ratings"
"""Share of shifted answers in a cell that has left its baseline (`evenkeel.monitor.detect.drift`)."""
JUDGE_PANEL: Final = "judge_panel"
"""Stored pairs that the judge rates differently than it did (`evenkeel.core.panel`)."""

REFERENCES: Final = "references"
"""Reference prompts that are answered differently (`evenkeel.monitor.detect.references`)."""

STATED: Final = (MODEL, REQUESTED_MODEL, FINGERPRINT, PROMPT, PARAMETERS, SETTINGS, JUDGE)
"""Kinds whose values every verdict states."""
CAUSES: Final = (*STATED, JUDGE_PANEL)
"""Kinds that may be why answers or ratings moved, rather than a sign of it."""

NAMES: Final = {
    MODEL: "returned model",
    REQUESTED_MODEL: "requested model",
    FINGERPRINT: "system fingerprint",
    PROMPT: "prompt version",
    PARAMETERS: "request parameters",
    SETTINGS: "settings",
    JUDGE: "judge",
    RATINGS: "shifted answers",
    JUDGE_PANEL: "ratings of the judge's panel",
    REFERENCES: "reference prompts",
}
"""Names for people."""


def select(marks: Iterable[ChangeMark], wanted: Container[str]) -> list[ChangeMark]:
    """Return the marks of some kinds, in their order."""
    selected = []
    for mark in marks:
        if mark.kind in wanted:
            selected.append(mark)
    return selected


class MarkValues(NamedTuple):
    """Values before and after a change, for people."""

    before: str
    after: str


def values_of(mark: ChangeMark) -> MarkValues:
    """Return the values of a mark, with the label of a rewording in place of its name in code."""
    if mark.kind != RATINGS:
        return MarkValues(mark.before, mark.after)
    return MarkValues(_labelled(mark.before), _labelled(mark.after))


def _labelled(value: str) -> str:
    """Replace the name in "general.typos: shifted in 3%"."""
    name, colon, rest = value.partition(": ")
    return f"{rewordings.label(name)}{colon}{rest}" if "." in name else value
