"""Keys of the upstreams: a key belongs to an origin, whoever sends it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.proxy.routing import Upstream
from evenkeel.settings import Credential, route_table

if TYPE_CHECKING:
    from evenkeel.settings import Fallback, Route, Settings

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Key:
    """Variable of a key, and the header that carries it."""

    variable: str
    header: str

    @property
    def held(self) -> bool:
        """Tell whether the variable is set."""
        return bool(os.environ.get(self.variable))


@dataclass(frozen=True, slots=True)
class UpstreamKeys:
    """Credentials that an upstream of a route receives."""

    route: str
    upstream: Upstream
    traffic: Key | None
    """Key that replaces the client's; None if evenkeel sends none."""
    clients: bool
    """True if credentials of the client, other than a replaced key, reach the upstream."""
    replays: tuple[Key, ...]
    """Keys for replays, goldens and reference prompts; the first one that is set is sent."""

    def replay_headers(self, header: str | None = None) -> Headers:
        """Return the header with the replay key, named `header` if that is given; empty if no key is set."""
        for key in self.replays:
            credential = Credential.read(key.variable, header or key.header)
            if credential:
                return ((credential.header, credential.value),)
        return ()

    def __str__(self) -> str:
        """Describe the credentials in one line; names variables, never a key."""
        if self.traffic:
            sent = f"the key in {self.traffic.variable}"
            sent += " and the client's other credentials" if self.clients else ", no credential of the client"
        else:
            sent = "the client's credentials" if self.clients else "no credentials"
        replayed = next((f"the key in {key.variable}" for key in self.replays if key.held), "no key")
        return f"route {self.route}: {self.upstream} gets {sent}; replays carry {replayed}"


def keys_by_route(settings: Settings) -> dict[str, tuple[UpstreamKeys, ...]]:
    """Return the keys of each route's upstreams, in the order in which they are tried."""
    table = route_table(settings.routes, injecting=False)
    return {
        section.name: _keys_of(settings, section, table.routes[place].upstreams)
        for place, section in enumerate(settings.routes)
    }


def shadow_origin(settings: Settings) -> Upstream | None:
    """Return the upstream whose origin the common replay key is for; None if the settings leave it open."""
    if settings.replays.api_key_origin:
        return Upstream.parse(settings.replays.api_key_origin)
    first, *others = [Upstream.parse(route.upstream) for route in settings.routes]
    return first if all(first.same_origin(other) for other in others) else None


def _keys_of(settings: Settings, route: Route, upstreams: tuple[Upstream, ...]) -> tuple[UpstreamKeys, ...]:
    first = upstreams[0]
    of_first = _own(settings, route, first)
    traffic = _key(route.api_key_env, route.api_key_header)
    found = [UpstreamKeys(route.name, first, traffic, clients=True, replays=of_first)]
    for fallback, upstream in zip(route.fallbacks, upstreams[1:], strict=True):
        shared = route.share_credentials or upstream.same_origin(first)
        found.append(
            UpstreamKeys(
                route.name,
                upstream,
                _key(fallback.api_key_env, fallback.api_key_header) or (traffic if shared else None),
                clients=shared,
                replays=_own(settings, fallback, upstream) + (of_first if shared else ()),
            )
        )
    return tuple(found)


def _own(settings: Settings, section: Route | Fallback, upstream: Upstream) -> tuple[Key, ...]:
    """Return the replay keys meant for exactly this upstream, the preferred one first."""
    origin = shadow_origin(settings)
    of_all = Key(settings.replays.api_key_env, settings.replays.api_key_header)
    keys = (
        _key(section.replay_key_env, section.api_key_header),
        of_all if origin is not None and upstream.same_origin(origin) else None,
        _key(section.api_key_env, section.api_key_header),
    )
    return tuple(key for key in keys if key)


def _key(variable: str | None, header: str) -> Key | None:
    return Key(variable, header) if variable else None
