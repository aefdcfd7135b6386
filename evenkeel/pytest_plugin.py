"""Gate and check as tests: two fixtures and an option, loaded by pytest wherever evenkeel is installed.

    def test_the_new_model_may_ship(evenkeel_gate):
        evenkeel_gate("goldens.jsonl", base_url="https://api.openai.com/v1", model="gpt-6-luna")

Only a pass lets a test pass. What could not be measured is an error of the fixture's user, not a regression.
Every run of pytest loads this module: what only gates or checks need is loaded by the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from evenkeel.release.check.run import CheckOutcome
    from evenkeel.release.gate.run import GateOutcome
    from evenkeel.release.kit.document import Document

_Outcome = TypeVar("_Outcome")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that allows calls."""
    group = parser.getgroup("evenkeel", "gates for models and prompts")
    group.addoption("--evenkeel-yes", action="store_true", help="endpoints may be asked by `evenkeel_gate`")


@pytest.fixture
def evenkeel_gate(request: pytest.FixtureRequest) -> Callable[..., GateOutcome]:
    """Return a function that runs a gate, which must pass for the test to go on, and returns its outcome.

    It takes files of goldens (none = those of the store that `data_dir` or `config` names) and the options of
    `evenkeel gate`, with underscores. Endpoints are asked with `yes=True`, or with `--evenkeel-yes`.
    """

    def run(*files: str | os.PathLike[str], yes: bool = False, **options: Any) -> GateOutcome:
        from evenkeel.cli.gate import gate_of  # noqa: PLC0415
        from evenkeel.release.gate.reports import document, headline  # noqa: PLC0415

        confirmed = yes or request.config.getoption("--evenkeel-yes")
        outcome = _measured("evenkeel gate", lambda: gate_of(files, options, confirmed=confirmed))
        passed = outcome.report.verdict.value == "pass"
        _tell(request, "evenkeel gate", document(outcome), headline(outcome.report), passed=passed)
        return outcome

    return run


@pytest.fixture
def evenkeel_check(request: pytest.FixtureRequest) -> Callable[..., CheckOutcome]:
    """Return a function that checks a prompt, all of whose categories must be within their limit.

    It takes the arguments of `evenkeel.check`, and returns the outcome.
    """

    def run(prompt: Any, *, model: str, **options: Any) -> CheckOutcome:
        from evenkeel.release.check.python import check  # noqa: PLC0415
        from evenkeel.release.check.report import document, headline  # noqa: PLC0415

        outcome = _measured("evenkeel check", lambda: check(prompt, model=model, **options))
        passed = outcome.settled and not outcome.is_over
        _tell(request, "evenkeel check", document(outcome), headline(outcome), passed=passed)
        return outcome

    return run


def _measured(command: str, run: Callable[[], _Outcome]) -> _Outcome:
    """Return the outcome of a run, or fail the test with the reason why there is none."""
    from evenkeel.core.errors import UserError  # noqa: PLC0415

    try:
        return run()
    except UserError as error:
        pytest.fail(f"{command} could not measure: {error}", pytrace=False)


def _tell(
    request: pytest.FixtureRequest, command: str, report: Document, headline: str, *, passed: bool
) -> None:
    """Add the headline to the test's report, or fail the test with the whole report."""
    from evenkeel.release.kit.renderings import markdown  # noqa: PLC0415

    if not passed:
        pytest.fail(markdown(report), pytrace=False)
    request.node.add_report_section("call", command, headline)
