"""Answers that real models gave, served as if the models were asked now.

`RecordedAnswers` holds prompts, versions and samples, finds the prompt of a request and draws one of its
answers. `RecordedEndpoint` says which version answers under which name, which can be changed while it runs,
and counts what it served. Nothing here is a live model.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenkeel.lab.recorded.importers import RecordedSample, SkippedPlace, import_files
from evenkeel.lab.recorded.prompt_index import How, PromptIndex, PromptMatch
from evenkeel.simulate.requests import WireError
from evenkeel.simulate.simulation import ModelReply

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkeel.lab.recorded.importers import Recording, VersionFrom
    from evenkeel.simulate.model import PromptMessage

# Prompts that were not found, and lines that were skipped, that the admin call shows.
_LAST: Final = 5
# Characters of such a prompt.
_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """A prompt that was answered."""

    messages: tuple[PromptMessage, ...]
    task: str | None = None

    @property
    def text(self) -> str:
        """The texts of all messages, a line between them."""
        return "\n".join(message.text for message in self.messages)


class RecordedAnswers:
    """Prompts, and what each version answered to them, once or several times."""

    def __init__(self, recordings: Iterable[Recording], skipped: Sequence[SkippedPlace] = ()) -> None:
        """Collect recordings; those of equal prompts belong together.

        Args:
            recordings: at least one.
            skipped: what of the files could not be used.
        """
        index_of: dict[str, int] = {}
        prompts: list[RecordedPrompt] = []
        samples: list[dict[str, list[RecordedSample]]] = []
        for recording in recordings:
            prompt = RecordedPrompt(recording.messages, recording.task)
            index = index_of.setdefault(prompt.text, len(prompts))
            if index == len(prompts):
                prompts.append(prompt)
                samples.append(defaultdict(list))
            samples[index][recording.version].extend(recording.samples)
        self.prompts: tuple[RecordedPrompt, ...] = tuple(prompts)
        """Prompts in the order of the files."""
        self.versions: tuple[str, ...] = tuple(dict.fromkeys(chain.from_iterable(samples)))
        """Versions in the order of the files."""
        self.skipped: tuple[SkippedPlace, ...] = tuple(skipped)
        """Lines and files that were not used."""
        self._samples = samples
        self._index = PromptIndex([prompt.messages for prompt in prompts])

    @classmethod
    def load(
        cls, *paths: Path, form: str | None = None, version_from: VersionFrom = "model"
    ) -> RecordedAnswers:
        """Read files or folders; see `import_files`.

        Raises: RecordingError if nothing can be served from them.
        """
        return cls(*import_files(paths, form=form, version_from=version_from))

    def find(self, messages: Sequence[PromptMessage]) -> PromptMatch | None:
        """The recorded prompt that a request asks; see `PromptIndex.find`."""
        return self._index.find(messages)

    def samples(self, prompt_index: int, version: str) -> tuple[RecordedSample, ...]:
        """All answers of a version to the prompt at a place in `prompts`; () if it has none."""
        return tuple(self._samples[prompt_index].get(version, ()))

    def draw(
        self,
        prompt_index: int,
        version: str,
        rng: random.Random,
        *,
        temperature: float | None = None,
    ) -> RecordedSample | None:
        """Draw an answer of a version to the prompt at a place in `prompts`, from its samples.

        Args:
            prompt_index: of the prompt.
            version: one of `versions`.
            rng: decides which sample.
            temperature: take the samples recorded nearest to it; None = all.

        Returns: None if the version did not answer this prompt.
        """
        samples = _near(self.samples(prompt_index, version), temperature)
        return rng.choice(samples) if samples else None


def _near(samples: tuple[RecordedSample, ...], temperature: float | None) -> tuple[RecordedSample, ...]:
    """The samples recorded at the temperature nearest to one; those without any count as near."""
    if temperature is None:
        return samples
    gaps = []
    for sample in samples:
        gaps.append(0.0 if sample.temperature is None else abs(sample.temperature - temperature))
    least = min(gaps, default=0.0)
    nearest = []
    for sample, gap in zip(samples, gaps, strict=True):
        if gap == least:
            nearest.append(sample)
    return tuple(nearest)


class Deployment(NamedTuple):
    """A version as it answers."""

    version: str
    returned_name: str | None = None
    """Model name in the answers; None = the name that was asked for."""
    system_fingerprint: str | None = None


class RecordedChange(BaseModel):
    """Change that the admin call sends. Absent fields stay as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The requested name whose answers change; None = the first one. An unknown one is served from now on."""
    version: str | None = None
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model name in the answers; null = the name that was asked for."""
    system_fingerprint: Annotated[str, Field(min_length=1, max_length=200)] | None = None


def _read_change(body: bytes) -> RecordedChange:
    """The change that the JSON body of an admin call asks for.

    Raises: WireError (400) that names every wrong field and what is allowed.
    """
    try:
        return RecordedChange.model_validate_json(body)
    except ValidationError as error:
        problems = []
        for item in error.errors(include_url=False):
            problems.append(f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}")
        raise WireError(
            400, f"{'; '.join(problems)}. Known fields: {', '.join(RecordedChange.model_fields)}."
        ) from error


class RecordedEndpoint:
    """Recorded answers behind model names, which can be given to other versions. For one event loop."""

    def __init__(
        self,
        recorded: RecordedAnswers,
        models: Mapping[str, str] | None = None,
    ) -> None:
        """Serve every version under its own name, and `models` under theirs.

        Args:
            recorded: what is served.
            models: versions by the name that requests ask for; the first one answers for unknown names, too.
                None = the first version, under its own name.

        Raises: ValueError if a version is unknown.
        """
        self.recorded = recorded
        # The first name answers for names that nobody knows, so the given ones come first.
        named = dict(models or {recorded.versions[0]: recorded.versions[0]})
        for version in named.values():
            if version not in recorded.versions:
                raise ValueError(
                    f"{version!r} is no recorded version; there are {', '.join(recorded.versions)}"
                )
        for version in recorded.versions:
            named.setdefault(version, version)
        self._serving = {name: Deployment(version) for name, version in named.items()}
        self._served: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._unanswered = 0
        self._unknown = 0
        self._last_unknown: deque[str] = deque(maxlen=_LAST)

    @property
    def models(self) -> tuple[str, ...]:
        """Names that can be asked for, the default one first."""
        return tuple(self._serving)

    def change(self, body: bytes) -> str:
        """Let another version answer, or the same under another name.

        Args:
            body: JSON of a `RecordedChange`.

        Returns: the requested name whose answers change.
        Raises: WireError (400) if a field is wrong or the version is unknown.
        """
        change = _read_change(body)
        name = change.model or self.models[0]
        old = self._serving.get(name, Deployment(self._serving[self.models[0]].version))
        stated = change.model_fields_set
        version = change.version or old.version
        if version not in self.recorded.versions:
            versions = ", ".join(self.recorded.versions)
            raise WireError(
                400, f"version: {version!r} is not recorded; there are {versions}.", param="version"
            )
        self._serving[name] = Deployment(
            version,
            change.name if "name" in stated else old.returned_name,
            change.system_fingerprint if "system_fingerprint" in stated else old.system_fingerprint,
        )
        return name

    def reply(
        self, name: str, messages: Sequence[PromptMessage], temperature: float | None, rng: random.Random
    ) -> ModelReply:
        """The answer to a request. Counts it.

        Args:
            name: one of `models`.
            messages: the prompt.
            temperature: that of the request.
            rng: draws the sample.

        Raises: WireError (404) if the prompt is not recorded, or not for the version that is served.
        """
        match = self.recorded.find(messages)
        # Better no answer than that of another prompt: whoever measures would count it as a change.
        if match is None:
            begin = messages[-1].text[:_SHOWN]
            self._unknown += 1
            self._last_unknown.append(begin)
            raise WireError(
                404,
                f"No recorded prompt is like the one that ends with the message {begin!r}. This endpoint "
                "answers from recorded answers only.",
                code="prompt_not_recorded",
                param="messages",
            )
        deployment = self._serving[name]
        sample = self.recorded.draw(match.place, deployment.version, rng, temperature=temperature)
        if sample is None:
            self._unanswered += 1
            raise WireError(
                404,
                f"Version {deployment.version!r} has no recorded answer to this prompt.",
                code="answer_not_recorded",
                param="messages",
            )
        self._found[match.how] += 1
        self._served[deployment.version] += 1
        return ModelReply(
            sample.text, sample.finish_reason, deployment.returned_name, deployment.system_fingerprint
        )

    def state(self) -> dict[str, Any]:
        """Say what is recorded, what is served now, and what was, for the admin call."""
        recorded = self.recorded
        versions = []
        for version in recorded.versions:
            counts = []
            for index in range(len(recorded.prompts)):
                counts.append(len(recorded.samples(index, version)))
            prompts, answers = sum(map(bool, counts)), sum(counts)
            served = self._served[version]
            versions.append({"version": version, "prompts": prompts, "answers": answers, "served": served})
        serving = []
        for name, deployment in self._serving.items():
            serving.append({"model": name, **deployment._asdict()})
        return {
            "prompts": len(recorded.prompts),
            "versions": versions,
            "serving": serving,
            "found": {how: self._found[how] for how in get_args(How)},
            "not_found": self._unknown,
            "not_found_last": list(self._last_unknown),
            "not_answered": self._unanswered,
            "skipped": len(recorded.skipped),
            "skipped_first": [str(line) for line in recorded.skipped[:_LAST]],
        }
