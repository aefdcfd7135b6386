"""`python -m evenkeel`, and the `evenkeel` console script."""

import os
import sys

# Exit code for a crash; not Python's own 1, which says "regression" where `evenkeel gate` runs.
_COULD_NOT_START = 2
# Exit code after Ctrl-C, as of a shell and of the commands.
_INTERRUPTED = 130
# Stores, journals and reports hold prompts and answers.
_FOR_THE_OWNER_ONLY = 0o077


def main() -> None:
    """Run the command line; exit code 2 if it cannot even be loaded."""
    os.umask(_FOR_THE_OWNER_ONLY)
    if sys.stdin is None:  # closed by whoever started this, as `<&-` does; it is read as empty
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - open until the end
    try:
        from evenkeel.cli.main import main as run  # noqa: PLC0415 - a broken installation must not look like a verdict
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception:  # noqa: BLE001 - as above
        import traceback  # noqa: PLC0415 - a Ctrl-C while it loads could not be caught

        traceback.print_exc()
        sys.exit(_COULD_NOT_START)
    run()


if __name__ == "__main__":
    main()
