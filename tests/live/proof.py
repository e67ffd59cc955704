# SPDX-License-Identifier: Apache-2.0
"""The state that attaching must not change, and the cycles after which it is checked. For test_attach_proof.py and bench/attach."""

import collections
import os
import pathlib
import re
import subprocess

import loaded
import services

PROFILING = "prof:true,prof_active:false,lg_prof_sample:16"
SMALL = 128 * 1024  # of an anonymous mapping: jemalloc's are larger, what an attach could leave behind is not
MAPS_GROWTH = 32  # that the program's own heap may have meanwhile
THREADS_GROWTH = 4  # a server's pool
TRIES = 10
LOOKS = 50  # at descriptors that stay the same: the last of the load's connections are closed


def read(path):
    return pathlib.Path(path).read_text()


def masks_of(pid, thread):
    """Name and signal masks of a thread; None if it has ended."""
    try:
        status = read(f"/proc/{pid}/task/{thread}/status")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return tuple(re.search(rf"^{key}:\s*(.*)$", status, flags=re.M)[1] for key in ("Name", "SigBlk", "SigIgn", "SigCgt"))


def kind_of(link):
    return "socket" if link.startswith("socket:") else "pipe" if link.startswith("pipe:") else link


class Footprint:
    """Without the files below OWN, which a database opens and closes as it likes."""

    def __init__(self, pid, own=None):
        self.pid = pid
        self.tracer = re.search(r"^TracerPid:\s*(\d+)$", read(f"/proc/{pid}/status"), flags=re.M)[1]
        self.descriptors = collections.Counter()
        for entry in os.listdir(f"/proc/{pid}/fd"):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{entry}")
                if own is None or not link.startswith(f"{own}/"):
                    self.descriptors[kind_of(link)] += 1
            except FileNotFoundError:
                pass
        self.threads = {int(thread): masks_of(pid, thread) for thread in os.listdir(f"/proc/{pid}/task")}
        self.files, self.small, self.maps = collections.Counter(), 0, 0
        for line in read(f"/proc/{pid}/maps").splitlines():
            words = line.split(None, 5)
            start, end = (int(word, 16) for word in words[0].split("-"))
            self.maps += 1
            if len(words) > 5 and not words[5].startswith("["):
                self.files[words[1], words[5]] += 1
            elif end - start <= SMALL and words[1].startswith("rw"):
                self.small += 1

    def complaints(self, before):
        """Unexpected differences from BEFORE."""
        found = []
        if self.tracer != "0":
            found.append(f"still traced by {self.tracer}")
        if self.descriptors != before.descriptors:
            found.append(f"descriptors: {self.descriptors - before.descriptors} more, {before.descriptors - self.descriptors} fewer")
        if self.files != before.files:
            found.append(f"mapped files: {self.files - before.files} more, {before.files - self.files} fewer")
        if self.small > before.small + MAPS_GROWTH or self.maps > before.maps + 4 * MAPS_GROWTH:
            found.append(f"maps: {self.maps}, {self.small} of them small; {before.maps} and {before.small} before")
        for thread in self.threads.keys() & before.threads.keys():
            if self.threads[thread] != before.threads[thread]:
                found.append(f"thread {thread}: {self.threads[thread]} instead of {before.threads[thread]}")
        names = {state[0] for state in self.threads.values() if state} - {state[0] for state in before.threads.values() if state}
        if names or len(self.threads) > len(before.threads) + THREADS_GROWTH:
            found.append(f"threads: {len(self.threads)} instead of {len(before.threads)}, new names {names}")
        return found


class Complained(Exception):
    """A command that did not do what it had to."""


class Cycles:
    """Attaches to and detaches from one server, each time looking at what came back."""

    def __init__(self, scratch, server, profiling):
        self.scratch, self.server, self.profiling = pathlib.Path(scratch), server, profiling
        # A program that writes its title over its environment does not say where its agent is to listen.
        directory = server.server.environment().get("JESCOPE_SOCKET_DIR")
        self.environment = services.environment(scratch, **({"JESCOPE_SOCKET_DIR": directory} if directory else {}))

    def run(self, *words, refused=None):
        """A command that succeeds, or is refused for the reason given. A busy thread may be nowhere it can be borrowed for a while."""
        for _ in range(TRIES):
            done = subprocess.run([services.JESCOPE, *words, str(self.server.pid)], env=self.environment, cwd=self.scratch,
                                  capture_output=True, text=True, timeout=services.DEADLINE, check=False)  # fmt: skip
            if not done.stderr.endswith("try again\n"):
                break
        if (done.returncode != 0) != (refused is not None) or (refused and refused not in done.stderr):
            raise Complained(f"{' '.join(map(str, words))}: status {done.returncode}, {done.stderr or done.stdout!r}")
        return done.stdout

    def look(self, *via):
        """Status and a dump; without an agent, the dump is refused where the program was started without prof:true."""
        if self.server.said_name() not in self.run("status", *via):
            raise Complained("status speaks of somebody else")
        dump = self.scratch / "dump"
        if via and not self.profiling:
            self.run("dump", "-o", dump, *via, refused="started without prof:true")
            return
        self.run("enable", *via)
        self.run("dump", "-o", dump, *via)
        if not dump.read_bytes().startswith(b"heap_v2/"):
            raise Complained("the dump is none")
        dump.unlink()
        self.run("disable", *via)

    def through_agent(self):
        self.run("attach")
        self.look()
        self.run("detach")

    def through_ptrace(self):
        self.look("--via", "attach")


def full_cycles(kind):
    """Of each way, prepared and not."""
    return 500 if kind in [loaded.Redis, *loaded.BUSY] else 100


WAYS = {"agent": Cycles.through_agent, "ptrace": Cycles.through_ptrace}


def at_rest(pid, own=None):
    """A Footprint once the server has closed what its clients have left."""
    looks = collections.deque(maxlen=LOOKS)

    def settled():
        looks.append(Footprint(pid, own))
        return len(looks) == LOOKS and all(look.descriptors == looks[0].descriptors for look in looks)

    services.wait_for(settled, "descriptors stay the same")
    return looks[-1]


def wait_until_as(before, pid, own=None):
    """Until nothing is left to complain of; the last complaints if that does not come."""
    complaints = []

    def settled():
        complaints[:] = Footprint(pid, own).complaints(before)
        return not complaints

    try:
        services.wait_for(settled, "all is as it was")
    except AssertionError as error:
        raise Complained("; ".join(complaints)) from error


def prove(kind, scratch, *, way, profiling, cycles):
    """Attaches to a server under full load CYCLES times; returns how many verified replies it gave meanwhile."""
    settings = {"MALLOC_CONF": PROFILING} if profiling else {}
    with loaded.running(kind, scratch, **settings) as server:
        attaching = Cycles(scratch, server, profiling)
        go_through = prove_client if kind.per_client else prove_server
        load = go_through(server, lambda: WAYS[way](attaching), cycles)
        if load.failures or load.answered == 0:
            raise Complained(f"{load.answered} answered, but: {load.failures}")
        return load.answered


def prove_server(server, attach, cycles):
    with loaded.under_load(server) as load:
        attach()  # what the first time brings stays: the library, an arena, a stack
    before = at_rest(server.pid)
    with loaded.under_load(server) as load:
        for _ in range(cycles):
            attach()
            server.assert_runs()
    wait_until_as(before, server.pid)
    server.assert_runs()
    return load


def prove_client(server, attach, cycles):
    """The same where the process ends with the load."""
    own = server.server.folder
    with loaded.under_load(server) as load:
        attach()
        before = at_rest(server.pid, own)
        for _ in range(cycles):
            attach()
            server.assert_runs()
        wait_until_as(before, server.pid, own)
    return load
