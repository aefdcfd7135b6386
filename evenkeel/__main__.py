"""`python -m evenkeel`, and the `evenkeel` console script."""

import sys
import traceback

_COULD_NOT_START = 2
"""Not Python's own 1, which says "regression" where `evenkeel gate` runs."""


def main() -> None:
    """Run the command line; exit code 2 if it cannot even be loaded."""
    try:
        from evenkeel.cli.main import main as run  # noqa: PLC0415 - a broken installation must not look like a verdict
    except Exception:  # noqa: BLE001 - as above
        traceback.print_exc()
        sys.exit(_COULD_NOT_START)
    run()


if __name__ == "__main__":
    main()
