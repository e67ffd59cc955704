# SPDX-License-Identifier: Apache-2.0
"""Targets of another user beside an honest one."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

from endpoint import parse
from services import DEADLINE, PYTHON, environment, started

NOBODY = 65534
TESTS = pathlib.Path(__file__).resolve().parents[1]


def readable_copy(scratch):
    """The files of hostile.py, readable by another user."""
    copy = scratch / "hostile"
    for name in ("http/hostile.py", "live/wire.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTS / name, copy / name)
    (copy / "src/wire").mkdir(parents=True, exist_ok=True)
    shutil.copy(TESTS.parent / "src/wire/wire.h", copy / "src/wire/wire.h")
    return copy


def ask_as(user, server, method, path, *options):
    done = subprocess.run(server.command(method, path, *options), capture_output=True, timeout=DEADLINE + 10, user=user, group=user,
                          extra_groups=[], cwd="/")
    assert done.returncode == 0, done.stderr.decode()
    return parse(done.stdout)


@contextlib.contextmanager
def hostile(scratch, count, mode, name="hostile", user=NOBODY, disguise=()):
    """The pids of hostile targets of another user; with DISGUISE, [uid], temporarily of that user."""
    scratch.chmod(0o755)
    copy = readable_copy(scratch)
    sockets = scratch / f"sockets-{user}"
    sockets.mkdir(mode=0o700)
    os.chown(sockets, user, user)
    env = environment(scratch, JESCOPE_SOCKET_DIR=str(sockets), JESCOPE_SOURCE=str(copy), PYTHONDONTWRITEBYTECODE="1")
    with started([PYTHON, copy / "http/hostile.py", count, mode, name, *disguise], env=env, user=user, group=user, extra_groups=[], cwd="/",
                 stderr=sys.stderr) as process:
        yield [int(process.stdout.readline()) for _ in range(count)]
