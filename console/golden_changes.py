"""What can be done to goldens from the console and its API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkeel.experiments.goldens.candidates import golden_of
from evenkeel.experiments.goldens.files import read_goldens
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.console.sources import GoldenSources
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.goldens import Golden

DEEDS = ("exchange", "golden", "retire", "unretire")
"""What a change is about: exactly one of them."""
_TEXTS = ("exchange", "retire", "unretire", "by", "name", "note")


def change(sources: GoldenSources, asked: Mapping[str, Any], at: float) -> Golden:
    """Do one thing, and return the golden as it is then.

    Args:
        sources: where.
        asked: `by` (who does it) and one of `exchange` (id of an archived exchange to approve, with an
            optional `name` and `note`), `golden` (an object as a line of a file, to approve), `retire` and
            `unretire` (id of a golden).
        at: Unix time in seconds.

    Raises: GoldenError that says what is missing or wrong.
    """
    deed = _checked(asked)
    by = asked["by"].strip()
    at = round(at, 3)
    match deed:
        case "retire":
            return sources.store.retire(asked["retire"], by=by, at=at)
        case "unretire":
            return sources.store.unretire(asked["unretire"], by=by, at=at)
        case "golden":
            (golden,) = read_goldens([json.dumps(asked["golden"])], "golden")
            return sources.store.approve(golden, by=by, at=at)
    exchange = sources.archive.find(asked["exchange"])
    if exchange is None:
        raise GoldenError(
            f"exchange {asked['exchange']!r} is not in the archive, or no longer; approve a newer one"
        )
    golden = golden_of(exchange, name=asked.get("name", ""), note=asked.get("note", ""))
    return sources.store.approve(golden, by=by, at=at)


def done(asked: Mapping[str, Any]) -> What:
    """What `change` has done if it was asked for this, for the record."""
    if asked.get("retire"):
        return "golden_retired"
    return "golden_unretired" if asked.get("unretire") else "golden_approved"


def version_of(golden: Golden) -> str:
    """Which version of a golden, of which route, for the record."""
    return f"version {golden.version}, route {golden.route}"


def _checked(asked: Mapping[str, Any]) -> str:
    """Which of the deeds is asked for."""
    for name in asked:
        if name not in ("golden", *_TEXTS):
            raise GoldenError(f'"{name}" is unknown; known are golden, {", ".join(_TEXTS)}')
    for name in _TEXTS:
        if not isinstance(asked.get(name, ""), str):
            raise GoldenError(f'"{name}" is not text')
    if not asked.get("by", "").strip():
        raise GoldenError("it must be on record who does this: say your name")
    given = [name for name in DEEDS if asked.get(name)]
    if len(given) != 1:
        raise GoldenError(f"say what to do: exactly one of {', '.join(DEEDS)}")
    return given[0]
