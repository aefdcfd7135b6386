"""Packages of the wheel: the folders at the top of the repository become sub-packages of `evenkeel`."""

from __future__ import annotations

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

setup(
    package_dir={"evenkeel": "evenkeel", **{f"evenkeel.{room}": room for room in ROOMS}},
    packages=[
        *find_packages(include=["evenkeel", "evenkeel.*"]),
        *(f"evenkeel.{package}" for room in ROOMS for package in find_packages(include=[room, f"{room}.*"])),
    ],
)
