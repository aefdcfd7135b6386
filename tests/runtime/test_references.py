"""Reference prompts in a process: what is noticed of changes, and what is said of costs in advance."""

import pytest

from evenkeel.core.cells import ChangeMark, RouteChanges
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.record import ChangeRecord, ChangeTally, Silent
from evenkeel.monitor.fold import SilentReport
from evenkeel.runtime.references import cost_lines, noticed, pace_of
from evenkeel.runtime.replays import reference_target
from evenkeel.settings import Settings
from evenkeel.shadow.references.asker import ModelRename, MonitorFindings
from evenkeel.shadow.references.pace import DAY_S, FoundChange, Pace, Suspicion
from evenkeel.stores.references import Reference
from tests.monitor.changes.silent_evidence import references

NOW = 10 * DAY_S


def settings(tmp_path, **given):
    routes = [{"name": "shop", "upstream": "http://h/v1", "fallbacks": ["http://b/base"]}]
    return Settings(**{"routes": routes, "data_dir": tmp_path, **given})


def mark(kind, at, after="m-2"):
    return ChangeMark(kind, "m-1", after, at, 1)


def of_marks(marks, silent=None, reads=None):
    def records():
        if reads is not None:
            reads.append(1)
        return [ChangeRecord("c", "shop", tuple(marks), ChangeTally(), ChangeTally(), 0, silent)]

    return noticed(lambda: [RouteChanges("shop", {}, tuple(marks))], records, list, lambda: NOW)


def test_another_model_name_is_noticed_for_a_day():
    """References are asked about it at once, without reading the records, which costs more."""
    reads = []
    marks = [mark(kinds.MODEL, NOW - 2 * DAY_S, "m-0"), mark(kinds.MODEL, NOW - 5), mark(kinds.SETTINGS, NOW)]
    assert of_marks(marks, reads=reads) == MonitorFindings(
        suspected=(Suspicion("shop", None, NOW - 5),), renamed=(ModelRename("shop", "m-2", NOW - 5),)
    )
    assert reads == []


def test_findings_are_noticed_with_their_model():
    known = references(at=NOW - 30)
    seen = of_marks([mark(kinds.REFERENCES, NOW - 30)], Silent(known))
    assert seen == MonitorFindings(found=(FoundChange("shop", known.requested_model, NOW - 30, known.since),))
    old = Silent(references(at=NOW - 2 * DAY_S))
    assert of_marks([mark(kinds.REFERENCES, NOW - 60)], old) == MonitorFindings()


def test_what_is_noticed_about_answers_is_a_question_for_the_references():
    """Unless a change found within the hour answers it. A new prompt may hide a model; settings do not."""
    asked = (kinds.FINGERPRINT, kinds.RATINGS, kinds.PROMPT)
    moved = [mark(kind, NOW - 9 + place) for place, kind in enumerate((*asked, kinds.SETTINGS))]
    questions = tuple(Suspicion("shop", None, NOW - 9 + place) for place in range(len(asked)))
    assert of_marks(moved).suspected == questions
    known = [*moved, mark(kinds.REFERENCES, NOW - 30)]
    assert of_marks(known, Silent(references(at=NOW - 30))).suspected == ()
    assert of_marks(known, Silent(references(at=NOW - DAY_S / 2))).suspected == questions


def test_evidence_of_the_references_themselves_is_a_question():
    """What hints at a change is looked into at once, with the time at which the unlike answers began."""
    hints = SilentReport("shop", "m", 3.0, 7.0, 40, suspected_since=NOW - 600)
    quiet = SilentReport("forms", "m", 0.0, 7.0, 40)
    findings = noticed(list, list, lambda: [hints, quiet], lambda: NOW)
    assert findings.suspected == (Suspicion("shop", "m", NOW - 600),)


def test_without_an_archive_nothing_is_asked(tmp_path):
    """Who keeps no exchanges keeps no references either."""
    assert pace_of(settings(tmp_path)) == Pace(288, 60, 0.5)
    assert pace_of(settings(tmp_path, storage={"archive": 0})).calls_per_day == 0


@pytest.mark.parametrize(
    ("path", "upstream", "url"),
    [
        ("/v1/chat/completions?v=7&api-version=7", 0, "http://h/v1/chat/completions?api-version=7"),
        ("/v1/chat/completions", 1, "http://b/base/chat/completions"),
        ("/v1/chat/completions", 2, "http://h/v1/chat/completions"),
    ],
)
def test_a_reference_goes_where_it_was_answered(tmp_path, monkeypatch, path, upstream, url):
    """With the key of its replays, none if it has none; an upstream that is gone is the first."""
    monkeypatch.setenv("EVENKEEL_SHADOW_API_KEY", "k")
    kept = Reference(
        id="x", route="shop", requested_model="m", prompt_version="", path=path, request="{}",
        taken_at=0.0, answers=(), upstream=upstream,
    )  # fmt: skip
    target = reference_target(settings(tmp_path))(kept)
    assert (target.url, target.headers) == (url, () if upstream == 1 else (("authorization", "Bearer k"),))


def test_costs_are_said_beforehand(tmp_path):
    """288 calls of 1,000 and 400 tokens cost 288 · (0.0001 + 0.0002) = 0.09 dollars; with bursts 0.14."""
    (said,) = cost_lines(settings(tmp_path))
    assert "288 calls of each route a day, $0.09 at the price of gpt-6-luna" in said
    assert "468 calls, $0.14, on a day with three suspicions; limit $0.50" in said
    (said,) = cost_lines(settings(tmp_path, replays={"references": {"calls_per_day": 0}}))
    assert "none are asked" in said
