"""Parts that commands share: prices out of options, and the question before money is spent."""

import errno
import io
import itertools
import resource

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from evenkeel.llm.price import ModelPrice
from evenkeel.release.kit import terminal as question
from evenkeel.release.kit.arguments import InputError, named_price, write_file
from evenkeel.release.kit.terminal import NotConfirmedError, confirmation, progress
from tests.cases import cases

CASES = cases(__file__)


def test_a_price_is_dollars_for_prompt_and_completion():
    """The model's name may hold equals signs; the price follows the last one."""
    assert named_price("org/model=a=1/2.5") == ("org/model=a", ModelPrice(1.0, 2.5))


@pytest.mark.parametrize("text", ["cheap", "1", "1/", "/1", "-1/1", "1/nan", "inf/1"])
def test_what_is_no_price_is_refused_with_an_example(text):
    """A price is two numbers that are neither negative nor endless."""
    with pytest.raises(InputError, match=f'"m={text}" is not a price; write it like MODEL=0.15/0.60'):
        named_price(f"m={text}")
    with pytest.raises(InputError, match="MODEL="):
        named_price("0.15/0.60")


def test_a_full_disk_cuts_no_file(tmp_path):
    """The file of before stays as it was, and nothing lies beside it."""
    path = tmp_path / "goldens.jsonl"
    write_file(path, "before\n")
    path.chmod(0o600)
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
    try:
        with pytest.raises(InputError, match=r"goldens\.jsonl: cannot be written: "):
            write_file(path, "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before\n", [path])
    write_file(path, b"after\n")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after\n", 0o600)


def test_a_mounted_file_is_written_where_it_is(tmp_path, monkeypatch):
    """The kernel refuses to replace a file that is mounted by itself, as in a container."""
    path = tmp_path / "goldens.jsonl"
    path.write_text("before\n")

    def refuse(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(type(path), "replace", refuse)
    write_file(path, "after\n")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("after\n", [path])


def test_a_file_that_is_a_link_stays_one(tmp_path):
    link, path = tmp_path / "link", tmp_path / "file"
    link.symlink_to(path)
    write_file(link, "x")
    assert (link.is_symlink(), path.read_text()) == (True, "x")


@click.command()
@click.option("--yes", is_flag=True)
@click.option("--in-pipelines", is_flag=True)
def asking(*, yes, in_pipelines):
    """Ask, and say what came of it."""
    may = confirmation(confirmed=yes, in_pipelines=in_pipelines)
    try:
        may("about 12 calls")
        click.echo("go: True")
    except NotConfirmedError:
        click.echo("go: False")
    except InputError as error:
        click.echo(f"error: {error}")


@pytest.mark.parametrize(("options", "typed", "said"), CASES["answers"])
def test_money_is_spent_only_with_a_yes(options, typed, said, monkeypatch):
    """A pipeline without a terminal gets an error, not a silent no."""
    if "terminal" in options:
        monkeypatch.setattr(question, "on_a_terminal", lambda: True)
    result = CliRunner().invoke(asking, [option for option in options if option != "terminal"], input=typed)
    assert result.exit_code == 0
    assert result.stdout.startswith(said)
    assert "about 12 calls" in result.output


def shown(*, terminal):
    out, seconds = io.StringIO(), itertools.count(0, 2)
    console = Console(file=out, force_terminal=terminal, width=120)
    details, clock = (lambda: "$5.00"), (lambda: next(seconds))
    with progress("asking", "answers", 20, console, details=details, clock=clock) as made:
        for _ in range(20):
            made.add()
    return out.getvalue()


def test_without_a_terminal_progress_is_ten_lines():
    """Progress, cost and time left: 2 s on the clock for 2 answers, 18 to go."""
    lines = shown(terminal=False).splitlines()
    assert len(lines) == 10
    assert lines[0] == "asking: 2 of 20 answers, $5.00, 18 s left"
    assert lines[-1].endswith("0 s left")


def test_on_a_terminal_progress_is_a_bar():
    """The figures are the same."""
    text = shown(terminal=True)
    assert "20/20" in text
    assert "$5.00" in text
