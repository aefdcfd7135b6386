"""What an endpoint accepts: parameters that a server rejects are dropped, and stay dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from evenkeel.metrics.similarity.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

Output = Literal["json_schema", "json_object", "plain"]
_NEXT: dict[Output, Output] = {"json_schema": "json_object", "json_object": "plain"}

_ABOUT_FORMAT = ("response_format", "json_schema", "json_object", "structured output", "schema")


def _schema(scale: Sequence[int]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            # The reason comes first, so that the rating is written after it.
            "explanation": {"type": "string"},
            "rating": {"type": "integer", "enum": list(scale)},
        },
        "required": ["explanation", "rating"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Accepted:
    """The optional parameters an endpoint has not rejected so far."""

    output: Output = "json_schema"
    temperature: bool = True
    seed: bool = True

    def parameters(self, seed: int, scale: Sequence[int] = SCALE) -> dict[str, Any]:
        """The optional part of a request body that asks for a rating on this scale."""
        body: dict[str, Any] = {}
        if self.output == "json_schema":
            schema = {"name": "ruling", "strict": True, "schema": _schema(scale)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.output == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self.temperature:
            body["temperature"] = 0
        if self.seed:
            body["seed"] = seed
        return body

    def after(self, complaint: str) -> Accepted | None:
        """What to try after a 400 with this message; None if nothing is left to leave out.

        A parameter that the message names goes first. A message that names none is taken to be
        about the output format, the commonest cause, and then about the rest.
        """
        said = complaint.lower()
        if self.output in _NEXT and any(word in said for word in _ABOUT_FORMAT):
            return replace(self, output=_NEXT[self.output])
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.seed and "seed" in said:
            return replace(self, seed=False)
        if self.output in _NEXT:
            return replace(self, output=_NEXT[self.output])
        if self.temperature or self.seed:
            return replace(self, temperature=False, seed=False)
        return None
