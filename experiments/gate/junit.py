"""The outcome as JUnit XML, one test case a measure that decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from evenkeel.experiments.gate import wording
from evenkeel.experiments.gate.report import Verdict

if TYPE_CHECKING:
    from evenkeel.experiments.gate.outcome import Outcome
    from evenkeel.experiments.gate.report import Finding

_SUITE: Final = "evenkeel gate"
_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def junit(outcome: Outcome) -> str:
    """XML in the shape that CI servers read.

    A regression is a failure. Where nothing could be measured, one test case has an error. A measure that
    is not settled fails if the rules say so; else it passes with that said in its output. One that does
    not decide is skipped.
    """
    report = outcome.report
    if report.verdict is Verdict.COULD_NOT_MEASURE:
        case = _case("measurement", outcome)
        ET.SubElement(case, "error", {"type": "could_not_measure", "message": _clean(report.reason)})
        cases = [case]
    else:
        cases = [_of(finding, outcome) for finding in report.findings]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{outcome.duration_s:.3f}",
    }
    suites = ET.Element("testsuites", {"name": _SUITE, **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _SUITE, **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (("candidate", outcome.candidate), ("reference", outcome.reference)):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _clean(
        "\n".join((wording.headline(report), f"{wording.goldens(report)}; {wording.effort(outcome)}"))
    )
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _of(finding: Finding, outcome: Outcome) -> ET.Element:
    case = _case(finding.measure.name, outcome)
    said = f"excess {wording.excess(finding)}, {wording.STATES[finding.state]}, {wording.settled(finding)}"
    report = outcome.report
    # Where evidence settled the gate, what is still open has not failed.
    open_ = finding.state == "not_settled" and not report.settled
    failed = finding.state == "regression" or open_
    if not finding.measure.decides:
        ET.SubElement(case, "skipped", {"message": _clean(f"{finding.measure.why_not}: does not decide")})
    elif failed and report.verdict is Verdict.REGRESSION:
        failure = ET.SubElement(case, "failure", {"type": finding.state, "message": _clean(said)})
        named = ", ".join(
            fallen.golden.id for fallen in outcome.fallen if finding.measure.name in fallen.differences
        )
        failure.text = _clean(f"worse than by the reference: {named}" if named else "")
    ET.SubElement(case, "system-out").text = _clean(said)
    return case


def _case(name: str, outcome: Outcome) -> ET.Element:
    return ET.Element(
        "testcase",
        {"classname": "evenkeel.experiments.gate", "name": name, "time": f"{outcome.duration_s:.3f}"},
    )


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
