"""Writes every generated page: `python -m evenkeel.reference docs` fills `docs/reference`."""

from __future__ import annotations

import sys
from pathlib import Path

from evenkeel.reference.chart import CHART, chart_page
from evenkeel.reference.metrics import metrics_page
from evenkeel.reference.pages import RULES, alerts_page, command_line_page, data_plane_page
from evenkeel.reference.perturbations import measured, perturbations_page
from evenkeel.reference.settings import settings_page


def pages(docs: Path) -> dict[Path, str]:
    """The text of every generated page by its file.

    Args:
        docs: The documentation of a checkout; the rules of Prometheus and the chart are found from it.
    """
    folder = docs / "reference"
    return {
        folder / f"{name}.md": text
        for name, text in (
            ("alerts", alerts_page(docs.resolve().parent / RULES)),
            ("chart", chart_page(docs.resolve().parent / CHART)),
            ("settings", settings_page()),
            ("command-line", command_line_page()),
            ("data-plane", data_plane_page()),
            ("metrics", metrics_page()),
            ("perturbations", perturbations_page(measured(docs))),
        )
    }


def main(docs: Path) -> None:
    """Write the pages."""
    for path, text in pages(docs).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
