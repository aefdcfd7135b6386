"""Settings of the store (limits, redaction, encryption, Redis) and the name of a monitor."""

from __future__ import annotations

import os
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from evenkeel.settings.types import Section, check_extra
from evenkeel.stores.sealing import Seal, seal_of

PASSWORD_VARIABLE: Final = "EVENKEEL_REDIS_PASSWORD"  # noqa: S105 - the variable's name
SENTINEL_PASSWORD_VARIABLE: Final = "EVENKEEL_REDIS_SENTINEL_PASSWORD"  # noqa: S105 - the variable's name


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    # The URL is shown in banners and on pages, so it may hold nothing secret.
    if parts.scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("is not a redis://, rediss:// or unix:// URL")
    if parts.password is not None or "password=" in parts.query:
        raise ValueError(f"carries a password; put it into the variable {PASSWORD_VARIABLE}")
    return url


RedisUrl = Annotated[str, AfterValidator(_without_credentials)]
ADDRESS_PATTERN: Final = r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$"
Address = Annotated[str, Field(pattern=ADDRESS_PATTERN)]


class Redis(Section):
    """A Redis 7 in place of the data folder, for several proxies, workers and monitors; none = SQLite.

    Needs the extra `redis`. Passwords come from `EVENKEEL_REDIS_PASSWORD` and, for Sentinels,
    `EVENKEEL_REDIS_SENTINEL_PASSWORD`. Certificate authorities and a client certificate come from the same
    variables as for all other connections.
    """

    url: RedisUrl
    """`redis://USER@HOST:PORT/DB`, `rediss://` for TLS, `unix://PATH`; USER is an ACL user. For a Cluster,
    any of its nodes. With Sentinels the host is ignored."""
    sentinels: list[Address] = []
    """Addresses of the Sentinels, as `host:port`. They tell where the primary is."""
    sentinel_master: str | None = None
    """Name of the primary's group in the Sentinels' configuration."""
    cluster: bool = False
    """True for a Redis Cluster."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,40}$")] = "evenkeel"
    """Prefix of every key, so that several installations can share a Redis."""
    replicas: Annotated[int, Field(ge=0, le=10)] = 0
    """Replicas that must confirm an exchange or a verdict before it counts as stored; with 0 a failover may
    lose the last ones."""
    megabytes: Annotated[float, Field(gt=0)] = 1024.0
    """Most memory for waiting exchanges. When it is used up, further exchanges are dropped and counted."""

    @model_validator(mode="after")
    def _one_kind(self) -> Redis:
        check_extra("redis", "redis")
        if bool(self.sentinels) != bool(self.sentinel_master):
            raise ValueError("sentinels and sentinel_master go together: set both or none")
        if self.cluster and (self.sentinels or self.replicas):
            raise ValueError("a Cluster looks after itself: set cluster, or sentinels and replicas")
        return self


class MonitorSection(Section):
    """Name of a monitor, where several share a Redis."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}$")] | None = None
    """Name of its checkpoint. Each monitor needs its own, and the same one after a restart; none = the host's
    name."""


Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
BuiltinKind = Literal["api_key", "card", "email", "iban", "ip", "jwt", "phone", "secret"]


class Presidio(Section):
    """Recognition of names, places and other entities by Presidio.

    Needs the extra `presidio` and a spaCy model.
    """

    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] = "en"
    """Language of the traffic."""
    entities: list[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,40}$")]] = ["PERSON", "LOCATION"]
    """Presidio's names of the entities to replace; none = all that it recognises."""

    @model_validator(mode="after")
    def _installed(self) -> Presidio:
        check_extra("presidio_analyzer", "presidio")
        return self


class Redaction(Section):
    """Values that placeholders replace in sampled exchanges before they are stored."""

    kinds: list[BuiltinKind] = []
    """Built-in patterns."""
    patterns: dict[Kind, Annotated[str, Field(min_length=1, max_length=500)]] = {}
    """Your own patterns by kind, in RE2 syntax. The first group is replaced, without groups the whole match.
    Needs the extra `patterns`."""
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
        """True if any detector is configured."""
        return bool(self.kinds or self.patterns or self.presidio)


class Storage(Section):
    """Retention and protection of exchanges and verdicts.

    An exchange waits for a worker for at most a day; then its bodies are deleted, scored or not.
    """

    verdicts: Annotated[int, Field(ge=1_000)] = 500_000
    """Number of the newest verdicts to keep. A verdict takes 1 kB, on a Redis 1.5 kB."""
    evidence: Annotated[int, Field(ge=0)] = 20_000
    """Number of the newest verdicts whose prompts and answers are kept."""
    evidence_days: Annotated[float, Field(gt=0)] = 30.0
    """Days after which these prompts and answers, and archived exchanges, are deleted."""
    archive: Annotated[int, Field(ge=0, le=100_000)] = 1_000
    """Number of the newest sampled exchanges to keep per route, so that they can be approved as goldens; 0
    keeps none and deletes the stored ones."""
    encrypted: bool = False
    """Refuse to start unless `EVENKEEL_PAYLOAD_KEY` holds a key, with which prompts and answers are
    encrypted."""
    redaction: Redaction = Redaction()
    redis: Redis | None = None

    @property
    def shared_at(self) -> str | None:
        """URL of the shared Redis; None for the SQLite file in the data folder."""
        return None if self.redis is None else self.redis.url

    @property
    def seal(self) -> Seal:
        """Seal of prompts and answers, with the keys of the environment.

        Raises: SealError for keys that cannot be used.
        """
        return seal_of(os.environ, required=self.encrypted)
