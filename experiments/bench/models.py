"""The models under test, and asking them: remembered answers first, within the budget, and not for ever."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenkeel.core.endpoint import Upstream
from evenkeel.core.verdict import Failure
from evenkeel.experiments.bench.items import described
from evenkeel.experiments.kit.asking import UnusableError, advised
from evenkeel.experiments.kit.journal import Answers
from evenkeel.llm.price import estimate_tokens
from evenkeel.settings import Credential, SettingsError
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.kit.cost import Account, Costs
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.replay import Replay, Replayer
    from evenkeel.stores.sqlite.database import Database


PARAMETERS: Mapping[str, Any] = {"temperature": 0, "seed": 0}
"""Sent with every request unless said otherwise: as little chance as a model can do with."""
_PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A model behind an OpenAI-compatible endpoint."""

    name: str
    """In the tables."""
    model: str
    """As the endpoint knows it."""
    target: Target
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Members of every request, besides the model and the messages."""
    key_env: str = ""
    """Variable that holds the key, for messages."""

    @property
    def options(self) -> dict[str, str]:
        """What advice about this model's endpoint names."""
        return {
            "variable": self.key_env,
            "key_option": "--api-key-env",
            "url_option": "--base-url",
            "members": ", ".join(self.parameters) or "such requests",
        }

    def body(self, view: PromptView) -> bytes:
        """The request that puts a prompt to this model."""
        members: dict[str, str | None] = {key: json.dumps(value) for key, value in self.parameters.items()}
        return view.with_members({"model": json.dumps(self.model), **members}).for_replay()


def model_at(
    name: str,
    url: str,
    *,
    model: str | None = None,
    key_env: str,
    key_header: str,
    parameters: Mapping[str, Any],
) -> ModelUnderTest:
    """A model at an endpoint.

    Args:
        name: For the tables.
        url: Base URL of the endpoint, up to and including the version.
        model: As the endpoint knows it; None = the same name.
        key_env: Variable that holds the key; an empty one is no key.
        key_header: Header that carries it.
        parameters: Members of every request; those that are None are left out.

    Raises: SettingsError for a URL that is none.
    """
    try:
        upstream = Upstream.parse(url)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    credential = Credential.read(key_env, key_header)
    headers = ((credential.header, credential.value),) if credential else ()
    kept = {key: value for key, value in parameters.items() if value is not None}
    return ModelUnderTest(
        name, model or name, Target(upstream.url(_PATH), headers, upstream.unix_path), kept, key_env
    )


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    api_key_header: str = "authorization"
    parameters: dict[str, Any] = {}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: Annotated[list[_Entry], Field(min_length=1)]


def read_models(
    path: Path, *, url: str | None, key_env: str, parameters: Mapping[str, Any]
) -> tuple[ModelUnderTest, ...]:
    """The models that a YAML file lists under `models:`.

    Args:
        path: The file.
        url: Endpoint of the models that name none.
        key_env: Variable with the key of those that name none.
        parameters: Members of every request, over which each model's own are laid.

    Raises: SettingsError with file and field.
    """
    try:
        read = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: cannot be read as YAML: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"{path}, {described(error.errors())}") from error
    found = []
    for entry in read.models:
        at = entry.base_url or url
        if at is None:
            raise SettingsError(f'{path}, model "{entry.name}": has no base_url, and there is no --base-url')
        found.append(
            model_at(
                entry.name,
                at,
                model=entry.model,
                key_env=entry.api_key_env or key_env,
                key_header=entry.api_key_header,
                parameters={**parameters, **entry.parameters},
            )
        )
    return tuple(found)


VERSION: Final = 1
_PATIENCE_AT_FIRST: Final = 3
"""Failures in a row of a model that has never answered, after which it is not asked again."""
_PATIENCE: Final = 20
"""The same of one that has."""
_PASSING: Final = frozenset({"connection", "timeout", "server_error"})
"""Faults that may be gone a moment later: such a call is made once more."""


def call_key(model: ModelUnderTest, body: bytes, draw: str) -> bytes:
    """SHA-256 of everything that decides an answer.

    The draw tells calls with the same request apart: the identical resend must be asked for itself.
    """
    where = [model.target.url, model.target.unix_path, draw]
    return hashlib.sha256(json.dumps(where).encode() + b"\0" + body).digest()


class Asker:
    """Asks the models of one run."""

    def __init__(
        self, replayer: Replayer, database: Database, prices: Prices, ledger: Costs, *, models: int
    ) -> None:
        """Begin.

        Args:
            replayer: Sends; limits how many are under way.
            database: The journal: answers are in it before anybody sees them.
            prices: Of models.
            ledger: Where calls and costs are added up, and where the limit is.
            models: How many there are: once none of them answers, the run ends.
        """
        self._replayer = replayer
        self._answers = Answers(database)
        self._prices = prices
        self._ledger = ledger
        self._answered: set[str] = set()
        self._in_a_row: dict[str, int] = {}
        self.unusable: dict[str, Failure] = {}
        """Models that are not asked any more, and what they answered last."""
        self.unusable_as_told: dict[str, str] = {}
        """The same for people, with what to do."""
        self._models = models

    async def ask(self, model: ModelUnderTest, view: PromptView, draw: str) -> Answer | Failure:
        """A model's answer to a prompt, or why there is none.

        Args:
            model: Who is asked.
            view: The prompt.
            draw: Names the call among those with the same request.

        Raises: BudgetUsedUpError; UnusableError once no model is left.
        """
        body = model.body(view)
        key = call_key(model, body, draw)
        account = self._ledger.of(model.name)
        known = self._answers.get(key)
        if known is not None:
            account.remembered += 1
            tokens, usd = self._price(model, view, known.answer)
            account.remembered_tokens += tokens
            account.remembered_usd += usd
            self._answered.add(model.name)
            return known.answer
        if model.name in self.unusable:
            return self.unusable[model.name]
        outcome = await self._send(model, body, view, account)
        if isinstance(outcome, Failure) and outcome.reason in _PASSING and model.name in self._answered:
            outcome = await self._send(model, body, view, account)
        if isinstance(outcome, Failure):
            account.failed += 1
            self._failed(model, outcome)
            return outcome
        self._answered.add(model.name)
        self._in_a_row[model.name] = 0
        self._answers.put(key, outcome)
        return outcome.answer

    async def _send(
        self, model: ModelUnderTest, body: bytes, view: PromptView, account: Account
    ) -> Replay | Failure:
        self._ledger.check()
        account.calls += 1
        outcome = await self._replayer.send(model.target, body)
        if not isinstance(outcome, Failure):
            tokens, usd = self._price(model, view, outcome.answer)
            account.tokens += tokens
            account.usd += usd
        return outcome

    def _price(self, model: ModelUnderTest, view: PromptView, answer: Answer) -> tuple[int, float]:
        asked, said = answer.prompt_tokens, answer.completion_tokens
        if asked is None:
            asked = estimate_tokens(view.text)
        if said is None:
            said = estimate_tokens(answer.text)
        return asked + said, self._prices.usd(model.model, asked, said)

    def _failed(self, model: ModelUnderTest, failure: Failure) -> None:
        name = model.name
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        patience = _PATIENCE if name in self._answered else _PATIENCE_AT_FIRST
        if failure.reason == "unauthorized" and name not in self._answered:
            patience = 1
        if self._in_a_row[name] < patience or name in self.unusable:
            return
        self.unusable[name] = failure
        said = advised(failure.reason, failure.detail, **model.options)
        self.unusable_as_told[name] = f"{said} ({model.target.url})"
        if len(self.unusable) == self._models:
            told = "\n".join(f"  {one}: {why}" for one, why in self.unusable_as_told.items())
            raise UnusableError(f"no model answers any more:\n{told}\nPut that right")
