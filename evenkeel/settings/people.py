"""Who may open the admin port under a name of their own."""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from evenkeel.settings.values import Section, Variable
from evenkeel.stores.audit_log import is_name

Role = Literal["viewer", "labeller", "approver"]


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("is no name; take 1 to 200 visible characters")
    return text


def _network(text: str) -> str:
    return str(ip_network(text))


PersonName = Annotated[str, AfterValidator(_name)]
Network = Annotated[str, AfterValidator(_network)]


class Person(Section):
    """Somebody who opens the admin port under a name of their own."""

    name: PersonName
    """Stands beside all that is done under this token."""
    role: Role = "viewer"
    """`viewer` reads, `labeller` also says what verdicts are worth, `approver` does everything."""
    token_env: Variable | None = None
    """Variable with the token of this person."""
    token_file: Path | None = None
    """File with the token, in place of a variable. None of both = only the login proxy knows this person."""

    @property
    def token(self) -> str | None:
        """The token, None if there is none. Raises: ValueError if what is named holds none."""
        if self.token_file is not None:
            try:
                found = self.token_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"the token_file of {self.name} cannot be read") from error
            if not found:
                raise ValueError(f"the token_file of {self.name} is empty")
            return found
        if self.token_env is None:
            return None
        if not os.environ.get(self.token_env):
            raise ValueError(f"the variable named by the token_env of {self.name} is empty")
        return os.environ[self.token_env]

    @model_validator(mode="after")
    def _one_token(self) -> Person:
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("has token_env and token_file; take one of them")
        _ = self.token  # so that one that cannot be used is said at the start
        return self


class Login(Section):
    """A proxy in front of the admin port that has people sign in, and says in a header who they are."""

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,60}$")] = "x-forwarded-user"
    """Header with the name. The proxy must replace one that a client sends."""
    addresses: list[Network] = []
    """Addresses, or networks, of the proxy: nobody else is believed. May be empty with
    `admin.tls.client_ca_file`; then everybody who has a certificate is."""
    role: Role = "viewer"
    """Of those who are not among the people."""
