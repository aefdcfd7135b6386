"""The files of a calibration."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.calibration import CalibrationError
from evenkeel.experiments.calibrate.document import calibration_to_yaml
from evenkeel.experiments.calibrate.reading import table_lines
from evenkeel.experiments.calibrate.report import report
from evenkeel.experiments.calibrate.resampling import multiplicities
from evenkeel.experiments.calibrate.rules import alert_rules
from evenkeel.experiments.calibrate.trajectory import trajectories

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.experiments.calibrate.calibration import Calibration
    from evenkeel.experiments.calibrate.score_table import ScoreTable
    from evenkeel.experiments.calibrate.scores import Scores

CALIBRATION = "calibration.yaml"
REPORT = "calibration.html"
RULES = "calibration-rules.yaml"
SCORES = "calibration-scores.jsonl"
_PROMTOOL_S = 30


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    files: tuple[Path, ...]
    rules: str
    """What became of the rules, in a few words."""


def write(calibration: Calibration, scores: Scores, table: ScoreTable, folder: Path) -> Written:
    """Write calibration, page, rules and scores into a folder.

    Raises: OSError.
    """
    rng = random.Random(calibration.seed)
    ways = trajectories(table, multiplicities(len(table.goldens), calibration.resamples, rng))
    (folder / SCORES).write_text(
        "".join(f"{line}\n" for line in table_lines(scores.rows, scores.metrics)), encoding="utf-8"
    )
    (folder / REPORT).write_bytes(report(calibration, table, ways))
    _replace(folder / CALIBRATION, calibration_to_yaml(calibration))
    files = [folder / name for name in (CALIBRATION, REPORT, SCORES)]
    try:
        rules = alert_rules(calibration)
    except CalibrationError as error:
        (folder / RULES).unlink(missing_ok=True)  # of an earlier run: they would speak of other thresholds
        return Written(tuple(files), f"not written: {error}")
    (folder / RULES).write_text(rules, encoding="utf-8")
    return Written((*files, folder / RULES), _checked(folder / RULES))


def _replace(path: Path, text: str) -> None:
    """All of it or nothing: a gate may be reading the file."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _checked(path: Path) -> str:
    promtool = shutil.which("promtool")
    if promtool is None:
        return "not checked: there is no promtool"
    done = subprocess.run(  # noqa: S603 - a program of the user's, with a file of our own
        [promtool, "check", "rules", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PROMTOOL_S,
    )
    if done.returncode:
        return f"promtool finds fault with them: {' '.join((done.stderr or done.stdout).split())[:300]}"
    return "checked by promtool"
