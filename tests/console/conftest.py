"""Scenes for the tests of the console, and a client of it."""

import random
from contextlib import ExitStack

import pytest
from litestar.testing import TestClient

import evenkeel.shadow.perturbations  # noqa: F401 - publishes the rewordings, as the process of the console does
from evenkeel.console import create_app
from tests.console.planted_trials import cell, verdict
from tests.console.scenes import SCENES
from tests.kit.chromium import browser
from tests.kit.records import altered
from tests.proxy.conftest import pytest_pycollect_makeitem, pytest_pyfunc_call, run  # noqa: F401 - runs coroutines


@pytest.fixture
def make_scene():
    """Makes a scene by name: empty, quiet, alert, hostile."""
    return lambda name: SCENES[name]()


@pytest.fixture
def make_cell():
    return cell


@pytest.fixture
def make_verdict():
    """Makes the verdict of a place in the log, with its texts."""
    return lambda place: verdict(random.Random(place), place)


@pytest.fixture
def console_client():
    """Serves a scene in this process, with other sources than its own; closed at the end of the test."""
    with ExitStack() as stack:
        yield lambda scene, **sources: stack.enter_context(
            TestClient(create_app(altered(scene.sources(), **sources)))
        )


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started
