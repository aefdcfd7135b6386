"""Answers that real models gave, served as if the models were asked now.

`RecordedAnswers` holds prompts, versions and samples, finds the prompt of a request and draws one of its
answers. Nothing here is a live model.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from evenkeel.simulate.importers import Sample, Skipped, import_files
from evenkeel.simulate.model import Message
from evenkeel.simulate.prompt_index import Found, PromptIndex

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from evenkeel.simulate.importers import Recording, VersionFrom

Asked: TypeAlias = "str | RecordedPrompt | Sequence[Message]"
"""A prompt as text, as it was recorded, or as the messages of a request."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - stops of other scripts


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """A prompt that was answered."""

    messages: tuple[Message, ...]
    task: str | None = None

    @property
    def text(self) -> str:
        """The texts of all messages, a line between them."""
        return "\n".join(message.text for message in self.messages)


class RecordedAnswers:
    """Prompts, and what each version answered to them, once or several times."""

    def __init__(self, recordings: Iterable[Recording], skipped: Sequence[Skipped] = ()) -> None:
        """Collect recordings; those of equal prompts belong together.

        Args:
            recordings: at least one.
            skipped: what of the files could not be used.
        """
        places: dict[str, int] = {}
        prompts: list[RecordedPrompt] = []
        samples: list[dict[str, list[Sample]]] = []
        for recording in recordings:
            prompt = RecordedPrompt(recording.messages, recording.task)
            place = places.setdefault(prompt.text, len(prompts))
            if place == len(prompts):
                prompts.append(prompt)
                samples.append(defaultdict(list))
            samples[place][recording.version].extend(recording.samples)
        self.prompts: tuple[RecordedPrompt, ...] = tuple(prompts)
        """In the order of the files."""
        self.versions: tuple[str, ...] = tuple(dict.fromkeys(name for said in samples for name in said))
        """In the order of the files."""
        self.skipped: tuple[Skipped, ...] = tuple(skipped)
        """Lines and files that were not used."""
        self._samples = [{name: tuple(found) for name, found in said.items()} for said in samples]
        self._index = PromptIndex([prompt.messages for prompt in prompts])
        self._by_task: defaultdict[tuple[str | None, str], list[int]] = defaultdict(list)
        for place, prompt in enumerate(prompts):
            for version in samples[place]:
                self._by_task[prompt.task, version].append(place)

    @classmethod
    def load(
        cls, *paths: Path, form: str | None = None, version_from: VersionFrom = "model"
    ) -> RecordedAnswers:
        """Read files or folders; see `import_files`.

        Raises: RecordingError if nothing can be served from them.
        """
        return cls(*import_files(paths, form=form, version_from=version_from))

    def find(self, prompt: Asked, *, nearest: bool = False) -> Found | None:
        """The recorded prompt that a request asks; see `PromptIndex.find`."""
        return self._index.find(_messages(prompt), nearest=nearest)

    def samples(self, place: int, version: str) -> tuple[Sample, ...]:
        """All answers of a version to the prompt at a place in `prompts`; () if it has none."""
        return self._samples[place].get(version, ())

    def answers(self, prompt: Asked, version: str) -> tuple[str, ...]:
        """The texts of all answers of a version to a prompt; () if the prompt or its answers are unknown."""
        found = self.find(prompt)
        return tuple(sample.text for sample in self.samples(found.place, version)) if found else ()

    def answer(
        self,
        prompt: Asked,
        version: str,
        rng: random.Random,
        *,
        temperature: float | None = None,
        noise: float = 0.0,
    ) -> Sample | None:
        """One answer of a version to a prompt, drawn from its samples.

        Args:
            prompt: as recorded, or worded a little differently.
            version: one of `versions`.
            rng: decides which sample.
            temperature: take the samples recorded nearest to it; None = all.
            noise: see `draw`.

        Returns: None if the prompt or its answers are unknown.
        """
        found = self.find(prompt)
        return found and self.draw(found.place, version, rng, temperature=temperature, noise=noise)

    def draw(
        self,
        place: int,
        version: str,
        rng: random.Random,
        *,
        temperature: float | None = None,
        noise: float = 0.0,
    ) -> Sample | None:
        """One answer of a version to the prompt at a place in `prompts`, drawn from its samples.

        Args:
            place: of the prompt.
            version: one of `versions`.
            rng: decides which sample.
            temperature: take the samples recorded nearest to it; None = all.
            noise: share of the answers that are altered where there is one sample only, in [0, 1]: a sentence
                left out, two exchanged, or one taken from another recorded answer of the version to the same
                task. Such noise is planted, not recorded.

        Returns: None if the version did not answer this prompt.
        """
        samples = _near(self.samples(place, version), temperature)
        if not samples:
            return None
        if len(samples) > 1:
            return rng.choice(samples)
        if noise and rng.random() < noise:
            return self._altered(samples[0], place, version, rng)
        return samples[0]

    def _altered(self, sample: Sample, place: int, version: str, rng: random.Random) -> Sample:
        """A sample with a little noise planted; as it is where nothing can be altered."""
        others = self._by_task[self.prompts[place].task, version]
        other = self.samples(rng.choice(others), version)[0].text
        return Sample(altered(sample.text, other, rng), sample.temperature, sample.finish_reason)


def altered(text: str, other: str, rng: random.Random) -> str:
    """A text with one sentence left out, two neighbours exchanged, or one taken from another text.

    A text of one sentence is exchanged for one of the other text.
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    sentences = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    theirs = [one for one in _SENTENCE_END.split(other) if one.strip()]
    place = rng.randrange(len(sentences))
    kind = rng.choice(("left out", "exchanged", "taken")) if len(sentences) > 1 else "taken"
    if kind == "left out":
        del sentences[place]
    elif kind == "exchanged":
        place = min(place, len(sentences) - 2)
        first, second = sentences[place : place + 2]
        space, other_space = (one[len(one.rstrip()) :] for one in (first, second))
        sentences[place : place + 2] = [second.rstrip() + space, first.rstrip() + other_space]
    elif theirs:
        kept = sentences[place]
        sentences[place] = rng.choice(theirs) + kept[len(kept.rstrip()) :]
    return "".join(sentences)


def _messages(prompt: Asked) -> Sequence[Message]:
    if isinstance(prompt, str):
        return (Message("user", prompt),)
    return prompt.messages if isinstance(prompt, RecordedPrompt) else prompt


def _near(samples: tuple[Sample, ...], temperature: float | None) -> tuple[Sample, ...]:
    """The samples recorded at the temperature nearest to one; those without any count as near."""
    if temperature is None:
        return samples
    gaps = [0.0 if one.temperature is None else abs(one.temperature - temperature) for one in samples]
    least = min(gaps, default=0.0)
    return tuple(one for one, gap in zip(samples, gaps, strict=True) if gap == least)
