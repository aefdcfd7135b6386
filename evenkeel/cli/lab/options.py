"""Options of the lab's commands."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from evenkeel.lab.asking import ModelAddress
from evenkeel.llm.price import Prices
from evenkeel.release.kit.arguments import InputError, price

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


_DAY_S: Final = 86_400.0
_UNIT_S: Final = {"m": 60.0, "h": 3_600.0, "d": _DAY_S, "w": 7 * _DAY_S}
_AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def moment(option: str, text: str, now: float, *, whole_day: bool) -> float:
    """Return the moment that an option names, in Unix seconds.

    Args:
        option: Its name, for messages.
        text: A date, a date with a time of day (UTC unless it says otherwise), or an age such as "7d".
        now: Unix time in seconds.
        whole_day: Whether a date means the end of its day, not the beginning.

    Raises: InputError if it cannot be read.
    """
    age = _AGE.fullmatch(text.strip())
    if age:
        return now - int(age[1]) * _UNIT_S[age[2]]
    try:
        read = datetime.fromisoformat(text.strip())
        if read.tzinfo is None:
            read = read.replace(tzinfo=UTC)
        at = read.timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f'{option} "{text}" is no date: give one as 2026-11-20, one with a time as 2026-11-20T14:30, or '
            "how long ago as 7d or 36h"
        ) from None
    return at + _DAY_S if whole_day and _DATE.fullmatch(text.strip()) else at
