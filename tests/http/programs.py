# SPDX-License-Identifier: Apache-2.0
"""The programs that the conformance rows speak of, each a fixture for a module, each with what was started by this module alone."""

import contextlib
import itertools

import pytest
import victims
from services import redis, redis_program, started, wait_for

_keys = itertools.count()

OLD = "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756"
NEW = "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"


@contextlib.contextmanager
def running_redis(scratch, name, *options, **variables):
    folder = scratch / name
    folder.mkdir()
    if redis_program(folder) is None:
        pytest.skip("redis-server is not installed (Debian: redis-tools)")
    with redis(folder, *options, JESCOPE_SOCKET_DIR=str(scratch / "agents"), **variables) as server:
        wait_for(lambda: list((scratch / "agents").glob(f"{server.pid}.*.sock")), "the agent listens")
        yield server


@contextlib.contextmanager
def standin(scratch, prof, version=OLD, **variables):
    env = {"STANDIN_VERSION": version, "STANDIN_PROF": prof, **variables}
    victim = victims.Victim("victim-standin", sockets=scratch / "agents", conf=None, env=env, cwd=scratch)
    try:
        victim.client().close()
        yield victim
    finally:
        victim.stop()


@pytest.fixture(scope="module")
def profiled(scratch):
    """Redis, prof:true, not active."""
    with running_redis(scratch, "profiled", "--sample", "4KiB") as server:
        yield server


@pytest.fixture(scope="module")
def unprofiled(scratch):
    """As jemalloc 5.3.0 with prof:false, and without hooks."""
    with standin(scratch, "off", NEW) as victim:
        yield victim


@pytest.fixture(scope="module")
def sampled(scratch):
    """Redis, prof:false: jescope's own sampler serves."""
    with running_redis(scratch, "sampled", MALLOC_CONF="prof:false") as server:
        yield server


@pytest.fixture(scope="module")
def old_unprofiled(scratch):
    """As jemalloc 5.2.1 with prof:false."""
    with standin(scratch, "off") as victim:
        yield victim


@pytest.fixture(scope="module")
def unbuilt(scratch):
    """A jemalloc built without profiling."""
    with standin(scratch, "none", NEW) as victim:
        yield victim


@pytest.fixture(scope="module")
def foreign(scratch):
    """A program without jemalloc."""
    with started(["/bin/sleep", "infinity"]) as process:
        yield process


def fill(server, count=200, size=16384):
    """Lets Redis keep something new that a dump shows."""
    for _ in range(count):
        server.ask("SETRANGE", f"key:{next(_keys)}", size, "x")
