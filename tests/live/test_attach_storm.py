# SPDX-License-Identifier: Apache-2.0
"""A program whose 64 threads do nothing but malloc and free: attaching works or is refused in time, and nothing ever hangs.

For some seconds; with JESCOPE_PROOF=full for ten minutes.
"""

import os
import struct
import subprocess
import time

import proof
import pytest
import services
from victims import eventually, program

THREADS = 64
SECONDS = 600 if os.environ.get("JESCOPE_PROOF") == "full" else 5
WATCHDOG = 60

# The error if no thread is ever at a safe point.
REFUSALS = ("jemalloc cannot be called in", "has not finished within")


class Storm:
    def __init__(self, process, path):
        self.process, self.pid, self.path = process, process.pid, path

    def rounds(self):
        """Of each thread."""
        data = self.path.read_bytes()
        return struct.unpack(f"{len(data) // 8}Q", data)

    def assert_rages(self):
        """Every thread continues: none is stopped or waits for a lock that is never released."""
        before = self.rounds()
        eventually(
            lambda: self.process.poll() is None and all(now > then for now, then in zip(self.rounds(), before)),
            f"all {THREADS} threads get on (status {self.process.poll()})",
            WATCHDOG,
        )


@pytest.fixture
def storm(tmp_path):
    path = tmp_path / "rounds"
    # Gently: other tests have two processors to share with it.
    command = ["nice", "-n", "10", program("storm"), path, THREADS]
    with services.started(command, env={**os.environ, "JESCOPE_SOCKET_DIR": str(tmp_path / "agents")}) as process:
        found = Storm(process, path)
        eventually(lambda: path.exists() and path.stat().st_size == 8 * THREADS and all(found.rounds()), "the storm rages")
        yield found


def command(scratch, *words):
    """Whether it was done; refused is as good, no end within WATCHDOG seconds is not."""
    done = subprocess.run([services.JESCOPE, *map(str, words)], env=services.environment(scratch), cwd=scratch,
                          capture_output=True, text=True, timeout=WATCHDOG, check=False)  # fmt: skip
    assert done.returncode == 0 or any(why in done.stderr for why in REFUSALS), done.stderr
    return done.returncode == 0


def test_never_hangs(storm, tmp_path):
    before = proof.Footprint(storm.pid)
    end = time.monotonic() + SECONDS
    tally = {"status": [0, 0], "attach": [0, 0]}
    while time.monotonic() < end:
        tally["status"][command(tmp_path, "status", "--via", "attach", storm.pid)] += 1
        came = command(tmp_path, "attach", storm.pid)
        tally["attach"][came] += 1
        if came:
            assert command(tmp_path, "detach", storm.pid)
    storm.assert_rages()
    eventually(lambda: not proof.Footprint(storm.pid).threads.keys() - before.threads.keys(), "the agent's thread ends")
    after = proof.Footprint(storm.pid)
    assert (after.tracer, after.descriptors, after.threads) == ("0", before.descriptors, before.threads)
    print("refused and done:", tally)
