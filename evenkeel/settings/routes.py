"""Routes: which requests go where, with which key, and how their exchanges are tried."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field, FilePath, model_validator

from evenkeel.core import network
from evenkeel.core.challenge import FRAGILE_POINTS, WORSE_POINTS
from evenkeel.core.tiers import Tier, tier_problem
from evenkeel.proxy import routing
from evenkeel.proxy.routing import RouteTable, Upstream
from evenkeel.settings.types import HttpUrl, Name, Points, Rate, Seconds, Section, UpstreamUrl, Variable
from evenkeel.shadow.prompt.segments import InputSource

PREFIX_PATTERN: Final = r"^(/[^/\s?#]+)*$"

if TYPE_CHECKING:
    from collections.abc import Sequence


class Credential(NamedTuple):
    """An API key and the header that carries it."""

    header: str
    value: str

    @classmethod
    def read(cls, variable: str, header: str) -> Credential | None:
        """The credential in an environment variable; None if the variable is empty."""
        key = os.environ.get(variable)
        if not key:
            return None
        # A bearer token has a scheme before it; headers such as `api-key` and `x-api-key` have none.
        name = header.lower()
        return cls(name, f"Bearer {key}" if name == "authorization" else key)

    def __repr__(self) -> str:
        return f"Credential(header={self.header!r})"


DEFAULT_PERTURBATIONS = (
    "general.whitespace",
    "general.punctuation",
    "general.casing",
    "general.spelling",
    "general.tone",
    "positional",
    "tools",
    "contrast",
)
"""Perturbations by rule that leave format and language of the answer alone, so they need no judge. With one,
another question is asked rarely."""


# An endpoint that is there answers within milliseconds; a fallback should not wait long for one that is not.
_CONNECT_S: Final = 5.0


class TimeoutSettings(Section):
    """Limits of a forwarded request, in seconds."""

    silence_s: Seconds = 600.0
    """Limit for the first byte of an answer, and between two bytes of it. Connecting may take 5 s of it."""
    total_s: Seconds | None = None
    """Limit for the whole request, streams included."""


class RouteBudgetSettings(Section):
    """Daily limit on what replays and judging of one route may cost, within the budget of all routes."""

    tokens_per_day: Annotated[int, Field(ge=0)] | None = None
    """Tokens per UTC day; `null` = no limit of its own."""
    usd_per_day: Annotated[float, Field(ge=0)] | None = None
    """US dollars per UTC day; `null` = no limit of its own."""


class Fallback(Section):
    """An endpoint that takes over, with its own keys; one without keys can be written as its URL alone."""

    url: UpstreamUrl
    """The endpoint."""
    api_key_env: Variable | None = None
    """Variable with the key that it is sent. Without one, a fallback of another origin gets no credential."""
    api_key_header: str = "authorization"
    """Header of that key; see the route's."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        # Most fallbacks need no key of their own: `fallbacks: [URL]` is enough.
        return {"url": value} if isinstance(value, str) else value


class RouteMatch(Section):
    """Conditions on the requests that a route takes; all that are set must hold."""

    prefix: Annotated[str, Field(pattern=PREFIX_PATTERN)] = ""
    """Path prefix; removed before forwarding."""
    hosts: list[str] = []
    """Values of `Host`, with or without the port."""
    headers: dict[str, str] = {}
    """Request headers: all of them, with these values."""
    key_fingerprints: list[str] = []
    """Fingerprints of API keys, as `printf %s "$KEY" | sha256sum | cut -c1-16` prints one."""


class Trials(Section):
    """Replays of the sampled exchanges of a route."""

    perturbations: list[str] = list(DEFAULT_PERTURBATIONS)
    """Perturbations to try, besides the control: names, categories (`format`) or patterns
    (`crosslingual.*_to_en`)."""
    inputs: Annotated[list[InputSource], Field(min_length=1)] = ["typed"]
    """Words that the input perturbations change: `typed` (what an end user typed), `documents`,
    `tool_results`, `instructions`."""
    plan: Literal["adaptive", "uniform"] = "adaptive"
    """`uniform` tries every sampled exchange alike. `adaptive` begins so; once every perturbation is known it
    tries several at once, splits them where answers move, and leaves out most exchanges while nothing is
    suspected."""
    per_exchange: Annotated[int, Field(ge=0, le=50)] = 2
    """Perturbed replays of each sampled exchange, besides the control; under the adaptive plan, while it is
    learning. 0 tries nothing else under any plan."""


class ContactSettings(Section):
    """Advice in messages about an incident of the route."""

    owner: str = ""
    """Person, team or rota to call, such as `@support-ml`."""
    runbook_url: HttpUrl | None = None
    """Instructions for the owner; messages link there."""
    rollback: str = ""
    """Command, sentence or URL that undoes the last release. Messages quote it."""


class MarginSettings(Section):
    """Differences, in points, up to which a challenger may take over."""

    worse: Points = WORSE_POINTS
    """Net losses: the share of the answers that are worse than today's minus the share that are better."""
    fragile: Points = FRAGILE_POINTS
    """Answers that rewordings move beyond noise, more than today."""


class ChallengerSettings(Section):
    """Another model or prompt that answers a share of the requests too, in the background."""

    model: str = ""
    """Model that is asked; "" = the one that the request names, if only the prompt is another."""
    upstream: UpstreamUrl | None = None
    """The endpoint with the same API; default: the route's."""
    key_env: Variable | None = None
    """Variable with the key for that endpoint; the route's own gets the key of its replays."""
    prompt: FilePath | None = None
    """File with the system prompt that replaces the request's."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.02
    """Share of the requests that are asked, at most the route's sampling rate."""
    margin: MarginSettings = MarginSettings()

    @model_validator(mode="after")
    def _differs(self) -> ChallengerSettings:
        if not (self.model or self.prompt or self.upstream):
            raise ValueError("name a model, a prompt or an upstream that differs from the route's own")
        return self


class Route(Section):
    """Route of the data plane and how its exchanges are tried."""

    name: Name = "default"
    """Label of the route in gauges and on the page."""
    upstream: UpstreamUrl
    """The endpoint. A client path under `/v1` is put on this URL's path, if it has one."""
    match: RouteMatch = RouteMatch()
    fallbacks: list[Fallback] = []
    """Endpoints to try in order when the one before does not take the request: URLs, or with keys."""
    share_credentials: bool = False
    """Gives fallbacks of another origin (scheme, host, port) the client's keys and cookies, and the keys of
    `upstream`."""
    api_key_env: Variable | None = None
    """Variable with the key that is sent upstream; without it the client's own key passes through."""
    api_key_header: str = "authorization"
    """Header of that key and of the replays' key: `authorization` sends `Bearer KEY`; any other one carries
    the bare key (`api-key`)."""
    replay_key_env: Variable | None = None
    """Variable with the key of replays to `upstream`; wins over `replays.api_key_env`."""
    timeouts: TimeoutSettings = TimeoutSettings()
    sampling_rate: Rate = 0.1
    """Share of eligible requests that are replayed."""
    task: str | None = None
    """Task of the route's requests, e.g. `case_summary`; the application's header wins. None = it is
    recognised where that is plain."""
    template: list[str] = []
    """The route's prompt template with its inputs as `{placeholders}`; none = it is learned."""
    trials: Trials = Trials()
    replay_tier: Tier = "standard"
    """Tier of replays that are not urgent: `flex` costs about half and takes minutes,
    where the provider has it."""
    budget: RouteBudgetSettings = RouteBudgetSettings()
    contact: ContactSettings = ContactSettings()
    challenger: ChallengerSettings | None = None

    @model_validator(mode="after")
    def _tier_exists(self) -> Route:
        problem = tier_problem(self.replay_tier, Upstream.parse(self.upstream).host)
        if problem:
            raise ValueError(f"replay_tier {self.replay_tier}: {problem}")
        return self


def route_table(routes: Sequence[Route], *, injecting: bool = True) -> RouteTable:
    """The routes as the data plane takes them.

    Args:
        routes: All of them.
        injecting: Whether the keys that are sent upstream are needed; only the data plane does.

    Raises: ValueError if two routes match the same requests, a rule is malformed, or a key is missing.
    """
    return RouteTable([_data_plane_route(route, injecting=injecting) for route in routes])


def _data_plane_route(route: Route, *, injecting: bool) -> routing.ProxyRoute:
    silence_s = route.timeouts.silence_s
    fallback_keys: list[tuple[tuple[bytes, bytes], ...]] = []
    fixed: list[tuple[bytes, bytes]] = []
    # Only a process that forwards has the keys; worker and monitor read the same routes without them.
    if injecting:
        for fallback in route.fallbacks:
            fallback_keys.append(_fields(route.name, fallback))
        for name, value in network.fixed_headers():
            fixed.append((name.encode(), value.encode()))
    return routing.ProxyRoute(
        name=route.name,
        upstream=Upstream.parse(route.upstream),
        fallbacks=tuple(Upstream.parse(fallback.url) for fallback in route.fallbacks),
        prefix=route.match.prefix,
        hosts=tuple(route.match.hosts),
        headers=tuple(route.match.headers.items()),
        key_fingerprints=tuple(route.match.key_fingerprints),
        sampling_rate=route.sampling_rate,
        timeouts=routing.Timeouts(min(_CONNECT_S, silence_s), silence_s, route.timeouts.total_s),
        inject=_fields(route.name, route) if injecting else (),
        fallback_inject=tuple(fallback_keys),
        fixed=tuple(fixed),
        share_credentials=route.share_credentials,
    )


def _fields(name: str, upstream: Route | Fallback) -> tuple[tuple[bytes, bytes], ...]:
    if not upstream.api_key_env:
        return ()
    credential = Credential.read(upstream.api_key_env, upstream.api_key_header)
    if credential is None:
        raise ValueError(f"route {name!r}: the variable {upstream.api_key_env} named by api_key_env is empty")
    return ((credential.header.encode(), credential.value.encode()),)
