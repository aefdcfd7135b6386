"""Messages by any of the services that apprise knows. Needs the extra `notify`."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.monitor.notify.groups import Message


class UnknownServiceError(Exception):
    """An address that apprise makes nothing of. The message does not show it."""


class AppriseSender:
    """Sends to what one apprise URL names. The URL is a secret: it is never shown or logged."""

    def __init__(self, name: str, url: str) -> None:
        """Read the URL.

        Args:
            name: what to call it in logs, such as the variable that holds the URL.
            url: see https://github.com/caronc/apprise/wiki.

        Raises:
            ImportError: the extra `notify` is not installed.
            UnknownServiceError: no such service.
        """
        import apprise  # noqa: PLC0415 - an optional extra

        # Its log lines hold parts of addresses.
        logging.getLogger("apprise").disabled = True
        self.name = name
        asset = apprise.AppriseAsset(async_mode=False, app_id="evenkeel", app_desc="evenkeel")
        self._service = apprise.Apprise(asset=asset)
        with warnings.catch_warnings():
            # Its services load modules that newer Pythons lack, and warn of it.
            warnings.simplefilter("ignore")
            known = self._service.add(url)
        if not known:
            raise UnknownServiceError(f"{name} holds no address that apprise knows")
        self._good, self._bad = apprise.NotifyType.SUCCESS, apprise.NotifyType.FAILURE

    def send(self, message: Message) -> bool:
        """Whether the service took it."""
        try:
            kind = self._good if message.good else self._bad
            return bool(self._service.notify(title=message.title, body=message.body, notify_type=kind))
        except Exception:  # noqa: BLE001 - named boundary: a hundred services, each with errors of its own
            return False
