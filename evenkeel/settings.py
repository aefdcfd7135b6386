"""Settings: what may stand in `evenkeel.yaml`, on the command line and in the environment.

Precedence: command line, then `EVENKEEL_…` variables (`EVENKEEL_LISTEN__PORT=8200`), then the
file, then the defaults. Secrets never stand in settings: a setting names the environment variable.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

import proxy.routing
from proxy.routing import RouteTable, Upstream

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PERTURBATIONS = (
    "general.whitespace",
    "general.punctuation",
    "general.casing",
    "general.spelling",
    "general.tone",
    "positional",
)
"""Those that work by rule and leave format and language of the answer alone: they need no judge."""


class SettingsError(Exception):
    """Settings that cannot be used. The message is one line: where, what is wrong, what to do."""


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
        name = header.lower()
        return cls(name, f"Bearer {key}" if name == "authorization" else key)

    def __repr__(self) -> str:
        return f"Credential(header={self.header!r})"


def _upstream(url: str) -> str:
    Upstream.parse(url)
    return url


def _http_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an http:// or https:// URL")
    return url


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Port = Annotated[int, Field(ge=0, le=65535)]
Rate = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
UpstreamUrl = Annotated[str, AfterValidator(_upstream)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Tag = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Listen(_Section):
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


class Admin(_Section):
    """Where metrics, health and the console listen: a port of their own."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8101
    """0 picks a free port."""
    token_env: str | None = None
    """Variable with the admin token; required beyond loopback."""

    @property
    def address(self) -> str:
        """Host and port as they stand in a URL."""
        return _address(self.host, self.port)

    @model_validator(mode="after")
    def _token_beyond_loopback(self) -> Admin:
        if self.host not in {"127.0.0.1", "::1", "localhost"}:
            if self.token_env is None:
                raise ValueError(
                    f"the admin port shows prompts and answers; to listen on {self.host}, set token_env"
                )
            if not os.environ.get(self.token_env):
                raise ValueError(f"the variable {self.token_env} named by token_env is empty")
        return self


class Timeouts(_Section):
    """Limits of a forwarded request, in seconds."""

    connect_s: Seconds = 5.0
    """For name resolution, TCP and TLS."""
    first_byte_s: Seconds = 600.0
    """From the end of the request to the first byte of the answer."""
    idle_s: Seconds = 600.0
    """Between two bytes of an answer."""
    total_s: Seconds | None = None
    """For the whole request, streams included."""


class RouteBudget(_Section):
    """What shadow calls of one route may cost per UTC day, within the budget of all. `null` = no limit."""

    tokens_per_day: Annotated[int, Field(ge=0)] | None = None
    """As for all routes."""
    usd_per_day: Annotated[float, Field(ge=0)] | None = None
    """As for all routes."""


class Route(_Section):
    """One route of the data plane and how its exchanges are tried."""

    name: Name = "default"
    """Label of the route in gauges and on the page."""
    prefix: Annotated[str, Field(pattern=r"^(/[^/\s?#]+)*$")] = ""
    """Path prefix that selects the route; removed before forwarding."""
    hosts: list[str] = []
    """`Host` values that select the route, with or without the port."""
    headers: dict[str, str] = {}
    """Request headers that select the route: all of them, with these values."""
    key_fingerprints: list[str] = []
    """API keys that select the route, by fingerprint: `evenkeel fingerprint` prints one."""
    upstream: UpstreamUrl
    """The endpoint. A client path under `/v1` is put on this URL's path, if it has one."""
    fallbacks: list[UpstreamUrl] = []
    """Endpoints to try in order when the one before does not take the request."""
    api_key_env: str | None = None
    """Variable with the key that is sent upstream; without it the client's own key passes through."""
    api_key_header: str = "authorization"
    """`authorization` sends `Bearer KEY`; any other header carries the bare key (`api-key`)."""
    timeouts: Timeouts = Timeouts()
    sampling_rate: Rate = 0.1
    """Share of eligible requests that are replayed."""
    task: str | None = None
    """Task of the route's requests, e.g. `case_summary`; the application's header wins. None = it is
    recognised where that is plain."""
    template: list[str] = []
    """The route's prompt template with its inputs as `{placeholders}`; none = it is learned."""
    perturbations: list[str] = list(DEFAULT_PERTURBATIONS)
    """Which kinds are tried, besides the identical resend: names, categories (`format`) or patterns
    (`crosslingual.*_to_en`)."""
    severities: Annotated[list[Rate], Field(min_length=1)] = [0.1, 0.3, 0.5]
    """Shares of the eligible places that are changed; one is drawn for each trial."""
    trials_per_exchange: Annotated[int, Field(ge=0, le=50)] = 2
    """Perturbed replays for each sampled exchange, besides the identical resend."""
    budget: RouteBudget = RouteBudget()


class Shadow(_Section):
    """How replays are sent."""

    api_key_env: str = "EVENKEEL_SHADOW_API_KEY"
    """Variable with the replays' own credential; sent only if it is set."""
    api_key_header: str = "authorization"
    """`authorization` sends `Bearer KEY`; any other header carries the bare key (`api-key`)."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Replays under way at once, all routes together."""
    timeout_s: Seconds = 120.0
    """Limit of one replay."""


class Budget(_Section):
    """What replays and judging may cost per UTC day, all routes together. `null` = no limit."""

    tokens_per_day: Annotated[int, Field(ge=0)] | None = 5_000_000
    """As the endpoints report them; estimated from the length where they do not."""
    usd_per_day: Annotated[float, Field(ge=0)] | None = 10.0
    """By `prices`, else public list prices; models without either count zero dollars."""
    spread: bool = True
    """A quarter is free at once and the rest as the day goes, so that nights are watched too."""


class Price(_Section):
    """What a model costs, in US dollars per million tokens."""

    input_usd: Annotated[float, Field(ge=0)]
    """Tokens of the prompt."""
    output_usd: Annotated[float, Field(ge=0)]
    """Tokens of the answer."""


class Rewriter(_Section):
    """An OpenAI-compatible model that paraphrases, changes the tone and translates."""

    base_url: HttpUrl = "https://api.openai.com/v1"
    """Its endpoint, up to and including the version."""
    model: str
    """Its model name."""
    stronger_model: str | None = None
    """Asked once when `model` has failed three times."""
    api_key_env: str = "EVENKEEL_REWRITER_API_KEY"
    """Variable with its key."""
    timeout_s: Seconds = 60.0
    """Limit of one call."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls under way at once, for each model."""
    headroom_tokens: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Tokens allowed beyond the text itself; some thousand for models that reason first."""
    check_meaning: bool | None = None
    """Whether the judge checks that a text still means the same; `null` = if there is a judge."""


class Quality(_Section):
    """A quality of answers that the judge rates, in words."""

    description: Annotated[str, Field(min_length=1)]
    """What to look at."""
    scale: dict[int, str]
    """What 3 (best), 2 and 1 mean."""


class Scoring(_Section):
    """How answers are compared."""

    embeddings: bool | None = None
    """Sentence embeddings; `null` uses them if the extra `semantic` is installed."""
    bands: Path | None = None
    """File that says which pairs are clear without the judge; none = careful defaults."""
    qualities: dict[str, Quality] = {}
    """Further qualities that the judge rates, by name."""
    tasks: dict[str, list[str]] = {}
    """Which qualities the judge rates in a task, in place of the task's own."""


class Judge(_Section):
    """An OpenAI-compatible model that rates pairs of answers."""

    base_url: HttpUrl = "https://api.openai.com/v1"
    """Its endpoint, up to and including the version."""
    model: str
    """Its model name."""
    api_key_env: str = "EVENKEEL_JUDGE_API_KEY"
    """Variable with its key."""
    timeout_s: Seconds = 60.0
    """Limit of one call."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls under way at once."""
    requests_per_minute: Annotated[float, Field(ge=1)] | None = None
    """Pace of the calls; `null` = as the endpoint's `Retry-After` asks."""
    tokens_per_minute: Annotated[float, Field(ge=1)] | None = None
    """Pace of prompt and completion tokens together."""
    reply_tokens: Annotated[int, Field(ge=1, le=100_000)] = 300
    """Usual length of a reply, for the budget; some thousand for models that reason."""
    votes: Annotated[int, Field(ge=1, le=9)] = 1
    """Calls for one rating, an odd number; the median counts."""
    swap_share: Rate = 0.5
    """Share of the similarity calls that show the two answers in the other order."""
    recheck_share: Rate = 0.02
    """Share of the judged pairs that are judged again, to measure the judge's own noise."""
    cascade: bool = True
    """Whether cheap metrics decide the pairs that are clear, and the judge the others."""
    audit_share: Rate = 0.05
    """Share of the pairs decided by cheap metrics that the judge rates as well, to watch the agreement."""

    @model_validator(mode="after")
    def _odd_votes(self) -> Judge:
        if self.votes % 2 == 0:
            raise ValueError(f"votes must be odd, so that there is a median; {self.votes} is even")
        return self


class Alert(_Section):
    """When an alert is raised, and where it goes."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of content shifts above the noise floor that is tolerated."""
    mean_trials_between_false_alarms: Annotated[int, Field(ge=10)] = 10_000
    """For each cell; holds whatever the data."""
    min_trials: Annotated[int, Field(ge=1)] = 30
    """Nothing is reported of a cell with fewer."""
    webhook: HttpUrl | None = None
    """Gets each alert as a JSON POST."""


class Telemetry(_Section):
    """What evenkeel tells other systems about itself, besides its metrics."""

    traces: bool = False
    """Spans of sampled exchanges, by OTLP as the `OTEL_…` variables say; needs the extra `otel`."""


class Console(_Section):
    """What the web page shows."""

    trend_interval_s: Seconds = 10.0
    """Time between two points of a trend line."""


def route_table(routes: Sequence[Route]) -> RouteTable:
    """The routes as the data plane takes them.

    Raises: ValueError if two routes cannot be told apart, or a rule or credential is malformed.
    """
    return RouteTable([_data_plane_route(route) for route in routes])


def _data_plane_route(route: Route) -> proxy.routing.Route:
    inject: tuple[tuple[bytes, bytes], ...] = ()
    if route.api_key_env:
        credential = Credential.read(route.api_key_env, route.api_key_header)
        if credential is None:
            raise ValueError(
                f"route {route.name!r}: the variable {route.api_key_env} named by api_key_env is empty"
            )
        inject = ((credential.header.encode(), credential.value.encode()),)
    return proxy.routing.Route(
        name=route.name,
        upstream=Upstream.parse(route.upstream),
        fallbacks=tuple(map(Upstream.parse, route.fallbacks)),
        prefix=route.prefix,
        hosts=tuple(route.hosts),
        headers=tuple(route.headers.items()),
        key_fingerprints=tuple(route.key_fingerprints),
        sampling_rate=route.sampling_rate,
        timeouts=proxy.routing.Timeouts(**route.timeouts.model_dump()),
        inject=inject,
    )


class Settings(BaseSettings):
    """Everything `evenkeel up` can be told."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="EVENKEEL_",
        env_nested_delimiter="__",
        use_attribute_docstrings=True,
    )

    listen: Listen = Listen()
    admin: Admin = Admin()
    data_dir: Path = Path("evenkeel-data")
    """Folder of the store."""
    routes: Annotated[list[Route], Field(min_length=1)]
    shadow: Shadow = Shadow()
    budget: Budget = Budget()
    judge: Judge | None = None
    rewriter: Rewriter | None = None
    languages: list[Tag] = []
    """Further target languages of `multilingual`, as BCP 47 tags."""
    compounds: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")], list[str]] = {}
    """Further `compound.NAME` kinds: the kinds they apply, one after another."""
    prices: dict[str, Price] = {}
    """Prices of models that the public list lacks, by model name."""
    scoring: Scoring = Scoring()
    alert: Alert = Alert()
    console: Console = Console()
    telemetry: Telemetry = Telemetry()
    simulated: bool = False
    """Says on every page that the upstream is a simulation."""

    @model_validator(mode="after")
    def _routes_differ(self) -> Settings:
        route_table(self.routes)
        return self

    def base_url(self, route: Route) -> str:
        """What an application sets as its base URL to use a route."""
        return f"http://{self.listen.address}{route.prefix}/v1"


def load(path: Path | None, overrides: dict[str, Any], route: dict[str, Any]) -> Settings:
    """Read the settings file and the environment, and lay the command line's values over them.

    Args:
        path: the YAML file, None for none.
        overrides: nested values from the command line.
        route: command-line values of the route, for a setup that has one.

    Raises:
        SettingsError: with a one-line message.
    """
    raw = _read_yaml(path) if path else {}
    where = str(path) if path else "settings"
    if route:
        routes = raw.setdefault("routes", [{}])
        if not isinstance(routes, list) or len(routes) != 1 or not isinstance(routes[0], dict):
            raise SettingsError(
                f"{where}: has several routes; set {', '.join(sorted(route))} there, for each route"
            )
        routes[0].update(route)
    if "routes" not in raw and "EVENKEEL_ROUTES" not in os.environ:
        raise SettingsError(
            f"{where}: no upstream to forward to; name one with --upstream URL, or under `routes:` in a file"
        )

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, InitSettingsSource(settings_cls, raw)

    try:
        return Loaded(**overrides)
    except ValidationError as error:
        raise SettingsError(f"{where}: {_describe(error)}") from error


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        raise SettingsError(f"{path}:{line} is not YAML: {getattr(error, 'problem', error)}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise SettingsError(f"{path}: must be a mapping such as `routes: [...]`, not a {type(raw).__name__}")
    return raw


def _describe(error: ValidationError) -> str:
    """The first fault in one line, and how many more there are."""
    faults = error.errors()
    fault = faults[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if fault["type"] == "extra_forbidden":
        unknown = str(fault["loc"][-1])
        near = difflib.get_close_matches(unknown, _known_names(), n=1)
        text = f"{place}: unknown setting" + (f"; did you mean {near[0]!r}?" if near else "")
    else:
        message = fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] in {"missing", "value_error"} else f" (it is {fault['input']!r})"
        text = f"{place}: {message}{given}" if place else message
    return text + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")


def _known_names() -> list[str]:
    sections: list[type[BaseModel]] = [Settings, *_Section.__subclasses__()]
    return [name for section in sections for name in section.model_fields]
