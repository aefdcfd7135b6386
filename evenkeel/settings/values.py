"""The kinds of values that settings hold, and what a section of them is."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from proxy.routing import Upstream


def _upstream(url: str) -> str:
    Upstream.parse(url)
    return url


def _http_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an http:// or https:// URL")
    return url


Port = Annotated[int, Field(ge=0, le=65535)]
Rate = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
UpstreamUrl = Annotated[str, AfterValidator(_upstream)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Tag = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]


class Section(BaseModel):
    """A group of settings: unknown names are an error, nothing changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
