"""The judge's model by its address, for use without a proxy; see `docs/api.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.price import free

if TYPE_CHECKING:
    from evenkeel.llm.price import Price


class Endpoint(ModelClient):
    """A model behind an OpenAI-compatible server, as its address, name and key say."""

    def __init__(
        self, *, base_url: str, model: str, api_key: str = "", timeout_s: float = 60.0, price: Price = free
    ) -> None:
        """Build the client; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Name as the server knows it.
            api_key: Sent as a bearer token. "" for servers that need none.
            timeout_s: Limit for each attempt as a whole.
            price: Cost of the tokens; default free.
        """
        served = Model(base_url=base_url, name=model, api_key=api_key, timeout_s=timeout_s)
        super().__init__(served, price=price)
