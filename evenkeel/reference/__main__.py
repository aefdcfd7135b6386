"""Writes every generated page into the given folder: `python -m evenkeel.reference docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from evenkeel.reference.metrics import metrics_page
from evenkeel.reference.pages import RULES, alerts_page, command_line_page, data_plane_page, settings_page
from evenkeel.reference.perturbations import measured, perturbations_page


def main(folder: Path) -> None:
    """Write the pages."""
    pages = {
        "alerts": alerts_page(folder.resolve().parent / RULES),
        "settings": settings_page(),
        "command-line": command_line_page(),
        "data-plane": data_plane_page(),
        "metrics": metrics_page(),
        "perturbations": perturbations_page(measured(folder)),
    }
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
