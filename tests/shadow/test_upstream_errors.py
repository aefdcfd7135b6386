"""Excerpts of error bodies: what they say is kept, what they give away is not."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.shadow.replay import LONGEST, excerpt

CONTEXT = "This model's maximum context length is 8192 tokens, and your messages hold 9000."
KEY = "Bearer team7-shadow-credential"


def said(body, **options):
    return excerpt({}, body if isinstance(body, bytes) else json.dumps(body).encode(), **options)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            {
                "error": {
                    "message": CONTEXT,
                    "type": "invalid_request_error",
                    "code": "context_length_exceeded",
                }
            },
            f"invalid_request_error, context_length_exceeded: {CONTEXT}",
        ),
        ({"error": {"code": "content_filter", "message": "Filtered."}}, "content_filter: Filtered."),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded_error: Overloaded",
        ),
        (
            {"object": "error", "message": "No such model.", "type": "NotFoundError", "code": 404},
            "NotFoundError, 404: No such model.",
        ),
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"error": {"type": "server_error", "code": None, "message": None}}, "server_error"),
        ({"error": {"type": "same", "code": "same", "message": "two\n\tlines \u202e"}}, "same: two lines "),
        ({"error": []}, ""),
        ([1], ""),
        (b"<html>Bad gateway</html>", ""),
        (b"[" * 5000, ""),
        (b"", ""),
    ],
)
def test_what_known_servers_write(body, line):
    """Type, code and message on one line; nothing of a body that is no error."""
    assert said(body) == line


def test_a_compressed_error_is_read():
    """As its headers say; one that they say wrongly is none."""
    body = gzip.compress(b'{"error": "busy"}')
    assert excerpt({"content-encoding": "gzip"}, body) == "busy"
    assert excerpt({"content-encoding": "gzip"}, b"busy") == ""
    assert excerpt({}, json.dumps({"error": "x" * 70_000}).encode()) == ""


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Unknown key team7-shadow-credential.", "Unknown key ***."),
        (f"Got '{KEY}'", "Got '***'"),
        (
            "Incorrect API key provided: sk-ab12***wxyz. See the page.",
            "Incorrect API key provided: *** See the page.",
        ),
        ("Bad sk-proj-0123456789abcdefghij here", "Bad *** here"),
        (
            "Limit reached in organization org-Ab12Cd34Ef on tokens",
            "Limit reached in organization *** on tokens",
        ),
        ("No access for jane@example.org", "No access for ***"),
        ("Cannot reach https://me:pass@host/v1", "Cannot reach https://***@host/v1"),
        ("Trace 4bf92f3577b34da6a3ce929d0e0e4736 failed", "Trace *** failed"),
        ("No gpt-4o-mini-2024-07-18 in westeurope", "No gpt-4o-mini-2024-07-18 in westeurope"),
    ],
)
def test_secrets_are_masked(message, line):
    """Credentials of the request, keys by their look, addresses; names of models stay."""
    assert said({"error": {"message": message}}, credentials=[KEY]) == line


def test_an_unknown_key_is_never_quoted():
    """Where the message is not wanted only type and code are kept."""
    body = {"error": {"message": "Incorrect key: abc", "type": "auth_error", "code": "invalid_api_key"}}
    assert said(body, message=False) == "auth_error, invalid_api_key"


@given(st.text(max_size=60), st.text(max_size=400), st.text(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_message_gives_one_short_line_without_the_credential(kind, before, behind):
    """Whatever stands around it, at whatever place a long message is cut."""
    secret = "s3cret-of-the-team"
    line = said({"error": {"type": kind, "message": f"{before} {secret} {behind}"}}, credentials=[secret])
    assert len(line) <= LONGEST
    assert secret[:12] not in line
    assert "\n" not in line


def test_no_blanks_push_half_of_a_key_into_the_excerpt():
    """What is read of a message is counted without them: a key at its end is looked for before it is cut."""
    message = f"Refused:{' ' * 1_970}{KEY.removeprefix('Bearer ')}"
    assert said({"error": {"message": message}}, credentials=[KEY]) == "Refused: ***"
