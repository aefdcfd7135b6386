"""Checks before the start. Each problem is reported at once, in one line."""

from __future__ import annotations

import asyncio
import contextlib
import os
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, cast
from urllib.parse import urlsplit

from evenkeel.core.network import CERT_VARIABLE, TRUST_VARIABLE, NetworkError, is_loopback
from evenkeel.llm.providers import small_model
from evenkeel.proxy.callers import EVERYWHERE
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.limits import Limits
from evenkeel.proxy.pool import Pool
from evenkeel.proxy.routing import Upstream
from evenkeel.runtime.stores import connect
from evenkeel.settings.credentials import shadow_origin
from evenkeel.settings.scoring import JudgeSettings
from evenkeel.settings.storage import PASSWORD_VARIABLE
from evenkeel.settings.types import without_credentials
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from evenkeel.proxy.upstream import Downstream, UpstreamConnection
    from evenkeel.settings import Fallback, Route, Settings
    from evenkeel.settings.replay import RewriterSettings

Role = Literal["proxy", "worker", "monitor"]

# Long enough for a far endpoint, short enough to wait for at the start.
_CONNECT_S = 3.0
_FAULTS: Final = {
    ForwardingFault.UNRESOLVED: "its name is not known",
    ForwardingFault.REFUSED: "Connection refused",
    ForwardingFault.CONNECT_TIMEOUT: "timed out",
}
# Roles that call each model; None stands for all roles in one place.
_ASKED_BY: Final[dict[str, tuple[Role | None, ...]]] = {
    "judge": (None, "worker", "monitor"),
    "replays.rewriter": (None, "worker"),
}


def unreachable_upstreams(settings: Settings) -> list[str]:
    """Return a problem for each upstream that does not accept a connection now."""
    problems = []
    tried: dict[Upstream, str] = {}
    for route in settings.routes:
        for url in (route.upstream, *(fallback.url for fallback in route.fallbacks)):
            upstream = Upstream.parse(url)
            if upstream not in tried:
                tried[upstream] = _connect(upstream)
            if tried[upstream]:
                alone = "its requests get 502 until it can" if not route.fallbacks else "others take its part"
                problems.append(
                    f"route {route.name}: the upstream {url} cannot be reached ({tried[upstream]}); {alone}. "
                    "Check the URL and the network."
                )
    return problems


def missing_keys(settings: Settings, role: Role | None = None) -> list[str]:
    """Return a problem for each empty variable of a credential that a role uses; None = all roles."""
    problems = []
    if role in (None, "proxy"):
        for route in settings.routes:
            for fallback in _with_fallbacks(route):
                variable = fallback.api_key_env
                if variable and not _held(variable):
                    problems.append(
                        f"route {route.name}: the variable {variable} named by api_key_env is empty; its "
                        "requests need the key"
                    )
    problems += _missing_replay_keys(settings, role)
    models = {"judge": settings.judge, "replays.rewriter": settings.replays.rewriter}
    for part, model in models.items():
        is_local = isinstance(model, JudgeSettings) and model.local is not None
        if model is None or is_local or role not in _ASKED_BY[part]:
            continue
        if not _held(model.api_key_env) and _needs_key(settings, model):
            problems.append(
                f"the {part} {model.model} has no key: the variable {model.api_key_env} is empty. "
                f"Set it, or name another with {part}.api_key_env."
            )
    return problems


def _needs_key(settings: Settings, model: JudgeSettings | RewriterSettings) -> bool:
    """Tell whether a model needs a key: not if its server takes requests and replays without one."""
    if model is not settings.judge:
        return True
    endpoint = Upstream.parse(without_credentials(model.base_url or ""))
    if small_model(endpoint.origin) is not None:
        return True
    # At an endpoint of one's own, where requests and replays go without a key, the judge needs none either.
    for keys in chain(*settings.keys.values()):
        if keys.traffic is None and keys.upstream.same_origin(endpoint):
            return False
    return True


def _with_fallbacks(route: Route) -> tuple[Route | Fallback, ...]:
    return (route, *route.fallbacks)


def _missing_replay_keys(settings: Settings, role: Role | None) -> list[str]:
    problems = []
    shadow = settings.replays.api_key_env
    is_sent = shadow_origin(settings.routes) is not None
    is_sent = is_sent or any(route.replay_key_env == shadow for route in settings.routes)
    if role != "proxy" and _held(shadow) and not is_sent:
        problems.append(
            f"{shadow} is sent nowhere: the routes' upstreams are of several origins. Name "
            "it as replay_key_env on the routes that it is for"
        )
    # A monitor asks goldens again after a change.
    if role in {"worker", "monitor"}:
        for keys in chain(*settings.keys.values()):
            if keys.traffic and not any(key.held for key in keys.replays):
                variables = " or ".join(key.variable for key in keys.replays)
                problems.append(
                    f"route {keys.route}: its replays to {keys.upstream} have no key; set {variables}"
                )
    return problems


def _held(variable: str) -> bool:
    return bool(os.environ.get(variable))


def unusable_store(settings: Settings) -> list[str]:
    """Return one line if the settings name a shared store that cannot be used."""
    if settings.storage.shared_at is None:
        return []
    with contextlib.closing(connect(settings)) as stores:
        try:
            stores.check()
        except StoreError as error:
            return [f"{error}."]
    return []


def host_notes(settings: Settings) -> list[str]:
    """Return a note if routes have a key and applications may use a host name that is not in the settings."""
    listen = settings.listen
    named = []
    for route in settings.routes:
        has_key = any(fallback.api_key_env for fallback in _with_fallbacks(route))
        if has_key and not route.match.hosts:
            named.append(route.name)
    if not named or listen.hosts or listen.host not in EVERYWHERE:
        return []
    note = (
        f"route {', '.join(named)}: has a key of its own, so requests must name localhost or an address; "
        "put other names of this proxy into listen.hosts"
    )
    return [note]


def redis_notes(settings: Settings) -> list[str]:
    """Return warnings of what others could read or do on the way to a remote Redis, one line each."""
    redis = settings.storage.redis
    if redis is None:
        return []
    parts = urlsplit(redis.url)
    hosts = [sentinel.rpartition(":")[0].strip("[]") for sentinel in redis.sentinels] or [
        parts.hostname or "localhost"
    ]
    others = []
    for host in hosts:
        if not is_loopback(host):
            others.append(host)
    if parts.scheme == "unix" or not others:
        return []
    notes = []
    if parts.scheme != "rediss":
        notes.append(
            f"storage.redis.url: prompts and answers travel unencrypted to {others[0]}; write rediss://, "
            f"and name authorities of your own in {TRUST_VARIABLE}"
        )
    if not os.environ.get(PASSWORD_VARIABLE) and not os.environ.get(CERT_VARIABLE):
        notes.append(
            f"redis: {others[0]} is used with no password, so whoever reaches it reads prompts and changes "
            f"verdicts and spend; set one, in the variable {PASSWORD_VARIABLE}"
        )
    return notes


class _CallTrial:
    """A client of the data plane's pool that only learns whether a connection can be made."""

    problem = ""

    def connected(self, upstream: UpstreamConnection) -> None:
        """Take the connection."""

    def not_connected(self, fault: ForwardingFault, detail: str) -> None:
        """Remember why there is none."""
        self.problem = detail or _FAULTS.get(fault, fault.value.replace("_", " "))


def _connect(upstream: Upstream) -> str:
    """Connect as forwarding does, with its trust, client certificate and proxy. Returns what failed."""

    async def attempt() -> str:
        tried = _CallTrial()
        pool = Pool(upstream, Limits(), None)
        await pool.connect(cast("Downstream", tried), _CONNECT_S)
        await pool.abort()
        return tried.problem

    try:
        return asyncio.run(attempt())
    except NetworkError as error:
        return str(error)
