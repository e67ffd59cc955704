# SPDX-License-Identifier: Apache-2.0
"""LEAVE ends the agent without a trace, forks do not bring it back, and the exported function does."""

import os
import pathlib

import pytest
import wire
from victims import (
    AGENT,
    EVERY_BLOCK,
    agent_threads,
    assert_inert,
    descriptors,
    eventually,
    inner_pid,
    program,
    threads,
)

# wire/enter.h
STARTED, PRESENT, LEAVING, NO_JEMALLOC, _, BAD_DIRECTORY = range(1, 7)
CYCLES = 50

SHARED_TABLE = pytest.mark.parametrize("table", ["own table", "shared table"])


def start_in(start, table, **options):
    if table == "own table":
        return start(**options)
    return start(command=[program("forbid"), "close_range", "unshare", "--", program()], **options)


def enter(victim):
    """Until an agent that is about to end has done so."""

    def try_once():
        result, _, errno = victim.ask(f"enter {victim.sockets}").partition(" ")
        assert errno == "errno kept"
        return int(result) if int(result) != LEAVING else None

    return eventually(try_once, "the agent that leaves is gone")


def leave(victim):
    with victim.client() as client:
        client.leave()
        with pytest.raises(ConnectionError):
            client.hello()
    eventually(lambda: not agent_threads(victim.pid), "the agent's thread ends")
    assert not victim.socket_of().exists()


def maps(pid):
    return len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())


@SHARED_TABLE
def test_nothing_is_left_and_the_program_goes_on(start, table):
    victim = start_in(start, table)
    other = victim.client()
    leave(victim)
    with pytest.raises(ConnectionError):
        other.hello()
    assert_inert(victim)


def test_a_lease_ends_with_it(start):
    victim = start()
    with victim.client() as client:
        client.take(600_000)
        assert victim.ask("read 1 prof.active") == "1"
        client.leave()
    assert victim.ask("read 1 prof.active") == "0"


@SHARED_TABLE
def test_forks_do_not_bring_it_back(start, table):
    victim = start_in(start, table)
    leave(victim)
    child = int(victim.ask("fork"))
    assert list(threads(child)) == [child]
    eventually(lambda: len(descriptors(child)) == 1, "the child has the pipe it waits on, and no other descriptor")
    assert victim.ask("reap") == "0"
    assert victim.ask("fork-many 50") == "0"
    assert list(threads(victim.pid)) == [victim.pid]
    assert os.listdir(victim.sockets) == []


def test_comes_back_and_leaves_again(start):
    victim = start(conf=EVERY_BLOCK)
    victim.ask("hold 50 100")
    leave(victim)
    assert enter(victim) == STARTED
    leave(victim)
    before = maps(victim.pid), int(victim.ask("allocated"))
    for _ in range(CYCLES):
        assert enter(victim) == STARTED
        with victim.client() as client:
            assert client.dump().startswith(b"heap_v2/")
        leave(victim)
    assert_inert(victim)
    assert maps(victim.pid) <= before[0]
    victim.ask("drop 100")
    assert int(victim.ask("allocated")) <= before[1]


def test_a_fork_after_coming_back_has_an_agent_and_one_alone(start):
    victim = start()
    leave(victim)
    assert enter(victim) == STARTED
    victim.client().close()
    child = int(victim.ask("fork"))
    with victim.client(child) as client:
        assert client.greeting.pid == inner_pid(child)
        assert len(agent_threads(child)) == 1
    assert victim.ask("reap") == "0"


def test_a_child_of_one_that_left_may_have_its_own(start):
    victim = start()
    leave(victim)
    victim.pid = int(victim.ask("daemonise"))
    victim.others.add(victim.pid)
    assert enter(victim) == STARTED
    with victim.client() as client:
        assert client.greeting.pid == inner_pid(victim.pid)


def test_is_not_doubled(start):
    victim = start()
    victim.client().close()
    assert enter(victim) == PRESENT
    assert len(agent_threads(victim.pid)) == 1


def test_loaded_from_a_descriptor_it_waits_for_the_call(start):
    victim = start(preload=None)
    assert victim.ask(f"dlopen-copy {AGENT}") == "loaded"
    assert list(threads(victim.pid)) == [victim.pid]
    assert enter(victim) == STARTED
    with victim.client() as client:
        assert client.greeting.pid == inner_pid(victim.pid)
    leave(victim)
    assert_inert(victim)


def test_says_nothing_it_cannot_know(start):
    """Brought in later, it does not know since when the program samples."""
    victim = start(preload=None, conf="prof:true,prof_active:true")
    victim.ask(f"dlopen-copy {AGENT}")
    assert enter(victim) == STARTED
    with victim.client() as client:
        assert client.greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
        assert client.greeting.since == wire.WIRE_SINCE_UNKNOWN


def test_not_in_a_program_without_jemalloc(start):
    victim = start("victim-plain", preload=None)
    victim.ask(f"dlopen-copy {AGENT}")
    assert enter(victim) in (STARTED, NO_JEMALLOC)  # its own names speak of mallctl, which is worth a closer look
    assert_inert(victim)


def test_takes_no_odd_directory(start):
    victim = start(preload=None)
    victim.ask(f"dlopen-copy {AGENT}")
    assert victim.ask("enter relative/path") == f"{BAD_DIRECTORY} errno kept"
    assert_inert(victim)
