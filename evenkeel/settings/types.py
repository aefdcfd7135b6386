"""Types of the values of settings, and the base class of their sections."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import Annotated, Final, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from evenkeel.proxy.routing import Upstream

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# An endpoint of one API: clients send this part of the path themselves.
_ONE_API: Final = re.compile(
    r"/chat/completions/?$|(?<=/v1)/(?:completions|responses|messages|embeddings)/?$"
)


def upstream_url(url: str) -> str:
    """Return the URL of an endpoint. Raises: ValueError if it is none."""
    Upstream.parse(url)
    api = _ONE_API.search(url)
    if api is not None:
        raise ValueError(
            f"is the address of one API; leave out {api[0]}, which clients send themselves, as in …/v1"
        )
    return url


def _http_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("is not an http:// or https:// URL")  # it is not repeated: some are credentials
    return url


def variable_name(name: str) -> str:
    """Return the name of an environment variable. Raises: ValueError, without the text, if it is none."""
    if not _VARIABLE.fullmatch(name):
        raise ValueError(
            "is not the name of an environment variable; a credential belongs into the variable, not here"
        )
    return name


def secret(variable: str) -> str:
    """Return the credential in an environment variable; "" if there is none."""
    return os.environ.get(variable, "")


Port = Annotated[int, Field(ge=0, le=65535)]
Rate = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
Points = Annotated[float, Field(gt=0, lt=100)]
"""Percentage points."""
UpstreamUrl = Annotated[str, AfterValidator(upstream_url)]
Variable = Annotated[str, AfterValidator(variable_name)]
"""Name of an environment variable that holds a credential. An error does not repeat a
credential that stands here by mistake."""
HttpUrl = Annotated[str, AfterValidator(_http_url)]
TAG_PATTERN: Final = r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$"
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9_.-]{0,62}$"
Tag = Annotated[str, Field(pattern=TAG_PATTERN)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]


def without_credentials(text: str) -> str:
    """Return an address without user, password and query; any other text as it is."""
    scheme, mark, _ = text.partition("://")
    if not mark or not scheme.isalnum():  # such as a path or the name of a model
        return text
    parts = urlsplit(text)
    if not (parts.query or parts.fragment or "@" in parts.netloc):
        return text
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def check_extra(module: str, extra: str) -> None:
    """Check that an optional dependency is installed. Raises: ValueError that says how to install it."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # the package around it is missing
        spec = None
    if spec is None:
        raise ValueError(f"needs the extra `{extra}`: pip install 'evenkeel-proxy[{extra}]'")


class Section(BaseModel):
    """A group of settings. It cannot be changed, and unknown names are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_word_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        """Refuse true for a number: YAML reads "yes" and "on" as true, and pydantic reads true as 1."""
        field = cls.model_fields[str(info.field_name)]
        if (
            isinstance(value, bool)
            and {int, float} & _kinds(field.annotation)
            and bool not in _kinds(field.annotation)
        ):
            raise ValueError(
                "must be a number; YAML reads yes, on and true as true, and no, off and false as false"
            )
        return value


def _kinds(annotation: object) -> set[object]:
    """Return the types that an annotation is made of."""
    kinds: set[object] = {annotation}
    for part in get_args(annotation):
        kinds |= _kinds(part)
    return kinds
