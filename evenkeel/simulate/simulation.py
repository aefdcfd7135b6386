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

import json
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenkeel.simulate.apis import SimulatedChat, SimulatedCompletion, count_prompt_tokens
from evenkeel.simulate.judge import JUDGE_MODEL, judge
from evenkeel.simulate.model import SimulatedModel, prompt_digest, read, say
from evenkeel.simulate.requests import WireError
from evenkeel.simulate.rewriter import REWRITER_MODEL, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.simulate.apis import SimulatedApi
    from evenkeel.simulate.model import Subjects
    from evenkeel.simulate.requests import ModelRequest


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

Share = Annotated[float, Field(ge=0, le=1)]
ModelName = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class ModelState:
    """Behaviour of a served model. An admin call changes any of it but the name."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: str
    """Name that requests ask for."""
    fragility: Share = 0.0
    """Share of prompts answered badly, always."""
    noise: Share = 0.0
    """Share of the other calls answered badly, by chance."""
    worse_share: Share = 0.5
    """Share of bad answers that are worse; the rest are different at equal quality."""
    latency_s: Annotated[float, Field(ge=0, le=MAX_LATENCY_S)] = 0.0
    """Duration of an answer in seconds. A stream begins after half of it and spreads over the rest."""
    returned_name: ModelName | None = None
    """Model name in the answers; None = the name that was asked for."""
    system_fingerprint: ModelName | None = "fp_simulated"
    error_rate: Share = 0.0
    """Share of calls that end in status 500, by chance."""
    flex_refusals: Share = 0.0
    """Share of calls of the flex tier for which there is no room, by chance."""
    judge_noise: Share = 0.0
    """Share of ratings that are flipped, by chance. Of effect on the simulated judge alone."""

    @property
    def truth(self) -> PlantedTruth:
        """The true deltas of this model."""
        return planted(self.fragility, self.noise, self.worse_share)


_STATE: Final = TypeAdapter(ModelState)


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


class ModelReply(NamedTuple):
    """A reply of a model, and the names that it is given under."""

    text: str
    finish_reason: str
    returned_name: str | None
    """Model name in the answer; None = the name that was asked for."""
    system_fingerprint: str | None


class Simulation:
    """The served models by name. For one event loop; not thread-safe.

    `evenkeel.lab.recorded` replaces what its models reply and know about themselves: `reply`, `truth` and
    `handlers`. The rewriter and the judge are always simulated.
    """

    owner = "simulated"
    """Owner of the models in their list, and part of the ids of their answers."""
    handlers: Sequence[HTTPRouteHandler] = ()
    """Further admin calls."""

    def __init__(
        self,
        models: Sequence[ModelState] = (ModelState(DEFAULT_MODEL),),
        settings: SimulationSettings | None = None,
        *,
        apis: Sequence[SimulatedApi] = (SimulatedChat(),),
        subjects: Subjects | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Serve `models`, of which the first one answers for names that are not served.

        Args:
            models: at least one, each with a name of its own.
            settings: fixed settings; None = the defaults.
            apis: under which the models can be asked.
            subjects: that prompts may have besides the topics of the catalogue.
            rng: source of noise, chance errors and ids; None = seeded by the operating system.
            clock: Unix time in seconds for `created`.

        Raises: ValueError if there is no model or a name occurs twice.
        """
        self.settings = settings or SimulationSettings()
        self.apis = tuple(apis)
        self.subjects = subjects
        self.rng = rng or random.Random()
        self._clock = clock
        self._models = {state.name: state for state in models}
        if not models or len(self._models) != len(models):
            raise ValueError("models: needs at least one, each with a name of its own")
        # Served beside any models: `up` can be pointed here for its judge without a further option.
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

        The default's returned name is not copied.

        Raises: WireError (400) that names every wrong field and what is allowed.
        """
        # The returned name is a disguise of one model; its copy answers under its own.
        old = self._models.get(name) or replace(self.find(None), returned_name=None)
        fields = asdict(old)
        del fields["name"]
        known = ", ".join(fields)
        problems = [f"{field}: is no field" for field in changes if field not in fields]
        try:
            # As JSON: from Python, strict validation takes nothing but a whole state.
            state = _STATE.validate_json(json.dumps({**fields, **changes, "name": name}))
        except ValidationError as error:
            for item in error.errors(include_url=False):
                if item["loc"][0] in fields:
                    problems.append(f"{item['loc'][0]}: {item['msg']}")
        if problems:
            raise WireError(400, f"{'; '.join(problems)}. Known fields: {known}.")
        self._models[name] = state
        return state

    def truth(self, state: ModelState) -> PlantedTruth:
        """Return the true deltas of a model. Raises: WireError (404) where none are planted."""
        return state.truth

    def reply(self, state: ModelState, request: ModelRequest) -> ModelReply:
        """Return what a model answers. Raises: WireError (404) if it has no answer."""
        model = SimulatedModel(state.fragility, state.noise, state.worse_share, self.settings.salt)
        condition = model.condition(request.messages, self.rng)
        text = say(read(request.messages, request.form, self.subjects), condition)
        return ModelReply(text, "stop", state.returned_name, state.system_fingerprint)

    def complete(self, state: ModelState, request: ModelRequest, id_prefix: str) -> SimulatedCompletion:
        """Return the answer of a model, the rewriter or the judge to a request.

        Args:
            state: Of the model that answers.
            request: Of the client.
            id_prefix: Beginning of the ids of the API that was asked, with "simulated" in it.
        """
        owner = "simulated"
        if state.name == REWRITER_MODEL:
            text = rewrite(request.messages, self.subjects)
            reply = ModelReply(text, "stop", state.returned_name, state.system_fingerprint)
        elif state.name == JUDGE_MODEL:
            text = judge(request.messages, self.rng, state.judge_noise)
            reply = ModelReply(text, "stop", state.returned_name, state.system_fingerprint)
        else:
            owner = self.owner
            reply = self.reply(state, request)
        deterministic = self.settings.deterministic
        raw_id = prompt_digest(request.messages) if deterministic else self.rng.randbytes(16)
        return SimulatedCompletion(
            id=f"{id_prefix.replace('simulated', owner)}{raw_id.hex()}",
            created=FIXED_TIME if deterministic else int(self._clock()),
            model=reply.returned_name or request.model,
            system_fingerprint=reply.system_fingerprint,
            text=reply.text,
            prompt_tokens=count_prompt_tokens(sum(len(message.text) for message in request.messages)),
            flex=request.flex,
            finish_reason=reply.finish_reason,
        )
