"""The version of evenkeel, as the installed distribution says."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("evenkeel-proxy")
