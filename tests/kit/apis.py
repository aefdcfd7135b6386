"""Request shapes by name, as test cases in YAML write them."""

from evenkeel.shadow.prompt import APIS

API = {api.name: api for api in APIS}
