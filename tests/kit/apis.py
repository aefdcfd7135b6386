"""Request shapes by name, as test cases in YAML write them."""

from __future__ import annotations

from typing import Final

from evenkeel.shadow.prompt import APIS, Api

API: Final[dict[str, Api]] = {api.name: api for api in APIS}
