"""Who is asking, how that is known, and what they may do.

Whoever serves the console puts a `Visitor` into the scope of each request, under `SCOPE_KEY`. Without one
everybody is trusted with everything and nobody is known: names are then as people type them.
"""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from litestar.exceptions import HTTPException

from evenkeel.stores.audit_log import KNOWN_BY, Action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler

    from evenkeel.stores.audit_log import ActionLog, KnownBy, What

SCOPE_KEY: Final = "evenkeel.visitor"

Role = Literal["viewer", "labeller", "approver"]
_RANKS: Final[dict[Role, int]] = {"viewer": 0, "labeller": 1, "approver": 2}
_log = logging.getLogger("evenkeel.console")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who has been let in."""

    name: str = ""
    """"" if nobody knows: then the name is asked for and recorded as typed."""
    role: Role = "approver"
    known_by: KnownBy = "typed"
    proposed: str = ""
    """What the field for the name begins with."""

    def may(self, role: Role) -> bool:
        """Whether they may do what takes this role."""
        return _RANKS[self.role] >= _RANKS[role]

    @property
    def known(self) -> str:
        """How the name is known, in words."""
        return KNOWN_BY[self.known_by]


def visitor_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Visitor:
    """Who is asking."""
    scope: Any = connection.scope
    found = scope.get(SCOPE_KEY)
    visitor = found if isinstance(found, Visitor) else Visitor()
    if visitor.name or not visitor.may("labeller"):
        return visitor
    return replace(visitor, proposed=_signed_in(connection.headers.get("authorization", "")))


def needs(role: Role) -> Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], None]:
    """A guard that refuses who may not do what takes this role."""

    def guard(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
        visitor = visitor_of(connection)
        if not visitor.may(role):
            who = visitor.name or "Whoever has this token"
            raise HTTPException(
                f"{who} is a {visitor.role}; this takes the role {role}. Nothing was changed.",
                status_code=403,
            )

    return guard


def signed(visitor: Visitor, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for, under the name of who asks: `by` is theirs if it is known, else as typed.

    Raises: HTTPException if another name is given than the known one.
    """
    if not visitor.name:
        return dict(asked)
    typed = asked.get("by")
    if typed not in (None, "", visitor.name):
        raise HTTPException(
            f'You are signed in as {visitor.name}: leave "by" out. Nothing was changed.', status_code=403
        )
    return {**asked, "by": visitor.name}


class Recorder:
    """Writes down what was done: into the log of actions, if there is one, and into that of the process."""

    def __init__(self, log: ActionLog | None) -> None:
        self._actions = log

    def __call__(
        self, visitor: Visitor, by: str, what: What, subject: str, *, at: float, detail: str = ""
    ) -> None:
        """Record that `by`, who asked as `visitor`, has done something. Blocks on the store."""
        action = Action(round(at, 3), by, visitor.known_by, what, subject, detail)
        _log.info("%s", action.to_json())
        if self._actions is not None:
            self._actions.record(action)


def _signed_in(authorization: str) -> str:
    """The name given to the browser's password dialogue, "" for none. Nobody has checked it."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""
