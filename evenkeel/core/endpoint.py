"""Upstreams: where a model endpoint listens, read from its URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

API_ROOT: Final = b"/v1"
API_PATHS: Final = ("chat/completions", "completions", "responses", "messages", "generateContent")
"""Ends of the paths whose exchanges can be read and replayed. Where one is the end of another, the longer
comes first."""
# Paths that end otherwise, with the API whose bodies they take: Anthropic's models at Vertex AI, and
# Google's, whose name comes before the method.
_OTHER_NAMES: Final = (
    (re.compile(r"/publishers/anthropic/models/[^/]+:(?:stream)?[Rr]awPredict\Z"), "messages"),
    (re.compile(r"/[^/]+:(?:generateContent|streamGenerateContent)\Z"), "generateContent"),
)
# Model in the paths of Azure, Vertex and Gemini, whose bodies name none that counts.
_MODEL_IN_PATH: Final = re.compile(r"(/deployments/|/models/)[^/:]+")
# Further APIs by their paths: what they answer is not read.
_UNREAD: Final = (
    ("embeddings", re.compile(r"/embeddings\Z|:(?:batch)?[Ee]mbedContents?\Z")),
    ("rerank", re.compile(r"/rerank\Z")),
    ("interactions", re.compile(r"/interactions\Z")),
    (
        "bedrock",
        re.compile(r"/model/[^/]+/(?:converse|converse-stream|invoke|invoke-with-response-stream)\Z"),
    ),
    ("images", re.compile(r"/images/(?:generations|edits|variations)\Z")),
    ("audio", re.compile(r"/audio/(?:speech|transcriptions|translations)\Z")),
    ("conversations", re.compile(r"/threads(?:/|\Z)|/conversations(?:/|\Z)")),
    ("batches", re.compile(r"/batches\Z|:batchGenerateContent\Z")),
    ("count_tokens", re.compile(r"/count_tokens\Z|/input_tokens\Z|:countTokens\Z")),
)
OTHER_API: Final = "other"
EMBEDDINGS: Final = "embeddings"
# A path that goes on after the API's name is another endpoint; these are the ways to end.
_PATH_ENDS = (b"/", b"?", b"")
# Nested percent-encodings that are undone. A path with more is not taken for an API's.
_MOST_ENCODINGS: Final = 4
# Path parts that lead elsewhere: conversations that the provider keeps, and Azure's answers from an index.
_ELSEWHERE: Final = frozenset({"threads", "extensions"})
# A server may resolve these, and so answer for another path than the one that was read.
_DOTS: Final = frozenset({".", ".."})
# Characters that servers cut, drop or refuse, each in its own way.
_READ_DIFFERENTLY: Final = re.compile(r"[\x00-\x1f\x7f;?#]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "write it like http://127.0.0.1:8000 or https://api.example.com/v1"


def api_path(target: str) -> str | None:
    """Return which of `API_PATHS` a request target's path ends with, as the server may read it.

    Any prefix is accepted (`/v1`, `/openai/deployments/…`), and so is a query. A path that continues after
    the API's name is another endpoint (`/messages/count_tokens`, `/responses/…/cancel`, a slash at the end).
    Percent-encodings are undone, even nested ones, because a gateway on the way may do so.

    Returns: None also if the path may lead elsewhere: through `..`, to a conversation that the provider
        keeps, or by characters that servers read differently.
    """
    path = _read_alike(target)
    if path is None:
        return None
    named = next((api for pattern, api in _OTHER_NAMES if pattern.search(path)), None)
    return named or next((end for end in API_PATHS if path.endswith(f"/{end}")), None)


def is_embeddings(target: str) -> bool:
    """Return whether a request target is that of embeddings, as every server may read it."""
    path = _read_alike(target)
    return path is not None and path.endswith(f"/{EMBEDDINGS}")


def _read_alike(target: str) -> str | None:
    """Return the path of a request target, decoded; None if servers may read it differently."""
    decoded = target.partition("?")[0]
    for _ in range(_MOST_ENCODINGS):
        decoded = unquote(decoded)
    parts = decoded.replace("\\", "/").split("/")
    names = {part.strip().lower() for part in parts}
    if unquote(decoded) != decoded or _READ_DIFFERENTLY.search(decoded) or names & (_ELSEWHERE | _DOTS):
        return None
    if len(parts) == 1:
        return None
    return "/".join(["", *(part for part in parts[:-1] if part), parts[-1]])


def with_model(target: str, model: str) -> str | None:
    """Return a request target, or its URL, that names another model; None if none stands in its path."""
    path, mark, query = target.partition("?")
    renamed, count = _MODEL_IN_PATH.subn(lambda found: f"{found[1]}{quote(model, safe='@')}", path)
    return f"{renamed}{mark}{query}" if count else None


def unread_api(target: str) -> str:
    """Return the name of the API of a request that is not read, one of a few, since it labels a counter."""
    path = target.partition("?")[0]
    return next((name for name, pattern in _UNREAD if pattern.search(path)), OTHER_API)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A model endpoint: where to connect, and the path its API lives under."""

    host: str
    """Name or address without brackets; for a Unix socket, the `Host` the upstream is sent."""
    port: int
    tls: bool
    authority: bytes
    """Value of the `Host` header: host, and the port unless it is the scheme's default."""
    base_path: bytes = b""
    """Path without a slash at its end; empty if the URL has none."""
    unix_path: str | None = None
    """File name of a Unix socket, in place of host and port."""

    @classmethod
    def parse(cls, url: str) -> Upstream:
        """Read an upstream from its URL.

        Accepts `http://…`, `https://…` and `http+unix://%2Frun%2Fmodel.sock/base`.

        Raises: ValueError with one line that says what is wrong and what to write instead.
        """
        # Do not repeat what may be a credential.
        shown = "URL" if "@" in url else repr(url.partition("?")[0])
        if not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
            raise ValueError(
                f"upstream {shown} holds spaces or characters outside ASCII; percent-encode them"
            )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"upstream {shown} is not a URL ({error}); {_EXAMPLE}") from error
        if parts.username is not None or parts.password is not None:
            # Do not repeat the URL: it holds a credential.
            raise ValueError(
                "upstream URL holds a user name or password; send credentials in request headers instead"
            )
        if parts.scheme not in {"http", "https", "http+unix"} or not parts.netloc:
            raise ValueError(f"upstream {shown} needs a scheme and a host; {_EXAMPLE}")
        if parts.query or parts.fragment or "?" in url or "#" in url:
            raise ValueError(
                f"upstream {shown} holds a query or fragment; leave it out, clients send their own"
            )
        base_path = parts.path.rstrip("/").encode("ascii")
        if parts.scheme == "http+unix":
            return cls(
                "localhost",
                0,
                tls=False,
                authority=b"localhost",
                base_path=base_path,
                unix_path=unquote(parts.netloc),
            )
        host = parts.hostname
        if not host or port == 0:
            raise ValueError(f"upstream {shown} has no usable host or port; {_EXAMPLE}")
        default = _DEFAULT_PORTS[parts.scheme]
        bracketed = f"[{host}]" if ":" in host else host
        authority = bracketed if port in {None, default} else f"{bracketed}:{port}"
        return cls(
            host,
            port or default,
            tls=parts.scheme == "https",
            authority=authority.encode("ascii"),
            base_path=base_path,
        )

    @property
    def origin(self) -> str:
        """Scheme and authority."""
        return f"{'https' if self.tls else 'http'}://{self.authority.decode('ascii')}"

    def same_origin(self, other: Upstream) -> bool:
        """Return whether both have the same origin: scheme, host and port, or Unix socket."""
        own = (self.tls, self.host, self.port, self.unix_path)
        return own == (other.tls, other.host, other.port, other.unix_path)

    def target(self, path: bytes) -> bytes:
        """Return the upstream's request target for a target that a client of the API sent.

        A path under `/v1` moves to the base path; every other path, and every path if there is no base path,
        stays as it is.
        """
        if self.base_path and self.base_path != API_ROOT and is_under(path, API_ROOT):
            return self.base_path + path[len(API_ROOT) :]
        return path

    def url(self, path: str) -> str:
        """Return the absolute URL for a client's request target, such as "/v1/models"."""
        target = self.target(path.encode("latin-1", "replace")).decode("latin-1")
        return f"{self.origin}{target}"

    def __str__(self) -> str:
        """Scheme and authority, for messages; holds no credentials."""
        if self.unix_path is not None:
            return f"unix:{self.unix_path}"
        return self.origin


def is_under(target: bytes, prefix: bytes) -> bool:
    """Return whether a target's path is the prefix or lies below it."""
    size = len(prefix)
    return target.startswith(prefix) and target[size : size + 1] in _PATH_ENDS
