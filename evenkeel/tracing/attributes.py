"""What spans say of their subject, in values that can be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from opentelemetry.trace import Status, StatusCode

from evenkeel.core.text import well_formed
from evenkeel.tracing import names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import Span

Value: TypeAlias = str | bool | int | float
Sent: TypeAlias = Value | list[str]


def sendable(said: Mapping[str, Value | list[str] | None]) -> dict[str, Sent]:
    """Attributes without those that are None, and without characters that would spoil a whole batch.

    Model names and the like come out of JSON, which can hold halves of characters.
    """
    return {name: _clean(value) for name, value in said.items() if value is not None}


def mark_failed(span: Span, reason: str) -> None:
    """Say that what the span is about failed, and why, in one snake-case word."""
    span.set_attribute(names.ERROR_TYPE, reason)
    span.set_status(Status(StatusCode.ERROR, reason))


def _clean(value: Sent) -> Sent:
    if isinstance(value, str):
        return well_formed(value)
    return [well_formed(one) for one in value] if isinstance(value, list) else value
