"""Verdict log on Redis: a stream whose entries are numbered without gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.stores.payloads import pack_evidence, pack_verdict, storable, unpack_evidence, unpack_verdict
from evenkeel.stores.redis.connection import Script, text
from evenkeel.stores.trial_index import ANYTHING
from evenkeel.stores.verdict_log import (
    LoggedNote,
    LoggedVerdict,
    Stretch,
    approvals_in,
    is_kept,
    note_of_text,
    note_to_text,
)

if TYPE_CHECKING:
    from evenkeel.core.approval import Approval
    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.stores.redis.connection import RedisStore
    from evenkeel.stores.trial_index import Narrow
    from evenkeel.stores.verdict_log import Logged, Note

_VERDICTS_KEPT: Final = 500_000
_EVIDENCE_KEPT: Final = 20_000
_EVIDENCE_S: Final = 30 * 86_400.0
# Seconds by which the log's order may differ from the order of the verdicts' times: several workers write
# to it.
_SLACK_S: Final = 900.0
# Verdicts of one route, or of one of its perturbations, that `latest` can return.
_LISTED: Final = 5_000


class RedisVerdictLog:
    """`VerdictLog` on a Redis stream. An offset is the number of an entry: they have no gaps.

    A verdict, its place in the lists that are searched, and its evidence are stored in one step. The newest
    `kept` verdicts are there to be read; those trimmed are counted. A monitor that is behind by more has lost
    some, which it sees from a gap in the offsets.
    """

    def __init__(
        self,
        store: RedisStore,
        *,
        kept: int = _VERDICTS_KEPT,
        evidence_kept: int = _EVIDENCE_KEPT,
        evidence_s: float = _EVIDENCE_S,
    ) -> None:
        """Open the log. It keeps the newest of each, and evidence for `evidence_s` seconds at most."""
        self._store = store
        self._bounds = (round(evidence_s * 1000), evidence_kept, kept, _LISTED)
        self._prefix = store.key("main", "")
        self._keys = tuple(store.keys("main", "log", "log-ids", "log-last", "evidence", "log-figures"))
        self._log, self._ids, self._last, _, self._figures = self._keys
        self._notes, self._noted_ids = store.keys("main", "log-approvals", "log-approval-ids")
        self._sightings, self._sighted_ids = store.keys("main", "log-sightings", "log-sighting-ids")
        self._note = Script(store, "verdicts_note")
        self._entries = Script(store, "verdicts_entries")
        self._append = Script(store, "verdicts_append")
        self._bodies = Script(store, "verdicts_bodies")

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict and its evidence in one step; False if the id is there already."""
        seal = self._store.seal
        packed = pack_evidence(evidence, f"evidence/{verdict.id}", seal) if evidence else b""
        number = self._append.replicated(
            self._keys,
            self._prefix,
            *map(storable, (verdict.id, verdict.exchange_id, verdict.route, verdict.perturbation)),
            pack_verdict(verdict, seal),
            packed,
            *self._bounds,
        )
        return int(number) > 0

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Return the verdicts already logged for an exchange, oldest first."""
        return self._listed(f"verdicts-of:{storable(exchange_id)}", -1)

    def note(self, note: Note) -> bool:
        """Store a note behind all verdicts so far. Return False if it exists already."""
        notes, ids = (self._notes, self._noted_ids) if is_kept(note) else (self._sightings, self._sighted_ids)
        kept = 0 if is_kept(note) else self._bounds[2]
        name, body = storable(note.id), storable(note_to_text(note))
        return int(self._note((ids, self._last, notes), name, body, kept)) > 0

    def entries_after(self, offset: int, limit: int) -> list[Logged]:
        """Return up to `limit` entries of any kind after `offset`, in log order."""
        read, *noted = self._entries((self._log, self._notes, self._sightings), offset, limit)
        # The script returns places and bodies in turn.
        entries: list[Logged] = []
        for entry_id, body in zip(read[::2], read[1::2], strict=True):
            entries.append(self._logged(entry_id, body))
        for notes in noted:
            for body, place in zip(notes[::2], notes[1::2], strict=True):
                # Redis gives the scores of a sorted set as floats.
                entries.append(LoggedNote(int(float(place)), note_of_text(text(body))))
        # Notes and verdicts share one sequence; without notes the verdicts are in order already.
        if any(noted):
            entries.sort(key=lambda entry: entry.offset)
        if entries:
            # A monitor counts what it reads, so nothing may be read that a failover could still undo.
            self._store.await_replicas()
        return entries[:limit]

    def approvals(self) -> list[Approval]:
        """Return every approval, in log order."""
        return approvals_in(map(text, self._store.client.zrange(self._notes, 0, -1)))

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ANYTHING) -> Stretch:
        """Return the verdicts that `narrow` admits among the `limit` before `offset`, newest first."""
        # There is no index by time: without this, a page on last week would read all of this week first.
        if narrow.until is not None:
            offset = self._place_after(narrow.until + _SLACK_S, offset)
        read = self._before(offset, limit)
        admitted = []
        for logged in read:
            if narrow.admits(logged.verdict):
                admitted.append(logged)
        if not read:
            return Stretch([], 0, 0)
        reached_s = read[-1].verdict.scored_at
        ended = len(read) < limit or (narrow.since is not None and reached_s < narrow.since - _SLACK_S)
        return Stretch(admitted, 0 if ended else read[-1].offset, len(read))

    def _before(self, offset: int | None, limit: int) -> list[LoggedVerdict]:
        last = "+" if offset is None else f"({offset}-0"
        rows = self._store.client.xrevrange(self._log, max=last, count=limit)
        verdicts: list[LoggedVerdict] = []
        for entry_id, fields in rows:
            verdicts.append(self._logged(entry_id, fields[b"body"]))
        return verdicts

    def _logged(self, entry_id: bytes, body: bytes) -> LoggedVerdict:
        # The second half of a place in the stream is always 0.
        return LoggedVerdict(int(text(entry_id).partition("-")[0]), self._verdict(body))

    def _place_after(self, moment: float, before: int | None) -> int | None:
        """Return a place below which all verdicts up to a time lie, found by bisection; at most `before`."""
        newest = self._before(before, 1)
        if not newest or newest[0].verdict.scored_at <= moment:
            return before
        low, high = 0, newest[0].offset
        while high - low > 1:
            middle = (low + high) // 2
            probe = self._before(middle, 1)
            if probe and probe[0].verdict.scored_at > moment:
                high = probe[0].offset
            else:
                low = middle
        return high

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """Return the newest verdicts, newest first; at most 5,000 of a route."""
        if limit <= 0:
            return []
        if route is None:
            rows = self._store.client.xrevrange(self._log, count=limit)
            return [self._verdict(fields[b"body"]) for _, fields in rows]
        name = f"latest-route:{route}" if perturbation is None else f"latest-cell:{route} {perturbation}"
        return self._listed(storable(name), limit - 1)

    def find(self, verdict_id: str) -> Verdict | None:
        """Return the verdict with this id."""
        number = self._store.client.hget(self._ids, storable(verdict_id))
        if number is None:
            return None
        entry_id = f"{text(number)}-0"
        rows = self._store.client.xrange(self._log, min=entry_id, max=entry_id)
        return self._verdict(rows[0][1][b"body"]) if rows else None

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Return the prompts and answers behind a verdict; None once they are no longer kept."""
        packed = self._store.client.get(f"{self._prefix}evidence:{storable(verdict_id)}")
        if not packed:
            return None
        return unpack_evidence(packed, f"evidence/{verdict_id}", self._store.seal)

    def trimmed(self) -> int:
        """Count the verdicts that are no longer kept."""
        return int(self._store.client.hget(self._figures, "verdicts_trimmed") or 0)

    def _listed(self, name: str, last: int) -> list[Verdict]:
        bodies = self._bodies((self._log, f"{self._prefix}{name}"), 0, last)
        return [self._verdict(body) for body in bodies]

    def _verdict(self, body: bytes) -> Verdict:
        return unpack_verdict(body.decode(), self._store.seal)
