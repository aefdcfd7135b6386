"""A mock issuer of OpenID Connect on loopback, whose every answer a test can spoil."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "evenkeel", "a-secret-of-the-client"


class MockIssuer:
    """Signs in whoever asks, as `person` says."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.person = {"email": "ann@corp.test", "email_verified": True, "groups": ["keel-approvers"]}
        """Claims of who is signed in."""
        self.spoilt = {}
        """Claims of ID tokens in place of the right ones; None = left out."""
        self.metadata = {}
        """Of the discovery document, in place of the right ones."""
        self.header = {"alg": "RS256"}
        self.signing = self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        """With which it signs; other than `key` for a forger."""
        self.published = None
        """Keys in place of its own."""
        self.form = {}
        """The last request for a token."""
        self.fetched = {"/jwks": 0}
        self._codes = {}

    def authorize(self, location):
        """What a browser is sent back with when somebody signs in there: the query of the callback."""
        asked = dict(parse_qsl(urlsplit(location).query))
        assert location.startswith(f"{self.url}/authorize?")
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def answer(self, method, path, headers, body):
        """Status and object."""
        self.fetched[path] = self.fetched.get(path, 0) + 1
        if path == "/.well-known/openid-configuration":
            at = {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize"}
            return 200, {
                **at, "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/jwks", **self.metadata
            }  # fmt: skip
        if path == "/jwks":
            return 200, {"keys": self.published or [self.key.as_dict(private=False)]}
        if path == "/token" and method == "POST":
            return self._token(headers, dict(parse_qsl(body)))
        return 404, {"error": "not_found"}

    def _token(self, headers, form):
        self.form = form
        asked = self._codes.pop(form.get("code"), None)
        pair = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if asked is None or headers.get("authorization") != f"Basic {pair}":
            return 400, {"error": "invalid_grant"}
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.url, "aud": CLIENT, "sub": "4711", "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], **self.person, **self.spoilt,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        return 200, {"access_token": "none", "token_type": "Bearer", "id_token": self.sign(claims)}

    def sign(self, claims):
        """An ID token, by the algorithm of the header."""
        if self.header["alg"] == "none":
            parts = (json.dumps(self.header), json.dumps(claims), "")
            return ".".join(base64.urlsafe_b64encode(one.encode()).rstrip(b"=").decode() for one in parts)
        if isinstance(self.signing, bytes):  # a public key as if it were a shared secret
            head, said = (
                base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=")
                for one in (self.header, claims)
            )
            signature = hmac.digest(self.signing, head + b"." + said, "sha256")
            return b".".join((head, said, base64.urlsafe_b64encode(signature).rstrip(b"="))).decode()
        header = {"kid": self.signing.kid, **self.header} if hasattr(self.signing, "kid") else self.header
        return jwt.encode(header, claims, self.signing, algorithms=["RS256", "HS256"])


@contextlib.contextmanager
def mock_issuer():
    """One that answers on loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer("")

        def do_POST(self):
            self._answer(self.rfile.read(int(self.headers["content-length"])).decode())

        def _answer(self, body):
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, found = issuer.answer(self.command, self.path, headers, body)
            sent = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = MockIssuer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
