"""Endpoints of a check: which server a model's name means, and which variable holds its key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evenkeel.llm.providers import small_model
from evenkeel.release.check.service import ModelAt
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

OPENAI: Final = "https://api.openai.com/v1"
ANTHROPIC: Final = "https://api.anthropic.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Variable with the key of an endpoint whose provider nobody knows."""
SIMULATED_JUDGE: Final = "simulated-judge"
SIMULATED_REWRITER: Final = "simulated-rewriter"
_SIMULATED: Final = "simulated-"


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

    Raises: InputError if a provider that is known to want a key gets none.
    """
    url = base_url or environ.get("OPENAI_BASE_URL") or (ANTHROPIC if name.startswith("claude") else OPENAI)
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
    chosen = name or (small.model if small else model.model)
    if is_simulated(model):
        chosen = SIMULATED_JUDGE
    return ModelAt(chosen, model.base_url, model.api_key, model.key_variable)


def rewriter_beside(judge: ModelAt) -> ModelAt:
    """Return the model that rewords texts: the judge's; where it is simulated, the simulated rewriter."""
    return replace(judge, model=SIMULATED_REWRITER) if judge.model == SIMULATED_JUDGE else judge


def is_simulated(model: ModelAt) -> bool:
    """Return whether a model is one of `evenkeel simulate`, which cost nothing."""
    return model.model.startswith(_SIMULATED)
