"""Where evenkeel listens, and what it shows of itself."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from evenkeel.settings.values import HttpUrl, Port, Seconds, Section


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _with_trace_id(url: str) -> str:
    if "{trace_id}" not in url:
        raise ValueError(f"{url!r} does not say where the id goes: write {{trace_id}} there")
    return url


class Listen(Section):
    """Where the data plane listens. Applications use `http://HOST:PORT/v1` as base URL."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` for all."""
    port: Port = 8100
    """0 picks a free port."""

    processes: Annotated[int, Field(ge=1, le=64)] = 1
    """Data-plane processes that share the port; one a core is the most that helps."""

    @property
    def address(self) -> str:
        """Host and port as they stand in a URL."""
        return _address(self.host, self.port)


class Admin(Section):
    """Where metrics, health and the console listen: a port of their own."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8101
    """0 picks a free port."""
    token_env: str | None = None
    """Variable with the admin token; required beyond loopback."""
    hosts: list[str] = []
    """Names, besides addresses and `localhost`, under which a port without a token is reached; with a token
    none means any name."""

    @property
    def address(self) -> str:
        """Host and port as they stand in a URL."""
        return _address(self.host, self.port)

    @property
    def token(self) -> str | None:
        """The admin token, None if there is none."""
        return os.environ.get(self.token_env) if self.token_env else None

    @model_validator(mode="after")
    def _token_beyond_loopback(self) -> Admin:
        if self.token_env is None:
            if self.host not in {"127.0.0.1", "::1", "localhost"}:
                raise ValueError(
                    f"the admin port shows prompts and answers; to listen on {self.host}, set token_env"
                )
        elif not os.environ.get(self.token_env):  # on loopback too: who names one wants to be asked for it
            raise ValueError(f"the variable {self.token_env} named by token_env is empty")
        return self


class Telemetry(Section):
    """What evenkeel tells other systems about itself, besides its metrics."""

    traces: bool = False
    """Spans of sampled exchanges and their trials, by OTLP as the `OTEL_…` variables say; needs the
    extra `otel`."""
    content: bool = False
    """Whether spans carry prompts, answers and the judge's explanations."""
    trace_url: Annotated[HttpUrl, AfterValidator(_with_trace_id)] | None = None
    """Where a trace can be looked at, with `{trace_id}` in it; the pages of trials link there."""


class Console(Section):
    """What the web page shows."""

    trend_interval_s: Seconds = 10.0
    """Time between two points of a trend line."""
