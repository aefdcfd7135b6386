"""An archived exchange as a golden."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel.experiments.goldens.files import request_text
from evenkeel.stores.goldens import Golden, GoldenError

if TYPE_CHECKING:
    from evenkeel.stores.archive import ArchivedExchange


def golden_of(exchange: ArchivedExchange, *, name: str = "", note: str = "") -> Golden:
    """The golden that an exchange becomes when it is approved; the store adds version, name and time.

    Args:
        exchange: as the archive has it.
        name: id of the golden; "" takes the exchange's own.
        note: what the person who approves it says.

    Raises: GoldenError if its request cannot be repeated.
    """
    try:
        body = json.loads(exchange.request)
    except (ValueError, RecursionError) as error:
        raise GoldenError(
            f"the request of exchange {exchange.id} cannot be read again; approve another one"
        ) from error
    try:
        request = request_text(body)
    except GoldenError as error:
        raise GoldenError(
            f"the request of exchange {exchange.id} {error}; approve another exchange"
        ) from error
    return Golden(
        id=name.strip() or exchange.id,
        route=exchange.route,
        path=exchange.path,
        request=request,
        answer=exchange.answer,
        task=exchange.task,
        model=exchange.model,
        prompt_version=exchange.prompt_version,
        note=note.strip(),
    )
