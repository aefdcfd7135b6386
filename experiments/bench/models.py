"""The models under test, and how each is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenkeel.experiments.bench.reading import described
from evenkeel.proxy.endpoint import Upstream
from evenkeel.proxy.routing import Route
from evenkeel.settings import Credential, SettingsError
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel.shadow.prompt import PromptView

PARAMETERS: Mapping[str, Any] = {"temperature": 0, "seed": 0}
"""Sent with every request unless said otherwise: as little chance as a model can do with."""
_PATH = b"/v1/chat/completions"


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
    path = Route("bench", upstream).target(_PATH).decode("latin-1")
    origin = f"{'https' if upstream.tls else 'http'}://{upstream.authority.decode()}"
    credential = Credential.read(key_env, key_header)
    headers = ((credential.header, credential.value),) if credential else ()
    kept = {key: value for key, value in parameters.items() if value is not None}
    return ModelUnderTest(
        name, model or name, Target(f"{origin}{path}", headers, upstream.unix_path), kept, key_env
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
