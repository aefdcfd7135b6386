"""The structure of the code: imports, circles, sizes and names.

`python -m tests.house` prints figures. `python -m tests.house names`, which `make lint` runs, fails if
something reads badly in a room that was clean of it.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    room: frozenset(others.split())
    for room, others in {
        "core": "",
        "llm": "core",
        "stores": "core",
        "proxy": "core",
        "metrics": "core llm",
        "shadow": "core llm stores metrics",
        "monitor": "core stores metrics",
        "release": "core llm stores metrics shadow monitor",
        "console": "core stores monitor release",
        "lab": "core llm stores metrics shadow monitor release simulate",
        "simulate": "core",
    }.items()
}
"""Which rooms a room may import, besides itself. Other packages wire the rooms: all but lab is theirs."""

LAB = ("evenkeel.lab", "evenkeel.cli.lab")
"""Modules that a person runs: nothing else imports it."""


class Import(NamedTuple):
    """An imported name."""

    importer: str
    """Dotted name of the module."""
    line: int
    imported: str
    """Dotted name of the module it comes from."""


def files(*folders):
    """Python files that git tracks below these folders; links are not followed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *(f"{folder}/*.py" for folder in folders)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split("\0") if name and not (ROOT / name).is_symlink()]


def modules():
    """Every module of the product by its dotted name."""
    return {_dotted(path): path for path in files("evenkeel")}


def _dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(path):
    """The package inside `evenkeel/` that a module lies in; a module directly in it is a room by itself."""
    return path.relative_to(ROOT / "evenkeel").with_suffix("").parts[0]


@cache
def _statements(path):
    """The import statements of a file, also those inside functions; read once."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(node for node in tree if isinstance(node, ast.Import | ast.ImportFrom))


def imports(all_modules):
    """Every import of one product module by another, also those inside functions."""
    for importer, path in all_modules.items():
        for node in _statements(path):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found = {name if name in all_modules else str(node.module) for name in names}
            else:
                found = {alias.name for alias in node.names}
            for imported in sorted(found & all_modules.keys() - {importer}):
                yield Import(importer, node.lineno, imported)


def forbidden(all_modules):
    """Imports that the design does not allow, each as one line."""
    lines = []
    for found in imports(all_modules):
        here, there = room_of(all_modules[found.importer]), room_of(all_modules[found.imported])
        against_rooms = here != there and here in MAY_IMPORT and there not in MAY_IMPORT[here]
        against_lab = _is_lab(found.imported) and not _is_lab(found.importer)
        if against_rooms or against_lab:
            place = f"{all_modules[found.importer].relative_to(ROOT)}:{found.line}"
            lines.append(f"{place} imports {found.imported}")
    return lines


def _is_lab(module):
    return any(module == package or module.startswith(f"{package}.") for package in LAB)


def circles(all_modules):
    """Modules that import each other in a circle: one circle, if there is any."""
    arrows = defaultdict(set)
    for found in imports(all_modules):
        arrows[found.importer].add(found.imported)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def lines(*folders):
    """Lines of Python below these folders."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files(*folders))


def words(folder):
    """Words of the pages below a folder."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in (ROOT / folder).rglob("*.md"))


OPENINGS = frozenset(
    """
    what whether of as so where how who whose whom whatever whoever whichever when until that those them
    they it its he she nobody somebody anybody else in on at by for from to with without beside besides
    under above below near since after before while because if though although unless than then there
    here and or but nor also only not no one more
    """.split()
)
"""First words that leave a docstring without a subject or a verb."""
PARTICIPLE = re.compile(
    r"_?(Known|Left|Said|Kept|Made|Found|Told|Sent|Drawn|Given|Taken|Seen|Held|Done|Gone|Meant|Chosen|Written"
    r"|Shown|Read|Put|[A-Z][a-z]+ed)"
)


def offences(paths):
    """Yield a line about each name and docstring that reads badly, and each class name used several times."""
    classes = defaultdict(list)
    for path in paths:
        where = path.relative_to(ROOT)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, said in _offences_in(tree):
            yield f"{where}:{line}: {said}"
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{where}:{node.lineno}")
    for name, places in classes.items():
        if len(places) > 1:
            yield f"class {name} is several things: {', '.join(places)}"


def _offences_in(tree):
    """Yield what reads badly in one file, with its line."""
    for node in ast.walk(tree):
        for line, text in _docstrings(node):
            first = re.match(r"[A-Za-z']+", text)
            if first and first[0].lower() in OPENINGS:
                yield line, f"no subject or verb: {text.splitlines()[0]}"
        if isinstance(node, ast.ClassDef) and PARTICIPLE.fullmatch(node.name):
            yield node.lineno, f"class {node.name} is no noun"
        for line, variable in _variables(node):
            if variable == "one":
                yield line, "name the variable by what it holds"


def _variables(node):
    """Yield the variables of a loop, a comprehension or a small function, with their lines."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        for name in ast.walk(node.target):
            if isinstance(name, ast.Name):
                yield name.lineno, name.id
    if isinstance(node, ast.Lambda):
        for argument in node.args.args:
            yield argument.lineno, argument.arg


def _docstrings(node):
    """Docstrings of a node's body: its own and those of its attributes, with their lines."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    for place, statement in enumerate(body):
        match statement:
            case ast.Expr(value=ast.Constant(value=str(text))):
                if place == 0 or isinstance(body[place - 1], ast.Assign | ast.AnnAssign):
                    yield statement.lineno, text.strip()


def check_names():
    """Print the offences in product and benchmarks; return the exit code."""
    found = sorted(offences([*modules().values(), *sorted((ROOT / "benchmarks").rglob("*.py"))]))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def main():
    """Print the figures."""
    all_modules = modules()
    rooms = defaultdict(list)
    for path in all_modules.values():
        rooms[room_of(path)].append(path)
    lab = lines("evenkeel/lab", "evenkeel/cli/lab")
    reference = words("docs/reference")
    print(f"product without lab {lines('evenkeel') - lab:,} lines; lab {lab:,}")
    print(f"tests {lines('tests'):,} lines; benchmarks {lines('benchmarks'):,}")
    print(f"docs {words('docs') - reference:,} words; docs/reference {reference:,}")
    print(f"modules {len(all_modules)}")
    print(f"imports against the design {len(forbidden(all_modules))}; circles {circles(all_modules)}")
    for room, paths in sorted(rooms.items()):
        length = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
        print(f"  {room:<14} {length:>7,} lines in {len(paths)} files")


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        sys.exit(check_names())
    main()
