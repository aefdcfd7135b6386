"""Options of the lab's commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from evenkeel.lab.asking import ModelAddress
from evenkeel.llm.price import Prices

if TYPE_CHECKING:
    from collections.abc import Mapping


def judge_address(options: Mapping[str, Any]) -> ModelAddress | None:
    """Return the address of the judge that options name, None if they name none."""
    model, variable = options["judge"], options["judge_key_env"]
    if not model:
        return None
    return ModelAddress(
        model=model,
        url=options["judge_url"],
        api_key=os.environ.get(variable, ""),
        key_variable=variable,
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
        prices=Prices(options["prices"]),
    )
