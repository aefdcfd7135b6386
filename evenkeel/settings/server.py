"""Settings of the data plane's port, of access to the admin port, and of telemetry."""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from evenkeel.core import network
from evenkeel.core.endpoint import Upstream
from evenkeel.logs import Format, Level
from evenkeel.settings.types import HttpUrl, Port, Section, Variable, check_extra, secret
from evenkeel.stores.audit_log import is_name

Role = Literal["scraper", "viewer", "labeller", "approver", "admin"]

ADMIN_TOKEN_VARIABLE: Final = "EVENKEEL_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
SESSION_KEY_VARIABLE: Final = "EVENKEEL_SESSION_KEY"
SCORES_KEY_VARIABLE: Final = "EVENKEEL_SCORES_KEY"
# Characters. Shorter ones can be guessed.
_SHORTEST_TOKEN = 16


def _long_enough(token: str, where: str) -> str:
    if len(token) < _SHORTEST_TOKEN:
        raise ValueError(
            f"the token in {where} has {len(token)} characters; it needs at least {_SHORTEST_TOKEN}: "
            "make one with `openssl rand -hex 24`"
        )
    return token


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("is no name; take 1 to 200 visible characters")
    return text


def _network(text: str) -> str:
    return str(ip_network(text))


# With "_" too, which names of containers may have.
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Without "*": an origin that means all others would let every web page use the route's key.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*]+")
# Browsers leave these ports out of an `Origin`.
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def _host_name(text: str) -> str:
    with contextlib.suppress(ValueError):
        return str(ip_address(text.strip("[]")))
    if not _HOST_NAME.fullmatch(text):
        raise ValueError("is no host; write a name or an address, without scheme and port")
    return text.lower()


def _origin(text: str) -> str:
    origin = text.lower()
    if not _ORIGIN.fullmatch(origin):
        raise ValueError("is no origin; write scheme, host and port, like https://app.example.com")
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition("://")[0], ":"))


HostName = Annotated[str, AfterValidator(_host_name)]
Origin = Annotated[str, AfterValidator(_origin)]
PersonName = Annotated[str, AfterValidator(_name)]
Network = Annotated[str, AfterValidator(_network)]


class Person(Section):
    """Person or program with a name of its own on the admin port; without a token, through a login."""

    name: PersonName
    """Name that the audit log records for actions under this token."""
    token_env: Variable | None = None
    """Variable with the token."""
    role: Role = "viewer"
    """`scraper` reads `/metrics` and nothing else, `viewer` reads, `labeller` also says what verdicts are
    worth, `approver` also approves goldens and baselines and deletes references, `admin` also sees settings
    and the audit log."""

    @property
    def token(self) -> str | None:
        """The token; None if no variable is named. Raises: ValueError if the variable is empty."""
        if self.token_env is None:
            return None
        if not os.environ.get(self.token_env):
            raise ValueError(f"the variable named by the token_env of {self.name} is empty")
        return _long_enough(os.environ[self.token_env], f"the variable named by the token_env of {self.name}")

    @model_validator(mode="after")
    def _scraper_has_token(self) -> Person:
        if self.token_env is None and self.role == "scraper":
            raise ValueError(f"{self.name} has no token_env")
        return self


class Login(Section):
    """A proxy in front of the admin port that has people sign in, and says in a header who they are."""

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,60}$")] = "x-forwarded-user"
    """Header with the name. The proxy must replace one that a client sends."""
    addresses: list[Network] = []
    """Addresses, or networks, of the proxy: nobody else is believed. May be empty with
    `access.tls.client_ca_file`; then everybody who has a certificate is."""
    role: Role = "viewer"
    """Role of everybody who is not among the people."""


# All addresses, and the one at which this machine reaches itself.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nobody listens there by default


def _address(host: str, port: int) -> str:
    host = _EVERYWHERE.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _with_trace_id(url: str) -> str:
    if "{trace_id}" not in url:
        raise ValueError(f"{url!r} does not say where the id goes: write {{trace_id}} there")
    return url


class Listen(Section):
    """Port of the data plane. Applications use `http://HOST:PORT/v1` as base URL."""

    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` for all."""
    port: Port = 8100
    """0 picks a free port."""

    processes: Annotated[int, Field(ge=1, le=64)] = 1
    """Data-plane processes that share the port; one a core is the most that helps."""
    hosts: list[HostName] = []
    """Names and addresses, without a port, by which applications reach routes with `api_key_env`, besides
    `localhost`, loopback and `host`; with a `host` of `0.0.0.0` every address."""
    origins: list[Origin] = []
    """Origins of the web pages that may use routes with `api_key_env`, like `https://app.example.com`."""
    proxies: list[Network] = []
    """Addresses, or networks, of load balancers whose `X-Forwarded-For` names the client's address. It tells
    clients without a key apart, and decides nothing else."""
    session_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,60}$")] = ""
    """Header with which clients already name a session, such as `x-session-id`; it is forwarded, and only a
    hash of it is kept. `x-evenkeel-session` wins over it."""

    @property
    def address(self) -> str:
        """Host and port as they stand in a URL."""
        return _address(self.host, self.port)

    def is_at(self, upstream: Upstream) -> bool:
        """Return whether an upstream is this port; False for a port that is picked at the start."""
        if upstream.unix_path is not None or upstream.port != self.port:
            return False
        if upstream.host == self.host:
            return True
        both = {upstream.host, self.host}
        if self.host in _EVERYWHERE:
            return network.is_loopback(upstream.host)
        return "localhost" in both and all(map(network.is_loopback, both))


class Tls(Section):
    """Certificates of the admin port."""

    cert_file: Path
    """Certificate of the port, in PEM, with those between it and its authority."""
    key_file: Path
    """Key, in PEM, without a password."""
    client_ca_file: Path | None = None
    """Authorities, in PEM, one of which must have signed the certificate of every client; none = clients
    show no certificate."""

    def context(self) -> ssl.SSLContext:
        """Context with which the port speaks TLS, 1.2 or later.

        Raises: ValueError that names the file if one of them cannot be used.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Older versions are broken, and every browser has had this one since 2014.
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # Without the callback OpenSSL would ask for a password at the terminal, and a service would hang.
            context.load_cert_chain(self.cert_file, self.key_file, _no_password)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"the certificate {self.cert_file} cannot be used with the key {self.key_file}: {error}"
            ) from error
        if self.client_ca_file is not None:
            try:
                context.load_verify_locations(self.client_ca_file)
            except OSError as error:
                raise ValueError(f"{self.client_ca_file} has no usable authorities: {error}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def _no_password() -> str:
    raise ValueError("the key is protected by a password")


class Access(Section):
    """Admin port, with metrics, health and console, and who may open it.

    The variable `EVENKEEL_ADMIN_TOKEN` holds the admin token, of at least 16 characters. It is required
    beyond loopback, unless people have tokens, come through a login proxy or show certificates. Once people
    are named or sign in, whoever has it only reads. Without one a token is made at the first start on
    loopback, in the file `admin-token` of the data folder.
    """

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 8101
    """0 picks a free port."""
    open_on_loopback: bool = False
    """Lets everybody on this machine in without a token."""
    people: list[Person] = []
    """People and programs with a name, and a role, of their own. Prometheus needs the role `scraper`."""
    login: Login | None = None
    """Proxy that signs people in; none = no header with a name is believed."""
    tls: Tls | None = None
    """Makes the port speak TLS."""
    hosts: list[str] = []
    """Names, besides addresses and `localhost`, under which a port without a token is reached; with a token
    none means any name."""

    @property
    def address(self) -> str:
        """Host and port as they stand in a URL; of a port on all addresses, its first name."""
        # Nobody can open 0.0.0.0, so a name by which the port is reached goes before it.
        named = self.hosts[:1] if self.host in _EVERYWHERE else []
        return _address(named[0] if named else self.host, self.port)

    @property
    def url(self) -> str:
        """Address of the port for a browser."""
        return f"{'https' if self.tls else 'http'}://{self.address}"

    def tls_context(self) -> ssl.SSLContext | None:
        """Context with which the port speaks TLS, if it does. Raises: ValueError, as `Tls.context`."""
        return None if self.tls is None else self.tls.context()

    @property
    def token(self) -> str:
        """The admin token; "" if there is none."""
        return secret(ADMIN_TOKEN_VARIABLE)

    @property
    def session_key(self) -> str:
        """Key that encrypts cookies; "" if it is made at the first start.

        All monitors behind one address need the same one.
        """
        return secret(SESSION_KEY_VARIABLE)

    @property
    def asks(self) -> bool:
        """Tell whether everybody needs a token or a login that the settings name."""
        return bool(self.token) or bool(self.people) or self.login is not None

    @property
    def makes_tokens(self) -> bool:
        """Tell whether everybody needs a token that evenkeel makes for itself."""
        return not (self.asks or self._certified or self.open_on_loopback)

    @property
    def _certified(self) -> bool:
        return self.tls is not None and self.tls.client_ca_file is not None

    @model_validator(mode="after")
    def _somebody_gets_in(self) -> Access:
        if len({person.name for person in self.people}) < len(self.people):
            raise ValueError("two of the people have the same name")
        if self.login is not None and not self.login.addresses and not self._certified:
            raise ValueError("login.addresses is empty: name the proxy, or set tls.client_ca_file")
        # A person without a token comes through a login; with neither, nobody on the list can sign in.
        if self.people and self.login is None and not any(person.token_env for person in self.people):
            raise ValueError("none of the people can get in: give them token_env, or set login")
        return self

    def check_secrets(self) -> None:
        """Check what only a process that serves the port holds: tokens, the session key and the TLS key.

        Raises: ValueError that names the variable or the file.
        """
        tokens = []
        if self.token:
            tokens.append(_long_enough(self.token, f"the variable {ADMIN_TOKEN_VARIABLE}"))
        if self.session_key:
            _long_enough(self.session_key, f"the variable {SESSION_KEY_VARIABLE}")
        for person in self.people:
            if (token := person.token) is not None:
                tokens.append(token)
        if len(set(tokens)) < len(tokens):
            raise ValueError(
                f"two of access.people have the same token, or somebody has that of {ADMIN_TOKEN_VARIABLE}"
            )
        self.tls_context()
        asks = self.asks or self._certified
        if not asks and self.host not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError(
                f"the admin port shows prompts and answers; to listen on {self.host}, put a token into "
                f"{ADMIN_TOKEN_VARIABLE}, or set people, login or tls.client_ca_file"
            )
        if asks and self.open_on_loopback:
            raise ValueError(
                "access.open_on_loopback is set beside what asks who somebody is: take one of them out"
            )


class Scores(Section):
    """Ratings as scores of your own traces, which requests name by their `traceparent`.

    The key is read from `EVENKEEL_SCORES_KEY`: `PUBLIC:SECRET` for Langfuse, an API key for Phoenix.
    """

    service: Literal["langfuse", "phoenix"]
    """Service whose score API is called."""
    url: HttpUrl
    """Address of the service, without a path of its API."""


class Telemetry(Section):
    """Logs, traces and details of the metrics."""

    traces: bool = False
    """Sends spans of sampled exchanges and their trials, and ratings as events of the log
    (`gen_ai.evaluation.result`), by OTLP as the `OTEL_…` variables say; `OTEL_LOGS_EXPORTER=none` leaves the
    events out. Needs the extra `tracing`."""
    content: bool = False
    """Puts prompts, answers and the judge's explanations into spans and events."""
    trace_url: Annotated[HttpUrl, AfterValidator(_with_trace_id)] | None = None
    """Address of a trace, with `{trace_id}` in it; the pages of trials link there."""
    scores: Scores | None = None
    """Sends each rating to the trace that the request belongs to, in Langfuse or Phoenix; none is sent unless
    it is set. Needs neither `traces` nor the extra."""

    log_level: Level = "info"
    """Least severe events that are logged, to standard error. Takes effect while evenkeel runs."""
    log_format: Format = "auto"
    """Form of a line: `text`, or `json` for a log store. `auto` = text at a terminal, else JSON."""

    @model_validator(mode="after")
    def _can_trace(self) -> Telemetry:
        if self.traces:
            check_extra("opentelemetry.sdk", "tracing")
        return self
