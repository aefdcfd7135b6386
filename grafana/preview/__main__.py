"""`python -m grafana.preview`: draws the dashboards from a running Prometheus."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import click

from grafana import BUILTIN, Addresses, to_json
from grafana.preview import Scene, page


@click.command()
@click.option("--prometheus", default="http://127.0.0.1:9090", show_default=True, help="Where it is.")
@click.option("--minutes", default=60.0, show_default=True, help="Time to show.")
@click.option("--until", type=float, help="Its end as Unix time.  [now]")
@click.option("--scrape", default=15.0, show_default=True, help="Its scrape interval in seconds.")
@click.option("--set", "chosen", multiple=True, metavar="NAME=VALUE", help="A variable; repeat for several.")
@click.option("--width", default=1500, show_default=True, help="Of the pictures, in pixels.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for them."
)
def main(
    prometheus: str,
    minutes: float,
    until: float | None,
    scrape: float,
    chosen: tuple[str, ...],
    width: int,
    out: Path,
) -> None:
    """Draw every dashboard as PNG, without a Grafana; needs chromium."""
    out.mkdir(parents=True, exist_ok=True)
    end = time.time() if until is None else until
    picked = dict(one.split("=", 1) for one in chosen)
    scene = Scene(prometheus, end - 60 * minutes, end, scrape, chosen=picked)
    for board in BUILTIN:
        html, height = page(json.loads(to_json(board, Addresses())), scene, width)
        picture = out / f"grafana-{board.uid.removeprefix('evenkeel-')}.png"
        _photograph(html, (width, height), picture)
        click.echo(f"{picture} {picture.stat().st_size / 1000:.0f} KB")


def _photograph(html: str, size: tuple[int, int], picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(html, encoding="utf-8")
        subprocess.run(  # noqa: S603 - our own page, no shell
            [
                *(
                    "chromium",
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-quic",
                    "--no-first-run",
                ),
                *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
                *("--hide-scrollbars", f"--user-data-dir={folder}/profile", f"--screenshot={picture}"),
                *(f"--window-size={size[0]},{size[1]}", source.as_uri()),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )


if __name__ == "__main__":
    main()
