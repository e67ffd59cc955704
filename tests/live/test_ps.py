# SPDX-License-Identifier: Apache-2.0
"""Finding targets: agents of this user, in containers, without an agent; dead sockets."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess

import pytest

from services import AS_ROOT, DEADLINE, JESCOPE, VICTIMS, children, environment, jescope, service, started, wait_for

NOBODY = 65534


def listed(scratch):
    return {row["pid"]: row for row in json.loads(jescope(scratch, "ps", "--json").stdout)}


def test_own_agent(tmp_path):
    with service(tmp_path) as python:
        row = listed(tmp_path)[python.pid]
        assert row["reach"] == "agent" and row["name"] == "python3" and row["memory"]["allocated"] > 0
        lines = jescope(tmp_path, "ps").stdout.splitlines()
        assert lines[0].split() == ["PID", "USER", "JEMALLOC", "ALLOCATED", "RESIDENT", "PROFILING", "REACH", "NAME"]
        mine = [line.split() for line in lines if line.split()[0] == str(python.pid)]
        assert mine and mine[0][-3:] == ["ready", "agent", "python3"]
    assert python.pid not in listed(tmp_path)


@pytest.mark.parametrize("program", ["victim", "victim-static", "victim-rjem"])
def test_without_agent(tmp_path, program):
    if not (VICTIMS / program).exists():
        pytest.skip(f"{program} is not built: jemalloc's static archive is not installed")
    with started([VICTIMS / program], env=environment(tmp_path)) as victim:
        victim.stdout.readline()
        row = listed(tmp_path)[victim.pid]
        assert row["reach"] == "attach" and "memory" not in row


def test_without_jemalloc(tmp_path):
    with started([VICTIMS / "victim-plain"], env=environment(tmp_path)) as victim:
        victim.stdout.readline()
        assert victim.pid not in listed(tmp_path)


def test_stopped(tmp_path):
    """It does not hold up the list."""
    with service(tmp_path) as python:
        os.kill(python.pid, 19)
        try:
            wait_for(lambda: " T " in pathlib.Path(f"/proc/{python.pid}/stat").read_text(), "it is stopped")
            assert listed(tmp_path)[python.pid]["reach"] == "stopped"
        finally:
            os.kill(python.pid, 18)


def namespaces():
    """A container's: own pids, own mounts with an own /tmp; for those who are not root with an own user, too."""
    flags = ["--fork", "--pid", "--mount", "--mount-proc", "--kill-child"]
    flags = flags if AS_ROOT else ["--user", "--map-root-user"] + flags
    usable = subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode == 0
    return ["unshare", *flags] if usable else None


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] + descendants(child)
    return found


def named(pids, name):
    for pid in pids:
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
                return pid
    return None


def test_in_a_container(tmp_path):
    """Neither its socket directory nor its pids are ours; the socket is reached through /proc/PID/root."""
    command = namespaces()
    if command is None:
        pytest.skip("this system does not let us make namespaces")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    env = dict(environment(tmp_path), JESCOPE_SOCKET_DIR=str(hidden / "agents"))
    script = f"mount -t tmpfs none {hidden} && exec {JESCOPE} run {VICTIMS}/victim"
    with started([*command, "sh", "-c", script], env=env) as unshare:
        inner = int(unshare.stdout.readline().split()[1])
        pid = wait_for(lambda: named(descendants(unshare.pid), "victim"), "the victim is there")
        assert inner != pid and not list(hidden.iterdir())
        wait_for(lambda: listed(tmp_path).get(pid, {}).get("reach") == "agent", "it is found")
        jescope(tmp_path, "enable", "--for", "1h", pid)
        assert "active since" in jescope(tmp_path, "status", pid).stdout
        # jescope is the container's first process there: it reaps what is left behind.
        unshare.stdin.close()
        unshare.stdin = None
        assert unshare.wait(DEADLINE) == 0


def test_dead_sockets_are_removed(tmp_path):
    directory = tmp_path / "agents"
    directory.mkdir(mode=0o700)
    dead, alive, foreign = directory / "4194999.5.sock", directory / "4194998.5.sock", directory / "other.sock"
    sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(3)]
    for path, each in zip((dead, alive, foreign), sockets):
        each.bind(str(path))
        os.utime(path, (1, 1))
    sockets[1].listen()
    sockets[0].close()
    jescope(tmp_path, "ps")
    assert not dead.exists() and alive.exists() and foreign.exists()
    for each in sockets:
        each.close()


def test_sockets_in_a_directory_of_others_are_not_trusted(tmp_path):
    with service(tmp_path) as python:
        (tmp_path / "agents").chmod(0o755)
        done = jescope(tmp_path, "status", python.pid, check=False)
        assert done.returncode == 1 and "has the agent loaded, but it does not listen" in done.stderr
        (tmp_path / "agents").chmod(0o700)
        jescope(tmp_path, "status", python.pid)


def as_nobody(*words):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, words)]


@pytest.mark.skipif(not AS_ROOT, reason="taking two users' places needs root")
def test_two_users(tmp_path):
    usable = subprocess.run(as_nobody(JESCOPE, "--version"), capture_output=True).returncode == 0
    if not usable:
        pytest.skip("the build directory is closed to other users")
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    theirs = as_nobody(JESCOPE, "run", VICTIMS / "victim")
    with service(tmp_path) as ours, started(theirs, env=env, cwd="/") as runner:
        runner.stdout.readline()
        pid = children(runner.pid)[0]
        # Root sees everybody's agents and may use them.
        wait_for(lambda: listed(tmp_path).get(pid, {}).get("reach") == "agent", "root sees it")
        jescope(tmp_path, "enable", pid)
        # Others see their own, and are told why not more.
        done = subprocess.run(as_nobody(JESCOPE, "ps", "--json"), capture_output=True, text=True, timeout=DEADLINE, env=env)
        rows = {row["pid"] for row in json.loads(done.stdout)}
        assert pid in rows and ours.pid not in rows
        done = subprocess.run(as_nobody(JESCOPE, "status", ours.pid), capture_output=True, text=True, timeout=DEADLINE, env=env)
        assert done.returncode == 1
        assert done.stderr == f"jescope: python3 ({ours.pid}) belongs to user root; run jescope as root\n"
