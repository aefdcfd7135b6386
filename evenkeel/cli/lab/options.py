"""Options of the lab's commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from evenkeel.lab.asking import ModelAddress
from evenkeel.llm.price import Prices
from evenkeel.release.kit.arguments import price

if TYPE_CHECKING:
    from collections.abc import Mapping


def model_address(service: str, model: str | None, options: Mapping[str, Any]) -> ModelAddress | None:
    """Return the address of a model of `model_options`, by these and the options of calls and of its price.

    Args:
        service: "judge" or "rewriter".
        model: Its name; None = it is not asked.
        options: The options.

    Raises: InputError for a price that is none.
    """
    if not model:
        return None
    variable, own = options[f"{service}_key_env"], options["price"]
    return ModelAddress(
        model=model,
        url=options[f"{service}_url"],
        api_key=os.environ.get(variable, ""),
        key_variable=variable,
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
        prices=Prices({} if own is None else {model: price(own)}),
    )
