# SPDX-License-Identifier: Apache-2.0
"""Real servers under full load are attached to again and again: no request fails, nothing of theirs changes, nothing is left.

One cycle on redis-server; with JESCOPE_PROOF as many as it says on each server. JESCOPE_PROOF=full, or bench/attach, runs 1000 on
redis-server and on those with one thread, 200 on each other.
"""

import os

import loaded
import proof
import pytest

CYCLES = os.environ.get("JESCOPE_PROOF", "1")
SERVERS = loaded.SERVERS if "JESCOPE_PROOF" in os.environ else [loaded.Redis]


def cycles(kind):
    return proof.full_cycles(kind) if CYCLES == "full" else int(CYCLES)


@pytest.mark.parametrize("profiling", [False, True], ids=["unprepared", "profiling"])
@pytest.mark.parametrize("way", proof.WAYS)
@pytest.mark.parametrize("kind", SERVERS, ids=lambda kind: kind.name)
def test_a_server_under_load_notices_nothing(tmp_path, kind, way, profiling):
    if loaded.need(kind.program) is None:
        pytest.skip(f"{kind.name} is not installed")
    proof.prove(kind, tmp_path, way=way, profiling=profiling, cycles=cycles(kind))
