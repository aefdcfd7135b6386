"""The gate as a test: a fixture, a marker and options, loaded by pytest wherever evenkeel is installed.

    def test_the_new_model_may_ship(evenkeel_gate):
        evenkeel_gate("goldens.jsonl", base_url="https://api.openai.com/v1", model="gpt-4.1-mini")

A regression fails the test with the report, and so does a gate that its goldens leave undecided. What could
not be measured is an error, or skips the test if `--evenkeel-unmeasured=skip` says so; it never passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Unpack

    from evenkeel.cli.gate import AnyPath, GateKeywords
    from evenkeel.pytest_gate import Ruling
    from evenkeel.release.check.run import CheckOutcome

__all__ = ["EvenkeelCheck", "EvenkeelGate"]

_NAME: Final = "evenkeel_gate"
"""Of the fixture, the marker and the property of a test's report."""
_OVERRIDES: Final = {
    "base_url": ("URL", "endpoint of the candidate"),
    "model": ("NAME", "model of the candidate"),
    "prompt": ("FILE", "new system prompt"),
    "max_usd": ("USD", "stop, undecided, once so much is spent"),
    "cache": ("FILE", "keeps answers, in place of pytest's cache"),
}
_UNMEASURED: Final = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of all gates of a run; they win over what tests say."""
    group = parser.getgroup("evenkeel", "gates for models and prompts")
    group.addoption(
        "--evenkeel-yes",
        action="store_true",
        help="endpoints may be asked; without it only verdicts that are remembered count",
    )
    group.addoption(
        "--evenkeel-unmeasured",
        choices=("error", "skip"),
        default="error",
        help="what a test is whose gate could not measure (default: error)",
    )
    for name, (metavar, help_text) in _OVERRIDES.items():
        group.addoption(
            f"--evenkeel-{name.replace('_', '-')}",
            metavar=metavar,
            type=float if metavar == "USD" else str,
            help=f"{help_text}, for all gates",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{_NAME}(**options): options of the gates in these tests; every test that uses the fixture has the "
        f'marker, so that -m "not {_NAME}" leaves them out',
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixture, before `-m` selects."""
    for item in items:
        if _NAME in getattr(item, "fixturenames", ()):
            item.add_marker(_NAME)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember in the report that the test failed because nothing could be measured."""
    report = yield
    if call.when == "call" and report.failed and item.stash.get(_UNMEASURED, False):
        vars(report)["evenkeel_unmeasured"] = True  # an attribute: it travels from a worker of xdist, too
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Show such a test as an error instead of a failure."""
    return ("error", "E", "ERROR") if getattr(report, "evenkeel_unmeasured", False) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Each gate's verdict and what it took, passed ones too."""
    reports = [
        report
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    said = [
        f"{report.nodeid}: {text}"
        for report in reports
        for name, text in report.user_properties
        if name == _NAME
    ]
    if said:
        terminalreporter.section("evenkeel gates")
        for line in said:
            terminalreporter.line(line)


class EvenkeelGate:
    """Runs gates for one test."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, *files: AnyPath, yes: bool = False, **options: Unpack[GateKeywords]) -> Ruling:
        """Run a gate. It must pass for the test to go on.

        Args:
            files: Goldens; none = those of the store that `data_dir` or `config` names. Relative paths, here
                and in options, start at pytest's rootdir.
            yes: Whether endpoints may be asked, as `--evenkeel-yes`.
            options: Those of `evenkeel gate`, with underscores. Options of the command line win over these,
                and these over the nearest marker's.

        Returns: the verdict and the reports, for further assertions.
        Raises: pytest's failure for a regression, if all goldens settle nothing, or if nothing could be
            measured, or its skip, as `--evenkeel-unmeasured` says; TypeError for an unknown option.
        """
        # Every run of pytest loads this module: what only gates need is loaded by the first of them.
        from evenkeel.core.errors import UserError  # noqa: PLC0415
        from evenkeel.monitor.detect.gate import Verdict  # noqa: PLC0415
        from evenkeel.pytest_gate import ruling, wanted_run  # noqa: PLC0415

        config = self._item.config
        allowed = yes or config.getoption("--evenkeel-yes")
        try:
            wanted = wanted_run(files, self._together(options), config.rootpath)
            found = ruling(wanted, confirmed=allowed, how="--evenkeel-yes", memory=self._cache())
        except UserError as error:
            self._error(f"evenkeel gate: {error}")
        except Exception:  # a fault of the gate itself must not read as a regression
            self._item.stash[_UNMEASURED] = True
            raise
        self._item.user_properties.append((_NAME, found.headline))
        if found.verdict in {Verdict.REGRESSION, Verdict.UNDECIDED}:
            pytest.fail(found.page, pytrace=False)
        if found.verdict is Verdict.COULD_NOT_MEASURE:
            if config.getoption("--evenkeel-unmeasured") == "skip":
                pytest.skip(found.headline)
            self._error(found.page)
        self._item.add_report_section("call", "evenkeel gate", found.page)
        return found

    def _cache(self) -> pytest.Cache | None:
        """Pytest's cache, unless it is switched off."""
        config = self._item.config
        return config.cache if config.pluginmanager.hasplugin("cacheprovider") else None

    def _together(self, said: GateKeywords) -> dict[str, Any]:
        """The options of markers, test and command line, each over the one before."""
        config = self._item.config
        together: dict[str, Any] = {}
        for marker in reversed(list(self._item.iter_markers(_NAME))):
            together |= marker.kwargs
        together |= said
        for name, (metavar, _) in _OVERRIDES.items():
            value = config.getoption(f"--evenkeel-{name.replace('_', '-')}")
            if value is not None:
                together[name] = config.invocation_params.dir / value if metavar == "FILE" else value
        # Beside recorded answers, the candidate is asked anew: its weights may be others today.
        remembered = together.get("against") != "recorded"
        if remembered and "cache" not in together and (cache := self._cache()) is not None:
            together["cache"] = cache.mkdir("evenkeel-gate") / "answers"
        return together

    def _error(self, text: str) -> NoReturn:
        self._item.stash[_UNMEASURED] = True
        pytest.fail(text, pytrace=False)


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
        from evenkeel.release.kit.asking import UnusableError  # noqa: PLC0415
        from evenkeel.release.kit.renderings import markdown  # noqa: PLC0415

        try:
            outcome = check(prompt, model=model, **options)
        except (UserError, UnusableError) as error:
            self._item.stash[_UNMEASURED] = True
            pytest.fail(f"evenkeel check: {error}", pytrace=False)
        if outcome.is_over or not outcome.settled:
            pytest.fail(markdown(document(outcome)), pytrace=False)
        self._item.add_report_section("call", "evenkeel check", headline(outcome))
        return outcome


@pytest.fixture
def evenkeel_check(request: pytest.FixtureRequest) -> EvenkeelCheck:
    """Runs `evenkeel check`: `evenkeel_check("Which plan …?", model=…)`; see `EvenkeelCheck`."""
    return EvenkeelCheck(request.node)
