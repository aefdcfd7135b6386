"""What the change response remembers: runs of goldens, what was responded to, and settings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.stores.documents import Collection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.stores.documents import Documents


_RUNS_KEPT: Final = 400
"""Of each route; a year of daily canaries."""


Trigger = Literal["canary", "change"]


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """One golden in one run."""

    golden: str
    """Its id and version, as `key_of` writes them."""
    breaches: dict[str, bool] = field(default_factory=dict)
    """By measure whether the answer breaches it; those that could not be measured are left out."""
    scores: dict[str, float] = field(default_factory=dict)
    """By metric, in [0, 1], 1 = as approved."""
    failure: str = ""
    """Why there is no answer or no score, in snake case; "" if there is."""


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """All goldens of a route, asked once."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    trigger: Trigger
    change: str
    """Id of the change that it looks into; "" for a canary."""
    asked: str
    """What was asked, in a line for people."""
    model: str
    """Name in the answers, of the most."""
    deciding: tuple[str, ...]
    """Measures that can show a change; the others are only shown."""
    scorer: str
    """Who scored, and by which thresholds: runs of different ones are not compared."""
    judged: bool
    """Whether a judge took part in the scores."""
    results: tuple[GoldenResult, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    """Goldens that could not be asked, by reason."""

    def to_json(self) -> dict[str, Any]:
        """The run as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GoldenRun:
        """Read what `to_json` wrote."""
        results = tuple(GoldenResult(**one) for one in raw.pop("results"))
        return cls(results=results, deciding=tuple(raw.pop("deciding")), **raw)


class _Claim(NamedTuple):
    """Somebody responds to a change."""

    change: str
    at: float


class _SettingsVersion(NamedTuple):
    """What a fingerprint of settings stands for."""

    fingerprint: str
    values: dict[str, str]


_RUNS: Final = Collection(
    schema=(
        """CREATE TABLE IF NOT EXISTS golden_runs (
             seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, route TEXT NOT NULL,
             body TEXT NOT NULL)""",
    ),
    table="golden_runs",
    key=("id",),
    fields=("route",),
    tag="changes",
    layout="ordered",
    name="runs",
    revision="turns",
    kept=_RUNS_KEPT,
    kept_of="route",
    pack=lambda run, _seal: json.dumps(run.to_json()),
    unpack=lambda body, _seal, _name: GoldenRun.from_json(json.loads(body)),
    key_of=lambda run: (run.id,),
    fields_of=lambda run: (run.route,),
)
_RESPONSES: Final = Collection(
    schema=("CREATE TABLE IF NOT EXISTS change_responses (change TEXT PRIMARY KEY, at REAL NOT NULL)",),
    table="change_responses",
    key=("change",),
    columns=("at",),
    tag="changes",
    layout="keys",
    name="response:{}",
    expires_s=30 * 86_400,
    pack=lambda claim, _seal: repr(claim.at),
    unpack=lambda body, _seal, name: _Claim(name[0], float(body)),
    key_of=lambda claim: (claim.change,),
)
_SETTINGS: Final = Collection(
    schema=(
        "CREATE TABLE IF NOT EXISTS settings_versions (fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL)",
    ),
    table="settings_versions",
    key=("fingerprint",),
    tag="changes",
    layout="hash",
    name="settings",
    pack=lambda version, _seal: json.dumps(version.values),
    unpack=lambda body, _seal, name: _SettingsVersion(name[0], json.loads(body)),
    key_of=lambda version: (version.fingerprint,),
)


class ChangeStore:
    """What the change response remembers. Calls block on storage; several processes may share it."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_RUNS, _RESPONSES, _SETTINGS)

    def put_run(self, run: GoldenRun) -> None:
        """Keep a run of goldens; one of the same id replaces it."""
        self._documents.put(_RUNS, run)

    def runs(self) -> list[GoldenRun]:
        """All runs that are kept, oldest first."""
        return self._documents.history(_RUNS)

    def revision(self) -> int:
        """Grows with every run that is kept."""
        return self._documents.revision(_RUNS)

    def respond(self, change: str, at: float) -> bool:
        """Claim the response to a change; False if somebody has it already. On Redis for a month."""
        return self._documents.add(_RESPONSES, _Claim(change, at))

    def put_settings(self, fingerprint: str, values: Mapping[str, str]) -> None:
        """Remember what a fingerprint of settings stands for."""
        self._documents.add(_SETTINGS, _SettingsVersion(fingerprint, dict(values)))

    def settings(self, fingerprint: str) -> dict[str, str] | None:
        """What it stands for; None if that was never said."""
        found = self._documents.find(_SETTINGS, fingerprint)
        return None if found is None else found.values
