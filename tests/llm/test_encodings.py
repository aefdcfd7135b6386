"""Content encodings, and bodies that would not fit."""

import gzip
import json
import zlib

import brotli
import pytest
import zstandard

from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.prompt import CHAT

PLAIN = json.dumps({"choices": [{"message": {"content": "hello " * 100}, "finish_reason": "stop"}]}).encode()


def raw_deflate(data):
    """Deflate without the zlib header, as some servers send it."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", PLAIN),
        ("identity", PLAIN),
        ("gzip", gzip.compress(PLAIN, mtime=0)),
        ("X-GZIP", gzip.compress(PLAIN, mtime=0)),
        ("gzip", gzip.compress(PLAIN[:50], mtime=0) + gzip.compress(PLAIN[50:], mtime=0)),
        ("deflate", zlib.compress(PLAIN)),
        ("deflate", raw_deflate(PLAIN)),
        ("br", brotli.compress(PLAIN)),
        ("zstd", zstandard.compress(PLAIN)),
        ("zstd", zstandard.compress(PLAIN[:50]) + zstandard.compress(PLAIN[50:])),
        ("deflate, gzip", gzip.compress(zlib.compress(PLAIN), mtime=0)),
    ],
)
def test_content_encodings_are_undone(encoding, body):
    """Both forms of deflate and gzip are decoded, several in a row from the last to the first."""
    assert decode_body({"content-encoding": encoding}, body) == PLAIN
    assert read_answer({"content-encoding": encoding}, body, CHAT.answer_reader()).text == "hello " * 100


@pytest.mark.parametrize(
    ("encoding", "body", "reason"),
    [
        ("gzip", b"not gzip", "encoding_broken"),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-9], "encoding_broken"),
        ("deflate", b"\x00\x01", "encoding_broken"),
        ("br", b"not brotli", "encoding_broken"),
        ("zstd", b"not zstd", "encoding_broken"),
        ("br", brotli.compress(PLAIN)[:-4], "encoding_broken"),
        ("zstd", zstandard.compress(PLAIN)[:-4], "encoding_broken"),
        ("snappy", b"{}", "encoding_unsupported"),
    ],
)
def test_what_cannot_be_decoded_says_why(encoding, body, reason):
    with pytest.raises(UnreadableBody) as caught:
        decode_body({"content-encoding": encoding}, body)
    assert caught.value.reason == reason


def test_the_limit_itself_is_allowed():
    """A body of just the limit passes, one byte more does not, packed or not."""
    packs = {"": bytes, "gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress}
    for encoding, pack in packs.items():
        headers = {"content-encoding": encoding}
        assert decode_body(headers, pack(b"x" * 1000), 1000) == b"x" * 1000
        with pytest.raises(UnreadableBody, match="too_large"):
            decode_body(headers, pack(b"x" * 1001), 1000)
