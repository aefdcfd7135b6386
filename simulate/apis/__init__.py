"""The APIs under which the simulated models can be asked: one small file each."""

from typing import Final

from evenkeel.simulate.apis.chat import ChatApi
from evenkeel.simulate.apis.completions import CompletionsApi
from evenkeel.simulate.apis.messages import MessagesApi
from evenkeel.simulate.apis.protocol import Api
from evenkeel.simulate.apis.responses import ResponsesApi

APIS: Final[tuple[Api, ...]] = (ChatApi(), CompletionsApi(), ResponsesApi(), MessagesApi())

__all__ = ["APIS", "Api"]
