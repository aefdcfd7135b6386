"""Renders a Helm chart: its Go templates written anew as Jinja's, with as much of Sprig as this project uses.

Anything else is an error, never skipped. It exists because Helm comes from no package index; where `helm` is
installed, the tests compare it with this.
"""

import copy
import hashlib
import json
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath

import jinja2
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
_ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_ASSIGNMENT = re.compile(r"\$(\w+) :?= (.*)", re.DOTALL)
_RANGE = re.compile(r"(?:\$(\w+), )?\$(\w+) := (.*)", re.DOTALL)
_TOKEN = re.compile(
    r'\s*(?:(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9]+)|(?P<name>[A-Za-z]\w*)'
    r"|(?P<path>\$\w*(?:\.\w+)*|(?:\.\w+)+|\.)|(?P<end>\)))(?=[\s)|]|$)|(?P<mark>[(|]))"
)
_VARIABLES = "{% set v = namespace() %}"


class ChartError(Exception):
    """A template that cannot be rendered."""


class _Pipeline:
    """Reads a pipeline of Go's, and writes it as an expression of Jinja's."""

    def __init__(self, code):
        self._tokens, at = [], 0
        while at < len(code):
            match = _TOKEN.match(code, at)
            if match is None:
                raise ChartError(f"not understood: {code[at:]!r}")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()

    def written(self):
        found = self._command()
        while self._tokens and self._tokens[0][1] == "|":
            self._tokens.pop(0)
            found = self._command(found)
        return found

    def _command(self, *piped):
        kind, first = self._tokens[0]
        start = self._operand(called=True)
        arguments = []
        while self._tokens and self._tokens[0][1] not in {"|", ")"}:
            arguments.append(self._operand())
        arguments += piped
        return f"{start}({', '.join(arguments)})" if arguments or _is_function(kind, first) else start

    def _operand(self, *, called=False):
        kind, token = self._tokens.pop(0)
        if token == "(":
            found = self.written()
            self._tokens.pop(0)
            return found
        if kind == "path":
            name, _, path = token.partition(".")
            start = {"": "dot", "$": "root"}.get(name, f"v.{name[1:]}")
            return f"field({start}, {path!r})"
        if _is_function(kind, token):
            return f"f.{token}_" if called else f"f.{token}_()"
        return token


def _is_function(kind, token):
    return kind == "name" and token not in {"true", "false"}


def _translated(page, source):
    """Return the templates of a file by name: its definitions, and all else as the page."""
    first, *actions = _ACTION.split(source)
    templates, into, begun = {page: _VARIABLES + first}, page, []
    for left, code, right, text in zip(*[iter(actions)] * 4, strict=True):
        word, _, rest = code.partition(" ")
        if word == "define":
            begun.append((word, into))
            templates[into] += f"{{#{left} #}}"
            into = json.loads(rest)
            templates[into] = f"{_VARIABLES}{{# {right}#}}"
        elif word == "end":
            word, around = begun.pop()
            if word == "define":
                templates[into] += f"{{#{left} #}}"
                into = around
            templates[into] += {
                "if": f"{{%{left} endif {right}%}}",
                "with": f"{{%{left} endif %}}{{% endwith {right}%}}",
                "range": f"{{%{left} endfor {right}%}}",
                "define": f"{{# {right}#}}",
            }[word]
        else:
            begun += [(word, into)] if word in {"if", "with", "range"} else []
            templates[into] += _action(left, code, right)
        templates[into] += text
    if begun:
        raise ChartError(f"{page}: {begun} has no end")
    return templates


def _action(left, code, right):  # noqa: PLR0911 - one for each kind
    """Write an action that neither begins nor ends a definition, and ends no block."""
    word, _, rest = code.partition(" ")
    if code.startswith("/*"):
        return f"{{#{left} {right}#}}"
    if word == "if":
        return f"{{%{left} if {_Pipeline(rest).written()} {right}%}}"
    if word == "else":
        condition = f"elif {_Pipeline(rest.removeprefix('if ')).written()}" if rest else "else"
        return f"{{%{left} {condition} {right}%}}"
    if word == "with":
        return f"{{%{left} with dot = {_Pipeline(rest).written()} %}}{{% if dot {right}%}}"
    if word == "range":
        key, value, items = _RANGE.fullmatch(rest).groups()
        named = f"{{% set v.{key} = pair[0] %}}" if key else ""
        loop = f"{{%{left} for pair in pairs({_Pipeline(items).written()}) %}}"
        return f"{loop}{named}{{% set v.{value} = pair[1] %}}{{% set dot = pair[1] {right}%}}"
    if assignment := _ASSIGNMENT.fullmatch(code):
        return f"{{%{left} set v.{assignment[1]} = {_Pipeline(assignment[2]).written()} {right}%}}"
    return f"{{{{{left} {_Pipeline(code).written()} {right}}}}}"


def _pairs(items):
    return sorted(items.items()) if isinstance(items, dict) else list(enumerate(items or []))


def _field(value, path):
    for name in filter(None, path.split(".")):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


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


def _laid_over(below, above):
    for key, value in above.items():
        if value is None:
            below.pop(key, None)
        elif isinstance(value, dict) and isinstance(below.get(key), dict):
            _laid_over(below[key], value)
        else:
            below[key] = value
    return below


def values_of(chart, given):
    """The chart's values with those given laid over them."""
    return _laid_over(
        yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8")), copy.deepcopy(given)
    )


@cache
def _environment(chart):
    """Templates of a chart, compiled once."""
    templates = {}
    for path in sorted((chart / "templates").iterdir()):
        templates |= _translated(path.name, path.read_text(encoding="utf-8"))
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(templates),
        undefined=jinja2.StrictUndefined,
        finalize=_said,
        keep_trailing_newline=True,
        autoescape=False,
    )

    def include(name, dot):
        return environment.get_template(name).render(dot=dot, root=dot)

    functions = {f"{name}_": function for name, function in (_FUNCTIONS | {"include": include}).items()}
    environment.globals |= {"f": functions, "field": _field, "pairs": _pairs}
    return environment


def render(chart, given, release="evenkeel", namespace="watch"):
    """Each template of a chart with what it renders to.

    Raises:
        ChartError: a required value is missing, or a template uses what is not known here.
    """
    about = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    root = {
        "Values": values_of(chart, given),
        "Chart": {key[0].upper() + key[1:]: value for key, value in about.items()},
        "Release": {"Name": release, "Namespace": namespace, "Service": "Helm"},
        "Files": Files(chart),
    }
    pages = [path.name for path in sorted((chart / "templates").iterdir()) if not path.name.startswith("_")]
    return {name: _environment(chart).get_template(name).render(dot=root, root=root) for name in pages}


def manifests(rendered):
    """The objects in what was rendered, notes aside."""
    return [
        document
        for name, text in rendered.items()
        if name.endswith(".yaml")
        for document in yaml.load_all(text, Loader=_LOADER)
        if document is not None
    ]
