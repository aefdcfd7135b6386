"""Versioned questions to a judge, in which answers and context are kept apart from instructions.

The wording is in the `prompts.toml` of the packages that ask.

Everything a judged model or a user wrote stands between markers that carry a tag. The tag is
hashed out of the first of those texts and checked to occur in none of them, so no text can write its own
end marker, and the same question always gives the same bytes (a judge's cache and seed can work).
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.observer import ObservedMessage
from evenkeel.llm.price import MESSAGE_TOKENS
from evenkeel.metrics.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# Digits of the tag in the markers. An answer cannot guess them, so it cannot close the marker.
_TAG_DIGITS = 16
_FIELD = re.compile(r"\{[a-z_]+\}")
REFERENCE: Final = "REFERENCE ANSWER"
CANDIDATE: Final = "CANDIDATE ANSWER"
# Most steps of a scale that are listed; a longer one without gaps is named by its ends.
_LISTED_STEPS = 5


@dataclass(frozen=True, slots=True)
class Question:
    """Prompt filled in for one call."""

    prompt: str
    """Name of the prompt: the metric of the rating and of its failures."""
    version: int
    messages: tuple[ObservedMessage, ...]
    scale: tuple[int, ...] = SCALE
    """Ratings that count as an answer, ascending."""
    pairs: int | None = None
    """Number of ratings asked for in one reply; None = one, which is the reply."""

    @property
    def chars(self) -> int:
        """Number of characters of all messages."""
        return sum(len(message.content) for message in self.messages)

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, such as "similarity@1"."""
        return f"{self.prompt}@{self.version}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Rubric in words."""

    name: str
    version: int
    """Version, raised with every change of wording: another wording is another metric."""
    role: str
    question: str
    scale: str
    """Meaning of the steps: of 3, 2 and 1 unless `steps` says otherwise."""
    steps: tuple[int, ...] = SCALE
    """Ratings that count as an answer, ascending. The two-stage score needs 1 to 3."""
    findings: tuple[tuple[str, str], ...] = ()
    """Fields of the reply before its explanation, and what stands for their values."""

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, such as "similarity@1".

        Only ratings that share it can be compared.
        """
        return f"{self.name}@{self.version}"

    def fill(self, texts: Mapping[str, str], left_out: tuple[int, int] = (0, 0)) -> Question:
        """Return the messages for one call.

        Args:
            texts: What is judged, by label ("REFERENCE ANSWER"), in the order in which it is shown.
                Labels come from the code, texts from anywhere.
            left_out: Lines that both texts begin and end with and that are not shown.
        """
        tag, system, shown = self._material(texts)
        findings = "".join(f'"{name}": {what}, ' for name, what in self.findings)
        output = _WORDING["output"].format(tag=tag, steps=_spoken(self.steps), findings=findings)
        if any(left_out):
            shown = f"{_WORDING['shared_rule'].format(head=left_out[0], tail=left_out[1])}\n\n{shown}"
        user = f"{self.question}\n\n{self.scale}\n\n{shown}\n\n{output}"
        messages = (ObservedMessage("system", system), ObservedMessage("user", user))
        return Question(self.name, self.version, messages, self.steps)

    def fill_group(self, reference: str, candidates: Sequence[str], *, swapped: bool = False) -> Question:
        """Return the messages for one call that rates several candidates against one reference.

        Role, question and scale are those of `fill`.

        Args:
            reference: What all are compared with.
            candidates: Numbered from 1 on.
            swapped: Whether each candidate is shown as a reference, and the reference as the one candidate.
        """
        single, many = (CANDIDATE, REFERENCE) if swapped else (REFERENCE, CANDIDATE)
        texts = {}
        for number, text in enumerate(candidates, start=1):
            texts[f"{many} {number}"] = text
        tag, system, shown = self._material(
            texts | {single: reference} if swapped else {single: reference} | texts
        )
        count = len(candidates)
        rule = _WORDING["group_rule"].format(one=single, many=many, count=count)
        output = _WORDING["group_output"].format(tag=tag, count=count, steps=_spoken(self.steps))
        user = f"{self.question}\n\n{self.scale}\n\n{rule}\n\n{shown}\n\n{output}"
        messages = (ObservedMessage("system", system), ObservedMessage("user", user))
        return Question(self.name, self.version, messages, self.steps, count)

    def _material(self, texts: Mapping[str, str]) -> tuple[str, str, str]:
        """Return the tag, the system's message, and the texts between their markers.

        The tag follows from the first text, so that calls about one request or one reference begin with the
        same bytes, which a provider's cache then serves.
        """
        sent = [sendable(text) for text in texts.values()]
        tag = unforgeable_tag(sent[:1], sent[1:])
        shown = "\n\n".join(marked(label, text, tag) for label, text in texts.items())
        return tag, f"{self.role}\n\n{_WORDING['data_rule'].format(tag=tag)}", shown


def prompts_of(package: str) -> dict[str, Prompt]:
    """Return the prompts of a package's `prompts.toml`, by the names of their tables.

    A text of the file, or `by_content` of the judge's own, may be quoted in a question as `{name}`. A table's
    `findings` are the fields that a reply has before its explanation.
    """
    tables = {"by_content": wording_of(__package__)["by_content"]} | wording_of(package)
    fragments: dict[str, str] = {}
    for name, text in tables.items():
        if isinstance(text, str):
            fragments[f"{{{name}}}"] = text
    prompts: dict[str, Prompt] = {}
    for name, table in tables.items():
        if isinstance(table, dict) and "version" in table:
            prompts[name] = Prompt(
                table["name"],
                table["version"],
                table["role"],
                _FIELD.sub(lambda field: fragments[field[0]], table["question"]),
                table["scale"],
                tuple(table.get("steps", SCALE)),
                tuple(table.get("findings", {}).items()),
            )
    return prompts


def wording_of(package: str) -> dict[str, Any]:
    """Return the tables and texts of a package's `prompts.toml`."""
    return tomllib.loads(files(package).joinpath("prompts.toml").read_text("utf-8"))


def reminded(question: Question) -> Question:
    """Repeat a question whose reply could not be read, with a reminder of the reply's form."""
    *before, last = question.messages
    reminder = _WORDING["reminder"].format(steps=_spoken(question.scale))
    again = ObservedMessage(last.role, f"{last.content}\n\n{reminder}")
    return replace(question, messages=(*before, again))


def sendable(text: str) -> str:
    """Return the text without lone surrogates, which can come out of JSON and cannot be sent."""
    return text.encode("utf-8", "replace").decode()


def marked(label: str, text: str, tag: str) -> str:
    """Return a text between lines that mark where it begins and ends."""
    return f"<<<BEGIN {label} {tag}>>>\n{sendable(text)}\n<<<END {label} {tag}>>>"


def unforgeable_tag(texts: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return sixteen hex digits that depend on all texts and occur in none of them.

    Args:
        texts: What it depends on.
        others: Further texts that it must not occur in. Where it would, it depends on that as well.
    """
    parts, others = list(texts), list(others)
    for attempt in count():
        digest = hashlib.sha256(str(attempt).encode())
        for part in parts:
            # Lengths keep ("ab", "c") and ("a", "bc") apart.
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        tag = digest.hexdigest()[:_TAG_DIGITS]
        if not any(tag in part.lower() for part in (*parts, *others)):
            return tag
    raise AssertionError("unreachable: count() does not end")


def _spoken(steps: tuple[int, ...]) -> str:
    """Return the steps of a scale in words, such as "1, 2 or 3"."""
    if len(steps) > _LISTED_STEPS and steps[-1] - steps[0] == len(steps) - 1:
        return f"a whole number from {steps[0]} to {steps[-1]}"
    return f"{', '.join(map(str, steps[:-1]))} or {steps[-1]}"


_WORDING = wording_of(__package__)
_PROMPTS = prompts_of(__package__)
SIMILARITY = _PROMPTS["similarity"]
FAITHFULNESS = _PROMPTS["faithfulness"]
COMPLETENESS = _PROMPTS["completeness"]
PREFERENCE = _PROMPTS["preference"]
PROBE = _PROMPTS["probe"]
"""Prompt sent once at the start of a process, to see whether the endpoint takes the key and can answer."""
KNOWN_RATING: Final = 3
"""Rating of the probe's two sentences, which have the same meaning."""


# Characters per token assumed for the rubrics.
#
# They are plain English, for which usual tokenizers need a token for four or five characters.
_WORDING_CHARS_PER_TOKEN = 3


def prompt_tokens_at_most(prompt: Prompt, labels: tuple[str, ...], texts_chars: int) -> int:
    """Return an upper estimate of the prompt tokens of one call.

    A text is taken to need at most a token for each of its characters: some four times what English
    needs, and about what Chinese or Japanese may need.

    Args:
        prompt: the rubric.
        labels: of the texts that are filled in.
        texts_chars: characters of these texts, all together.
    """
    bare = prompt.fill(dict.fromkeys(labels, ""))
    wording = 0
    for message in bare.messages:
        wording += math.ceil(len(message.content) / _WORDING_CHARS_PER_TOKEN) + MESSAGE_TOKENS
    return wording + max(0, texts_chars)
