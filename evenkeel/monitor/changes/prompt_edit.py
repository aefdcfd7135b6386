"""Words of a prompt that changed between two of its versions.

They are read from the trials that the log still holds, when somebody looks at a report or a message is
written, so nothing of a prompt is kept a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from evenkeel.core.text import one_line
from evenkeel.monitor.changes import kinds
from evenkeel.stores.trial_index import Narrow
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.stores.verdict_log import VerdictLog

# Exchanges of each version that are read.
_SAMPLES: Final = 4
# Fewest different prompts of a version: lines that all of them share are the version's, the rest is user
# input.
_FEWEST: Final = 2
# Verdicts read at once, while prompts of both versions are looked for.
_READ: Final = 60
# Reads after which the search ends: the texts are gone, or the version is rare.
_STRETCHES: Final = 5
_MOST_CHANGES: Final = 8
# Words compared: the time of a comparison grows with their square.
_MOST_WORDS: Final = 4_000
# Most characters of one side of a change of words.
_MOST_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class WordChange:
    """Words of the older version and the words in their place in the newer one; "" where there are none."""

    before: str
    after: str

    @property
    def said(self) -> str:
        """The change for people."""
        before, after = (one_line(text, _MOST_CHARS) for text in (self.before, self.after))
        if not before:
            return f"added “{after}”"
        return f"“{before}” → “{after}”" if after else f"removed “{before}”"


def edits_of(log: VerdictLog | None, route: str, marks: Iterable[ChangeMark]) -> tuple[WordChange, ...]:
    """Return the words that changed with the first new prompt version among some marks. Blocks on storage.

    Args:
        log: Where the trials of both versions are; None if there is none.
        route: Route of the marks.
        marks: Marks of one change.

    Returns: at most eight changes of words; none if no version changed or too little of either is kept.
    """
    edited = kinds.select(marks, {kinds.PROMPT})
    if log is None or not edited:
        return ()
    before, after = (_lines(log, route, version) for version in (edited[0].before, edited[0].after))
    return word_changes(before, after) if before and after else ()


def _lines(log: VerdictLog, route: str, version: str) -> list[str]:
    """Return the lines that all prompts of a version share, in their order; none if too few are kept."""
    prompts: dict[str, str] = {}
    narrow = Narrow.by(route=route, prompt_version=version)
    at: int | None = None
    for _ in range(_STRETCHES):
        stretch = log.read_before(at, _READ, narrow)
        for logged in stretch.verdicts:
            verdict = logged.verdict
            if verdict.exchange_id not in prompts and len(prompts) < _SAMPLES:
                evidence = readable_evidence(log, verdict.id)
                if evidence is not None:
                    prompts[verdict.exchange_id] = evidence.prompt
        at = stretch.reached
        if len(prompts) >= _SAMPLES or at <= 0:
            break
    if len(set(prompts.values())) < _FEWEST:
        return []
    first, *others = [prompt.splitlines() for prompt in prompts.values()]
    lines: list[str] = []
    for line in first:
        if all(line in other for other in others):
            lines.append(line)
    return lines


def word_changes(before: Sequence[str], after: Sequence[str]) -> tuple[WordChange, ...]:
    """Return the changes between the lines of two versions, word by word, in their order."""
    old, new = (" ".join(lines).split()[:_MOST_WORDS] for lines in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changes = []
    for tag, first, last, start, stop in matcher.get_opcodes():
        if tag != "equal":
            changes.append(WordChange(" ".join(old[first:last]), " ".join(new[start:stop])))
    return tuple(changes[:_MOST_CHANGES])
