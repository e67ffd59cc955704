# SPDX-License-Identifier: Apache-2.0
"""Where the agent of a process that changes its root or its user is found, and what happens where it cannot listen."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest

from services import DEADLINE, JESCOPE, PYTHON, environment, jescope, started, wait_for
from victims import start_time

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users and changing the root directory need root")

DAEMON, STRANGER = 64321, 64322  # users without a name, and with no directory in /tmp

# Forks a child that does what the word says before anything else, prints its pid, and waits.
DAEMON_PROGRAM = """
import os, signal, sys
os.umask(0)
child = os.fork()
if child == 0:
    if "chroot" in sys.argv:
        os.chroot(sys.argv[1])
    if "setuid" in sys.argv:
        os.setgroups([]); os.setgid(%d); os.setuid(%d)
    signal.pause()
signal.signal(signal.SIGTERM, lambda *_: (os.kill(child, signal.SIGKILL), os._exit(0)))
print(child, flush=True)
while True:
    signal.pause()
""" % (DAEMON, DAEMON)


def place(user):
    return pathlib.Path(f"/tmp/.jescope-{user}")


def sockets_of(pid):
    return list(pathlib.Path("/tmp").glob(f".jescope-*/{pid}.{start_time(pid)}.sock"))


@pytest.fixture
def folder(tmp_path):
    """Sockets are in their default directories; files created by the users of this test are removed."""
    yield tmp_path
    for user in (DAEMON, STRANGER):
        for left in pathlib.Path("/tmp").glob(f".jescope-{user}*"):
            shutil.rmtree(left, ignore_errors=True)


def without_place(folder):
    variables = environment(folder)
    del variables["JESCOPE_SOCKET_DIR"]
    return variables


@contextlib.contextmanager
def daemon(folder, *changes):
    root = folder / "root"
    root.mkdir(exist_ok=True)
    command = [JESCOPE, "run", "--", PYTHON, "-c", DAEMON_PROGRAM, root, *changes]
    with started(command, env=without_place(folder)) as process:
        yield int(process.stdout.readline())


def ask(folder, *words, user=None):
    become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return subprocess.run([*become, JESCOPE, *map(str, words)], env=without_place(folder), capture_output=True, text=True,
                          timeout=DEADLINE, stdin=subprocess.DEVNULL, cwd="/")


def reach(folder, pid, user=None):
    """(way, note about it)"""
    done = ask(folder, "status", "--json", pid, user=user)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["reach"], done.stderr


@pytest.mark.parametrize("changes", [["chroot"], ["setuid"], ["chroot", "setuid"]])
def test_an_agent_is_found_after_its_process_went_elsewhere(folder, changes):
    with daemon(folder, *changes) as pid:
        wait_for(lambda: sockets_of(pid), "the agent listens")
        assert reach(folder, pid) == ("agent", "")
        assert ask(folder, "dump", "-o", folder / "taken", pid).returncode == 0
        assert (folder / "taken").read_bytes().startswith(b"heap_v2/")


def test_an_agent_is_followed_while_its_process_goes_elsewhere(folder):
    """Between the look for the socket and the connection to it, the agent may have moved to its new user's directory.

    An agent may need longer to listen again than a command waits for it, one second; then the process is stopped instead."""
    ways = collections.Counter()
    for _ in range(20):
        with daemon(folder, "chroot", "setuid") as pid:
            begun = time.monotonic()
            way = reach(folder, pid)[0]
            waited = time.monotonic() - begun > 1
            ways["too late" if way == "attach" and waited else way] += 1
    assert ways["attach"] <= 1 and ways["agent"] > 0, ways


def test_a_socket_is_never_open_to_others(folder):
    for _ in range(20):
        with daemon(folder, "setuid") as pid:
            for path in wait_for(lambda: sockets_of(pid), "the agent listens"):
                assert stat.S_IMODE(path.lstat().st_mode) == 0o600
            wait_for(lambda: [path for path in sockets_of(pid) if path.parent == place(DAEMON)], "it follows its user")


def test_the_new_user_reaches_its_own_process(folder):
    if ask(folder, "--version", user=DAEMON).returncode != 0:
        pytest.skip("the build directory is closed to other users")
    with daemon(folder, "setuid") as pid:
        wait_for(lambda: [path for path in sockets_of(pid) if path.parent == place(DAEMON)], "the agent follows its user")
        assert reach(folder, pid, user=DAEMON) == ("agent", "")


def test_detach_does_not_lock_out(folder):
    """The socket of the earlier user's directory cannot be removed by the process; nothing may depend on that."""
    with daemon(folder, "setuid") as pid:
        wait_for(lambda: [path for path in sockets_of(pid) if path.parent == place(DAEMON)], "the agent follows its user")
        stale = place(0) / next(path.name for path in sockets_of(pid))
        place(0).mkdir(mode=0o700, exist_ok=True)
        if not stale.exists():
            leave_socket(stale)
        assert ask(folder, "detach", pid).returncode == 0
        assert sockets_of(pid) == [stale]
        way, said = reach(folder, pid)
        assert way == "attach" and said.count("\n") == 1 and "does not listen" in said
        done = ask(folder, "status", "--via", "agent", pid)
        assert done.returncode == 1 and "no agent answers" in done.stderr
        assert ask(folder, "attach", pid).returncode == 0
        assert reach(folder, pid) == ("agent", "")


def leave_socket(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))


def test_sockets_of_ended_processes_are_removed(folder):
    """Root looks after the directories of all users; 'kill -9' leaves no time to."""
    with daemon(folder, "setuid") as pid:
        mine = wait_for(lambda: [path for path in sockets_of(pid) if path.parent == place(DAEMON)], "the agent follows its user")
        os.kill(pid, signal.SIGKILL)

        def is_swept():
            ask(folder, "ps")
            return not mine[0].exists()

        wait_for(is_swept, "the socket is removed")


def test_a_directory_that_another_user_has_taken(folder):
    place(DAEMON).mkdir(mode=0o755)
    os.chown(place(DAEMON), STRANGER, STRANGER)
    with daemon(folder, "setuid") as pid:
        own = f".jescope-{DAEMON}."  # at first it may be in root's, in which it began to listen when the user changed
        (path,) = wait_for(lambda: [path for path in sockets_of(pid) if path.parent.name.startswith(own)], "the agent listens elsewhere")
        assert path.lstat().st_uid == DAEMON and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert reach(folder, pid) == ("agent", "")
        assert ask(folder, "detach", pid).returncode == 0
        assert not path.parent.exists()


# Becomes another user, and forks as often as the word says once the directory of its agent is there.
FORKING_PROGRAM = """
import glob, os, signal, sys, time
os.setgroups([]); os.setgid(%d); os.setuid(%d)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while not glob.glob("/tmp/.jescope-%d.*/%%d.*.sock" %% os.getpid()):
    time.sleep(0.005)
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        signal.pause()
print(os.getpid(), flush=True)
signal.pause()
""" % (DAEMON, DAEMON, DAEMON)


def test_children_share_the_directory_of_their_parent_where_another_user_has_taken_theirs(folder):
    """Each of its own would stay behind if the child ends by a signal, and nothing would remove it."""
    place(DAEMON).mkdir(mode=0o755)
    os.chown(place(DAEMON), STRANGER, STRANGER)
    with started([JESCOPE, "run", "--", PYTHON, "-c", FORKING_PROGRAM, "3"], env=without_place(folder)) as process:
        parent = int(process.stdout.readline())
        children = [int(word) for word in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        own = f".jescope-{DAEMON}."  # the parent may have left one in root's
        try:
            places = [wait_for(lambda pid=pid: {path.parent for path in sockets_of(pid) if path.parent.name.startswith(own)},
                               "it listens") for pid in (parent, *children)]
            (shared,) = set.union(*places)
            assert stat.S_IMODE(shared.stat().st_mode) == 0o700 and shared.stat().st_uid == DAEMON
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)


def leave_old_socket(path):
    leave_socket(path)
    os.utime(path, (0, 0))


def test_an_agent_removes_what_ended_processes_have_left(folder):
    """A service that forks for each client, and whose children end by a signal, would fill the file system."""
    sockets = folder / "sockets"
    sockets.mkdir(mode=0o700)
    beyond = 1 << 22  # no process has such an id
    left = [sockets / f"{beyond + i}.{i}.sock" for i in range(300)]
    kept = [sockets / "1.1.sock", sockets / f"{beyond}.sock", sockets / f"{beyond}.1.sock.old", sockets / "other"]
    for path in (*left, *kept):
        leave_old_socket(path)
    young = sockets / f"{beyond}.7777.sock"
    leave_socket(young)
    elsewhere = sockets / f"{beyond}.8888.sock"  # as of a process in another pid namespace
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(elsewhere))
        listener.listen()
        os.utime(elsewhere, (0, 0))
        os.utime(young, (time.time() + 3600,) * 2)
        with started([JESCOPE, "run", "--", PYTHON, "-c", DAEMON_PROGRAM, folder],
                     env=environment(folder, JESCOPE_SOCKET_DIR=str(sockets))) as process:
            process.stdout.readline()
            wait_for(lambda: not any(path.exists() for path in left), "they are removed")
            assert all(path.exists() for path in (*kept, young, elsewhere))


def test_a_runtime_directory_of_another_user_is_not_used(folder):
    """As su(1) leaves it in the environment: its owner could have root's socket made elsewhere, by a link in it."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    variables = without_place(folder) | {"XDG_RUNTIME_DIR": str(runtime)}
    for owner, used in ((0, True), (STRANGER, False)):
        shutil.rmtree(runtime / "jescope", ignore_errors=True)
        os.chown(runtime, owner, owner)
        with started([JESCOPE, "run", "--", PYTHON, "-c", DAEMON_PROGRAM, folder], env=variables) as process:
            pid = int(process.stdout.readline())
            name = f"{pid}.{start_time(pid)}.sock"
            places = [runtime / "jescope" / name, place(0) / name]
            wait_for(lambda: any(path.exists() for path in places), "the agent listens")
            assert [path.exists() for path in places] == [used, not used]
        assert (runtime / "jescope").exists() == used


def test_a_process_whose_agent_cannot_listen(folder):
    """JESCOPE_SOCKET_DIR names a directory that is not there for it: every command goes without the agent and says so."""
    variables = environment(folder, JESCOPE_SOCKET_DIR=str(folder / "missing/agents"))
    with started([JESCOPE, "run", "--", PYTHON, "-c", DAEMON_PROGRAM, folder], env=variables) as process:
        pid = int(process.stdout.readline())
        for words in (["status", pid], ["dump", "-o", folder / "taken", pid], ["stats", pid], ["report", pid]):
            done = jescope(folder, *words, check=False)
            # A report of a process that samples nothing is empty: 3.
            assert done.returncode == (3 if "report" in words else 0), (words, done.stderr)
            assert "does not listen" in done.stderr, (words, done.stderr)
        assert jescope(folder, "status", "--via", "attach", pid).stderr == ""
        done = jescope(folder, "status", "--via", "agent", pid, check=False)
        assert done.returncode == 1 and "has the agent loaded, but it does not listen" in done.stderr
