"""Signing in by OpenID Connect, at a mock issuer: who gets in with which role, and which attacks do not."""

from __future__ import annotations

import re
import time

import pytest
from joserfc.jwk import OctKey, RSAKey
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.core.pair import Answer
from evenkeel.runtime.process import guarded
from evenkeel.settings import SettingsError, load
from evenkeel.stores.goldens import Golden
from evenkeel.stores.sqlite.database import Database
from tests.security.desk import console_over
from tests.security.mock_issuer import CLIENT, SECRET, mock_issuer

CONSOLE = "https://keel.test"
TOKEN = "a-token-of-a-program"
PAGE = {"accept": "text/html"}


@pytest.fixture
def issuer():
    with mock_issuer() as running:
        yield running


@pytest.fixture
def admin(tmp_path, monkeypatch, issuer):
    """The section `admin` of a settings file with the provider in it."""
    monkeypatch.setenv("OIDC_SECRET", SECRET)
    monkeypatch.setenv("T_PROGRAM", TOKEN)

    def read(more="", **changes):
        section = {
            "issuer": issuer.url,
            "client_id": CLIENT,
            "client_secret_env": "OIDC_SECRET",
            "url": CONSOLE,
            "roles": "{keel-approvers: approver, keel-readers: viewer}",
            **changes,
        }
        inner = ", ".join(f"{name}: {value}" for name, value in section.items() if value is not None)
        path = tmp_path / "evenkeel.yaml"
        path.write_text(f"admin: {{oidc: {{{inner}}}{more}}}\nroutes: [{{upstream: 'http://a'}}]\n")
        return load(path, {}, {}).admin

    return read


@pytest.fixture
def desk(tmp_path, admin):
    """A console with a golden behind the guard, and its sources."""
    database = Database(tmp_path / "store" / "evenkeel.db")
    sources = console_over(database)
    golden = Golden(id="g", route="r", request="{}", answer=Answer("Yes."))
    sources.goldens.store.approve(golden, by="start", at=1.0)
    opened = []

    def served(more="", **changes):
        guard = guarded(create_app(sources), admin(more, **changes), tmp_path / "data")
        client = TestClient(guard, base_url=CONSOLE)
        client.follow_redirects = False
        client.guard = guard
        opened.append(client.__enter__())
        return client

    yield served, sources
    for client in opened:
        client.__exit__(None, None, None)
    database.close()


def sign_in(client, issuer, onward="/trials", **spoilt):
    """Sign in as a browser does; the last answer of the console."""
    begun = client.get("/login/oidc", params={"next": onward})
    assert begun.status_code == 303, begun.text
    return client.get("/login/callback", params={**issuer.authorize(begun.headers["location"]), **spoilt})


def test_a_group_gives_its_role_and_the_name_is_on_record(desk, issuer):
    """Ann is an approver by her group: what she retires is hers in the audit log, and settings are not."""
    served, sources = desk
    client = served()
    refused = client.get("/trials?a=1", headers=PAGE)
    assert refused.status_code == 401
    assert "/login/oidc?next=%2Ftrials%3Fa%3D1" in refused.text
    done = sign_in(client, issuer)
    assert (done.status_code, done.headers["location"]) == (303, "/trials")
    cookies = done.headers.get_list("set-cookie")
    assert re.fullmatch(
        r"__Host-evenkeel-session-\w{8}=\S+; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure",
        cookies[0],
    )
    assert "Max-Age=0" in cookies[1]
    assert client.get("/trials").status_code == 200
    assert client.get("/actions").status_code == 403
    page = client.get("/goldens/g").text
    assert "As <b>ann@corp.test</b>" in page
    token = re.search(r'name="_csrf_token" value="([^"]+)"', page)[1]
    assert client.post("/goldens", data={"retire": "g", "_csrf_token": token}).status_code == 303
    (action,) = sources.actions.latest(5)
    assert (action.by, action.known_by, action.what) == ("ann@corp.test", "oidc", "golden_retired")
    assert {"code_verifier", "redirect_uri"} <= issuer.form.keys()
    out = client.post("/logout")
    assert out.status_code == 303
    assert client.get("/trials").status_code == 401


def test_the_best_of_several_groups_counts(desk, issuer):
    """And groups that the settings do not name count for nothing."""
    issuer.person["groups"] = ["keel-readers", "everybody", "keel-approvers", 7]
    client = desk[0]()
    sign_in(client, issuer)
    assert client.post("/api/goldens", json={"retire": "g"}).status_code == 200
    issuer.person["groups"] = ["keel-readers"]
    sign_in(client, issuer)
    assert client.post("/api/goldens", json={"unretire": "g"}).status_code == 403


@pytest.mark.parametrize(
    "groups", [None, [], ["everybody"], "keel-approvers-not", {"keel-approvers": 1}, [["x"]]]
)
def test_who_is_in_no_group_stays_outside(desk, issuer, groups):
    """With a page that says who puts groups where; unless the settings have a role for everybody."""
    issuer.person["groups"] = groups
    client = desk[0]()
    refused = sign_in(client, issuer)
    assert refused.status_code == 403
    assert "ann@corp.test is signed in at the provider, but in no group" in refused.text
    assert not any("session" in one for one in refused.headers.get_list("set-cookie"))
    assert client.get("/trials").status_code == 401
    assert sign_in(desk[0](role="viewer"), issuer).status_code == 303


def test_groups_can_lie_deeper(desk, issuer):
    """As Keycloak has roles."""
    issuer.person = {"preferred_username": "ann", "realm_access": {"roles": ["keel-approvers"]}}
    client = desk[0](groups_claim="realm_access.roles", name_claim="preferred_username")
    assert sign_in(client, issuer).status_code == 303
    assert client.post("/api/goldens", json={"retire": "g"}).status_code == 200


SPOILT = [
    ({"nonce": "another"}, "its nonce is another one"),
    ({"nonce": None}, "its nonce is another one"),
    ({"aud": "another-client"}, "aud"),
    ({"aud": [CLIENT, "another-client"]}, "made for another client"),
    ({"azp": "another-client"}, "made for another client"),
    ({"aud": None}, "aud"),
    ({"iss": "https://another.test"}, "iss"),
    ({"exp": 1_000_000}, "expired"),
    ({"exp": None}, "exp"),
    ({"exp": "never"}, "exp"),
    ({"iat": 99_999_999_999}, "issued in the future"),
    ({"iat": None}, "iat"),
    ({"nbf": 99_999_999_999}, "not yet valid"),
    ({"sub": None}, "sub"),
    ({"email": None}, "no usable claim"),
    ({"email": "an\tn"}, "no usable claim"),
    ({"email": ["ann"]}, "no usable claim"),
    ({"email_verified": False}, "has not verified the address"),
    ({"groups": None, "_claim_names": {"groups": "src1"}}, "too many groups"),
]


@pytest.mark.parametrize(("claims", "said"), SPOILT)
def test_a_token_that_is_not_for_this_sign_in_opens_nothing(desk, issuer, claims, said):
    """However well it is signed."""
    issuer.spoilt = claims
    client = desk[0]()
    refused = sign_in(client, issuer)
    assert (refused.status_code, said in refused.text.replace("&#39;", "'")) == (403, True), refused.text
    assert client.get("/trials").status_code == 401


def test_the_clocks_may_differ_by_a_minute(desk, issuer):
    """And by no more."""
    issuer.spoilt = {"exp": int(time.time()) - 30, "iat": int(time.time()) + 30}
    assert sign_in(desk[0](), issuer).status_code == 303
    issuer.spoilt = {"exp": int(time.time()) - 90}
    assert sign_in(desk[0](), issuer).status_code == 403


@pytest.mark.parametrize("forged", ["none", "shared", "stranger", "kid"])
def test_a_token_that_the_provider_has_not_signed_opens_nothing(desk, issuer, forged):
    """Neither unsigned, nor with its public key as a shared secret, nor with a key of somebody else."""
    if forged == "none":
        issuer.header = {"alg": "none"}
    elif forged == "shared":
        issuer.header = {"alg": "HS256"}
        issuer.signing = issuer.key.as_pem(private=False)
    else:
        kid = {"kid": "one"} if forged == "kid" else {"kid": "two"}
        issuer.signing = RSAKey.generate_key(2048, kid)
    client = desk[0]()
    refused = sign_in(client, issuer)
    assert (refused.status_code, "is not signed as it must be" in refused.text) == (403, True), refused.text
    assert client.get("/trials").status_code == 401


def test_a_shared_key_among_the_published_ones_signs_nothing(desk, issuer):
    """An `oct` key of the provider's document is left aside."""
    shared = OctKey.generate_key(256, {"kid": "shared"})
    issuer.published = [shared.as_dict(private=True), issuer.key.as_dict(private=False)]
    issuer.header, issuer.signing = {"alg": "HS256"}, shared
    assert sign_in(desk[0](), issuer).status_code == 403


def test_keys_that_are_turned_over_are_found(desk, issuer, monkeypatch):
    """A token of a new key has the keys read again; forged ones do so every ten seconds at most."""
    now = [1_000_000_000.0]
    client = desk[0]()
    assert sign_in(client, issuer).status_code == 303
    assert issuer.fetched["/jwks"] == 1
    oidc = client.guard._sign_in._oidc
    start = oidc._clock()
    monkeypatch.setattr(oidc, "_clock", lambda: start + now[0] - 1_000_000_000.0)
    issuer.signing = issuer.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    now[0] += 11
    issuer.spoilt = {"iat": int(start), "exp": int(start) + 900}
    assert sign_in(client, issuer).status_code == 303
    assert issuer.fetched["/jwks"] == 2
    issuer.signing = RSAKey.generate_key(2048, {"kid": "three"})
    for _ in range(3):
        assert sign_in(client, issuer).status_code == 403
    assert issuer.fetched["/jwks"] == 2


def test_a_sign_in_is_of_one_browser_and_used_once(desk, issuer):
    """A state of another browser, or none, or one that was used, ends nowhere; nor does a late one."""
    client, other = (desk[0]() for _ in range(2))
    begun = client.get("/login/oidc")
    query = issuer.authorize(begun.headers["location"])
    for wrong in ({}, {**query, "state": "guessed"}, {**query, "state": ""}, {"code": query["code"]}):
        refused = client.get("/login/callback", params=wrong)
        assert (refused.status_code, "was not begun in this browser" in refused.text) == (403, True)
    assert other.get("/login/callback", params=query).status_code == 403
    cookie = begun.headers["set-cookie"].partition(";")[0]
    assert "SameSite=Lax" in begun.headers["set-cookie"]
    assert client.get("/login/callback", params=query).status_code == 303
    client.cookies.clear()
    again = issuer.authorize(begun.headers["location"])
    replayed = client.get("/login/callback", params=again, headers={"cookie": cookie})
    assert (replayed.status_code, "has been used" in replayed.text) == (403, True)
    session = cookie.replace("-login-", "-session-")
    assert client.get("/trials", headers={"cookie": session}).status_code == 401


@pytest.mark.parametrize(
    "onward", ["//evil.test", "https://evil.test", "/\\evil.test", "javascript:alert(1)", "/login?code=x"]
)
def test_the_way_on_after_it_stays_on_this_port(desk, issuer, onward):
    """Whatever the address that began it says."""
    assert sign_in(desk[0](), issuer, onward).headers["location"] == "/"


def test_what_the_provider_refuses_is_said(desk, issuer):
    """As text; and an answer of another provider is none."""
    client = desk[0]()
    refused = sign_in(client, issuer, error="access_denied", error_description="<script>no</script>")
    assert refused.status_code == 403
    assert "The provider has refused: access_denied &lt;script&gt;" in refused.text
    assert "Another provider" in sign_in(client, issuer, iss="https://another.test").text
    assert "has refused (400 invalid_grant)" in sign_in(client, issuer, code="stolen").text


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://another.test"}, "calls itself"),
        ({"token_endpoint": "file:///etc/passwd"}, "no usable token_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no usable authorization_endpoint"),
        ({"jwks_uri": None}, "no usable jwks_uri"),
    ],
)
def test_a_provider_that_is_another_one_is_not_used(desk, issuer, metadata, said):
    """Nobody is sent there, and the page says why."""
    issuer.metadata = metadata
    refused = desk[0]().get("/login/oidc")
    assert (refused.status_code, said in refused.text) == (502, True), refused.text


def test_programs_keep_their_tokens(desk):
    """With a scope as without a provider; nobody else gets in."""
    client = desk[0](", tokens: [{name: report, scope: read, token_env: T_PROGRAM}]")
    assert client.get("/api/cells", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/actions", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 403
    assert client.get("/api/cells").status_code == 401
    assert client.get("/metrics").status_code == 401
    assert desk[0]().get("/api/cells").status_code == 401


def test_a_session_ends_with_its_group_or_its_provider(desk, issuer):
    """Roles are those of the settings in force; a session of another client is none."""
    done = sign_in(desk[0](), issuer).headers.get_list("set-cookie")[0].partition(";")[0]

    def status(client, path="/trials"):
        return client.get(path, headers={"cookie": done}).status_code

    assert status(desk[0]()) == 200
    assert status(desk[0](roles="{keel-approvers: admin}"), "/actions") == 200
    assert status(desk[0](roles="{others: admin}")) == 401
    assert status(desk[0](client_id="another")) == 401


def test_monitors_behind_one_address_share_their_sessions(desk, issuer, monkeypatch, tmp_path):
    """What begins at one ends at the other, by the key of the settings; without it, it does not."""
    monkeypatch.setenv("SESSION_KEY", "a-key-of-sessions-of-32-letters-")
    served, _ = desk
    for key, status in ((", session_key_env: SESSION_KEY", 303), ("", 403)):
        begun = served(key).get("/login/oidc")
        other = served(key)
        if not key:
            (tmp_path / "data" / "session-key").unlink()
            other = served(key)
        cookie = begun.headers["set-cookie"].partition(";")[0]
        query = issuer.authorize(begun.headers["location"])
        assert other.get("/login/callback", params=query, headers={"cookie": cookie}).status_code == status


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"issuer": "http://sso.test"}, "must begin with https://"),
        ({"url": "http://keel.test"}, "must begin with https://"),
        ({"issuer": "https://sso.test#a"}, "without user, query and fragment"),
        ({"scopes": "[email]"}, "openid is not among the scopes"),
        ({"roles": "{}"}, "nobody could get in"),
        ({"roles": "{a: boss}"}, "roles"),
        ({"client_secret_env": "NO_SUCH_SECRET"}, "NO_SUCH_SECRET named by client_secret_env is empty"),
        ({"client_id": None}, "client_id"),
        ({"groups_clam": "x"}, "did you mean 'groups_claim'"),
    ],
)
def test_settings_that_cannot_work_are_refused(admin, changes, said):
    """By `check-config` and at the start."""
    with pytest.raises(SettingsError, match=re.escape(said)) as refused:
        admin(**changes)
    assert SECRET not in str(refused.value)


def test_a_provider_is_enough_beyond_loopback(admin):
    """It asks."""
    assert admin(", host: 0.0.0.0").asks
