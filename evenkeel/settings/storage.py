"""Settings of the store: limits, protection, Redis, and the part of one of several monitors."""

from __future__ import annotations

import os
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from evenkeel.settings.types import Section, check_extra
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of

PASSWORD_VARIABLE: Final = "EVENKEEL_REDIS_PASSWORD"  # noqa: S105 - the variable's name
SENTINEL_PASSWORD_VARIABLE: Final = "EVENKEEL_REDIS_SENTINEL_PASSWORD"  # noqa: S105 - the variable's name


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise ValueError(f"{parts.scheme}://… is not a redis://, rediss:// or unix:// URL")
    if parts.password is not None or "password=" in parts.query:
        raise ValueError(f"carries a password; put it into the variable {PASSWORD_VARIABLE}")
    return url


RedisUrl = Annotated[str, AfterValidator(_without_credentials)]
ADDRESS_PATTERN: Final = r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$"
Address = Annotated[str, Field(pattern=ADDRESS_PATTERN)]


class Redis(Section):
    """A Redis 7 in place of the data folder, for several proxies, workers and monitors; none = SQLite.

    Needs the extra `redis`. Passwords come from `EVENKEEL_REDIS_PASSWORD` and, for Sentinels,
    `EVENKEEL_REDIS_SENTINEL_PASSWORD`; authorities and a client certificate from the variables that every
    other call uses.
    """

    url: RedisUrl
    """`redis://USER@HOST:PORT/DB`, `rediss://` for TLS, `unix://PATH`; USER is an ACL user. Of a Cluster
    any node; with Sentinels the host does not count."""
    sentinels: list[Address] = []
    """Sentinels, as `host:port`, that know where the primary is."""
    sentinel_master: str | None = None
    """Name of the group that they watch."""
    cluster: bool = False
    """Set for a Redis Cluster."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,40}$")] = "evenkeel"
    """Begins every key, so that several installations can share a Redis."""
    replicas: Annotated[int, Field(ge=0, le=10)] = 0
    """Replicas that must have an exchange or a verdict before it counts as kept; with 0 a failover may lose
    the last ones."""
    megabytes: Annotated[float, Field(gt=0)] = 1024.0
    """Memory that waiting exchanges may take there; further ones are not scored, and counted."""

    @model_validator(mode="after")
    def _one_kind(self) -> Redis:
        check_extra("redis", "redis")
        if bool(self.sentinels) != bool(self.sentinel_master):
            raise ValueError("sentinels and sentinel_master go together: set both or none")
        if self.cluster and (self.sentinels or self.replicas):
            raise ValueError("a Cluster looks after itself: set cluster, or sentinels and replicas")
        return self

    @property
    def password(self) -> str | None:
        """Password in the variable; None if it is empty."""
        return os.environ.get(PASSWORD_VARIABLE) or None

    @property
    def sentinel_password(self) -> str | None:
        """Password of the Sentinels in the variable; None if it is empty."""
        return os.environ.get(SENTINEL_PASSWORD_VARIABLE) or None


class MonitorSection(Section):
    """Name of one of several monitors on a Redis."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}$")] | None = None
    """Names its checkpoint: each monitor its own, the same one after a restart; none = the host's name."""


Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
BuiltinKind = Literal["api_key", "card", "email", "iban", "ip", "jwt", "phone", "secret"]


class Presidio(Section):
    """Recognition of names, places and the like by Presidio; needs the extra `presidio` and a spaCy model."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] = "en"
    """Language of the traffic."""
    entities: list[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,40}$")]] = ["PERSON", "LOCATION"]
    """Kinds that are replaced, as Presidio names them; none = all it knows."""

    @model_validator(mode="after")
    def _installed(self) -> Presidio:
        check_extra("presidio_analyzer", "presidio")
        return self


class Redaction(Section):
    """Values that placeholders replace in sampled exchanges before they are stored."""

    kinds: list[BuiltinKind] = []
    """Built-in patterns."""
    patterns: dict[Kind, Annotated[str, Field(min_length=1, max_length=500)]] = {}
    """Patterns of your own by kind, in RE2's syntax; the first group, if there is one, is replaced. They need
    the extra `patterns`."""
    presidio: Presidio | None = None

    @model_validator(mode="after")
    def _compiles(self) -> Redaction:
        if self.patterns:
            check_extra("re2", "patterns")
            # Loaded on demand: most settings have no pattern, and a proxy stays small.
            from evenkeel.shadow.protection.detectors import OwnPattern, ProtectionError  # noqa: PLC0415

            for kind, written in self.patterns.items():
                try:
                    OwnPattern(kind, written)
                except ProtectionError as error:
                    raise ValueError(str(error)) from error
        return self

    @property
    def active(self) -> bool:
        """Tell whether anything is replaced."""
        return bool(self.kinds or self.patterns or self.presidio)


class Storage(Section):
    """Exchanges and verdicts that are kept, for how long, and their protection.

    An exchange waits for a worker for a day at most; its bodies are deleted then, scored or not.
    """

    verdicts: Annotated[int, Field(ge=1_000)] = 500_000
    """Verdicts kept, the newest; one takes 1 kB, on a Redis 1.5 kB."""
    evidence: Annotated[int, Field(ge=0)] = 20_000
    """Verdicts of which prompts and answers are kept, the newest."""
    evidence_days: Annotated[float, Field(gt=0)] = 30.0
    """Days that these prompts and answers, and archived exchanges, are kept."""
    archive: Annotated[int, Field(ge=0, le=100_000)] = 1_000
    """Sampled exchanges kept per route, the newest, so that they can be approved as goldens; 0 keeps none,
    and drops those that were kept."""
    encrypted: bool = False
    """Makes evenkeel start only if prompts and answers are encrypted, by a key in `EVENKEEL_PAYLOAD_KEY`."""
    redaction: Redaction = Redaction()
    redis: Redis | None = None

    @property
    def shared_at(self) -> str | None:
        """Address of the store that several machines share; None for the file of the data folder."""
        return None if self.redis is None else self.redis.url

    @model_validator(mode="after")
    def _has_key(self) -> Storage:
        if self.encrypted:
            try:
                active = seal_of(os.environ).active
            except SealError as error:
                raise ValueError(str(error)) from error
            if not active:
                raise ValueError(
                    f"encrypted is set, but {KEY_VARIABLE} holds no key; make one with: "
                    "openssl rand -base64 32"
                )
        return self
