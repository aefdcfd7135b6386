"""Commands of evenkeel, run in the test's own process."""

from click.testing import CliRunner

from evenkeel.cli.main import main


def run_command(*words, code=0, **options):
    """Run a command, which must end with the exit code; its output is the message of a failure."""
    done = CliRunner().invoke(main, [str(word) for word in words], **options)
    assert done.exit_code == code, f"{done.output}{done.exception!r}"
    return done
