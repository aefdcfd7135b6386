"""Signing in at an OpenID Connect provider: authorization code flow with PKCE, and roles by groups.

What begins in a browser must end in it: `state`, `nonce` and the verifier of PKCE lie in an encrypted cookie
of ten minutes, and a `state` is taken once. The ID token is believed only as far as it is signed by a key of
the provider, by an algorithm of a list that has no shared secrets in it, for this client, now, and for this
sign-in. Access and refresh tokens are not kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from evenkeel.console.access import Visitor, best_role
from evenkeel.console.sign_in import CALLBACK, SignInError
from evenkeel.core.text import one_line, visible
from evenkeel.stores.audit_log import is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.console.access import Role

log = logging.getLogger("evenkeel.console")

_ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""Signatures by a key pair. With a shared secret, or none, others than the provider could sign."""
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
_SKEW_S: Final = 60
"""How far the provider's clock and this one may be apart."""
_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_KEYS_AGAIN_S: Final = 10.0
"""Between two looks at the provider's keys for a token that none of them fits."""
_KNOWN_FOR_S: Final = 3600.0
_MOST_USED: Final = 4096
_MOST_GROUPS: Final = 200


@dataclass(frozen=True, slots=True)
class Provider:
    """Where people sign in, and what their groups may do."""

    issuer: str
    client_id: str
    client_secret: str | None
    """None for a public client."""
    url: str
    """Address of the console as browsers see it, without a slash at the end."""
    scopes: tuple[str, ...]
    name_claim: str
    groups_claim: str
    """With dots for claims in claims."""
    roles: Mapping[str, Role]
    """By group."""
    role: Role | None
    """Of people in none of the groups; None = they are refused."""

    @property
    def mark(self) -> str:
        """What stands for it in a session, which ends when the provider is another one."""
        return hashlib.sha256(f"{self.issuer}\n{self.client_id}".encode()).hexdigest()[:32]

    def visitor(self, name: str, groups: list[str]) -> Visitor | None:
        """Who somebody of these groups is; None if they may nothing."""
        roles = [self.roles[group] for group in groups if group in self.roles]
        role = best_role(roles) if roles else self.role
        return None if role is None else Visitor(name, role, "oidc")


class Oidc:
    """The flow with one provider."""

    def __init__(
        self,
        provider: Provider,
        clock: Callable[[], float] = time.time,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Args: provider: what to talk to. clock: Unix time. transport: how, in place of the network."""
        self.provider = provider
        self._clock = clock
        self._transport = transport
        self._known: dict[str, Any] = {}
        self._known_at = -_KNOWN_FOR_S
        self._keys: KeySet | None = None
        self._keys_at = -_KEYS_AGAIN_S
        self._used: OrderedDict[str, None] = OrderedDict()

    async def begin(self, onward: str) -> tuple[str, dict[str, str]]:
        """Where to send a browser, and what it must bring back. Raises: SignInError."""
        known = await self._discovered()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": f"{self.provider.url}{CALLBACK}",
            "scope": " ".join(self.provider.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        at = str(known["authorization_endpoint"])
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "next": onward}
        return f"{at}{'&' if urlsplit(at).query else '?'}{urlencode(query)}", kept

    async def end(self, query: Mapping[str, str], kept: Mapping[str, Any]) -> dict[str, Any]:
        """The claims of a session for who comes back from the provider.

        Args:
            query: What the provider sent along.
            kept: What `begin` gave the browser; {} if it brought nothing, or too late.

        Raises: SignInError.
        """
        state = str(kept.get("state", ""))
        if not state or not hmac.compare_digest(state.encode(), _bytes(query.get("state"))):
            raise SignInError("This sign-in was not begun in this browser, or took too long. Begin again.")
        if state in self._used:
            raise SignInError("This sign-in has been used. Begin again.")
        self._used[state] = None
        if len(self._used) > _MOST_USED:
            self._used.popitem(last=False)
        if query.get("iss", self.provider.issuer) != self.provider.issuer:
            raise SignInError("Another provider than the one that was asked has answered. Begin again.")
        if "error" in query or not query.get("code"):
            said = f"{query.get('error', 'no code')} {query.get('error_description', '')}".strip()
            raise SignInError(f"The provider has refused: {visible(one_line(said, 300))}")
        claims = await self._claims(query["code"], str(kept["verifier"]), str(kept["nonce"]))
        name, groups = self._name(claims), self._groups(claims)
        if self.provider.visitor(name, groups) is None:
            raise SignInError(
                f"{name} is signed in at the provider, but in no group that may use this console. Whoever "
                "runs evenkeel puts groups into admin.oidc.roles."
            )
        return {"oidc": self.provider.mark, "name": name, "groups": groups}

    def visitor(self, session: Mapping[str, Any]) -> Visitor | None:
        """Who a session is of, by the roles that are in force; None if it is no session of this provider."""
        if session.get("oidc") != self.provider.mark:
            return None
        return self.provider.visitor(str(session["name"]), list(session["groups"]))

    async def _claims(self, code: str, verifier: str, nonce: str) -> dict[str, Any]:
        """What a code's ID token says, once it is proven. Raises: SignInError."""
        known = await self._discovered()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": f"{self.provider.url}{CALLBACK}",
            "client_id": self.provider.client_id,
            "code_verifier": verifier,
        }
        headers = {}
        if self.provider.client_secret is not None:
            methods = known.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
            if "client_secret_basic" in methods:
                both = (self.provider.client_id, self.provider.client_secret)
                pair = ":".join(quote(one, safe="") for one in both)
                headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
            else:
                form["client_secret"] = self.provider.client_secret
        answer = await self._asked("POST", str(known["token_endpoint"]), headers=headers, data=form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInError("The provider has given no ID token: is `openid` among admin.oidc.scopes?")
        claims = await self._verified(token)
        self._check(claims, nonce)
        return claims

    async def _verified(self, token: str) -> dict[str, Any]:
        """The claims of a token that a key of the provider has signed. New keys are looked for once."""
        try:
            return dict(jwt.decode(token, await self._key_set(again=False), algorithms=_ALGORITHMS).claims)
        except (JoseError, ValueError) as first:
            log.info("an ID token fits no known key (%s); looking for new ones", type(first).__name__)
        try:
            return dict(jwt.decode(token, await self._key_set(again=True), algorithms=_ALGORITHMS).claims)
        except (JoseError, ValueError) as error:
            raise SignInError(
                f"The ID token is not signed as it must be ({type(error).__name__})."
            ) from error

    def _check(self, claims: dict[str, Any], nonce: str) -> None:
        audience, own = claims.get("aud"), self.provider.client_id
        registry = jwt.JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=_SKEW_S,
            iss={"essential": True, "value": self.provider.issuer},
            aud={"essential": True, "value": own},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        try:
            registry.validate(claims)
        except (JoseError, ValueError) as error:
            raise SignInError(f"The ID token is not for this sign-in: {error}.") from error
        several = isinstance(audience, list) and len(audience) > 1
        if claims.get("azp", None if several else own) != own:
            raise SignInError("The ID token is not for this sign-in: it was made for another client (azp).")
        if not hmac.compare_digest(_bytes(claims.get("nonce")), nonce.encode()):
            raise SignInError("The ID token is not for this sign-in: its nonce is another one.")

    def _name(self, claims: Mapping[str, Any]) -> str:
        wanted = self.provider.name_claim
        name = claims.get(wanted)
        if not isinstance(name, str) or not is_name(name):
            raise SignInError(f"The ID token has no usable claim {wanted!r}: set admin.oidc.name_claim.")
        if wanted == "email" and claims.get("email_verified") is False:
            raise SignInError("The provider has not verified the address of this person.")
        return name

    def _groups(self, claims: Mapping[str, Any]) -> list[str]:
        """The groups that give a role, of those that somebody is in."""
        wanted, found = self.provider.groups_claim, claims.get(self.provider.groups_claim)
        if found is None:
            found = claims
            for part in wanted.split("."):
                found = found.get(part) if isinstance(found, dict) else None
        elsewhere = claims.get("_claim_names")
        if found is None and isinstance(elsewhere, dict) and wanted in elsewhere:
            raise SignInError(
                "There are too many groups for an ID token: have the provider send only those "
                "assigned to evenkeel."
            )
        named = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        groups = sorted({one for one in named if isinstance(one, str)} & self.provider.roles.keys())
        return groups[:_MOST_GROUPS]

    async def _discovered(self) -> dict[str, Any]:
        """What the provider says about itself, which is asked once an hour. Raises: SignInError."""
        if self._known and self._clock() - self._known_at < _KNOWN_FOR_S:
            return self._known
        issuer = self.provider.issuer
        found = await self._asked("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise SignInError(
                f"The provider calls itself {str(found.get('issuer'))[:200]!r}, not {issuer!r}."
            )
        scheme = urlsplit(issuer).scheme
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if urlsplit(str(found.get(name, ""))).scheme not in {"https", scheme}:
                raise SignInError(f"The provider has no usable {name}.")
        self._known, self._known_at = found, self._clock()
        return found

    async def _key_set(self, *, again: bool) -> KeySet:
        """The provider's keys; again = as they are now, but not more often than every ten seconds."""
        age_s = self._clock() - self._keys_at
        if self._keys is None or age_s >= _KNOWN_FOR_S or (again and age_s >= _KEYS_AGAIN_S):
            found = await self._asked("GET", str((await self._discovered())["jwks_uri"]))
            named = found.get("keys")
            usable = [
                key
                for key in (named if isinstance(named, list) else [])
                if isinstance(key, dict) and key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig"
            ]
            try:
                self._keys = KeySet.import_key_set({"keys": usable})
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise SignInError("The provider's keys cannot be read.") from error
            self._keys_at = self._clock()
        return self._keys

    async def _asked(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """What the provider answers, as an object. Raises: SignInError."""
        host = urlsplit(url).netloc
        try:
            async with (
                httpx2.AsyncClient(
                    timeout=_TIMEOUT_S, follow_redirects=False, transport=self._transport
                ) as client,
                client.stream(method, url, **more) as answer,
            ):
                body = b""
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > _MOST_BYTES:
                        raise SignInError(f"The provider's answer at {host} is too long.")
            found = json.loads(body)
        except httpx2.HTTPError as error:
            raise SignInError(
                f"The provider at {host} cannot be reached ({type(error).__name__})."
            ) from error
        except (ValueError, RecursionError) as error:
            raise SignInError(
                f"The provider's answer at {host} is no JSON ({answer.status_code})."
            ) from error
        if not answer.is_success or not isinstance(found, dict):
            said = found.get("error", "") if isinstance(found, dict) else ""
            raise SignInError(f"The provider at {host} has refused ({answer.status_code} {str(said)[:100]}).")
        return found


def _bytes(text: object) -> bytes:
    return str(text or "").encode("utf-8", "replace")
