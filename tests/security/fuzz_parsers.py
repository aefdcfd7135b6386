"""Lets a coverage-guided fuzzer look for bytes that break a parser.

Needs atheris, which is not among the development requirements (`pip install atheris`). Run from the root of
the repository, one target at a time or all in turn:

    python -m tests.security.fuzz_parsers --seconds 60 chunks goldens
    python -m tests.security.fuzz_parsers --seconds 20

A finding is written to `tests/security/corpus/<target>/`, where the tests try it from then on; so is, with
`--keep`, what reached new code. The exit status is 1 if there was a finding.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path("tests/security/corpus")
_LONGEST_BYTES = 2048
_SLOW_AFTER_S = 10


def main() -> int:
    """Fuzz the targets in turn, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=int, default=0, help="keep so many inputs that reached new code")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.one:
        return _fuzz(options.one, [*rest, *options.targets])
    found = 0
    for target in options.targets or _names():
        found |= _run(target, options)
    return found


def _names() -> list[str]:
    from tests.security.parser_targets import TARGETS  # noqa: PLC0415 - after the instrumentation elsewhere

    return list(TARGETS)


def _run(target: str, options: argparse.Namespace) -> int:
    seeds = CORPUS / target
    seeds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        reached.mkdir()
        command = [
            sys.executable,
            "-m",
            "tests.security.fuzz_parsers",
            "--one",
            target,
            f"-seed={options.seed}",
        ]
        command += [f"-max_total_time={options.seconds}", f"-max_len={_LONGEST_BYTES}"]
        command += [f"-timeout={_SLOW_AFTER_S}", "-print_final_stats=1", f"-artifact_prefix={seeds}/"]
        ended = subprocess.run(
            [*command, str(reached), str(seeds)], capture_output=True, text=True, check=False
        )
        for one in sorted(reached.iterdir(), key=lambda one: one.stat().st_size)[-options.keep :][
            : options.keep
        ]:
            (seeds / one.name[:16]).write_bytes(one.read_bytes())
        lines = ended.stderr.splitlines()
        runs = next((line.rpartition(" ")[2] for line in lines if "number_of_executed_units" in line), "?")
        kept = len(list(reached.iterdir()))
    verdict = "ok" if ended.returncode == 0 else "FOUND"
    print(f"{target:14} {verdict:6} {runs:>9} inputs, {kept} reached new code", flush=True)
    if ended.returncode:
        print("\n".join(lines[-40:]))
    return 1 if ended.returncode else 0


def _fuzz(target: str, arguments: list[str]) -> int:
    import atheris  # noqa: PLC0415 - only here, and before what it instruments

    with atheris.instrument_imports(include=["proxy", "shadow", "metrics", "console", "evenkeel"]):
        from tests.security.parser_targets import TARGETS  # noqa: PLC0415 - instrumented

    atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
