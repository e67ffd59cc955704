# SPDX-License-Identifier: Apache-2.0
"""The host's actions work as without the agent, and the agent keeps working."""

import os
import pathlib
import resource
import signal
import threading
import time

import pytest
import wire
from victims import (
    AGENT,
    VICTIMS,
    EVERY_BLOCK,
    agent_descriptors,
    agent_threads,
    descriptors,
    eventually,
    inner_pid,
    is_running,
    program,
    status_of,
    threads,
)

DROPPED_UID = 65534

# The host's own descriptor table, shared with the agent, is what remains where a filter forbids a table of its own.
SHARED_TABLE = pytest.mark.parametrize("table", ["own table", "shared table"])


def start_in(start, table, **options):
    if table == "own table":
        return start(**options)
    command = [program("forbid"), "close_range", "unshare", "--", program()]
    return start(command=command, **options)


# Forks


def test_a_forked_child_has_a_socket_of_its_own_and_the_parent_keeps_its(start):
    parent = start()
    with parent.client() as client:
        child = int(parent.ask("fork"))
        with parent.client(child) as other:
            assert other.greeting.pid == inner_pid(child)
            assert other.read("stats.allocated", "size") > 0
            assert client.hello().pid == parent.pid
        assert parent.ask("reap") == "0", "the child found errno changed"
        assert client.hello().pid == parent.pid
    assert parent.client().greeting.pid == parent.pid


def test_children_without_an_agent(start):
    """For workers that confine themselves: a thread keeps the rights that its process had before."""
    parent = start(env={"JESCOPE_CHILDREN": "off"})
    child = int(parent.ask("fork"))
    assert list(threads(child)) == [child]
    assert parent.client().greeting.pid == parent.pid
    assert parent.ask("reap") == "0"


def test_a_child_does_not_answer_for_its_parent(start):
    parent = start()
    with parent.client() as client:
        parent.ask("fork")
        client.write("prof.active", "bool", 1)
        assert parent.ask("read 1 prof.active") == "1"
        parent.ask("reap")


@SHARED_TABLE
def test_a_child_holds_none_of_its_parents_sockets(start, table):
    """Else a connection to a dead parent would not end as long as a child lives."""
    parent = start_in(start, table)
    before = parent.client()
    parents = set(descriptors(parent.pid).values())
    child = int(parent.ask("daemonise"))
    parent.others.add(child)
    assert parent.wait() == 0
    with pytest.raises(ConnectionError):
        before.hello()
    parent.pid = child
    with parent.client() as client:
        assert client.greeting.pid == child
        assert parents.isdisjoint(descriptors(child).values())


@pytest.mark.parametrize("variant", ["victim", "victim-static", "victim-rjem"])
def test_forks_while_the_agent_is_still_looking_around(start, variant):
    """Before it has found its jemalloc, or has a socket: parent and child find their way all the same."""
    for _ in range(10):
        parent = start(variant)
        child = int(parent.ask("fork"))
        with parent.client(child) as client:
            assert client.greeting.pid == child
            assert client.dump().startswith(b"heap_v2/")
        assert parent.ask("reap") == "0"
        with parent.client() as client:
            assert client.greeting.pid == parent.pid
            assert client.dump().startswith(b"heap_v2/")


@pytest.mark.parametrize("variant", ["victim", "victim-rjem"])
def test_forks_whose_handlers_are_late(start, variant):
    """Those of a jemalloc, behind another one: until then its locks are locked, and who waits for them waits forever."""
    for _ in range(3):
        parent = start(variant, preload=(VICTIMS / "libslow-fork.so", AGENT))
        child = int(parent.ask("fork"))
        with parent.client(child) as client:
            assert client.dump().startswith(b"heap_v2/")
        assert parent.ask("reap") == "0"


@pytest.mark.parametrize("variant", ["victim", "victim-static", "victim-rjem"])
def test_its_thread_takes_no_lock_of_the_loader(start, variant):
    """glibc does not reset the lock of dl_iterate_phdr() in a forked child: the program's children would hang, too."""
    victim = start(variant, preload=(VICTIMS / "libloader-lock.so", AGENT))
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")


@pytest.mark.parametrize("policy, agents", [(os.SCHED_FIFO, os.SCHED_OTHER), (os.SCHED_RR, os.SCHED_OTHER), (os.SCHED_BATCH, os.SCHED_BATCH)])
def test_its_thread_is_not_a_real_time_one(start, policy, agents):
    """It would delay a host whose threads are."""
    parent = start()
    parent.client().close()
    try:
        os.sched_setscheduler(parent.pid, policy, os.sched_param(0 if policy == os.SCHED_BATCH else 1))
    except PermissionError:
        pytest.skip("real-time policies need a privilege")
    child = int(parent.ask("fork"))
    parent.client(child).close()
    (thread,) = agent_threads(child)
    assert os.sched_getscheduler(child) == policy
    assert os.sched_getscheduler(thread) == agents
    assert parent.ask("reap") == "0"


def test_many_forks_under_a_storm(start):
    parent = start()
    parent.client().close()
    parent.ask("storm 4")
    assert parent.ask("fork-many 200", deadline=120) == "0"
    parent.ask("join")
    with parent.client() as client:
        assert client.hello().pid == parent.pid


def test_many_forks_while_a_client_works(start):
    parent = start(conf=EVERY_BLOCK)
    parent.ask("hold 200 100")
    done = threading.Event()
    failures = []

    def work():
        try:
            with parent.client() as client:
                while not done.is_set():
                    assert client.dump().startswith(b"heap_v2/")
                    client.hello()
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert parent.ask("fork-many 200", deadline=120) == "0"
    finally:
        done.set()
        worker.join()
    assert failures == []


def test_a_lease_is_inherited(start):
    parent = start()
    with parent.client() as client:
        taken = client.take(3_000)
        child = int(parent.ask("fork"))
        with parent.client(child) as other:
            assert other.greeting.flags & wire.WIRE_FLAG_LEASED
            assert other.greeting.lease.remaining_ms <= taken.remaining_ms
            eventually(lambda: not other.hello().flags & wire.WIRE_FLAG_LEASED, "the child's lease ends")
            assert other.read("prof.active", "bool") == 0
        eventually(lambda: parent.ask("read 1 prof.active") == "0", "the parent's lease ends")
        parent.ask("reap")


def test_fork_and_exec(start):
    parent = start()
    parent.client().close()
    parent.tell("fork-exec")
    said = int(parent.answer().split()[0])
    parent.others.add(said)
    with parent.client(said) as client:
        assert client.greeting.pid == said
    with parent.client() as client:
        assert client.greeting.pid == parent.pid
    parent.tell("exit 5")
    assert parent.wait() == 5


def test_exec_without_fork_takes_the_socket_over(start):
    victim = start()
    before = victim.client()
    path = victim.socket_of()
    victim.tell("exec")
    victim.greet()
    assert victim.socket_of() == path
    with pytest.raises(ConnectionError):
        before.hello()
    with victim.client() as client:
        assert client.greeting.pid == victim.pid
        assert client.greeting.agent_clients == 1
    assert descriptors(victim.pid) == {} or agent_descriptors(victim.pid)


def test_a_daemon(start):
    victim = start()
    victim.client().close()
    daemon = int(victim.ask("daemonise"))
    victim.others.add(daemon)
    assert victim.wait() == 0
    victim.pid = daemon
    with victim.client() as client:
        assert client.greeting.pid == daemon
        client.write("prof.active", "bool", 1)
    assert victim.ask("read 1 prof.active") == "1"


# Descriptors


def test_it_holds_none_of_the_hosts_descriptors(start):
    """Else a pipe that the host closes would stay open."""
    if status_of(os.getpid(), os.getpid())["Seccomp"] != "0":
        pytest.skip("a filter of system calls may forbid a descriptor table of its own")
    victim = start()
    victim.client().close()
    (thread,) = agent_threads(victim.pid)
    folder = f"/proc/{victim.pid}/task/{thread}/fd"
    hosts = {os.readlink(f"/proc/{victim.pid}/fd/{number}") for number in range(3)}
    assert hosts.isdisjoint(os.readlink(f"{folder}/{entry}") for entry in os.listdir(folder))


@SHARED_TABLE
def test_its_descriptors_are_not_in_the_hosts_way(start, table):
    victim = start_in(start, table)
    with victim.client():
        numbers = list(descriptors(victim.pid))
        assert len(numbers) == (0 if table == "own table" else 2)
        assert all(number > 255 for number in numbers)


@SHARED_TABLE
def test_the_hosts_descriptors_end_up_in_no_child(start, table):
    """Everything is CLOEXEC: after exec only the new agent's own remain."""
    victim = start_in(start, table)
    with victim.client():
        many = [victim.client() for _ in range(5)]
        victim.tell("exec")
        victim.greet()
        with victim.client() as client:
            assert client.greeting.agent_clients == 1
            held = [target for target in descriptors(victim.pid).values() if target.startswith("socket:")]
            # The listener and this client, if they are in the host's table at all.
            assert len(held) == (0 if table == "own table" else 2)
        for one in many:
            one.close()


@SHARED_TABLE
def test_closing_every_descriptor(start, table):
    victim = start_in(start, table)
    victim.client().close()
    assert victim.ask("close-from 3") == "3"
    assert victim.ask("hold 10 100") == "10"
    with victim.client() as client:
        assert client.read("stats.allocated", "size") > 0
    assert victim.ask("hold 10 100") == "10"


@SHARED_TABLE
def test_closing_even_stdin(start, table):
    victim = start_in(start, table)
    victim.client().close()
    victim.tell("abandon")
    eventually(lambda: not os.path.exists(f"/proc/{victim.pid}/fd/0"), "the victim has closed stdin")
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")
    with victim.client() as client:
        assert client.read("stats.allocated", "size") > 0
    assert not {0, 1, 2}.intersection(map(int, os.listdir(f"/proc/{victim.pid}/fd")))


@SHARED_TABLE
def test_closing_every_descriptor_under_a_connection(start, table):
    victim = start_in(start, table)
    with victim.client() as client:
        victim.ask("close-from 3")
        try:
            client.hello()
        except ConnectionError:
            pass
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")


@SHARED_TABLE
def test_a_file_on_its_numbers_is_never_touched(start, tmp_path, table):
    victim = start_in(start, table, conf=EVERY_BLOCK)
    mine = tmp_path / "mine"
    mine.write_bytes(b"precious")
    with victim.client() as client:
        taken = int(victim.ask(f"take-over {mine}"))
        for request in (client.hello, client.dump, lambda: client.stats("J")):
            try:
                request()
            except (ConnectionError, TimeoutError):
                break
    with victim.client() as client:
        client.dump()
    assert mine.read_bytes() == b"precious"
    numbers = [number for number, target in descriptors(victim.pid).items() if target == str(mine)]
    assert len(numbers) == taken + 1, "one of the host's own descriptors was closed"
    for number in numbers:
        assert "pos:\t0\n" in pathlib.Path(f"/proc/{victim.pid}/fdinfo/{number}").read_text()


@SHARED_TABLE
def test_a_listening_socket_on_its_numbers_is_never_served(start, tmp_path, table):
    victim = start_in(start, table)
    victim.client().close()
    path = tmp_path / "host.sock"
    victim.ask(f"take-over-listening {path}")
    with wire.Client(path, hello=False) as stranger:
        request = stranger.stamp(wire.WireHelloRequest(version_min=1, version_max=1), wire.WIRE_OP_HELLO)
        stranger.send(request)
        with victim.client() as client:
            for _ in range(5):
                client.hello()
        stranger.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.sock.recv(1)


def cpu_ns(pid, thread):
    return int(pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])


@SHARED_TABLE
@pytest.mark.parametrize("limit", [0, 3, 20])
def test_a_limit_on_descriptors(start, table, limit):
    """A program may deny itself all further descriptors. A client then waits; the agent does not spin."""
    victim = start_in(start, table)
    soft, hard = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE)
    victim.client().close()
    (thread,) = agent_threads(victim.pid)
    resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, (limit, hard))
    waiting = wire.connect(str(victim.socket_of()))
    before, end = cpu_ns(victim.pid, thread), time.monotonic() + 1
    while time.monotonic() < end:
        assert victim.ask("hold 1 100") == "1"
    assert cpu_ns(victim.pid, thread) - before < 20_000_000, "the agent spins"
    resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, (soft, hard))
    waiting.close()
    with victim.client() as client:
        client.dump()


# Where the process stands


def test_chdir(start, tmp_path):
    victim = start()
    victim.client().close()
    victim.ask(f"chdir {tmp_path}")
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_chroot(start, tmp_path):
    victim = start()
    victim.client().close()
    (tmp_path / "jail").mkdir()
    victim.ask(f"chroot {tmp_path}/jail")
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")
        assert client.stats().startswith(b"___ Begin")
    assert os.listdir(tmp_path / "jail") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="setuid needs root")
def test_dropping_privileges_from_many_threads(start):
    victim = start()
    with victim.client() as client:
        victim.ask("threads 100")
        assert victim.ask(f"setuid {DROPPED_UID}") == str(DROPPED_UID)
        for thread in threads(victim.pid):
            assert set(status_of(victim.pid, thread)["Uid"].split()) == {str(DROPPED_UID)}
            assert set(status_of(victim.pid, thread)["Gid"].split()) == {str(DROPPED_UID)}
        assert client.hello().uid == DROPPED_UID
        assert client.dump().startswith(b"heap_v2/")
    with victim.client() as client:
        assert client.greeting.uid == DROPPED_UID
    victim.ask("join")


# Threads and load


def test_one_thread_that_has_a_name(start):
    victim = start()
    victim.client().close()
    names = threads(victim.pid)
    assert len(names) == 2
    assert names.pop(victim.pid) == program().name[:15]
    assert [name.startswith("jescope") for name in names.values()] == [True]


def test_a_thousand_threads(start):
    victim = start(conf=EVERY_BLOCK)
    with victim.client() as client:
        client.write("prof.active", "bool", 1)
        victim.ask("threads 1000")
        assert client.dump().startswith(b"heap_v2/1\n")
        assert client.stats("J")
        client.refresh()
        assert victim.ask("join") == "1000"
        assert client.dump().startswith(b"heap_v2/1\n")
    eventually(lambda: len(threads(victim.pid)) == 2, "the host's threads are gone")


def test_dumps_in_a_malloc_storm(start):
    victim = start(conf="prof:true,prof_active:true,lg_prof_sample:12")
    victim.ask("hold 2000 100")
    victim.ask("storm 8")
    with victim.client() as client:
        for _ in range(50):
            assert b"\nMAPPED_LIBRARIES:\n" in client.dump()
            client.refresh()
            client.stats()
    assert victim.ask("join") == "8"


def test_dlopened_late(start):
    control = start(preload=None)
    errno_without = control.ask(f"dlopen {program('victim').parent}/libone-thread.so")
    victim = start(preload=None)
    assert victim.ask(f"dlopen {AGENT}") == errno_without
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")
        victim.ask("dlclose")
        assert client.hello().pid == victim.pid
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")


def test_dlopened_late_in_a_program_of_many_threads(start):
    victim = start(preload=None)
    victim.ask("storm 8")
    victim.ask(f"dlopen {AGENT}")
    with victim.client() as client:
        assert client.greeting.flags & wire.WIRE_FLAG_SERVES_MALLOC
    victim.ask("join")


# The end


def keep_dumping(victim, count):
    """Dumps on a thread of its own, without a pause; returns (thread, event that says COUNT dumps are done)."""
    warm = threading.Event()

    def work():
        try:
            with victim.client() as client:
                for number in range(100_000):
                    client.dump()
                    if number >= count:
                        warm.set()
        except (OSError, AssertionError, pytest.fail.Exception):
            warm.set()

    worker = threading.Thread(target=work)
    worker.start()
    return worker, warm


@pytest.mark.parametrize("way, status", [("exit 7", 7), ("_exit 9", 9), ("exit 0", 0)])
@pytest.mark.parametrize("dumps", [0, 1, 3, 7])
def test_ending_during_a_dump(start, way, status, dumps):
    victim = start(conf="prof:true,prof_active:true,lg_prof_sample:0")
    victim.ask("hold 3000 100")
    worker, warm = keep_dumping(victim, dumps)
    assert warm.wait(60)
    victim.tell(way)
    assert victim.wait() == status
    worker.join(60)
    assert not worker.is_alive()


def test_returning_from_main(start):
    victim = start()
    with victim.client():
        victim.process.stdin.close()
        assert victim.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1])
def test_default_actions_of_signals(start, number):
    victim = start()
    with victim.client():
        os.kill(victim.pid, number)
        assert victim.wait() == -number


def test_a_client_sees_the_end(start):
    victim = start()
    client = victim.client()
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    with pytest.raises(ConnectionError):
        client.hello()
    assert not is_running(victim.pid)


# Signals


def test_every_signal_is_blocked_in_its_thread(start):
    victim = start()
    victim.client().close()
    (thread,) = agent_threads(victim.pid)
    blocked = int(status_of(victim.pid, thread)["SigBlk"], 16)
    # KILL and STOP cannot be blocked; 32 and 33 are glibc's own, with which setuid() reaches every thread.
    open_signals = {number for number in range(1, 65) if not blocked >> (number - 1) & 1}
    assert {9, 19} <= open_signals <= {9, 19, 32, 33}
    assert 33 in open_signals, "setuid() in the host would wait for ever"


def test_the_hosts_signal_mask_is_its_own(start):
    masks = [status_of(victim.pid, victim.pid)["SigBlk"] for victim in (start(), start(preload=None))]
    assert masks[0] == masks[1]


def test_the_hosts_handlers_never_run_on_its_thread(start):
    victim = start()
    victim.client().close()
    victim.ask("catch")
    # Those that stop or continue a process cancel one another.
    numbers = [number for number in range(1, 32) if number not in (9, *range(18, 23))]
    for number in numbers:
        os.kill(victim.pid, number)
    with victim.client() as client:
        client.dump()
    caught, elsewhere = map(int, victim.ask("caught").split())
    assert (caught, elsewhere) == (len(numbers), 0)


def test_a_limit_on_file_sizes_kills_nobody(start):
    """Writing beyond it raises SIGXFSZ in the writing thread."""
    victim = start(conf=EVERY_BLOCK)
    with victim.client() as client:
        client.write("prof.active", "bool", 1)
        victim.ask("hold 1000 100")
        resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        for request in (client.dump, lambda: client.stats("J")):
            with pytest.raises(wire.Refused) as caught:
                request()
            assert caught.value.status in (wire.WIRE_STATUS_WRITE_FAILED, wire.WIRE_STATUS_CONTROL_FAILED)
        resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert client.dump().startswith(b"heap_v2/")


def test_errno_on_entry_to_main_is_what_it_is_without(start):
    assert start().errno_at_start == start(preload=None).errno_at_start


def test_it_says_nothing(start, tmp_path):
    """Not even when it cannot have its socket."""
    for sockets in (tmp_path / "sockets", pathlib.Path("/proc/nowhere")):
        victim = start(sockets=sockets)
        victim.ask("hold 1 100")
        victim.process.stdin.close()
        assert victim.wait() == 0
        assert victim.process.stderr.read() == b""
