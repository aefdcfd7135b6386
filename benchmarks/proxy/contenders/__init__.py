"""The contenders, one file each. Adding one is a file here and a line in `BUILTIN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.direct import Direct
from benchmarks.proxy.contenders.evenkeel import Evenkeel, Relay
from benchmarks.proxy.contenders.litellm import LiteLLM
from benchmarks.proxy.contenders.nginx import LARGE_BODIES, Nginx
from benchmarks.proxy.contenders.portkey import Portkey

if TYPE_CHECKING:
    from benchmarks.proxy.contenders.protocol import Contender

BUILTIN: tuple[Contender, ...] = (
    Direct(),
    Nginx("nginx"),
    Nginx("nginx-tuned", LARGE_BODIES),
    Evenkeel(),
    Relay(),
    LiteLLM(),
    Portkey(),
)
"""In the order of the table."""
