"""A package of somebody else that offers something by its entry points."""

import sys


def install_package(folder, monkeypatch, group, offer, **sources):
    """Put a module for each name on the path, whose `offer` stands in the group under that name."""
    info = folder / "acme_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-package\nVersion: 1.0\n")
    points = [f"{name} = acme_{name}:{offer}" for name in sources]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *points, ""]))
    for name, source in sources.items():
        (folder / f"acme_{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, f"acme_{name}", raising=False)
    monkeypatch.syspath_prepend(folder)
