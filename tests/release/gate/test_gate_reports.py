"""Reports of the gate: safe for any text, in the shapes that their readers expect."""

import io
import json
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateRules, GateVerdict, Shares
from evenkeel.release.gate.reports import as_json, as_junit, document, headline, verdict_words
from evenkeel.release.gate.run import FallenGolden, GateOutcome
from evenkeel.release.kit.cost import Account, Costs
from evenkeel.release.kit.renderings import markdown, show
from evenkeel.stores.goldens import Golden

NASTY = "a | b <script> `x` ```fence``` \x00 \ud800 *bold* _it_ [link](u)"
MEASURES = (
    GateMeasure(name="content_shift"),
    GateMeasure(name="missing"),
    GateMeasure(name="reworded", decides=False, why_not="harmless"),
)


def fallen(name="case-1", said=NASTY):
    golden = Golden(id=name, answer=Answer("One thing. Another thing."))
    return FallenGolden(golden, {"content_shift": 1.0}, Answer(said), 1, NASTY)


def outcome(shares=1.0, *, goldens=60, failing=0, with_reference=True, fall=(), **rules):
    gate = Gate(GateRules(**rules), MEASURES, goldens=goldens, with_reference=with_reference)
    for _ in range(failing):
        gate.take(Failure("replay", 1, "timeout", "no answer in time"))
    while not gate.settled and gate.asked < goldens:
        reference = 0.0 if with_reference else None
        gate.take({measure.name: Shares(shares, reference) for measure in MEASURES})
    return GateOutcome(
        report=gate.report(),
        source="goldens.jsonl",
        candidate=f"new {NASTY}",
        reference="in use" if with_reference else "",
        scored_by="rated by metrics, without a judge",
        planned_calls=2 * goldens,
        costs=Costs(accounts={"candidate": Account(calls=2 * gate.asked, tokens=1500, usd=0.02)}),
        fallen=tuple(fall),
        failures={"timeout": "no answer in time"},
        duration_s=12.5,
    )


KINDS = {
    "regression": lambda: outcome(1.0, fall=[fallen(f"case-{n}") for n in range(9)]),
    "pass": lambda: outcome(0.0),
    "undecided": lambda: outcome(0.0, goldens=10, undecided="pass"),
    "undecided, fails": lambda: outcome(0.0, goldens=10),
    "last look": lambda: outcome(0.0, goldens=40),
    "not measured": lambda: outcome(failing=7),
    "without reference": lambda: outcome(0.0, with_reference=False),
}


@pytest.fixture(params=KINDS, ids=list(KINDS))
def any_outcome(request):
    return KINDS[request.param]()


def test_the_headline_says_verdict_and_reason():
    """Each outcome has a sentence."""
    said = {name: headline(make().report).replace("\u202f", " ") for name, make in KINDS.items()}
    assert said["regression"].startswith("REGRESSION: content_shift +100 % [")
    assert said["pass"].startswith("PASS: an excess of 10 % or more over the reference is ruled out for")
    assert said["undecided"].startswith(
        "PASS only because what is undecided passes (--undecided). Not settled: content_shift 0 % ["
    )
    assert said["undecided, fails"].startswith("UNDECIDED after 10 goldens. Not settled: content_shift 0 %")
    assert "about 28 needed" in said["undecided, fails"]
    assert said["last look"].endswith("decided by the last look, an exact test of all goldens (p = 0.02).")
    assert said["not measured"] == "COULD NOT MEASURE: 7 of 7 asked could not be measured (timeout: 7)."
    assert "no reference was asked" in said["without reference"]


def test_junit_fails_exactly_if_the_gate_does(any_outcome):
    """A harmless measure is skipped; what could not be measured is an error, not a failure."""
    suites = ET.fromstring(as_junit(any_outcome))
    verdict = any_outcome.report.verdict
    assert (int(suites.get("failures")) > 0) == (verdict in {GateVerdict.REGRESSION, GateVerdict.UNDECIDED})
    assert (int(suites.get("errors")) > 0) == (verdict is GateVerdict.COULD_NOT_MEASURE)
    assert (int(suites.get("skipped")) > 0) == (verdict is not GateVerdict.COULD_NOT_MEASURE)


def test_markdown_cannot_be_broken_by_what_goldens_say():
    """Markup in ids and answers is shown, a fence inside a diff does not end it, five diffs are enough."""
    text = markdown(document(KINDS["regression"]()), level=2)
    assert text.count("<details>") == text.count("</details>") == 5
    assert "4 more goldens were answered worse" in text
    assert "````diff" in text
    assert "new a \\| b \\<script\\>" in text
    outside = [line for line in text.splitlines() if not line.startswith(("+", "-"))]
    assert not any("<script>" in line for line in outside)


def test_every_outcome_reads_the_same_in_each_report(any_outcome):
    """JSON has verdict and findings, Markdown says the verdict first and a terminal last, as text."""
    report, word = any_outcome.report, verdict_words(any_outcome.report)
    found = json.loads(as_json(any_outcome))
    assert (found["verdict"], found["saved_calls"]) == (report.verdict.value, any_outcome.saved_calls)
    names = [each["measure"]["name"] for each in found["report"]["findings"]]
    assert names == [measure.name for measure in MEASURES]
    assert found["fallen"] == [] or found["fallen"][0]["golden"] == "case-0"
    first, *lines = markdown(document(any_outcome), level=2).splitlines()
    undecided = word == "PASS" and not report.settled
    assert first.endswith(f"evenkeel gate: {word.lower()}{', undecided' if undecided else ''}")
    assert ("✅" in first) == (word == "PASS" and not undecided)
    rows = [line for line in lines if line.startswith(("| content", "| missing", "| reworded"))]
    assert len(rows) == (len(MEASURES) if report.measured else 0)
    out = io.StringIO()
    show(document(any_outcome), Console(file=out, width=160, markup=False, highlight=False))
    out.getvalue().encode()
    assert "\x00" not in out.getvalue()
    assert out.getvalue().rstrip().splitlines()[-1].startswith(word)
