"""Request shapes by name, as test cases in YAML write them."""

from __future__ import annotations

from evenkeel.shadow.prompt import APIS

API = {api.name: api for api in APIS}
