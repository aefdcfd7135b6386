"""Gate and check as tests: two fixtures and an option, loaded by pytest wherever evenkeel is installed.

    def test_the_new_model_may_ship(evenkeel_gate):
        evenkeel_gate("goldens.jsonl", base_url="https://api.openai.com/v1", model="gpt-6-luna")

Only a pass lets a test pass. What could not be measured is an error of the fixture's user, not a regression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os

    from evenkeel.release.check.run import CheckOutcome
    from evenkeel.release.gate.run import GateOutcome

__all__ = ["EvenkeelCheck", "EvenkeelGate"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that allows calls."""
    group = parser.getgroup("evenkeel", "gates for models and prompts")
    group.addoption("--evenkeel-yes", action="store_true", help="endpoints may be asked by `evenkeel_gate`")


class EvenkeelGate:
    """Runs gates for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, *files: str | os.PathLike[str], yes: bool = False, **options: Any) -> GateOutcome:
        """Run a gate. It must pass for the test to go on.

        Args:
            files: Goldens; none = those of the store that `data_dir` or `config` names.
            yes: Whether endpoints may be asked, as `--evenkeel-yes`.
            options: Those of `evenkeel gate`, with underscores.

        Returns: the outcome, for further assertions.
        Raises: pytest's failure unless the gate passes.
        """
        # Every run of pytest loads this module: what only gates need is loaded by the first of them.
        from evenkeel.cli.gate import gate_of  # noqa: PLC0415
        from evenkeel.core.errors import UserError  # noqa: PLC0415
        from evenkeel.release.gate.reports import document, headline  # noqa: PLC0415
        from evenkeel.release.kit.renderings import markdown  # noqa: PLC0415

        try:
            outcome = gate_of(files, options, confirmed=yes or self._item.config.getoption("--evenkeel-yes"))
        except UserError as error:
            pytest.fail(f"evenkeel gate could not measure: {error}", pytrace=False)
        if outcome.report.verdict.value != "pass":
            pytest.fail(markdown(document(outcome)), pytrace=False)
        self._item.add_report_section("call", "evenkeel gate", headline(outcome.report))
        return outcome


@pytest.fixture
def evenkeel_gate(request: pytest.FixtureRequest) -> EvenkeelGate:
    """Runs `evenkeel gate`: `evenkeel_gate("goldens.jsonl", base_url=…, model=…)`; see `EvenkeelGate`."""
    return EvenkeelGate(request.node)


class EvenkeelCheck:
    """Runs checks for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, prompt: Any, *, model: str, **options: Any) -> CheckOutcome:
        """Check a prompt. Every category must be within its limit for the test to go on.

        Args:
            prompt: Text, messages or a request body, as `evenkeel.check` takes it.
            model: Name of the model.
            options: Those of `evenkeel.check`.

        Returns: the outcome, for further assertions.
        Raises: pytest's failure for a category that is over its limit or not known.
        """
        # Every run of pytest loads this module: what only checks need is loaded by the first of them.
        from evenkeel.core.errors import UserError  # noqa: PLC0415
        from evenkeel.release.check.python import check  # noqa: PLC0415
        from evenkeel.release.check.report import document, headline  # noqa: PLC0415
        from evenkeel.release.kit.renderings import markdown  # noqa: PLC0415

        try:
            outcome = check(prompt, model=model, **options)
        except UserError as error:
            pytest.fail(f"evenkeel check: {error}", pytrace=False)
        if outcome.is_over or not outcome.settled:
            pytest.fail(markdown(document(outcome)), pytrace=False)
        self._item.add_report_section("call", "evenkeel check", headline(outcome))
        return outcome


@pytest.fixture
def evenkeel_check(request: pytest.FixtureRequest) -> EvenkeelCheck:
    """Runs `evenkeel check`: `evenkeel_check("Which plan …?", model=…)`; see `EvenkeelCheck`."""
    return EvenkeelCheck(request.node)
