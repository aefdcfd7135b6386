"""Benchmarks run, with their smallest arguments."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house import ROOT

PUBLIC_DATA = pytest.mark.shared_data

# Left out: they need chromium (`console`), wrk (`proxy`, `soak`),
# or minutes whatever they are given (`crowd`, `chaos`, `live_changes`,
# `calibration`, `metrics`, `monitor`, `offline`, `perturbations`, `protection`).
BENCHMARKS = (
    pytest.param("cascade --most 10", marks=PUBLIC_DATA),
    pytest.param("degradations --most 2", marks=PUBLIC_DATA),
    "cost --few --plays 1",
    pytest.param("cost --recorded --few --plays 1", marks=PUBLIC_DATA),
    "detection --runs 20 --nominal 300",
    "detection.references --runs 0 --years 20 --days 5",
    "gate --runs 1 --goldens 8 --decisions",
    "reload --rounds 2 --live 1",
    "report --verdicts 100",
    "scaling --seconds 2",
    pytest.param("limits --runs 1 --trials 600 --goldens 8 --kinds 1", marks=PUBLIC_DATA),
    pytest.param("similarity --most 20 --no-encoder", marks=PUBLIC_DATA),
    "templates --edits 1 --requests 20",
    "tracing",
    "traffic --show 2 --runs 1 --trials 300",
    pytest.param(
        "upgrades --scenario grice --detector evenkeel --detector fixed --runs 1", marks=PUBLIC_DATA
    ),
    "worker --exchanges 5",
)


@pytest.mark.system
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_runs(benchmark: str) -> None:
    """It exits with 0 and prints figures."""
    name, *arguments = benchmark.split()
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()
