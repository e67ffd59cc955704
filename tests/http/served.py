# SPDX-License-Identifier: Apache-2.0
"""The programs of programs.py, each behind a server of its own: fixtures for the tests of a dialect."""

import pytest
from endpoint import serve, set_active
from programs import foreign, old_unprofiled, profiled, unbuilt, unprofiled  # noqa: F401


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        yield endpoint


@pytest.fixture
def ready(scratch, server):
    """A Redis that can be profiled and is not."""
    set_active(scratch, server.pid, False)
    return server


@pytest.fixture(scope="module")
def off(scratch, unprofiled):  # noqa: F811
    with serve(scratch, unprofiled.pid) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def old_off(scratch, old_unprofiled):  # noqa: F811
    with serve(scratch, old_unprofiled.pid) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def none(scratch, unbuilt):  # noqa: F811
    with serve(scratch, unbuilt.pid) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def without(scratch, foreign):  # noqa: F811
    with serve(scratch, foreign.pid) as endpoint:
        yield endpoint
