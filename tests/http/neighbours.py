# SPDX-License-Identifier: Apache-2.0
"""Targets of another user beside an honest one."""

import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys

import pytest
from endpoint import parse
from services import DEADLINE, PYTHON, environment, started
from victims import BUILD

NOBODY = 65534
TESTS = pathlib.Path(__file__).resolve().parents[1]

# Of what processes of other users cost root's commands, on a busy machine.
PS_S = 40  # 30 at most, and its own work
LOCKED_S = 12  # until all processes of locked() have locked their memory and missed a deadline


def readable_copy(scratch):
    """The files of hostile.py, readable by another user."""
    copy = scratch / "hostile"
    for name in ("http/hostile.py", "live/wire.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTS / name, copy / name)
    (copy / "src/wire").mkdir(parents=True, exist_ok=True)
    shutil.copy(TESTS.parent / "src/wire/wire.h", copy / "src/wire/wire.h")
    shutil.copy("/usr/bin/sleep", copy / "unreadable")
    (copy / "unreadable").chmod(0o711)
    return copy


def ask_as(user, server, method, path, *options):
    done = subprocess.run(server.command(method, path, *options), capture_output=True, timeout=DEADLINE + 10, user=user, group=user,
                          extra_groups=[], cwd="/")
    assert done.returncode == 0, done.stderr.decode()
    return parse(done.stdout)


@contextlib.contextmanager
def hostile(scratch, count, mode, name="hostile", user=NOBODY, disguise=(), groups=()):
    """The pids of hostile targets of another user; with DISGUISE, [uid], temporarily of that user;
    GROUPS are theirs."""
    scratch.chmod(0o755)
    copy = readable_copy(scratch)
    sockets = scratch / f"sockets-{user}"
    sockets.mkdir(mode=0o700)
    os.chown(sockets, user, user)
    env = environment(scratch, JESCOPE_SOCKET_DIR=str(sockets), JESCOPE_SOURCE=str(copy), PYTHONDONTWRITEBYTECODE="1")
    with started([PYTHON, copy / "http/hostile.py", count, mode, name, *disguise], env=env, user=user, group=user, extra_groups=groups, cwd="/",
                 stderr=sys.stderr) as process:
        yield [int(process.stdout.readline()) for _ in range(count)]


SHELL_WORDS = ("-c", "echo ready; while :; do read line; done")


@contextlib.contextmanager
def slow_files(folder, *mode, user, words=("/bin/sh", *SHELL_WORDS), **variables):
    """A process of another user whose socket, program file or arguments are where a file system never answers; see
    tests/victims/slow_files.c."""
    device, place, program = folder / "fuse", folder / "place", folder / "slow_files"
    with contextlib.suppress(OSError):
        os.mknod(device, stat.S_IFCHR, os.makedev(10, 229))
        device.chmod(0o666)
    place.mkdir()
    os.chown(place, user, user)
    shutil.copy(BUILD / "tests/victims/slow_files", program)
    with started([program, *mode, device, place, *words], env=environment(folder, **variables), user=user, group=user, extra_groups=[],
                 cwd="/", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if process.stdout.readline() != "ready\n":
            pytest.skip("this machine gives users no mount of fuse and overlayfs")
        (place / "stop").touch()
        yield process


@contextlib.contextmanager
def locked(folder, user):
    """A target that does not answer, and soon locks its memory map without end: only then can its arguments not be read either."""
    sockets = folder / "sockets"
    sockets.mkdir(mode=0o700)
    os.chown(sockets, user, user)
    with slow_files(folder, "--locked", user=user, words=[sockets], JESCOPE_SOCKET_DIR=str(sockets)) as process:
        try:
            yield process.pid
        finally:
            for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)


def known(server):
    return {row["pid"] for row in server.get("/api/v1/targets").json()["targets"]}
