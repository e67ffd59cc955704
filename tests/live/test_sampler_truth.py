# SPDX-License-Identifier: Apache-2.0
"""jescope's sampler beside the truth and beside jemalloc's own profiler, in one process: a program that knows what it has allocated, freed and kept.

A few seconds; with JESCOPE_PROOF=N as many runs at each of three periods, and the stacks of large programs (docs/testing.md)."""

import json
import math
import os
import re

import loaded
import pytest
import wire
from profiles import allocator_frames, jescope, stacks
from victims import AGENT, eventually

PROOF = os.environ.get("JESCOPE_PROOF")
RUNS = 0 if not PROOF else int(PROOF) if PROOF.isdigit() else 400
PERIODS = [12, 15, 19]  # 2^N bytes; the last one is the default
SAMPLES = 500  # of what a function allocates, about
VALUES = ["alloc", "inuse", "freed"]
SETTLED = 0.999
ALLOCATIONS = 100_000
DEPTH = 110  # of the 128 frames: how many of them are in the allocator differs


def truth_of(answer):
    """{function: {value: number}}"""
    words = answer.split()
    found = {}
    for name, *numbers in zip(*(words[i::5] for i in range(5))):
        objects, size, live, kept = map(int, numbers)
        found[name] = {"alloc_objects": objects, "alloc_space": size, "inuse_objects": live, "inuse_space": kept,
                       "freed_objects": objects - live, "freed_space": size - kept}  # fmt: skip
    return found


def lived(start, folder, lg, samples, seed):
    """The truth, and the dump of each of the two samplers."""
    victim = start("lives", conf=f"prof:true,prof_active:true,prof_accum:true,lg_prof_sample:{lg}")
    with victim.client() as client:
        client.take(3600_000, flags=wire.WIRE_LEASE_JESCOPE)
        client.write("prof.reset", "size", lg)
        truth = truth_of(victim.ask(f"lives {samples << lg} {1 << lg} {seed}"))
        dumps = {"jescope": client.dump()}
    victim.ask(f"dump {folder / 'own'}")
    dumps["jemalloc"] = (folder / "own").read_bytes()
    victim.stop()
    assert dumps["jescope"].startswith(b"heap_v2/%d\n#sampler jescope" % (1 << lg))
    assert b" dropped=0 dropped_bytes=0 thinned=0\n" in dumps["jescope"][:200]
    return truth, dumps


def estimates(folder, dump):
    """{function: {value: (estimate, error)}}"""
    path = folder / "heap"
    path.write_bytes(dump)
    document = json.loads(jescope("report", "--format=json", "-n", "0", path))
    return {row["display"]: {value: (weight["estimate"], weight["error"]) for value, weight in row["flat"].items()} for row in document["rows"]}


def deviations(folder, truth, dump):
    """(value, how many of its own errors an estimate is away from the truth)"""
    found = estimates(folder, dump)
    for name, numbers in truth.items():
        for value, number in numbers.items():
            estimate, error = found[name][value]
            yield value, abs(estimate - number) / error if error > 0 else 0 if estimate == number else math.inf


def test_estimates_are_of_the_truth(start, tmp_path):
    """So far apart are they once in 10^12."""
    truth, dumps = lived(start, tmp_path, PERIODS[0], 600, 1)
    for sampler, dump in dumps.items():
        for value, deviation in deviations(tmp_path, truth, dump):
            assert deviation < 8, (sampler, value)


@pytest.mark.skipif(not PROOF, reason="as many runs as JESCOPE_PROOF says")
@pytest.mark.parametrize("lg", PERIODS)
def test_intervals_cover_the_truth(start, tmp_path, lg):
    """The truth is within 1.96 errors in 95 % of the cases, for each value. Each run is a process: jemalloc's random numbers are of an address."""
    inside = {}
    for seed in range(1, RUNS + 1):
        truth, dumps = lived(start, tmp_path, lg, SAMPLES, seed)
        for sampler, dump in dumps.items():
            for value, deviation in deviations(tmp_path, truth, dump):
                inside.setdefault((sampler, value), []).append(deviation <= 1.96)
    shares = {key: sum(cases) / len(cases) for key, cases in inside.items()}
    for (sampler, value), share in shares.items():
        print(f"2^{lg} {sampler:8s} {value:13s} {share:.1%} of {len(inside[sampler, value])}")
    # Of fewer runs, a share is further from its mean.
    doubt = 0 if RUNS >= 400 else 4 * math.sqrt(0.95 * 0.05 / len(next(iter(inside.values()))))
    assert all(0.93 - doubt <= share <= 0.97 + doubt for (sampler, _), share in shares.items() if sampler == "jescope")


# ---- stacks ----


def from_caller(dump, inside):
    """{stack from the allocator's caller on: how often it has allocated}"""
    found = {}
    for frames, _, _, objects, _ in stacks(dump):
        while frames and inside(frames[0]):
            frames = frames[1:]
        found[frames[:DEPTH]] = found.get(frames[:DEPTH], 0) + objects
    return found


def agreement(ours, theirs):
    """The share of allocations that both have at the same stack."""
    both = ours.keys() | theirs.keys()
    return sum(min(ours.get(key, 0), theirs.get(key, 0)) for key in both) / sum(max(ours.get(key, 0), theirs.get(key, 0)) for key in both)


def allocations(client):
    """How many our sampler has seen, and its dump."""
    dump = client.dump()
    return int(re.search(rb"^  t\*: \d+: \d+ \[(\d+): \d+\]$", dump, re.M)[1]), dump


def at_rest(client):
    """The dump once nothing is allocated any more."""
    counts = [-1]

    def same():
        count, dump = allocations(client)
        counts.append(count)
        return counts[-1] == counts[-2] and dump

    return eventually(same, "the program is at rest")


@pytest.mark.skipif(not PROOF, reason="large programs under load, with JESCOPE_PROOF")
@pytest.mark.parametrize("kind", [loaded.Redis, loaded.Mariadb, loaded.Python], ids=lambda kind: kind.name)
def test_stacks_of_large_programs(kind, tmp_path):
    """Both samplers see every allocation of a load; of 99.9 % of them, both have the same stack."""
    if not loaded.need(kind.program):
        pytest.skip(f"{kind.name} is not installed")
    (tmp_path / "agents").mkdir(mode=0o700)
    preload = f"{kind.preload}:{AGENT}" if kind.preload else str(AGENT)
    conf = "prof:true,prof_active:false,prof_accum:true,lg_prof_sample:0"
    with loaded.running(kind, tmp_path, MALLOC_CONF=conf, LD_PRELOAD=preload) as server:
        socket = eventually(lambda: next((tmp_path / "agents").glob(f"{server.pid}.*.sock"), None), "the agent listens")
        with wire.Client(socket) as client:
            client.write("jescope.sampler_memory", "size", 256 << 20)
            client.write("prof.active", "bool", 1)
            lease = client.take(3600_000, flags=wire.WIRE_LEASE_JESCOPE)
            client.write("prof.reset", "size", 0)
            with loaded.under_load(server) as load:
                eventually(lambda: allocations(client)[0] > ALLOCATIONS, "the program has allocated enough")
            assert not load.failures
            ours = at_rest(client)
            client.release(lease.id)
            theirs = eventually(lambda: b"#sampler" not in (text := client.dump())[:40] and text, "jemalloc's own dump")
    assert b" dropped=0 dropped_bytes=0 thinned=0\n" in ours[:200]
    inside = allocator_frames(ours)
    mine, other = from_caller(ours, inside), from_caller(theirs, inside)
    share = agreement(mine, other)
    deepest = max(len(frames) for frames in mine)
    print(f"{kind.name}: {share:.4%} of {sum(mine.values())} allocations at {len(mine)} stacks of up to {deepest} frames; {len(mine.keys() & other.keys())} stacks are in both, {len(other)} in jemalloc's")
    assert share >= SETTLED
