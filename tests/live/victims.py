# SPDX-License-Identifier: Apache-2.0
"""Starting the victims, talking to them, and looking at them from outside."""

import os
import pathlib
import selectors
import signal
import stat
import subprocess
import time

import pytest
import wire

BUILD = pathlib.Path(os.environ.get("JESCOPE_BUILD", wire.SOURCE / "build"))
VICTIMS = BUILD / "tests/victims"
AGENT = BUILD / "src/agent/libjescope-agent.so"
PROFILING = "prof:true,prof_active:false,lg_prof_sample:19"
EVERY_BLOCK = "prof:true,prof_active:false,lg_prof_sample:0"

DEBUG = {"JESCOPE_DEBUG": "1"}

DEADLINE = 180

# The same tests once more, with the agent linked (libjescope) instead of preloaded.
LINKED = os.environ.get("JESCOPE_TEST_LINKED") == "1"


def eventually(question, what, deadline=DEADLINE):
    """The first true answer to question(); fails when the deadline passes without one."""
    end = time.monotonic() + deadline
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            pytest.fail(f"not within {deadline} s: {what}")
        time.sleep(0.005)


def program(variant=None):
    path = VICTIMS / (variant or ("victim-embedded" if LINKED else "victim"))
    if not path.exists():
        pytest.skip(f"{variant} was not built: it needs libjemalloc-dev and binutils")
    return path


def start_time(pid):
    """Field 22 of /proc/PID/stat, counted after the name, which may hold anything."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[19])


def inner_pid(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descriptors(pid, thread=None):
    """{number: its file}, without stdin, stdout and stderr. A thread may have a table of its own."""
    folder = f"/proc/{pid}/task/{thread or pid}/fd"
    found = {}
    for entry in os.listdir(folder):
        try:
            found[int(entry)] = os.readlink(f"{folder}/{entry}")
        except FileNotFoundError:
            continue
    return {number: target for number, target in found.items() if number > 2}


def status_of(pid, thread):
    lines = pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def threads(pid):
    """{thread id: name}"""
    found = {}
    for entry in os.listdir(f"/proc/{pid}/task"):
        try:
            found[int(entry)] = pathlib.Path(f"/proc/{pid}/task/{entry}/comm").read_text().rstrip("\n")
        except (FileNotFoundError, ProcessLookupError):  # it ended before the open or the read
            continue
    return found


def wait_for_thread(pid, name):
    eventually(lambda: name in threads(pid).values(), f"a thread named {name} in {pid}")


def agent_threads(pid):
    return [thread for thread, name in threads(pid).items() if name.startswith("jescope")]


def agent_descriptors(pid):
    """The agent's descriptors, in its own or the shared table."""
    (thread,) = agent_threads(pid)
    return {**descriptors(pid), **descriptors(pid, thread)}


class Victim:
    """One victim program. ask() sends it a command and returns the answer; see tests/victims/."""

    def __init__(self, variant="victim", *, sockets, preload=(AGENT,), conf=PROFILING, env=None, command=None, **popen):
        if LINKED and variant == "victim" and preload == (AGENT,):
            variant, preload = "victim-embedded", ()
        self.variant = variant
        self.sockets = pathlib.Path(sockets)
        environment = {"PATH": os.environ["PATH"], "JESCOPE_SOCKET_DIR": str(sockets)}
        if conf is not None:
            environment["MALLOC_CONF"] = conf
        environment.update(env or {})
        if preload and "LD_PRELOAD" not in environment:
            environment["LD_PRELOAD"] = ":".join(map(str, preload))
        environment = {name: value for name, value in environment.items() if value is not None}
        self.process = subprocess.Popen(
            command or [program(variant)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **popen,
        )
        self.others = set()
        self.greet()

    def greet(self):
        """Reads the line that a fresh victim says: its pid (as it sees it itself) and errno on entry to main."""
        words = self.answer().split()
        self.said_pid, self.errno_at_start = int(words[0]), int(words[2])
        self.pid = self.process.pid

    def answer(self, deadline=DEADLINE):
        out = self.process.stdout
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            end = time.monotonic() + deadline
            while not line.endswith(b"\n"):
                if not selector.select(max(0, end - time.monotonic())):
                    pytest.fail(f"{self.variant} did not answer within {deadline} s")
                byte = os.read(out.fileno(), 1)
                if not byte:
                    pytest.fail(f"{self.variant} ended: status {self.process.wait()}, {self.process.stderr.read()!r}")
                line += byte
        text = line.decode().strip()
        assert text.startswith("ok "), text
        return text[3:]

    def tell(self, command):
        """A command that cannot be answered, such as exit."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, command, deadline=DEADLINE):
        self.tell(command)
        return self.answer(deadline)

    def socket_of(self, pid=None):
        pid = pid or self.pid
        return self.sockets / f"{inner_pid(pid)}.{start_time(pid)}.sock"

    def client(self, pid=None, deadline=DEADLINE, hello=True):
        """A client that has said HELLO; waits for the agent to start, or to start again."""
        pid = pid or self.pid
        return eventually(lambda: self.try_client(pid, hello), f"an agent in {self.variant} ({pid})", deadline)

    def try_client(self, pid=None, hello=True):
        try:
            return wire.Client(self.socket_of(pid), hello=hello)
        except (ConnectionError, FileNotFoundError):
            assert is_running(pid or self.pid), f"{self.variant} is gone: {self.process.poll()}"
            return None

    def wait(self, deadline=DEADLINE):
        return self.process.wait(deadline)

    def stop(self):
        for pid in [self.process.pid, *self.others]:
            if pid != self.process.pid or self.process.poll() is None:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def assert_inert(victim):
    """No thread, no socket, no descriptor: the agent is not there."""
    victim.ask("hold 1 100")
    eventually(lambda: list(threads(victim.pid)) == [victim.pid], "only the program's own thread is left")
    assert descriptors(victim.pid) == {}
    assert not victim.sockets.is_dir() or not [
        name for name in os.listdir(victim.sockets) if stat.S_ISSOCK(os.lstat(victim.sockets / name).st_mode)
    ]


def complaint(victim, word=b"socket directory"):
    """The agent's output on stderr, once it contains WORD."""
    os.set_blocking(victim.process.stderr.fileno(), False)
    said = b""

    def has_complained():
        nonlocal said
        said += victim.process.stderr.read() or b""
        return word in said

    eventually(has_complained, f"a complaint of the agent's about its {word.decode()}")
    return said
