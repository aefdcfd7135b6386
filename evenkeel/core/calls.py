"""Blocking calls of people's services, by the way out that `network` describes, and what went wrong on it."""

from __future__ import annotations

import ssl

import httpx2

from evenkeel.core import network


def blocking_client(url: str, timeout_s: float) -> httpx2.Client:
    """Return a client for the server of a URL. Raises: NetworkError."""
    proxy = network.proxy_of(url)
    return httpx2.Client(
        verify=network.trust(),
        proxy=proxy.url if proxy else None,
        headers=dict(network.fixed_headers()),
        timeout=timeout_s,
        trust_env=False,
    )


def explained(error: Exception) -> str:
    """Return what a handshake or a proxy refused, and what to do about it; empty if it was something else."""
    if isinstance(error, httpx2.ProxyError):
        return network.proxy_problem(str(error))
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return network.tls_problem(cause)
        cause = cause.__cause__ or cause.__context__
    return ""
