"""`python -m grafana`: writes the dashboards."""

from __future__ import annotations

from pathlib import Path

import click

from grafana import BUILTIN, Addresses, to_json

_FOLDER = Path(__file__).parent / "dashboards"


@click.command()
@click.option(
    "--console", default=Addresses().console, show_default=True, help="Where links to the console lead."
)
@click.option(
    "--runbooks", default=Addresses().runbooks, show_default=True, help="Where docs/runbooks can be read."
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=_FOLDER, help="Folder to write to."
)
def main(console: str, runbooks: str, out: Path) -> None:
    """Write the dashboards as JSON, ready to be provisioned or imported."""
    out.mkdir(parents=True, exist_ok=True)
    addresses = Addresses(console.rstrip("/"), runbooks.rstrip("/"))
    for board in BUILTIN:
        path = out / f"{board.uid}.json"
        path.write_text(to_json(board, addresses), encoding="utf-8")
        click.echo(path)


if __name__ == "__main__":
    main()
