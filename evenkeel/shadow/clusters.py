"""Clusters: near-equal prompts and prompts of one session, whose trials are not independent.

Two prompts are near-equal if they have the same template, the same conversation before, and near-equal
inputs: once e-mail addresses, URLs, dates, quoted values and every word with a digit are masked, they share
0.8 of their character 5-grams, or, up to 400 characters, differ by slips of the pen alone. What a user typed
and the data beside it (documents, results of tools) must both be that near. A prompt joins the cluster of the
first one it is near to, so clusters do not drift.

A session is what the application says (`x-evenkeel-session`, `session_id`, `metadata.session_id` and the
like), else the beginning of a conversation: its first words and the first answer.

**Several workers.** A name is a hash of the session, else of the masked input, so prompts that are equal once
masked (retries, scheduled jobs about other numbers) and prompts of a stated session have one name in all
workers and after a restart. Inputs that differ in words are compared with the last 16,384 distinct ones that
this process has read: a burst of those has at most one name for each worker.

Source: Broder 1997, for sketches of the smallest hashes.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rapidfuzz.distance import OSA, Levenshtein

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.prompt.view import Message

    _Hashes = NDArray[np.uint64]


NEAR: Final = 0.8
"""Jaccard likeness from which on two inputs are near-equal."""
_GRAM: Final = 5
_SHORT: Final = 400
_TYPED_ALIKE: Final = 0.9
"""Share of the characters that short texts have in common, so that two slips of the pen still join."""
_SLIPS: Final = 2
"""Characters by which a word may differ: one in any, two in those of four letters, a tenth of long ones."""
_SLIP_SHARE: Final = 0.1
_SKETCH: Final = 128
"""Hashes kept of an input: likeness is exact up to so many 5-grams, above that to within 0.07."""
_KEYS: Final = 8
"""Under which an input is looked up; two with a likeness of 0.8 in both parts miss each other in 0.03 %."""
_CROWD: Final = 16
"""Inputs under one key; the oldest makes way."""
_MOST: Final = 16_384
"""Inputs remembered: some 30 MB."""
_SIDE: Final = 100_000
"""Characters read of an input, from its beginning and from its end: a hostile one costs some 50 ms."""
_FEWEST_LETTERS: Final = 3
_QUOTED_AT_MOST: Final = 0.3
_OPENING: Final = 40
"""Characters of what users said that make the beginning of a conversation: "hi" alone is nobody's."""
_NAME_BYTES: Final = 8

_QUOTED: Final = re.compile(
    r'["\u201c\u201e\u00ab\u300c`]'
    r'[^"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d`\n]{1,60}'
    r'["\u201c\u201d\u00bb\u300d`]'
)
_VALUES: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w.-]+"
    r"|https?://\S+"
    r"|\b\d{1,2}(?:st|nd|rd|th)?\.?\s[^\W\d_]{3,10}\.?,?\s\d{4}\b"
    r"|\b[^\W\d_]{3,10}\.?\s\d{1,2}(?:st|nd|rd|th)?,\s\d{4}\b"
    r"|(?<![A-Za-z_\d-])[A-Za-z_-]*+\d[A-Za-z_\d.,:/-]*"
)
_BETWEEN: Final = re.compile(r"[\W_]+")


def masked(text: str) -> str:
    """An input without what makes two near-equal ones differ: values, case, punctuation and white space.

    Quoted values stay where they are most of the text, and all values stay where nothing else would be left:
    what is asked about "17" and "23" is not the same question.
    """
    if len(text) > 2 * _SIDE:
        text = f"{text[:_SIDE]} {text[-_SIDE:]}"
    text = unicodedata.normalize("NFKC", text)
    bare = _QUOTED.sub(" ", text)
    if len(bare) >= (1 - _QUOTED_AT_MOST) * len(text):
        found = _plain(_VALUES.sub(" 0 ", _QUOTED.sub(" 0 ", text)))
    else:
        found = _plain(_VALUES.sub(" 0 ", text))
    letters = sum(map(str.isalpha, found[: 8 * _FEWEST_LETTERS]))
    return found if letters >= _FEWEST_LETTERS else _plain(text)


def _plain(text: str) -> str:
    return _BETWEEN.sub(" ", text).strip().casefold()


class _Sketch(NamedTuple):
    """The smallest hashes of a text's 5-grams, ascending."""

    hashes: _Hashes
    whole: bool
    """Whether these are all."""
    text: str
    """The text itself where it is short."""

    @classmethod
    def of(cls, text: str) -> _Sketch:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
        if not len(codes):
            return cls(codes, whole=True, text="")
        count = max(1, len(codes) - _GRAM + 1)
        grams = np.zeros(count, dtype=np.uint64)
        for place in range(min(_GRAM, len(codes))):
            grams = grams * _PRIME + codes[place : place + count]
        hashes = np.unique(_mixed(grams))
        short = text if len(text) <= _SHORT else ""
        return cls(hashes[:_SKETCH].copy(), whole=len(hashes) <= _SKETCH, text=short)

    def near(self, other: _Sketch) -> bool:
        """Whether the texts share enough of their 5-grams, or are short and few characters apart."""
        if self.text and other.text and _typed_alike(self.text, other.text):
            return True
        known = [one.hashes[-1] for one in (self, other) if not one.whole]
        mine, yours = self.hashes, other.hashes
        if known:
            # Above the smaller of the last ones, a hash may be missing from a sketch and not from its text.
            mine, yours = (one[one <= min(known)] for one in (mine, yours))
        shared = len(np.intersect1d(mine, yours, assume_unique=True))
        return shared >= NEAR * (len(mine) + len(yours) - shared)

    def smallest(self) -> _Hashes:
        """For each key the smallest hash in an order of its own."""
        if not len(self.hashes):
            return _SALTS
        least: _Hashes = _mixed(self.hashes[None, :] ^ _SALTS[:, None]).min(axis=1)
        return least


def _typed_alike(one: str, other: str) -> bool:
    """Whether two texts differ by slips of the pen alone: in few characters, and no word is another word."""
    if OSA.normalized_similarity(one, other) < _TYPED_ALIKE:
        return False
    mine, yours = one.split(), other.split()
    matches = Levenshtein.editops(mine, yours).as_matching_blocks()
    place = other_place = 0
    for match in matches:
        left, right = "".join(mine[place : match.a]), "".join(yours[other_place : match.b])
        most = max(1, min(_SLIPS, len(left) / 2), _SLIP_SHARE * len(left))
        if OSA.distance(left, right) > most:
            return False
        place, other_place = match.a + match.size, match.b + match.size
    return True


_PRIME: Final = np.uint64(0x100000001B3)


def _mixed(values: _Hashes) -> _Hashes:
    """Numbers spread over 64 bits (splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_SALTS: Final = _mixed(np.arange(1, _KEYS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


@dataclass(frozen=True, slots=True, eq=False)
class _Input:
    """One that others may be near to."""

    typed: _Sketch
    data: _Sketch
    keys: tuple[int, ...]
    cluster: str

    def near(self, other: _Input) -> bool:
        return self.typed.near(other.typed) and self.data.near(other.data)


class Clusters:
    """Names the clusters of exchanges. Thread-safe; memory and the cost of an exchange are bounded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inputs: OrderedDict[_Input, None] = OrderedDict()
        """The one that was matched longest ago first."""
        self._by_key: dict[int, list[_Input]] = {}
        self._beginnings: OrderedDict[str, str] = OrderedDict()
        """Clusters of the first requests of conversations."""

    def of(self, route: str, template: str | None, view: PromptView, answer: str, session: str | None) -> str:
        """The cluster of an exchange; "" if its prompt holds no text.

        Args:
            route: Its route; clusters of two routes have nothing in common.
            template: Fingerprint of its template, None while that is unknown.
            view: Its prompt, cut by that template.
            answer: Text of its answer.
            session: As a header of the request says.
        """
        stated = session or _stated_session(view)
        own = _name("session", route, stated) if stated else None
        if not any(one.text.strip() for one in view.segments):
            return own or ""
        messages = view.messages
        parts = _parts(view, messages, known=template is not None)
        beginning = None if stated else _beginning(view, messages, answer)
        salt = _name(route, template or "", parts.before, parts.attached)
        typed, data = masked(parts.typed), masked(parts.data)
        one, other = _Sketch.of(typed), _Sketch.of(data)
        keys = _keys(salt, one, other)
        begun = _name("beginning", route, beginning) if beginning else None
        with self._lock:
            if begun is not None and parts.is_later:
                own = self._beginnings.get(begun, begun)
            found = _Input(one, other, keys, own or _name(salt, typed, data))
            match = next((seen for seen in self._candidates(keys) if seen.near(found)), None)
            if match is not None:
                self._inputs.move_to_end(match)
                return match.cluster
            self._remember(found)
            if begun is not None and not parts.is_later:
                self._beginnings[begun] = found.cluster
                if len(self._beginnings) > _MOST:
                    self._beginnings.popitem(last=False)
        return found.cluster

    def _candidates(self, keys: Iterable[int]) -> Iterator[_Input]:
        """Inputs with a key in common, each once, those of the first key first."""
        seen: set[int] = set()
        for key in keys:
            for one in self._by_key.get(key, ()):
                if id(one) not in seen:
                    seen.add(id(one))
                    yield one

    def _remember(self, found: _Input) -> None:
        self._inputs[found] = None
        for key in found.keys:
            crowd = self._by_key.setdefault(key, [])
            crowd.append(found)
            del crowd[:-_CROWD]
        if len(self._inputs) > _MOST:
            oldest, _ = self._inputs.popitem(last=False)
            for key in oldest.keys:
                crowd = self._by_key.get(key, [])
                if oldest in crowd:
                    crowd.remove(oldest)
                if not crowd:
                    self._by_key.pop(key, None)


def _keys(salt: str, typed: _Sketch, data: _Sketch) -> tuple[int, ...]:
    both = _mixed(typed.smallest() * _PRIME ^ data.smallest() ^ _SALTS)
    return tuple(int(key) for key in both ^ np.uint64(int(salt, 16)))


class _Parts(NamedTuple):
    """What is compared of a prompt."""

    typed: str
    """What the user typed last."""
    data: str
    """What else came with that: documents, results of tools, code."""
    before: str
    """Digest of the conversation before."""
    attached: str
    """Digest of what is no text."""
    is_later: bool
    """Whether something was answered before."""


def _parts(view: PromptView, messages: Sequence[Message], *, known: bool) -> _Parts:
    last = view.last_user_slot
    begin = last[0] if last else 0
    typed: list[str] = []
    data: list[str] = []
    before: list[str] = []
    for one in view.segments:
        if one.role in _SYSTEM:
            if one.kind == "input":
                data.append(one.text)
        elif one.message < begin:
            before.append(one.text)
        elif one.source == "typed":
            typed.append(one.text)
        elif one.role != "assistant" and (one.kind != "template" or not known):
            data.append(one.text)
    is_later = any(message.role == "assistant" for message in messages)
    said = _name(masked("\n".join(before))) if before else ""
    return _Parts("\n".join(typed), "\n".join(data), said, _attached(view, messages), is_later)


_SYSTEM: Final = frozenset({"system", "developer"})
_TEXT_PARTS: Final = ("text", "input_text", "output_text")


def _attached(view: PromptView, messages: Sequence[Message]) -> str:
    """A digest of images and other parts of messages that hold no text; "" if there are none."""
    if not any(message.others for message in messages if message.role == "user"):
        return ""
    said = view.get(view.api.prompt_members[0])
    contents = [one.get("content") for one in said or () if isinstance(one, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    others = [part for part in parts if isinstance(part, dict) and part.get("type") not in _TEXT_PARTS]
    return _name(json.dumps(others, sort_keys=True)) if others else ""


_SESSION_KEYS: Final = ("session_id", "conversation_id", "thread_id")
_PERSON_KEYS: Final = ("user", "safety_identifier")


def _stated_session(view: PromptView) -> str | None:
    """The session that the body names, None if it names none."""
    metadata = view.get("metadata")
    for place in (
        metadata if isinstance(metadata, dict) else {},
        {key: view.get(key) for key in _SESSION_KEYS},
    ):
        for key in _SESSION_KEYS:
            if isinstance(place.get(key), str) and place[key]:
                return f"{key} {place[key]}"
    return None


def _beginning(view: PromptView, messages: Sequence[Message], answer: str) -> str | None:
    """The first words of a conversation and the answer to them; None if users said too little until now."""
    said = [person for key in _PERSON_KEYS if isinstance(person := view.get(key), str)]
    chars = 0
    spoken = [message for message in messages if message.role in {"user", "assistant"}]
    for place, message in enumerate(spoken):
        said.append(_plain(message.text))
        if message.role == "user":
            chars += len(said[-1])
            if chars >= _OPENING:
                following = spoken[place + 1] if place + 1 < len(spoken) else None
                if following is None or following.role == "assistant":
                    said.append(_plain(following.text if following else answer))
                    return "\0".join(said)
    return None


def _name(*parts: Any) -> str:
    digest = blake2b(digest_size=_NAME_BYTES)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
