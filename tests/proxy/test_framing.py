import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.framing import LAST_CHUNK, MAX_TRAILER_BYTES, ChunkError, ChunkReader, chunk


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    st.sampled_from([b"%x", b"%X", b"000%x"]),
    st.sampled_from([b"", b";a=b", b' ; a="x"', b"\t"]),
    st.sampled_from([b"", b"T: 1\r\n", b"T: 1\r\nU:\r\n"]),
    st.sampled_from([b"", b"GET / HTTP/1.1\r\n"]),
    st.data(),
)
def test_any_cutting_forwards_the_same_body_in_whole_chunks(pieces, size, extension, trailer, rest, data):
    """However it is cut, payload and rest are the same; whole chunks go on at once, the end at its time."""
    raw = b"".join(size % len(piece) + extension + b"\r\n%b\r\n" % piece for piece in pieces)
    raw += b"0" + extension + b"\r\n" + trailer + b"\r\n" + rest
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12)))
    plain, reader, judge = ChunkReader(), ChunkReader(), ChunkReader()
    payload = after = b""
    for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        if reader.done:
            after += raw[start:stop]
            continue
        expected = plain.feed(raw[start:stop])
        assert judge.feed(reader.forward(raw[start:stop])) == expected
        assert judge._left == 0
        assert not judge._line
        assert judge.done == plain.done == reader.done
        payload += expected
    assert payload == b"".join(pieces)
    assert reader.done
    assert judge.rest == b""
    assert plain.rest == reader.rest
    assert reader.rest + after == rest


def test_whole_chunks_are_forwarded_without_a_copy():
    """A piece that needs no change is the very object that came."""
    data = b"5\r\nevent\r\n002\r\nab\r\n"
    assert ChunkReader().forward(data) is data


def test_whole_chunks_before_the_end_or_a_part_keep_their_framing():
    reader = ChunkReader()
    assert reader.forward(b"zz2\r\nab\r\n5\r\nabc", 2) == b"2\r\nab\r\n3\r\nabc\r\n"
    assert reader.forward(b"de\r\n01;x\r\nf\r\n") == b"3\r\ndef\r\n"
    assert reader.forward(b"01\r\ng\r\n0\r\nT: 1\r\n\r\nrest") == b"01\r\ng\r\n0\r\n\r\n"
    assert reader.rest == b"rest"


@pytest.mark.parametrize(
    "raw",
    [
        b"x\r\n",
        b"\r\n",
        b"3\nabc\r\n",
        b"-1\r\n",
        b"0x3\r\nabc\r\n",
        b" 3\r\nabc\r\n",
        b"3\r\nabcd\r\n",
        b"3\r\nabc\n\n",
        b"3\r\nabc\r\r",
        b"3;\x00\r\nabc\r\n",
        b"1" * 16 + b"\r\n",
        b"1;" + b"e" * 5000,
        b"0\r\nbad trailer\r\n\r\n",
        b"0\r\n" + b"T: 1\r\n" * (MAX_TRAILER_BYTES // 6 + 1),
    ],
)
def test_malformed_chunks_are_refused_however_they_arrive(raw):
    for read in (ChunkReader.feed, ChunkReader.forward):
        with pytest.raises(ChunkError):
            read(ChunkReader(), raw)
        reader = ChunkReader()
        with pytest.raises(ChunkError):  # noqa: PT012 - any of the bytes may be the one
            for index in range(len(raw)):
                read(reader, raw[index : index + 1])


def test_reading_starts_at_a_position():
    """The bytes before the position belong to the head and are not looked at."""
    reader = ChunkReader()
    assert reader.feed(b"zzz2\r\nab", 3) == b"ab"
    assert reader.feed(b"\r\n0\r\n\r\n") == b""
    assert reader.done


def test_chunk_of_nothing_is_nothing():
    """An empty chunk would end the body, so none is written for an empty payload."""
    assert chunk(b"") == b""
    assert chunk(b"a" * 26) == b"1a\r\n" + b"a" * 26 + b"\r\n"
    assert LAST_CHUNK == b"0\r\n\r\n"
