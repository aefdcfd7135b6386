"""Version of evenkeel, from the installed distribution."""

from importlib.metadata import version
from typing import Final

VERSION: Final = version("evenkeel-proxy")
