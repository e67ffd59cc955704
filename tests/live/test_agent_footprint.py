# SPDX-License-Identifier: Apache-2.0
"""The cost of the agent for its host in memory, descriptors and threads. Times are measured in bench/."""

import pathlib
import re

import pytest
import wire
from victims import AGENT, EVERY_BLOCK, LINKED, VICTIMS, agent_descriptors, eventually, threads, wait_for_thread

RESIDENT_MAX_KIB = 200
THREAD_TABLE_MAX = 512


def allocated(victim):
    victim.ask("allocated")  # whatever the first question itself allocates
    return int(victim.ask("allocated"))


def one_cycle(client):
    client.hello()
    client.refresh()
    client.read("stats.allocated", "size")
    client.release(client.take(600_000).id)
    client.stats("J")


def test_the_heap_holds_nothing_of_the_agents(start):
    """Beyond what any thread costs there: glibc allocates one small table per thread from malloc."""
    with_thread = start(preload=[VICTIMS / "libone-thread.so"])
    wait_for_thread(with_thread.pid, "waiting")
    with_agent = start()
    with with_agent.client() as client:
        one_cycle(client)
    assert len(threads(with_thread.pid)) == len(threads(with_agent.pid)) == 2
    assert allocated(with_agent) == allocated(with_thread)


def test_the_heap_of_a_child_holds_nothing_more(start):
    """Its agent is a new thread, which might keep a cache of its own."""
    victim = start()
    victim.client().close()
    before = allocated(victim)
    victim.pid = int(victim.ask("daemonise"))
    victim.others.add(victim.pid)
    with victim.client() as client:
        one_cycle(client)
    assert abs(allocated(victim) - before) <= THREAD_TABLE_MAX


def test_work_leaves_nothing_in_the_heap(start):
    victim = start()
    with victim.client() as client:
        one_cycle(client)
        before = allocated(victim)
        for _ in range(100):
            one_cycle(client)
        assert allocated(victim) == before


def test_dumps_leave_no_more_than_the_programs_own(start, tmp_path):
    own, ours = start(), start()
    for _ in range(20):
        own.ask(f"dump {tmp_path}/own")
    with ours.client() as client:
        client.dump()
        before = allocated(ours)
        for _ in range(19):
            client.dump()
        assert allocated(ours) == before


def private_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Private_Dirty:\s+(\d+) kB", text, flags=re.M)[1])


def resident_kib_of(pid, name):
    """Of the mappings of the file NAME."""
    total, counting = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            counting = line.endswith(name)
        elif counting and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def test_it_is_small(start):
    """Not counting what jemalloc lays out for any thread that asks it: an arena, and its table of controls."""
    asking = start(preload=[VICTIMS / "libasking-thread.so"])
    wait_for_thread(asking.pid, "waiting")
    victim = start()
    with victim.client() as client:
        client.release(client.take(600_000).id)
    for one in (asking, victim):
        one.ask("allocated")
    own, code = private_kib(victim.pid) - private_kib(asking.pid), resident_kib_of(victim.pid, AGENT.name)
    assert 0 < own + code < RESIDENT_MAX_KIB, f"{own} KiB of its own, {code} KiB of its file"


def test_it_is_smaller_until_somebody_asks(start):
    """jemalloc creates its table of controls at the first query."""
    without, victim = start("victim-embedded" if LINKED else "victim", preload=None, env={"VICTIM_EMBED": "later"}), start()
    eventually(victim.socket_of().exists, "its socket")
    own, code = private_kib(victim.pid) - private_kib(without.pid), resident_kib_of(victim.pid, AGENT.name)
    assert 0 < own + code < RESIDENT_MAX_KIB, f"{own} KiB of its own, {code} KiB of its file"


@pytest.mark.parametrize("way", ["one connection", "many connections"])
def test_work_leaves_nothing_else(start, way):
    victim = start(conf=EVERY_BLOCK)
    victim.ask("hold 50 100")
    with victim.client() as client:
        before = (agent_descriptors(victim.pid), threads(victim.pid))
        mappings = pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines()
        for _ in range(200):
            if way == "one connection":
                one_cycle(client)
                client.dump()
                continue
            with victim.client() as other:
                one_cycle(other)
                other.dump()
        eventually(lambda: client.hello().agent_clients == 1, "the other clients are forgotten")
        assert (agent_descriptors(victim.pid), threads(victim.pid)) == before
        after = pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines()
        assert len(after) <= len(mappings) + 2, "\n".join(sorted(set(after) - set(mappings)))


def test_refusals_leave_nothing(start):
    victim = start()
    with victim.client() as client:
        one_cycle(client)
        before = (allocated(victim), agent_descriptors(victim.pid))
        for _ in range(100):
            with pytest.raises(wire.Refused):
                client.act("arena.0.reset")
            with pytest.raises(wire.Refused):
                client.read("no.such.control", "size")
            with pytest.raises(wire.Refused):
                client.call(wire.WireDumpRequest(), wire.WIRE_OP_DUMP)
        assert (allocated(victim), agent_descriptors(victim.pid)) == before
