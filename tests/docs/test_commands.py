"""Commands that the documentation names: they exist, with the options that are shown."""

import re
import shlex

import click
import pytest

from evenkeel.cli.main import main
from tests.cases import cases
from tests.docs.documentation import DOCS, PAGES, ROOT, all_blocks, blocks_of, inline_code_of, text_of

CASES = cases(__file__)

OPERATORS = {"|", "||", "&", "&&", ";", ">", "<", "2>", ">>"}
SHELL = ("", "sh", "bash", "console", "yaml")


class WrongCommandError(Exception):
    """A command line that would be refused."""


def commands_in(text):
    """The arguments of each `evenkeel …` in a text of shell commands."""
    for line in text.replace("\\\n", " ").split("\n"):
        if not re.search(r"(^|[\s/`$(])evenkeel\s+[a-z-]", line):
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # prose with an apostrophe
            words = line.split()
        for place, word in enumerate(words):
            before = words[place - 1] if place else ";"
            starts = before in {*OPERATORS, "$", "exec", "run:", "-"} or re.fullmatch(r"[A-Z_]+=.*", before)
            if word.rpartition("/")[2] == "evenkeel" and (starts or "bin/" in word):
                rest = words[place + 1 :]
                ends = [at for at, word in enumerate(rest) if word in OPERATORS or word.endswith(";")]
                yield [word.strip("[]`),") for word in rest[: ends[0] if ends else None]]


def context_of(command, **arguments):
    """A context with the program's names for help: click keeps a command's first help option for good."""
    return click.Context(command, help_option_names=main.context_settings["help_option_names"], **arguments)


def check(arguments):
    """Hold a command line against the real parsers; `…` and `[--option]` may stand for more."""
    command = main
    path = ["evenkeel"]
    context = context_of(main, info_name="evenkeel")
    rest = [word for word in arguments if word not in {"", "…", "...", "[OPTIONS]"}]
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        below = command.get_command(context, rest[0])
        if below is None:
            if command.params and getattr(command, "invoke_without_command", False):
                break
            raise WrongCommandError(f"{' '.join(path)} has no command {rest[0]!r}")
        command, path = below, [*path, rest.pop(0)]
        context = context_of(command, parent=context, info_name=path[-1])
    known = {
        name: parameter
        for parameter in command.get_params(context)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in rest:
        option, _, value = word.partition("=")
        if option.startswith("-") and option != "-" and not re.fullmatch(r"-\d.*", option):
            takes = known.get(option)
            if takes is None:
                raise WrongCommandError(f"{' '.join(path)} has no option {option}")
            if value and getattr(takes, "is_flag", False):
                raise WrongCommandError(f"{' '.join(path)}: {option} takes no value")
    return command


def test_the_reference_has_every_command():
    """Nothing that `--help` shows is missing, groups and their commands included; hidden commands are."""
    page = text_of(DOCS / "reference" / "command-line.md")
    shown = set(re.findall(r"^\| `(evenkeel [^`]+)` \|", page, re.MULTILINE))
    expected = set()

    def walk(group, path):
        context = context_of(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if not command.hidden:
                expected.add(f"{path} {name}")
                if isinstance(command, click.Group):
                    walk(command, f"{path} {name}")

    walk(main, "evenkeel")
    assert shown == expected
    assert {"evenkeel up", "evenkeel goldens approve"} <= shown


BLOCKS = [(str(block), block.text) for block in all_blocks(*SHELL)]
RUNNING_TEXT = [(page.relative_to(ROOT), code) for page in PAGES for code in inline_code_of(page)]


@pytest.mark.parametrize("texts", [BLOCKS, RUNNING_TEXT], ids=["blocks", "running text"])
def test_every_command_line_is_one_that_evenkeel_takes(texts):
    """Commands and options in fenced blocks and between backticks of all pages exist."""
    wrong, checked = [], 0
    for place, text in texts:
        for arguments in commands_in(text):
            checked += 1
            try:
                check(arguments)
            except WrongCommandError as error:
                wrong.append(f"{place}: {error}")
    assert not wrong
    assert checked > 30


@pytest.mark.parametrize(("line", "fault"), CASES["wrong"])
def test_a_wrong_command_line_would_be_found(line, fault):
    (arguments,) = commands_in(line)
    with pytest.raises(WrongCommandError, match=fault):
        check(arguments)


def test_make_targets_and_benchmarks_that_pages_name_exist():
    """`make x` is a target of the Makefile and `python -m benchmarks.x` a program."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing = []
    for page in PAGES:
        shell = [block.text for block in blocks_of(page) if block.language in {"sh", "bash"}]
        shown = "\n".join([*inline_code_of(page), *shell])
        missing += [
            f"{page.name}: make {target}"
            for target in re.findall(r"(?:^|\s)make ([a-z][a-z-]*)", shown)
            if not re.search(rf"^{target}:", makefile, re.MULTILINE)
        ]
        missing += [
            f"{page.name}: python -m {module}"
            for module in re.findall(r"python -m ((?:benchmarks|tests)(?:\.\w+)+)", shown)
            if not any(
                (ROOT / f"{module.replace('.', '/')}{end}").is_file() for end in (".py", "/__main__.py")
            )
        ]
    assert not missing
