# SPDX-License-Identifier: Apache-2.0
"""Real programs for jescope to look at, and jescope itself. Everything waits with a deadline; what was started ends with its test."""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

import pytest

BUILD = pathlib.Path(os.environ["JESCOPE_BUILD"])
JESCOPE = BUILD / "src/cli/jescope"
AGENT = BUILD / "src/agent/libjescope-agent.so"
VICTIMS = BUILD / "tests/victims"
# A sanitizer's allocator can block a worker that is forked from a process with threads (src/confine/worker.c); it is ended after 60 s.
SANITIZED = b"__asan_init" in JESCOPE.read_bytes()
DEADLINE = 300 if SANITIZED else 180
PYTHON = "/usr/bin/python3"
AS_ROOT = os.geteuid() == 0
UNASSIGNED = (15000, 32000)

# A program that does what it reads and then says so: a number makes it keep 256 blocks of this number of bytes, a word is its new name.
SERVICE = """
import os, sys
kept = []
print(os.getpid(), flush=True)
for line in sys.stdin:
    if line.strip().isdigit():
        kept.append([bytes(int(line)) for _ in range(256)])
    else:
        open("/proc/self/comm", "w").write(line.strip())
    print(len(kept), flush=True)
"""


def wait_for(condition, what, seconds=DEADLINE):
    """The first true value of condition()."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def free_port():
    """A port that is free for TCP and UDP, and below those that the kernel gives to clients, so that no other process gets it."""
    while True:
        port = random.randrange(*UNASSIGNED)
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            try:
                stream.bind(("127.0.0.1", port))
                datagrams.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


@contextlib.contextmanager
def reserved_port():
    """A free port that stays ours, yet can be listened to: Linux lets sockets with SO_REUSEADDR share one until one listens."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def where_the_system_trusts(folder, pem):
    """The beginning of a command that runs where PEM is an authority of the system; None: this machine permits no mounts."""
    folder.mkdir()
    name = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", pem], check=True, capture_output=True, text=True, timeout=DEADLINE)
    for copy in (f"{name.stdout.strip()}.0", "ca-certificates.crt"):
        shutil.copyfile(pem, folder / copy)
    words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/ssl/certs && exec "$@"', str(folder)]
    return words if subprocess.run([*words, "true"], capture_output=True, timeout=DEADLINE, check=False).returncode == 0 else None


def environment(scratch, **more):
    """Agents of this test meet in a directory of its own, out of sight of everybody else's."""
    keep = {name: value for name, value in os.environ.items() if name.startswith(("ASAN", "UBSAN", "LSAN"))}
    return dict(keep, PATH="/usr/bin:/bin:/usr/sbin:/sbin", HOME=str(scratch), TZ="UTC", LC_ALL="C.UTF-8",
                JESCOPE_SOCKET_DIR=str(scratch / "agents")) | more


def jescope(scratch, *words, check=True, **options):
    """Runs a command to its end; its stdout, stderr and returncode."""
    options.setdefault("env", environment(scratch))
    done = subprocess.run([JESCOPE, *map(str, words)], cwd=scratch, capture_output=True, text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL, **options)
    assert not check or done.returncode == 0, done.stderr
    return done


def status(scratch, pid):
    return json.loads(jescope(scratch, "status", "--json", pid).stdout)


def profiling(scratch, pid):
    return status(scratch, pid)["profiling"]


@contextlib.contextmanager
def started(command, **options):
    options = dict(dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True), **options)
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 4 MiB at the new directory FOLDER."""
    folder.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine (or container) does not permit to mount a tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(path):
    """Makes PATH as large as its file system permits."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


class Service:
    """SERVICE under `jescope run`."""

    def __init__(self, process):
        self.runner = process
        self.pid = int(process.stdout.readline())

    def _do(self, line):
        self.runner.stdin.write(f"{line}\n")
        self.runner.stdin.flush()
        return int(self.runner.stdout.readline())

    def allocate(self, size=8192):
        return self._do(size)

    def rename(self, name):
        return self._do(name)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def service(scratch, *run_options, python=PYTHON, **variables):
    command = [JESCOPE, "run", *run_options, "--", python, "-c", SERVICE]
    with started(command, env=environment(scratch, PYTHONMALLOC="malloc", **variables), cwd=scratch) as process:
        found = Service(process)
        wait_for(lambda: list((scratch / "agents").glob(f"{found.pid}.*.sock")), "the agent listens")
        yield found


class Redis:
    def __init__(self, runner, path):
        self.runner = runner
        self.path = path
        self.pid = None

    def ask(self, *words):
        """One command in the redis protocol; the raw answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(DEADLINE)
            connection.connect(str(self.path))
            parts = [f"*{len(words)}\r\n"] + [f"${len(str(word))}\r\n{word}\r\n" for word in words]
            connection.sendall("".join(parts).encode())
            return connection.recv(65536).decode()

    def answers(self):
        try:
            return self.ask("PING") == "+PONG\r\n"
        except OSError:
            return False


def redis_program(scratch, name="redis-server"):
    """Debian's redis-tools carries the server: one binary, which is the server unless its name is that of another tool. None: not
    installed."""
    binary = shutil.which("redis-check-rdb")
    if binary is None:
        return None
    link = scratch / name
    if not link.is_symlink():
        link.symlink_to(pathlib.Path(binary).resolve())
    return link


@contextlib.contextmanager
def redis(scratch, *run_options, called="redis-server", **variables):
    path = scratch / "redis.sock"
    command = [JESCOPE, "run", *run_options, "--", redis_program(scratch, called), "--port", "0", "--unixsocket", path, "--save", "",
               "--dir", scratch]
    with started(command, env=environment(scratch, **variables), stdout=subprocess.DEVNULL, cwd=scratch) as runner:
        server = Redis(runner, path)
        wait_for(server.answers, "redis answers")
        server.pid = children(runner.pid)[0]
        yield server
