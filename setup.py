"""What the wheel holds: the folders at the top, as sub-packages of `evenkeel`, and the documentation."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

ROOMS = (
    "core",
    "llm",
    "stores",
    "proxy",
    "metrics",
    "shadow",
    "monitor",
    "experiments",
    "console",
    "simulate",
)
# The README links to these pages; the console shows the runbooks where there is no network.
PAGES = sorted(
    path
    for ending in ("md", "svg", "png")
    for path in Path("docs").rglob(f"*.{ending}")
    if path.parts[1] != "reference"  # generated, for the site
)

setup(
    package_dir={"evenkeel": "evenkeel", **{f"evenkeel.{room}": room for room in ROOMS}},
    packages=[
        *find_packages(include=["evenkeel", "evenkeel.*"]),
        *(f"evenkeel.{package}" for room in ROOMS for package in find_packages(include=[room, f"{room}.*"])),
    ],
    data_files=[
        (f"share/evenkeel/{folder}", [str(page) for page in PAGES if page.parent == folder])
        for folder in sorted({page.parent for page in PAGES})
    ],
)
