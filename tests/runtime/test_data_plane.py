"""The limit on connections that follows from the limit on open files."""

import gc
import resource

import pytest

from evenkeel.runtime.data_plane import connections_within, raised_limit
from evenkeel.runtime.process import stay_responsive
from tests.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("files", "connections"), CASES["connections"])
def test_each_connection_has_two_files_and_a_third_is_kept_back(files, connections):
    """Clients and upstreams together never get more than the files that are left."""
    assert connections_within(files) == connections


def test_the_process_takes_all_the_files_it_may_have():
    """The soft limit is raised to the hard one, or to 262,144."""
    assert raised_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert raised_limit() >= min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 262_144)


def test_what_was_loaded_is_not_collected_again():
    """Objects that exist at the call are out of the collector's sight, later ones are not."""
    loaded = [[]]
    try:
        stay_responsive()
        assert gc.get_freeze_count() > 0
        made = [[]]
        seen = {id(tracked) for tracked in gc.get_objects()}
        assert id(loaded) not in seen
        assert id(made) in seen
    finally:
        gc.unfreeze()
