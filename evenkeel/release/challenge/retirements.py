"""Announced retirements of models, which are the usual reason to try another one."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, time
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.figures import count, date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FINE_TUNED: Final = "ft:"


class Retirement(NamedTuple):
    """Announcement that a provider stops serving a model."""

    model: str
    provider: str
    source: str
    """Page of the provider that says so."""
    at: float
    """Unix time in seconds of the start of that day, in UTC."""
    replaced_by: str
    """Model that the provider recommends in its place; "" if it names none."""

    def __str__(self) -> str:
        named = f"; it names {self.replaced_by} as the replacement" if self.replaced_by else ""
        return f"{self.provider} stops serving {self.model} on {date(self.at)}{named}"


def _table() -> Iterator[Retirement]:
    pages: list[dict[str, Any]] = tomllib.loads(
        files(__package__).joinpath("retirements.toml").read_text("utf-8")
    )["pages"]
    for page in pages:
        for announcement in page["announcements"]:
            at = datetime.combine(announcement["on"], time(), UTC).timestamp()
            for model in announcement["models"]:
                yield Retirement(
                    model, page["provider"], page["source"], at, announcement.get("replaced_by", "")
                )


_BY_MODEL: Final[Mapping[str, Retirement]] = {retirement.model: retirement for retirement in _table()}


def retirement_of(model: str, now: float) -> Retirement | None:
    """Return the announced retirement of a model that is still to come; None if none is known.

    Args:
        model: Name as a request or an answer gives it; a gateway's prefix (`openai/`) does not count, and a
            fine-tuned model (`ft:NAME:…`) retires with the one it was made of.
        now: Unix time in seconds.
    """
    name = model.rsplit("/", 1)[-1]
    if name.startswith(_FINE_TUNED):
        name = name.removeprefix(_FINE_TUNED).split(":", 1)[0]
    retirement = _BY_MODEL.get(name)
    # A model that still answers after its day is served by somebody else.
    return retirement if retirement is not None and retirement.at > now else None


def retirement_note(model: str, routes: Sequence[str], now: float) -> str:
    """Return the note that a model of these routes retires and how to try another one; "" if it does not."""
    retirement = retirement_of(model, now)
    if retirement is None:
        return ""
    # A model mostly serves many routes: one note for all of them, with the command for the first.
    more = f" (and {count(len(routes) - 1, 'more route')})" if len(routes) > 1 else ""
    return (
        f"{retirement}. May another model take over on {routes[0]}{more}? "
        f"evenkeel challenge --route {routes[0]} --model {retirement.replaced_by or 'NAME'}"
    )
