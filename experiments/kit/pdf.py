"""The page as PDF."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any, NoReturn

from evenkeel.experiments.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_WITHOUT = "or leave pdf out: the HTML prints the same pages from any browser"


def pdf_maker(load: Callable[[str], Any] = importlib.import_module) -> Callable[[bytes], bytes]:
    """What makes a PDF of a page.

    Args:
        load: Loads the library.

    Raises: InputError, saying what to install, if the library or what it draws text with is missing.
    """
    # Before it is loaded, which it tells about.
    for noisy in ("weasyprint", "weasyprint.progress", "fontTools"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    try:
        weasyprint = load("weasyprint")
    except ImportError as error:
        raise InputError(
            f"a PDF needs the extra `pdf`: pip install 'evenkeel-proxy[pdf]' ({error}); {_WITHOUT}"
        ) from error
    except OSError as error:
        raise InputError(
            f"a PDF needs the system library Pango, on Debian: apt-get install libpango-1.0-0 "
            f"libpangoft2-1.0-0 ({_first_line(error)}); {_WITHOUT}"
        ) from error

    def made(page: bytes) -> bytes:
        document = weasyprint.HTML(string=page.decode("utf-8"), url_fetcher=_refuse)
        written: bytes = document.write_pdf()
        return written

    return made


def _refuse(url: str, *_more: Any, **_named: Any) -> NoReturn:
    """The page is whole: it has nothing to fetch, and nothing that traffic put into it may."""
    raise ValueError(f"a report fetches nothing, and not {url}")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
