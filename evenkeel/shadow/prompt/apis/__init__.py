"""Request shapes that can be replayed, one `Api` class each, which holds all their differences.

A new one is a class in a file of its own, a line in `APIS` and its path in `core.endpoint.API_PATHS`, by
which the data plane knows what to capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.endpoint import api_path
from evenkeel.shadow.prompt.apis.chat import CHAT
from evenkeel.shadow.prompt.apis.completions import COMPLETIONS
from evenkeel.shadow.prompt.apis.gemini import GEMINI
from evenkeel.shadow.prompt.apis.messages import MESSAGES
from evenkeel.shadow.prompt.apis.protocol import Api, Refusal
from evenkeel.shadow.prompt.apis.responses import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "APIS",
    "CHAT",
    "COMPLETIONS",
    "GEMINI",
    "MESSAGES",
    "RESPONSES",
    "Api",
    "Refusal",
    "api_of",
    "api_of_answer",
    "api_of_request",
    "headers_of",
]

APIS: Final[tuple[Api, ...]] = (MESSAGES, CHAT, RESPONSES, COMPLETIONS, GEMINI)
"""APIs in the order in which bodies without a path are matched. The first match wins, so special shapes
come first."""
_BY_PATH: Final = {api.path: api for api in APIS}


def api_of(target: str) -> Api | None:
    """Return the API of a request target, by its path; None if its exchanges can't be read."""
    path = api_path(target)
    return None if path is None else _BY_PATH[path]


def headers_of(api: Api | None, kept: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the API's headers of a request that is asked again: those kept with it, else the defaults."""
    return tuple((dict(() if api is None else api.headers) | dict(kept)).items())


def api_of_request(body: Mapping[str, Any]) -> Api | None:
    """Return the API whose shape a request body without a path has."""
    return next((api for api in APIS if api.is_request(body)), None)


def api_of_answer(body: Mapping[str, Any]) -> Api | None:
    """Return the API whose shape the body of a whole answer has."""
    return next((api for api in APIS if api.is_answer(body)), None)
