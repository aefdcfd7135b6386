"""Tests that are coroutine functions run as those of the proxy, whose relay many of them use."""

from tests.proxy.conftest import pytest_pycollect_makeitem, pytest_pyfunc_call, run  # noqa: F401
