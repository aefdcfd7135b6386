"""The style sheet, script and icons, read once and served from memory under their digest."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from importlib.resources import files

_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file."""

    content: bytes
    media_type: str
    digest: str


class Assets:
    """The files of `console/static`, by name."""

    def __init__(self) -> None:
        self._assets: dict[str, Asset] = {}
        for entry in files("evenkeel.console").joinpath("static").iterdir():
            media_type = _MEDIA_TYPES.get(entry.name.rpartition(".")[2])
            if media_type:
                content = entry.read_bytes()
                digest = blake2s(content, digest_size=4).hexdigest()
                self._assets[entry.name] = Asset(content, media_type, digest)

    def get(self, name: str) -> Asset | None:
        """The file, None if there is none of that name."""
        return self._assets.get(name)

    def url(self, name: str) -> str:
        """Its address; the digest in it lets browsers keep the file for good."""
        return f"/static/{name}?v={self._assets[name].digest}"
