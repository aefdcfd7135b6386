"""Endpoints of a check: which server a model's name means, and which variable holds its key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evenkeel.core.endpoint import Upstream
from evenkeel.llm.providers import small_model
from evenkeel.release.kit.arguments import InputError
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.shadow.prompt import Api

OPENAI: Final = "https://api.openai.com/v1"
ANTHROPIC: Final = "https://api.anthropic.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Variable with the key of an endpoint whose provider nobody knows."""
SIMULATED_JUDGE: Final = "simulated-judge"
SIMULATED_REWRITER: Final = "simulated-rewriter"
SIMULATED: Final = "simulated-"


@dataclass(frozen=True, slots=True)
class ModelAt:
    """A model behind an endpoint that speaks an API evenkeel reads."""

    model: str
    """Name that the endpoint knows."""
    base_url: str
    """Up to and including the version, as in "https://api.openai.com/v1"."""
    api_key: str = field(default="", repr=False)
    key_variable: str = ""
    """Variable that the key was taken from, for messages."""

    def target(self, api: Api) -> Target:
        """Return where its requests of an API go, with the credential.

        Raises: InputError for a URL that is none.
        """
        upstream = _upstream(self.base_url)
        headers = list(api.headers)
        # Anthropic has the key in a header of its own.
        if api.name == "messages":
            headers.append(("x-api-key", self.api_key))
        elif self.api_key:
            headers.append(("authorization", f"Bearer {self.api_key}"))
        return Target(upstream.url(f"/v1/{api.path}"), tuple(headers), upstream.unix_path)


def _upstream(url: str) -> Upstream:
    try:
        return Upstream.parse(url)
    except ValueError as error:
        raise InputError(f"--base-url: {error}") from error


def model_at(
    name: str, environ: Mapping[str, str], *, base_url: str | None = None, key_variable: str | None = None
) -> ModelAt:
    """Return a model with its endpoint and key.

    Args:
        name: Name of the model.
        environ: Variables: `OPENAI_BASE_URL`, and the key's.
        base_url: Endpoint up to and including the version. Default: `OPENAI_BASE_URL`, else the provider's
            whose models have such names.
        key_variable: Variable with the key. Default: the one usual at the provider.

    Raises: InputError for a URL that is none, and if a provider that is known to want a key gets none.
    """
    # As the SDKs have it: the variable stands behind the option, and before the provider.
    url = base_url or environ.get("OPENAI_BASE_URL") or (ANTHROPIC if name.startswith("claude") else OPENAI)
    _upstream(url)
    usual = small_model(url)
    variable = key_variable or (usual.key_variable if usual else KEY_VARIABLE)
    key = environ.get(variable, "")
    # A server that nobody knows may want no key, so only known providers are refused before the first call.
    if usual is not None and not key:
        raise InputError(
            f"${variable} is not set: put the key of {urlsplit(url).hostname} into it, name another variable "
            "with --api-key-env, or try --model simulated"
        )
    return ModelAt(name, url, key, variable)


def judge_beside(model: ModelAt, name: str | None = None) -> ModelAt:
    """Return the judge at a model's endpoint: as named, else the provider's small model, else the model."""
    small = small_model(model.base_url)
    usual = small.model if small else model.model
    if model.model.startswith(SIMULATED):
        usual = SIMULATED_JUDGE
    return ModelAt(name or usual, model.base_url, model.api_key, model.key_variable)


def rewriter_beside(judge: ModelAt) -> ModelAt:
    """Return the model that rewords texts: the judge's; where it is simulated, the simulated rewriter."""
    return replace(judge, model=SIMULATED_REWRITER) if judge.model == SIMULATED_JUDGE else judge
