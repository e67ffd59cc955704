# SPDX-License-Identifier: Apache-2.0
"""Real servers under full load are attached to again and again: no request fails, nothing of theirs changes, nothing is left.

A few cycles each; JESCOPE_PROOF=full, or bench/attach, runs 1000 on redis-server and 200 on each other.
"""

import os

import loaded
import proof
import pytest

FULL = os.environ.get("JESCOPE_PROOF") == "full"
FEW = 5


def cycles(kind):
    if not FULL:
        return FEW
    return 500 if kind is loaded.Redis else 100


@pytest.mark.parametrize("profiling", [False, True], ids=["unprepared", "profiling"])
@pytest.mark.parametrize("way", proof.WAYS)
@pytest.mark.parametrize("kind", loaded.SERVERS, ids=lambda kind: kind.name)
def test_a_server_under_load_notices_nothing(tmp_path, kind, way, profiling):
    if loaded.need(kind.program) is None:
        pytest.skip(f"{kind.name} is not installed")
    proof.prove(kind, tmp_path, way=way, profiling=profiling, cycles=cycles(kind))
