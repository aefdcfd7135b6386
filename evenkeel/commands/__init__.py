"""One module a command: its options and its help. What it does is in the package it imports when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.commands.baseline import baseline
from evenkeel.commands.bench import bench
from evenkeel.commands.calibrate import calibrate
from evenkeel.commands.changes import changes
from evenkeel.commands.feedback import feedback
from evenkeel.commands.fingerprint import fingerprint
from evenkeel.commands.gate import gate
from evenkeel.commands.goldens import goldens
from evenkeel.commands.judge_audit import judge_audit
from evenkeel.commands.perturb import perturb
from evenkeel.commands.report import report
from evenkeel.commands.serving import check_config, child, monitor, proxy, up, worker
from evenkeel.commands.simulate import demo, simulate

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
