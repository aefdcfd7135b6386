"""Checks before the start: what can be found wrong is said at once, in one line each."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from proxy.routing import Upstream

if TYPE_CHECKING:
    from evenkeel.settings import Settings

_CONNECT_S = 3.0


def unreachable_upstreams(settings: Settings) -> list[str]:
    """One line for each route whose upstream does not accept a connection now."""
    problems = []
    tried: dict[tuple[str, int], str | None] = {}
    for route in settings.routes:
        upstream = Upstream.parse(route.upstream)
        address = (upstream.host, upstream.port)
        if address not in tried:
            tried[address] = _connect(address)
        if tried[address]:
            problems.append(
                f"route {route.name}: the upstream {route.upstream} cannot be reached ({tried[address]}); "
                "its requests get 502 until it can. Check the URL and the network."
            )
    return problems


def missing_keys(settings: Settings) -> list[str]:
    """One line for each named credential whose variable is empty."""
    judge = settings.judge
    if judge and not os.environ.get(judge.api_key_env):
        return [
            (
                f"the judge {judge.model} has no key: the variable {judge.api_key_env} is empty. "
                "Set it, or name another with judge.api_key_env."
            )
        ]
    return []


def _connect(address: tuple[str, int]) -> str | None:
    try:
        with socket.create_connection(address, timeout=_CONNECT_S):
            return None
    except OSError as error:
        return error.strerror or str(error)
