# SPDX-License-Identifier: Apache-2.0
"""Finding targets: agents of this user, in containers, without an agent; dead sockets."""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess

import pytest

from sanitized import SANITIZED
from services import AS_ROOT, DEADLINE, JESCOPE, PYTHON, VICTIMS, children, environment, jescope, service, started, wait_for

NOBODY = 65534


def listed(scratch):
    return {row["pid"]: row for row in json.loads(jescope(scratch, "ps", "--json").stdout)["processes"]}


def test_own_agent(tmp_path):
    with service(tmp_path) as python:
        row = listed(tmp_path)[python.pid]
        assert row["reach"] == "agent" and row["name"] == "python3" and row["sample"]["allocated"] > 0
        lines = jescope(tmp_path, "ps").stdout.splitlines()
        assert lines[0].split() == ["PID", "USER", "PARENT", "RSS", "HELD", "RESIDENT", "JEMALLOC", "PROFILE", "REACH", "COMMAND"]
        mine = [line.split() for line in lines if line.split()[0] == str(python.pid)]
        assert mine and mine[0][9:12] == ["5.3.0", "ready", "agent"] and mine[0][12].endswith("python3")
    assert python.pid not in listed(tmp_path)


@pytest.mark.parametrize("program", ["victim", "victim-static", "victim-rjem"])
def test_without_agent(tmp_path, program):
    if not (VICTIMS / program).exists():
        pytest.skip(f"{program} is not built: jemalloc's static archive is not installed")
    with started([VICTIMS / program], env=environment(tmp_path)) as victim:
        victim.stdout.readline()
        row = listed(tmp_path)[victim.pid]
        assert row["reach"] == "attach" and row["sample"] is None


def test_prepared_without_agent(tmp_path):
    """The facts known without stopping it."""
    with started([VICTIMS / "victim"], env=environment(tmp_path, MALLOC_CONF="prof:true,prof_active:false")) as ready, \
         started([VICTIMS / "victim"], env=environment(tmp_path, MALLOC_CONF="prof:true,prof:false")) as not_ready:
        for victim in (ready, not_ready):
            victim.stdout.readline()
        rows = listed(tmp_path)
        assert rows[ready.pid]["profiling_state"] == "likely"
        assert rows[not_ready.pid]["profiling_state"] == "unknown"


def test_not_prepared_with_agent(tmp_path):
    with service(tmp_path, MALLOC_CONF="prof:false") as python:
        row = listed(tmp_path)[python.pid]
        assert row["profiling_state"] == "ready" and row["profiling"]["obstacle"] is None
        assert row["profiling"]["sampler"] == "jescope" and "prof:true" in row["profiling"]["sampler_reason"]


def test_facts_that_tell_namesakes_apart(tmp_path):
    with service(tmp_path) as python:
        row = listed(tmp_path)[python.pid]
        assert row["parent"] == int(pathlib.Path(f"/proc/{python.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        assert row["rss"] > 1 << 20 and row["arguments"].split()[0].endswith("python3")
        assert row["user"] == pwd.getpwuid(os.geteuid()).pw_name
        assert f"{python.pid} python3" in jescope(tmp_path, "ps", "--quiet").stdout.splitlines()


# Its first thread ends while another one goes on.
HEADLESS = """
import ctypes, os, platform, sys, threading
with open("/proc/self/comm", "w") as name: name.write("headless")
def go_on():
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


def has_lost_its_first_thread(pid):
    return "State:\tZ" in pathlib.Path(f"/proc/{pid}/task/{pid}/status").read_text()


@contextlib.contextmanager
def headless(scratch, **variables):
    with started([JESCOPE, "run", "--", PYTHON, "-c", HEADLESS], env=environment(scratch, PYTHONMALLOC="malloc", **variables),
                 cwd=scratch) as process:
        pid = int(process.stdout.readline())
        wait_for(lambda: has_lost_its_first_thread(pid), "the first thread has ended")
        yield pid


def test_a_process_whose_first_thread_has_ended(tmp_path):
    with headless(tmp_path) as pid:
        row = listed(tmp_path)[pid]
        assert row["reach"] == "agent" and row["name"] == "headless" and row["rss"] > 1 << 20, row
        assert json.loads(jescope(tmp_path, "status", "--json", "headless").stdout)["pid"] == pid
        assert jescope(tmp_path, "ledger", "headless").stdout


def test_a_process_whose_first_thread_has_ended_without_an_agent(tmp_path):
    with headless(tmp_path, JESCOPE="off") as pid:
        assert listed(tmp_path)[pid]["reach"] == "unreachable"
        done = jescope(tmp_path, "status", pid, check=False)
        assert done.returncode == 1 and "its first thread has ended" in done.stderr, done


@pytest.mark.skipif(not AS_ROOT, reason="only root has processes of other users")
@pytest.mark.parametrize("agent", ["on", "off"])
def test_a_namesake_of_a_process_whose_first_thread_has_ended(open_path, agent):
    """A name means none of two users' processes, of which one is not in what the kernel tells of its first thread."""
    namesake = open_path / "headless"
    shutil.copy(shutil.which("sleep"), namesake)
    with headless(open_path, JESCOPE=agent) as pid, started([namesake, "600"], user=NOBODY, cwd="/") as stranger:
        wait_for(lambda: pathlib.Path(f"/proc/{stranger.pid}/comm").read_text() == "headless\n", "the namesake runs")
        done = jescope(open_path, "status", "headless", check=False)
        assert "2 processes are named 'headless'" in done.stderr and str(pid) in done.stderr, done


def test_sorted(tmp_path):
    with service(tmp_path) as large, service(tmp_path) as small:
        large.allocate(400000)
        for word, reverse, key in [("rss", True, "rss"), ("pid", False, "pid"), ("name", False, "name")]:
            rows = json.loads(jescope(tmp_path, "ps", "--json", "--sort", word).stdout)["processes"]
            values = [row[key] for row in rows]
            assert values == sorted(values, reverse=reverse)
        rows = json.loads(jescope(tmp_path, "ps", "--json").stdout)["processes"]
        order = [row["pid"] for row in rows if row["pid"] in (large.pid, small.pid)]
        assert order == [large.pid, small.pid]
        done = jescope(tmp_path, "ps", "--sort=rs", check=False)
        assert done.returncode == 2 and "did you mean 'rss'?" in done.stderr


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory is measured along")
def test_too_many_mappings(tmp_path):
    """65 000 mappings of a file with a long path, whose name is that of the agent: hundreds of megabytes of text."""
    with started([VICTIMS / "mappings"], env=environment(tmp_path), cwd=tmp_path) as victim:
        assert int(victim.stdout.readline().split()[1]) > 60000
        for words, status in [(["ps", "--json"], 0), (["status", victim.pid], 1)]:
            done = subprocess.run(["/usr/bin/python3", "-c", MEASURED, JESCOPE, *map(str, words)], env=environment(tmp_path),
                                  capture_output=True, text=True, timeout=DEADLINE)
            peak, processor = map(float, done.stderr.splitlines()[-1].split())
            assert done.returncode == status
            assert peak < 24 << 20 and processor < 5, (words, peak, processor)
            assert words[0] == "ps" or "memory map" in done.stderr
        assert listed(tmp_path)[victim.pid]["reach"] == "unreachable"


# Says that its environment is 16 GiB of memory that it has never touched (prctl(2), PR_SET_MM_MAP).
ENDLESS_ENVIRONMENT = """
import ctypes, mmap, signal, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
size = 16 << 30
at = libc.mmap(None, ctypes.c_size_t(size), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, ctypes.c_long(0))
field = [0, 0] + open("/proc/self/stat").read().rpartition(")")[2].split()
number = lambda n: int(field[n - 1])
libc.sbrk.restype = ctypes.c_void_p
told = struct.pack("12QII", number(26), number(27), number(45), number(46), number(47), libc.sbrk(0), number(28),
                   number(48), number(49), at, at + size, 0, 0, 0xFFFFFFFF)
print(libc.prctl(35, 14, told, ctypes.c_ulong(len(told)), 0), flush=True)
signal.pause()
"""


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory is measured along")
def test_endless_environment(tmp_path):
    with started(["/usr/bin/python3", "-c", ENDLESS_ENVIRONMENT], env=environment(tmp_path)) as victim:
        if int(victim.stdout.readline()) != 0:
            pytest.skip("this kernel lets no process say where its environment is (CONFIG_CHECKPOINT_RESTORE)")
        done = subprocess.run(["/usr/bin/python3", "-c", MEASURED, JESCOPE, "ps", "--json"], env=environment(tmp_path),
                              capture_output=True, text=True, timeout=DEADLINE)
        peak, processor = map(float, done.stderr.splitlines()[-1].split())
        assert done.returncode == 0
        assert peak < 64 << 20 and processor < 5, (peak, processor)


# Has mapped a file with the agent's name, and an abstract socket leads to a directory with a file as agents make it.
ABSTRACT_SOCKET = """
import mmap, os, signal, socket, sys
directory = sys.argv[1]
with open(f"{directory}/libjescope-agent.so", "w+b") as file:
    file.write(bytes(4096))
    file.flush()
    mapped = mmap.mmap(file.fileno(), 4096)
name = f"{directory}/{os.getpid()}.{open('/proc/self/stat').read().rpartition(')')[2].split()[19]}.sock"
kinds = [(name, socket.SOCK_STREAM), ("\\0" + name, socket.SOCK_SEQPACKET)]
bound = [socket.socket(socket.AF_UNIX, kind) for _, kind in kinds]
for each, (path, _) in zip(bound, kinds):
    each.bind(path)
    each.listen()
print("ready", flush=True)
signal.pause()
"""


def test_an_abstract_socket_leads_nowhere(tmp_path):
    directory = tmp_path / "private"
    directory.mkdir(mode=0o700)
    with started(["/usr/bin/python3", "-c", ABSTRACT_SOCKET, directory], env=environment(tmp_path)) as victim:
        assert victim.stdout.readline() == "ready\n"
        done = jescope(tmp_path, "status", "--via=agent", victim.pid, check=False)
        assert done.returncode == 1 and str(directory) not in done.stderr


# Peak memory in bytes and seconds of processor time, which the load of others does not change, in the last line.
MEASURED = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss * 1024, used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(status)
"""


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
    """A container's: own pids, own mounts with an own /tmp; without root also with an own user namespace."""
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
        done = jescope(tmp_path, "status", "--via", "agent", python.pid, check=False)
        assert done.returncode == 1 and "has the agent loaded, but it does not listen" in done.stderr
        done = jescope(tmp_path, "status", python.pid)
        assert "the agent in python3" in done.stderr and done.stderr.count("\n") == 1
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
        # Other users see their own, and the reason for not seeing more.
        done = subprocess.run(as_nobody(JESCOPE, "ps", "--json"), capture_output=True, text=True, timeout=DEADLINE, env=env)
        rows = {row["pid"] for row in json.loads(done.stdout)["processes"]}
        assert pid in rows and ours.pid not in rows
        done = subprocess.run(as_nobody(JESCOPE, "status", ours.pid), capture_output=True, text=True, timeout=DEADLINE, env=env)
        assert done.returncode == 1
        assert done.stderr == f"jescope: python3 ({ours.pid}) belongs to user root; run jescope as root\n"
