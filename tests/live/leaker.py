# SPDX-License-Identifier: Apache-2.0
"""victims/leaker under `jescope run`, with profiling ready."""

import contextlib
import os

from services import JESCOPE, VICTIMS, environment, started, wait_for

NAME = f"grow{os.getpid()}"  # of no other process


@contextlib.contextmanager
def leaker(tmp_path, user=None, **variables):
    program = tmp_path / NAME
    if not program.exists():
        program.symlink_to(VICTIMS / "leaker")
    agents = tmp_path / ("agents" if user is None else f"agents-{user}")
    own = environment(tmp_path, JESCOPE_SOCKET_DIR=str(agents), **variables)
    with started([JESCOPE, "run", "--", program], cwd=tmp_path, env=own, user=user) as process:
        process.pid_inside = int(process.stdout.readline())
        wait_for(lambda: list(agents.glob(f"{process.pid_inside}.*.sock")), "the agent listens")

        def tell(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()

        process.tell = tell
        yield process
