"""What of prompts and answers is kept, how long, and what of it never is."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evenkeel.settings.values import Rate, Section
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of

Kind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
BuiltinKind = Literal["api_key", "card", "email", "iban", "ip", "jwt", "phone", "secret"]


class Payloads(Section):
    """Prompts and answers where they are kept. They are encrypted if `EVENKEEL_PAYLOAD_KEY` holds a key."""

    encrypted: bool = False
    """Whether nothing may start without such a key."""

    @model_validator(mode="after")
    def _has_key(self) -> Payloads:
        if self.encrypted:
            try:
                active = seal_of(os.environ).active
            except SealError as error:
                raise ValueError(str(error)) from error
            if not active:
                raise ValueError(
                    f"encrypted is set, but {KEY_VARIABLE} holds no key; make one with: "
                    "openssl rand -base64 32"
                )
        return self


class Presidio(Section):
    """Recognition of names, places and the like by Presidio; needs the extra `presidio` and a spaCy model."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] = "en"
    """Of the traffic."""
    entities: list[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,40}$")]] = ["PERSON", "LOCATION"]
    """Kinds that are replaced, as Presidio names them; none = all it knows."""
    score: Rate = 0.5
    """Least certainty."""

    @model_validator(mode="after")
    def _installed(self) -> Presidio:
        if find_spec("presidio_analyzer") is None:
            raise ValueError("needs the extra `presidio`: pip install 'evenkeel[presidio]'")
        return self


class Redaction(Section):
    """What is replaced by placeholders in sampled exchanges before they leave the proxy's process."""

    kinds: list[BuiltinKind] = []
    """Built-in patterns."""
    patterns: dict[Kind, Annotated[str, Field(min_length=1, max_length=500)]] = {}
    """Patterns of your own by kind, in RE2's syntax; the first group, if there is one, is what is replaced.
    Needs the extra `redaction`."""
    presidio: Presidio | None = None

    @model_validator(mode="after")
    def _compiles(self) -> Redaction:
        if self.patterns:
            # Loaded on demand: most settings have no pattern.
            from evenkeel.shadow.protection.detectors import OwnPattern, ProtectionError  # noqa: PLC0415

            for kind, written in self.patterns.items():
                try:
                    OwnPattern(kind, written)
                except ProtectionError as error:
                    raise ValueError(str(error)) from error
        return self

    @property
    def active(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.kinds or self.patterns or self.presidio)
