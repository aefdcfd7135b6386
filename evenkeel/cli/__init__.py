"""One module a command: its options and its help. What it does is in the package it imports when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.cli.baseline import baseline
from evenkeel.cli.bench import bench
from evenkeel.cli.calibrate import calibrate
from evenkeel.cli.changes import changes
from evenkeel.cli.feedback import feedback
from evenkeel.cli.fingerprint import fingerprint
from evenkeel.cli.gate import gate
from evenkeel.cli.goldens import goldens
from evenkeel.cli.judge_audit import judge_audit
from evenkeel.cli.perturb import perturb
from evenkeel.cli.report import report
from evenkeel.cli.serving import check_config, child, monitor, proxy, up, worker
from evenkeel.cli.simulate import demo, simulate

if TYPE_CHECKING:
    import click

COMMANDS: tuple[click.Command, ...] = (
    up,
    proxy,
    worker,
    monitor,
    check_config,
    perturb,
    goldens,
    changes,
    baseline,
    report,
    gate,
    bench,
    calibrate,
    judge_audit,
    feedback,
    simulate,
    demo,
    fingerprint,
    child,
)
"""In the order of the help. A new command is one module and one name here."""
