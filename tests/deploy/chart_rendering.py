"""Renders a Helm chart: as much of Go's templates, of Sprig and of Helm as this project's chart uses.

Anything else is an error, never skipped. It exists because Helm comes from no package index; where `helm` is
installed, the tests compare it with this.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
_ACTION = re.compile(r"\{\{(-)?\s*(.*?)\s*(-)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9]+)|(?P<name>\$?[A-Za-z_][\w]*)'
    r"|(?P<fields>(?:\.[A-Za-z_]\w*)+)|(?P<mark>:=|[=|(),.$]))"
)


class ChartError(Exception):
    """A template that cannot be rendered."""


class Text(NamedTuple):
    text: str


class Put(NamedTuple):
    code: list[str]


class If(NamedTuple):
    branches: list[tuple[list[str] | None, list]]


class Each(NamedTuple):
    names: list[str]
    code: list[str]
    body: list


class With(NamedTuple):
    code: list[str]
    body: list


def _tokens(code):
    found, at = [], 0
    while at < len(code.rstrip()):
        match = _TOKEN.match(code, at)
        if match is None:
            raise ChartError(f"not understood: {code[at:]!r}")
        # What follows a variable or a parenthesis without a space is one of its fields, else an argument.
        glued = match["fields"] and at == match.start("fields") and found and found[-1] not in {"(", "|"}
        found.append((">" if glued else "") + match.group().strip())
        at = match.end()
    return found


class _Parser:
    def __init__(self, source, templates):
        self.templates = templates
        self.pieces = []
        at = 0
        trimmed = False
        for match in _ACTION.finditer(source):
            text = source[at : match.start()]
            text = text.lstrip() if trimmed else text
            self.pieces.append(Text(text.rstrip() if match[1] else text))
            if not match[2].startswith("/*"):
                self.pieces.append(match[2])
            trimmed, at = bool(match[3]), match.end()
        tail = source[at:]
        self.pieces.append(Text(tail.lstrip() if trimmed else tail))
        self.at = 0

    def block(self, ends):
        nodes = []
        while self.at < len(self.pieces):
            piece = self.pieces[self.at]
            self.at += 1
            if isinstance(piece, Text):
                nodes.append(piece)
                continue
            word, _, rest = piece.partition(" ")
            if word in ends:
                return nodes, piece
            if word == "if":
                nodes.append(self.choice(rest))
            elif word == "range":
                names, loops = [], rest
                if ":=" in rest:
                    left, loops = rest.split(":=", 1)
                    names = [name.strip() for name in left.split(",")]
                nodes.append(Each(names, _tokens(loops), self.block({"end"})[0]))
            elif word == "with":
                nodes.append(With(_tokens(rest), self.block({"end"})[0]))
            elif word == "define":
                self.templates[json.loads(rest)] = self.block({"end"})[0]
            else:
                nodes.append(Put(_tokens(piece)))
        if ends:
            raise ChartError(f"no {ends} for a block")
        return nodes, ""

    def choice(self, condition):
        branches, code = [], _tokens(condition)
        while True:
            body, ended = self.block({"else", "end"})
            branches.append((code, body))
            if ended == "end":
                return If(branches)
            code = _tokens(ended[len("else if") :]) if ended.startswith("else if") else None


def _said(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_yaml(value):
    return yaml.safe_dump(value, default_flow_style=False, width=10_000).removesuffix("...\n").rstrip("\n")


def _indented(spaces, text):
    return "\n" + "\n".join(" " * spaces + line for line in text.split("\n"))


def _merged(into, *others):
    """Merge into the first, whose values stay unless they are empty."""
    for other in others:
        for key, value in other.items():
            if isinstance(into.get(key), dict) and isinstance(value, dict):
                _merged(into[key], value)
            elif not into.get(key):
                into[key] = copy.deepcopy(value)
    return into


def _required(message, value):
    if value is None or value == "":
        raise ChartError(message)
    return value


def _printed(form, *values):
    return re.sub(r"%[sd]", lambda _: _said(next(rest)), form) if (rest := iter(values)) else form


def _first_match(pattern, text):
    found = re.search(pattern, text)
    return found.group() if found else ""


_FUNCTIONS = {
    "and": lambda *given: next((value for value in given if not value), given[-1]),
    "base": lambda path: PurePosixPath(path).name,
    "concat": lambda *lists: [item for items in lists for item in items],
    "contains": lambda part, text: part in text,
    "default": lambda fallback, value=None: value or fallback,
    "dict": lambda *given: dict(zip(given[::2], given[1::2], strict=True)),
    "eq": lambda left, right: left == right,
    "first": lambda items: items[0],
    "last": lambda items: items[-1],
    "hasPrefix": lambda part, text: text.startswith(part),
    "int": int,
    "join": lambda between, items: between.join(map(_said, items)),
    "list": lambda *given: list(given),
    "merge": _merged,
    "ne": lambda left, right: left != right,
    "nindent": _indented,
    "not": lambda value: not value,
    "or": lambda *given: next((value for value in given if value), given[-1]),
    "printf": _printed,
    "quote": lambda value: json.dumps(_said(value), ensure_ascii=False),
    "regexFind": _first_match,
    "required": _required,
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "splitList": lambda between, text: text.split(between),
    "toPrettyJson": lambda value: json.dumps(value, indent=2, sort_keys=True),
    "toYaml": _to_yaml,
    "trimPrefix": lambda part, text: text.removeprefix(part),
    "trimSuffix": lambda part, text: text.removesuffix(part),
    "uniq": lambda items: list(dict.fromkeys(items)),
    "trunc": lambda length, text: text[:length],
}


class Files:
    """The chart's files beside its templates."""

    def __init__(self, folder):
        self.contents = {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in (
                found for below in sorted(folder.glob("files/*")) for found in sorted(below.glob("*"))
            )
        }

    def Get(self, name):  # noqa: N802 - named as templates name it
        return self.contents.get(name, "")

    def Glob(self, pattern):  # noqa: N802
        return {name: text for name, text in self.contents.items() if fnmatchcase(name, pattern)}


class _Run:
    """A rendering: definitions, and what `$` is."""

    def __init__(self, templates):
        self.templates = templates

    def include(self, name, dot):
        return self.rendered(self.templates[name], dot, {"$": dot})

    def rendered(self, nodes, dot, names):
        return "".join(self.piece(node, dot, names) for node in nodes)

    def piece(self, node, dot, names):  # noqa: PLR0911 - one for each kind
        match node:
            case Text(text):
                return text
            case Put([name, (":=" | "=") as how, *code]):
                if how == "=" and name not in names:
                    raise ChartError(f"{name} is not declared")
                self.assign(names, name, self.value(code, dot, names), new=how == ":=")
                return ""
            case Put(code):
                return _said(self.value(code, dot, names))
            case If(branches):
                for code, body in branches:
                    if code is None or self.value(code, dot, names):
                        return self.rendered(body, dot, _Scope(names))
                return ""
            case With(code, body):
                value = self.value(code, dot, names)
                return self.rendered(body, value, _Scope(names)) if value else ""
            case Each(variables, code, body):
                return self.each(variables, self.value(code, dot, names) or [], body, names)
        raise ChartError(f"not understood: {node}")

    def each(self, variables, items, body, names):
        pairs = sorted(items.items()) if isinstance(items, dict) else list(enumerate(items))
        said = []
        for key, value in pairs:
            inner = _Scope(names)
            for name, given in zip(variables, (key, value) if len(variables) > 1 else (value,), strict=False):
                inner.own[name] = given
            said.append(self.rendered(body, value, inner))
        return "".join(said)

    def assign(self, names, name, value, *, new):
        if new or not isinstance(names, _Scope):
            (names.own if isinstance(names, _Scope) else names)[name] = value
        else:
            names.put(name, value)

    def value(self, code, dot, names):
        """Return the value of a pipeline."""
        stages, depth = [[]], 0
        for token in code:
            depth += (token == "(") - (token == ")")
            if token == "|" and depth == 0:
                stages.append([])
            else:
                stages[-1].append(token)
        piped = []
        for stage in stages:
            piped = [self.command(stage, dot, names, piped)]
        return piped[0]

    def command(self, tokens, dot, names, piped):
        rest = list(tokens)
        if rest[0] == "include":
            name, given = self.operands(rest[1:], dot, names)
            return self.include(name, given)
        if re.fullmatch(r"[A-Za-z]\w*", rest[0]) and rest[0] not in {"true", "false"}:
            if rest[0] not in _FUNCTIONS:
                raise ChartError(f"no function {rest[0]}")
            name = rest[0]
            return _FUNCTIONS[name](*self.operands(rest[1:], dot, names), *piped)
        first, *arguments = self.operands(rest, dot, names)
        return first(*arguments, *piped) if callable(first) else first

    def operands(self, tokens, dot, names):
        found, rest = [], list(tokens)
        while rest:
            token = rest.pop(0)
            if token == "(":
                inner, depth = [], 1
                while depth:
                    depth += ((part := rest.pop(0)) == "(") - (part == ")")
                    inner.append(part)
                found.append(self.value(inner[:-1], dot, names))
            elif token.startswith(">"):
                found[-1] = _field(found[-1], token[1:])
            else:
                found.append(self.operand(token, dot, names))
        return found

    def operand(self, token, dot, names):  # noqa: PLR0911 - one for each kind
        if token.startswith('"'):
            return json.loads(token)
        if token in {"true", "false"}:
            return token == "true"
        if re.fullmatch(r"-?[0-9]+", token):
            return int(token)
        if token == ".":
            return dot
        if token.startswith("$"):
            return names[token]
        if token.startswith("."):
            return _field(dot, token)
        return self.command([token], dot, names, [])


class _Scope(dict):
    """Variables of a block, before those around it."""

    def __init__(self, around):
        super().__init__()
        self.around, self.own = around, {}

    def __contains__(self, name):
        return name in self.own or name in self.around

    def __getitem__(self, name):
        return self.own[name] if name in self.own else self.around[name]

    def put(self, name, value):
        if name in self.own or not isinstance(self.around, _Scope):
            (self.own if name in self.own else self.around)[name] = value
        else:
            self.around.put(name, value)


def _field(value, path):
    for name in path.strip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


def _laid_over(below, above):
    for key, value in above.items():
        if value is None:
            below.pop(key, None)
        elif isinstance(value, dict) and isinstance(below.get(key), dict):
            _laid_over(below[key], value)
        else:
            below[key] = value
    return below


def values_of(chart: Path, given: dict) -> dict:
    """The chart's values with those given laid over them."""
    return _laid_over(
        yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8")), copy.deepcopy(given)
    )


def render(chart: Path, given: dict, release: str = "evenkeel", namespace: str = "watch") -> dict[str, str]:
    """Each template of a chart with what it renders to.

    Raises:
        ChartError: a required value is missing, or a template uses what is not known here.
    """
    about = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    templates: dict = {}
    pages = {}
    for path in sorted((chart / "templates").iterdir()):
        nodes, _ = _Parser(path.read_text(encoding="utf-8"), templates).block(set())
        if not path.name.startswith("_"):
            pages[path.name] = nodes
    dot = {
        "Values": values_of(chart, given),
        "Chart": {key[0].upper() + key[1:]: value for key, value in about.items()},
        "Release": {"Name": release, "Namespace": namespace, "Service": "Helm"},
        "Files": Files(chart),
    }
    return {name: _Run(templates).rendered(nodes, dot, {"$": dot}) for name, nodes in pages.items()}


def manifests(rendered: dict[str, str]) -> list[dict]:
    """The objects in what was rendered, notes aside."""
    return [
        document
        for name, text in rendered.items()
        if name.endswith(".yaml")
        for document in yaml.load_all(text, Loader=_LOADER)
        if document is not None
    ]
