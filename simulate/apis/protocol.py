"""What the simulation must know of an API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.simulate.faults import WireError
    from evenkeel.simulate.requests import ModelRequest
    from evenkeel.simulate.wire import Completion


class Api(Protocol):
    """One way to ask a model over HTTP."""

    @property
    def path(self) -> str:
        """Where it is served."""
        ...

    @property
    def id_prefix(self) -> str:
        """What the ids of its answers begin with; all of them say "simulated"."""
        ...

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request.

        Raises: WireError (400) that names the parameter, if one has another shape than the API
            describes.
        """
        ...

    def body(self, completion: Completion) -> bytes:
        """The body of an answer that is not streamed."""
        ...

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The events of a streamed answer, the one that ends it included."""
        ...

    def error(self, error: WireError) -> bytes:
        """The body of an error answer."""
        ...
