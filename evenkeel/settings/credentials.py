"""Keys of the upstreams: a key belongs to an origin, whoever sends it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.proxy.routing import Upstream
from evenkeel.settings.routes import Credential, Route, route_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.settings.replay import ReplaySettings
    from evenkeel.settings.routes import Fallback

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
        held = []
        for key in self.replays:
            if key.held:
                held.append(key.variable)
        replayed = f"the key in {held[0]}" if held else "no key"
        return f"route {self.route}: {self.upstream} gets {sent}; replays carry {replayed}"


def keys_by_route(routes: Sequence[Route], replays: ReplaySettings) -> dict[str, tuple[UpstreamKeys, ...]]:
    """Return the keys of each route's upstreams, in the order in which they are tried."""
    table = route_table(routes, injecting=False)
    origin = shadow_origin(routes)
    keys: dict[str, tuple[UpstreamKeys, ...]] = {}
    for section, route in zip(routes, table.routes, strict=True):
        keys[section.name] = _keys_of(section, route.upstreams, replays.api_key_env, origin)
    return keys


def shadow_origin(routes: Sequence[Route]) -> Upstream | None:
    """Return the upstream whose origin the common replay key is for; None if the routes have several."""
    first = Upstream.parse(routes[0].upstream)
    for route in routes[1:]:
        if not first.same_origin(Upstream.parse(route.upstream)):
            return None
    return first


def _keys_of(
    route: Route, upstreams: tuple[Upstream, ...], common: str, origin: Upstream | None
) -> tuple[UpstreamKeys, ...]:
    first = upstreams[0]
    of_first = _own(route, first, common, origin)
    traffic = _key(route.api_key_env, route.api_key_header)
    keys = [UpstreamKeys(route.name, first, traffic, clients=True, replays=of_first)]
    for fallback, upstream in zip(route.fallbacks, upstreams[1:], strict=True):
        # A credential belongs to an origin, so another one gets none unless the route says so.
        shared = route.share_credentials or upstream.same_origin(first)
        keys.append(
            UpstreamKeys(
                route.name,
                upstream,
                _key(fallback.api_key_env, fallback.api_key_header) or (traffic if shared else None),
                clients=shared,
                replays=_own(fallback, upstream, common, origin) + (of_first if shared else ()),
            )
        )
    return tuple(keys)


def _own(
    section: Route | Fallback, upstream: Upstream, common: str, origin: Upstream | None
) -> tuple[Key, ...]:
    """Return the replay keys meant for exactly this upstream, the preferred one first."""
    # A fallback has no replay key of its own: its `api_key_env` serves for both.
    own = section.replay_key_env if isinstance(section, Route) else None
    shared = common if origin is not None and upstream.same_origin(origin) else None
    variables = filter(None, (own, shared, section.api_key_env))
    return tuple(Key(variable, section.api_key_header) for variable in variables)


def _key(variable: str | None, header: str) -> Key | None:
    return Key(variable, header) if variable else None
