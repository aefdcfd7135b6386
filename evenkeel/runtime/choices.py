"""Choices by name in the settings (perturbations, tasks, qualities, limits), looked up and checked.

Apart from `settings`, which the data plane reads too: what is looked up here takes tens of megabytes
that a forwarded request never needs.
"""

from __future__ import annotations

import importlib.util
import os
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from evenkeel.metrics.quality.bundles import bundles_by, custom_prompt
from evenkeel.metrics.tasks import task_named
from evenkeel.settings import SettingsError
from evenkeel.settings.scoring import SLACK_TOKEN_VARIABLE
from evenkeel.settings.types import secret
from evenkeel.shadow.original import StatedTemplate
from evenkeel.shadow.perturbations import by_name, catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.tasks import Task
    from evenkeel.release.calibration.limits import RouteLimit
    from evenkeel.settings import Settings
    from evenkeel.shadow.perturbations import Perturbation

Found = TypeVar("Found")


def perturbations(settings: Settings) -> tuple[Perturbation, ...]:
    """Return every perturbation that is available under these settings.

    Raises: ValueError if a language is no tag.
    """
    return catalogue(
        languages=settings.replays.languages,
        rewriter=settings.replays.rewriter is not None,
    )


def bundles(settings: Settings) -> Mapping[Task, Bundle]:
    """Return the metrics of each task.

    Raises: ValueError for a task or a quality that does not exist, naming the nearest one.
    """
    described = settings.judge.qualities.items() if settings.judge else ()
    custom = []
    for name, choice in described:
        custom.append(custom_prompt(name, choice.description, choice.scale))
    return bundles_by(settings.judge.tasks if settings.judge else {}, custom)


def limits(settings: Settings) -> tuple[RouteLimit, ...]:
    """Return the limits by `evenkeel calibrate --limits`, () without a file.

    Raises: ValueError if the file can't be read.
    """
    path = settings.alerts.limits
    if path is None:
        return ()
    # Loaded on demand: brings numpy and the degradations, which are needed only for such a file.
    from evenkeel.release.calibration.limits import LimitsError, read_limits  # noqa: PLC0415

    try:
        return read_limits(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except LimitsError as error:
        raise ValueError(f"{path}: {error}") from error


def addresses(settings: Settings) -> dict[str, str]:
    """Return the address in each variable that `alerts.notify` names.

    Raises: ValueError if one is empty, or apprise is not installed.
    """
    if settings.alerts.notify and importlib.util.find_spec("apprise") is None:
        raise ValueError('notifications need pip install "evenkeel-proxy[notify]"')
    values = {}
    for variable in settings.alerts.notify:
        values[variable] = os.environ.get(variable, "")
    for variable, url in values.items():
        if not url:
            raise ValueError(f"the variable {variable} is empty; it must hold the address of a service")
    return values


def slack_token(settings: Settings) -> str:
    """Return the token for the Slack channel of the settings; "" without a channel. Raises: ValueError."""
    token = secret(SLACK_TOKEN_VARIABLE)
    if settings.alerts.slack_channel and not token:
        raise ValueError(
            f"the variable {SLACK_TOKEN_VARIABLE} is empty; slack_channel needs a bot's token there"
        )
    return token


def check(settings: Settings, where: str) -> None:
    """Look up everything that the settings name.

    Args:
        settings: Settings to check.
        where: File of the settings, for the message.

    Raises: SettingsError with a one-line message.
    """
    perturbations_known = _looked_up(f"{where}: replays.languages", partial(perturbations, settings))
    _looked_up(f"{where}: judge", partial(bundles, settings))
    _looked_up(f"{where}: alerts.limits", partial(limits, settings))
    _looked_up(f"{where}: alerts", partial(slack_token, settings))
    if settings.alerts.notify:
        _looked_up(f"{where}: alerts.notify", partial(addresses, settings))
    for index, route in enumerate(settings.routes):
        section = f"{where}: routes[{index}]"
        _looked_up(
            f"{section}.trials.perturbations",
            partial(by_name, route.trials.perturbations, perturbations_known),
        )
        if route.task is not None:
            _looked_up(f"{section}.task", partial(task_named, route.task))
        if route.template:
            _looked_up(f"{section}.template", partial(StatedTemplate.of, route.template))


def _looked_up(section: str, look_up: Callable[[], Found]) -> Found:
    try:
        return look_up()
    except ValueError as error:
        raise SettingsError(f"{section}: {error}") from error
