"""A running simulation: its models, how they are set, what they were asked, and their true deltas.

With fragility f, noise η and worse share q, one call ends

    good       G = (1 − f)(1 − η)
    worse      W = q (1 − G)
    different  D = (1 − q)(1 − G)

A *perturbed* pair is two independent calls, because another prompt is another draw of the hash: the content
shifts unless both end alike, and quality changes if exactly one of them is worse. A *control* pair shares
its prompt: with probability f both answers are bad alike, and otherwise only noise separates them.

This holds for prompts that are all different and whose variants differ from them; repeating a prompt
repeats its draw.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenkeel.simulate.apis import SimulatedChat
from evenkeel.simulate.judge import JUDGE_MODEL
from evenkeel.simulate.model import SimulatedModel
from evenkeel.simulate.requests import WireError
from evenkeel.simulate.rewriter import REWRITER_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.simulate.apis import SimulatedApi
    from evenkeel.simulate.model import PromptMessage, Subjects


@dataclass(frozen=True, slots=True)
class PlantedTruth:
    """The true rates behind one simulated model, all in [0, 1].

    A quality delta is None where the content never moves. `robustness = 1 − quality_change`.
    """

    fragility: float
    noise: float
    worse_share: float
    baseline_content_delta: float
    """P(the content of an identical resend differs): the noise floor."""
    perturbed_content_delta: float
    """P(the content of the answer to a variant differs); the same for every perturbation."""
    excess: float
    """Perturbed minus baseline content delta."""
    baseline_quality_change: float
    """P(the content differs and quality with it)."""
    perturbed_quality_change: float
    baseline_quality_delta: float | None
    """P(quality differs | content differs)."""
    perturbed_quality_delta: float | None
    baseline_robustness: float
    perturbed_robustness: float


def planted(fragility: float, noise: float, worse_share: float) -> PlantedTruth:
    """The truth about a model.

    Raises: ValueError if an argument is outside [0, 1].
    """
    shares = {"fragility": fragility, "noise": noise, "worse_share": worse_share}
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: must be between 0 and 1, got {value}")
    good = (1 - fragility) * (1 - noise)
    bad = 1 - good
    content = 1 - _agreement(good, bad, worse_share)
    quality = 2 * worse_share * bad * (1 - worse_share * bad)
    noise_content = (1 - fragility) * (1 - _agreement(1 - noise, noise, worse_share))
    noise_quality = (1 - fragility) * 2 * noise * worse_share * (1 - noise * worse_share)
    return PlantedTruth(
        fragility=fragility,
        noise=noise,
        worse_share=worse_share,
        baseline_content_delta=noise_content,
        perturbed_content_delta=content,
        excess=content - noise_content,
        baseline_quality_change=noise_quality,
        perturbed_quality_change=quality,
        baseline_quality_delta=noise_quality / noise_content if noise_content else None,
        perturbed_quality_delta=quality / content if content else None,
        baseline_robustness=1 - noise_quality,
        perturbed_robustness=1 - quality,
    )


def _agreement(good: float, bad: float, worse_share: float) -> float:
    """P(two independent calls end in the same state)."""
    return float(good**2 + (bad * worse_share) ** 2 + (bad * (1 - worse_share)) ** 2)


DEFAULT_MODEL: Final = "simulated-1"
FIXED_TIME: Final = 1_767_225_600
"""`created` of every answer of a deterministic simulation: the first second of 2026."""
SERVANTS: Final = (REWRITER_MODEL, JUDGE_MODEL)
"""Served beside all others, whatever these are."""
MAX_LATENCY_S: Final = 600.0

_Share = Annotated[float, Field(ge=0, le=1)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class ModelState:
    """Behaviour of a served model."""

    name: str
    """Name that requests ask for."""
    fragility: float = 0.0
    """Share of prompts answered badly, always; in [0, 1]."""
    noise: float = 0.0
    """Share of the other calls answered badly, by chance; in [0, 1]."""
    worse_share: float = 0.5
    """Share of bad answers that are worse; the rest are different at equal quality; in [0, 1]."""
    latency_s: float = 0.0
    """Duration of an answer in seconds. A stream begins after half of it and spreads over the rest."""
    returned_name: str | None = None
    """Model name in the answers; None = the name that was asked for."""
    system_fingerprint: str | None = "fp_simulated"
    error_rate: float = 0.0
    """Share of calls that end in status 500, by chance; in [0, 1]."""
    flex_refusals: float = 0.0
    """Share of calls of the flex tier for which there is no room, by chance; in [0, 1]."""
    judge_noise: float = 0.0
    """Share of ratings that are flipped, by chance; in [0, 1]. Of effect on the simulated judge alone."""

    @property
    def truth(self) -> PlantedTruth:
        """The true deltas of this model."""
        return planted(self.fragility, self.noise, self.worse_share)


class ModelPatch(BaseModel):
    """Changes to a model's state, as the admin call sends them. Absent fields stay as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    fragility: _Share = 0.0
    noise: _Share = 0.0
    worse_share: _Share = 0.0
    latency_s: Annotated[float, Field(ge=0, le=MAX_LATENCY_S)] = 0.0
    returned_name: _Name | None = None
    system_fingerprint: _Name | None = None
    error_rate: _Share = 0.0
    flex_refusals: _Share = 0.0
    judge_noise: _Share = 0.0


def read_patch(body: bytes) -> dict[str, Any]:
    """The fields to change, from the JSON body of an admin call.

    Raises: WireError (400) that names every wrong field and what is allowed.
    """
    try:
        return ModelPatch.model_validate_json(body).model_dump(exclude_unset=True)
    except ValidationError as error:
        problems = []
        for item in error.errors(include_url=False):
            problems.append(f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}")
        raise WireError(
            400, f"{'; '.join(problems)}. Known fields: {', '.join(ModelPatch.model_fields)}."
        ) from error


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """Settings that stay fixed while a simulation runs."""

    api_key: str | None = field(default=None, repr=False)
    """The bearer token that requests must carry; None = any or none."""
    strict_models: bool = False
    """Answer 404 to a model that is not served; otherwise the first model answers under its name."""
    deterministic: bool = False
    """Equal requests get byte-identical answers: ids follow from the prompt, time stands still."""
    salt: bytes = b""
    """Decides which prompts are fragile; at most 64 bytes."""


class RecordedReply(NamedTuple):
    """A recorded answer, and the names that it is given under."""

    text: str
    finish_reason: str
    returned_name: str | None
    """Model name in the answer; None = the name that was asked for."""
    system_fingerprint: str | None


class Recordings(Protocol):
    """Recorded answers behind model names."""

    def reply(
        self, name: str, messages: Sequence[PromptMessage], temperature: float | None, rng: random.Random
    ) -> RecordedReply:
        """The answer to a request. Raises: WireError (404) if there is none."""

    def change(self, body: bytes) -> str:
        """Let another version answer. Returns the model name. Raises: WireError (400)."""

    def state(self) -> dict[str, Any]:
        """Return what is recorded and served, for the admin call."""


class Simulation:
    """The served models by name. For one event loop; not thread-safe."""

    def __init__(
        self,
        models: Sequence[ModelState] = (ModelState(DEFAULT_MODEL),),
        settings: SimulationSettings | None = None,
        *,
        apis: Sequence[SimulatedApi] = (SimulatedChat(),),
        recorded: Recordings | None = None,
        subjects: Subjects | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Serve `models`, of which the first one answers for names that are not served.

        Args:
            models: at least one, each with a name of its own.
            settings: fixed settings; None = the defaults.
            apis: under which the models can be asked.
            recorded: answers for all models but the rewriter and the judge; None = they are simulated.
            subjects: that prompts may have besides the topics of the catalogue.
            rng: source of noise, chance errors and ids; None = seeded by the operating system.
            clock: Unix time in seconds for `created`.

        Raises: ValueError if there is no model or a name occurs twice.
        """
        self.settings = settings or SimulationSettings()
        self.apis = tuple(apis)
        self.recorded = recorded
        self.subjects = subjects
        self.rng = rng or random.Random()
        self._clock = clock
        self._models = {state.name: state for state in models}
        if not models or len(self._models) != len(models):
            raise ValueError("models: needs at least one, each with a name of its own")
        for name in SERVANTS:
            self._models.setdefault(name, ModelState(name))
        self._default = models[0].name
        self.calls: Counter[str] = Counter()
        """Calls since the start, by the model that answers."""

    @property
    def models(self) -> tuple[ModelState, ...]:
        """All served models: the default first, the rewriter and the judge last unless they were given."""
        return tuple(self._models.values())

    def find(self, name: str | None) -> ModelState:
        """A served model; None = the default one.

        Raises: WireError (404).
        """
        state = self._models.get(self._default if name is None else name)
        if state is None:
            raise WireError(
                404,
                f"The model '{name}' does not exist; served: {', '.join(self._models)}.",
                code="model_not_found",
                param="model",
            )
        return state

    def serving(self, requested: str) -> ModelState:
        """The model that answers a request for `requested`.

        Raises: WireError (404) if it is not served and models are strict.
        """
        if requested in self._models or self.settings.strict_models:
            return self.find(requested)
        return self._models[self._default]

    def change(self, name: str, changes: dict[str, Any]) -> ModelState:
        """Set fields of a model; one that is not served yet starts as a copy of the default.

        The default's returned name is not copied. `changes` must have passed `read_patch`.
        """
        old = self._models.get(name)
        if old is None:
            old = replace(self._models[self._default], name=name, returned_name=None)
        state = replace(old, **changes)
        self._models[name] = state
        return state

    def model(self, state: ModelState) -> SimulatedModel:
        """The answering model of a state."""
        return SimulatedModel(state.fragility, state.noise, state.worse_share, self.settings.salt)

    def completion_id(self, digest: bytes, prefix: str) -> str:
        """The id of an answer: from the prompt's hash if deterministic, else random."""
        raw = digest if self.settings.deterministic else self.rng.randbytes(16)
        return f"{prefix}{raw.hex()}"

    def now(self) -> int:
        """`created` in Unix seconds."""
        return FIXED_TIME if self.settings.deterministic else int(self._clock())
