"""All settings together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from evenkeel.settings.changing import Changes
from evenkeel.settings.protecting import Payloads, Redaction
from evenkeel.settings.replaying import Archive, Budget, Price, Rewriter, Shadow
from evenkeel.settings.routes import Route, route_table
from evenkeel.settings.scoring import Alert, Judge, Scoring
from evenkeel.settings.serving import Admin, Console, Listen, Reload, Telemetry
from evenkeel.settings.storing import Monitor, Redis, Storage
from evenkeel.settings.values import Tag


class Settings(BaseSettings):
    """Everything `evenkeel up` can be told."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="EVENKEEL_",
        env_nested_delimiter="__",
        use_attribute_docstrings=True,
    )

    listen: Listen = Listen()
    admin: Admin = Admin()
    reload: Reload = Reload()
    data_dir: Path = Path("evenkeel-data")
    """Folder of the store."""
    storage: Storage = Storage()
    payloads: Payloads = Payloads()
    redaction: Redaction = Redaction()
    redis: Redis | None = None
    monitor: Monitor = Monitor()
    routes: Annotated[list[Route], Field(min_length=1)]
    shadow: Shadow = Shadow()
    archive: Archive = Archive()
    budget: Budget = Budget()
    judge: Judge | None = None
    rewriter: Rewriter | None = None
    languages: list[Tag] = []
    """Further target languages of `multilingual`, as BCP 47 tags."""
    compounds: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")], list[str]] = {}
    """Further `compound.NAME` kinds: the kinds they apply, one after another."""
    prices: dict[str, Price] = {}
    """Prices of models that the public list lacks, by model name."""
    scoring: Scoring = Scoring()
    alert: Alert = Alert()
    changes: Changes = Changes()
    console: Console = Console()
    telemetry: Telemetry = Telemetry()
    simulated: bool = False
    """Says on every page that the upstream is a simulation."""

    @model_validator(mode="after")
    def _routes_differ(self) -> Settings:
        # Without keys: worker and monitor read the same file, and have no use for those of the proxy.
        route_table(self.routes, injecting=False)
        return self

    def base_url(self, route: Route) -> str:
        """What an application sets as its base URL to use a route."""
        return f"http://{self.listen.address}{route.prefix}/v1"
