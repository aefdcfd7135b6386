"""Options of the lab's commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from evenkeel.lab.asking import ModelAddress
from evenkeel.llm.price import Prices
from evenkeel.release.kit.arguments import price

if TYPE_CHECKING:
    from collections.abc import Mapping


def judge_address(options: Mapping[str, Any]) -> ModelAddress | None:
    """Return the address of the judge that options name, None if they name none.

    Raises: InputError for a price that is none.
    """
    model, variable, own = options["judge_model"], options["judge_key_env"], options["price"]
    if not model:
        return None
    return ModelAddress(
        model=model,
        url=options["judge_url"],
        api_key=os.environ.get(variable, ""),
        key_variable=variable,
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
        prices=Prices({} if own is None else {model: price(own)}),
    )
