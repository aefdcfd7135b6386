"""The models under test, and asking them: remembered answers first, within the budget, and not forever."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenkeel.core.endpoint import Upstream
from evenkeel.lab.bench.items import described
from evenkeel.llm.price import estimate_tokens
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised, call_key
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Failure
    from evenkeel.llm.price import Prices
    from evenkeel.release.kit.cost import Costs
    from evenkeel.release.kit.journal import Answers
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.replay import Replayer

    Headers = tuple[tuple[str, str], ...]
    ReadKey = Callable[[str, str], Headers]
    """Reads a key from its variable, by the name of its header, as the headers that carry it."""

PARAMETERS: Mapping[str, Any] = {"temperature": 0, "seed": 0}
"""Sent with every request unless said otherwise: as little chance as a model can do with."""
_PATH: Final = "/v1/chat/completions"
# Failures in a row of a model that has answered before, after which it is not asked again.
_PATIENCE: Final = 20


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A model behind an OpenAI-compatible endpoint."""

    name: str
    """Name in the tables."""
    model: str
    """Name that the endpoint knows."""
    target: Target
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Members of every request, besides the model and the messages."""
    key_env: str = ""
    """Variable that holds the key, for messages."""

    @property
    def options(self) -> dict[str, str]:
        """Words for advice about this model's endpoint."""
        return {
            "variable": self.key_env,
            "key_option": "--api-key-env",
            "url_option": "--base-url",
            "members": ", ".join(self.parameters) or "such requests",
        }

    def call(self, view: PromptView, draw: str) -> AskedCall:
        """The request that puts a prompt to this model.

        Args:
            view: The prompt.
            draw: Names the call among those with the same request.
        """
        members: dict[str, str | None] = {key: json.dumps(value) for key, value in self.parameters.items()}
        body = view.with_members({"model": json.dumps(self.model), **members}).for_replay()
        key = call_key([self.target.url, self.target.unix_path, draw], body)
        return AskedCall(self.name, self.target, body, key, self.model, estimate_tokens(view.text))


def model_at(
    name: str,
    url: str,
    *,
    model: str | None = None,
    key_env: str,
    headers: Headers,
    parameters: Mapping[str, Any],
) -> ModelUnderTest:
    """A model at an endpoint.

    Args:
        name: For the tables.
        url: Base URL of the endpoint, up to and including the version.
        model: As the endpoint knows it; None = the same name.
        key_env: Variable that holds the key.
        headers: That carry it.
        parameters: Members of every request; those that are None are left out.

    Raises: InputError for a URL that is none.
    """
    upstream = upstream_at(url)
    kept = {}
    for key, value in parameters.items():
        if value is not None:
            kept[key] = value
    target = Target(upstream.url(_PATH), headers, upstream.unix_path)
    return ModelUnderTest(name, model or name, target, kept, key_env)


def upstream_at(url: str) -> Upstream:
    """The endpoint of a URL. Raises: InputError for a URL that is none."""
    try:
        return Upstream.parse(url)
    except ValueError as error:
        raise InputError(str(error)) from error


class _ModelEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    api_key_header: str = "authorization"
    parameters: dict[str, Any] = {}


class _ModelsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: Annotated[list[_ModelEntry], Field(min_length=1)]


def read_models(
    path: Path,
    *,
    url: str | None,
    key_env: str,
    home: Upstream | None,
    read_key: ReadKey,
    parameters: Mapping[str, Any],
) -> tuple[ModelUnderTest, ...]:
    """The models that a YAML file lists under `models:`.

    Args:
        path: The file.
        url: Endpoint of the models that name none.
        key_env: Variable with the key of those that name none and are where that key belongs.
        home: Where it belongs; None = to the one origin of those that name none.
        read_key: Reads a key.
        parameters: Members of every request, over which each model's own are laid.

    Raises: InputError with file and field.
    """
    try:
        listed = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(listed, dict):
            raise InputError(f"{path}: must be a mapping such as `models: [{{name: gpt-6-luna}}]`")
        read = _ModelsFile.model_validate(listed)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML: {error}") from error
    except ValidationError as error:
        raise InputError(f"{path}, {described(error.errors())}") from error
    models = []
    guessed = home is None
    for entry in read.models:
        at, variable = entry.base_url or url, entry.api_key_env or key_env
        if at is None:
            raise InputError(f'{path}, model "{entry.name}": has no base_url, and there is no --base-url')
        headers = read_key(variable, entry.api_key_header)
        # A key belongs to an origin: a model elsewhere that names none is asked without it.
        if entry.api_key_env is None and headers:
            there = upstream_at(at)
            home = home or there
            if not there.same_origin(home):
                if guessed:
                    raise InputError(
                        f"{path}: models of several endpoints name no api_key_env; name it for each, or "
                        f"say with --base-url which endpoint the key in {variable} is for"
                    )
                headers = ()
        own = {**parameters, **entry.parameters}
        models.append(
            model_at(entry.name, at, model=entry.model, key_env=variable, headers=headers, parameters=own)
        )
    return tuple(models)


class ModelsAsked:
    """Asks the models of one run; ends it once none of them answers."""

    def __init__(
        self,
        models: tuple[ModelUnderTest, ...],
        replayer: Replayer,
        answers: Answers,
        prices: Prices,
        costs: Costs,
    ) -> None:
        """Begin; the arguments after the models are those of `Asker`."""
        self._models = {model.name: model for model in models}
        self._asker = Asker(replayer, answers, prices, costs, patience=_PATIENCE, give_up=self._give_up)
        self.unusable: dict[str, str] = {}
        """Models that are not asked any more → what they answered last, and what to do about it."""

    async def ask(self, model: ModelUnderTest, view: PromptView, draw: str) -> Answer | Failure:
        """A model's answer to a prompt, or why there is none; see `ModelUnderTest.call`.

        Raises: BudgetUsedUpError; UnusableError once no model is left.
        """
        return await self._asker.ask(model.call(view, draw))

    def _give_up(self, call: AskedCall, failure: Failure) -> None:
        options = self._models[call.payee].options
        self.unusable[call.payee] = (
            f"{advised(failure.reason, failure.detail, **options)} ({call.target.url})"
        )
        if len(self.unusable) == len(self._models):
            listed = "\n".join(f"  {name}: {why}" for name, why in self.unusable.items())
            raise UnusableError(f"no model answers any more:\n{listed}\nPut that right")
