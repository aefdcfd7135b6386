"""Benchmarks run, with their smallest arguments."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house import ROOT

PUBLIC_DATA = pytest.mark.shared_data

# Left out: `proxy` needs wrk, `chaos` takes minutes whatever it is given.
BENCHMARKS = (
    "agents --steps 150",
    "cost --few --plays 1",
    "detection --runs 1 --exchanges 300",
    "detection.references --runs 0 --years 20 --days 5",
    pytest.param("similarity --most 20 --no-encoder", marks=PUBLIC_DATA),
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
