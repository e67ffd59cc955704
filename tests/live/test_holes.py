# SPDX-License-Identifier: Apache-2.0
"""Whose objects keep the holes in slabs, and what would go back without them: the program frees them in a child and tells."""

import json
import os
import re
import subprocess

import pytest
import services
import wire
from victims import eventually

OWNERS = ["session_store", "index_add", "cache_insert"]
# Twelve programs: sizes of objects, and how what survives is spread (tests/victims/holes.c).
PROGRAMS = [
    ("sparse", 96), ("sparse", 320), ("sparse", 1024), ("shared", 48), ("shared", 128), ("shared", 640), ("groups", 64), ("groups", 192),
    ("groups", 1280), ("mixed", 80), ("cached", 96), ("rare", 256),
]  # fmt: skip
WITH_CACHE = ["mixed", "cached", "rare"]
JEMALLOC = "prof:true,prof_active:true,lg_prof_sample:13"


def report(victim, value, *words):
    done = subprocess.run(
        [services.JESCOPE, "report", f"--value={value}", "--format=json", *words, str(victim.pid)],
        env=services.environment(victim.sockets.parent, JESCOPE_SOCKET_DIR=str(victim.sockets)),
        capture_output=True, text=True, timeout=services.DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def flat(document, value):
    """{function: (estimate, error)}"""
    return {row["display"]: (row["flat"][value]["estimate"], row["flat"][value]["error"]) for row in document["rows"]}


def built(start, sampler, kind, size, seed):
    victim = start("holes", conf=JEMALLOC if sampler == "jemalloc" else None)
    if sampler == "jescope":
        with victim.client() as client:
            client.write("prof.reset", "size", 13)
            client.write("prof.active", "bool", 1)
    else:
        victim.client().close()
    assert victim.ask(f"build {kind} {size} {seed}") == "done"
    return victim


def pinned(victim):
    """After what was built has become old, that is, most of it is attributed."""
    return eventually(
        lambda: (rows := report(victim, "pinned"), flat(rows, "pinned").get("[unattributed]", (0, 0))[0] < 0.5 * rows["source"]["total"]["pinned"]["estimate"])[1] and rows,
        "objects become old",
    )


def culprit(document):
    ranked = sorted(((bytes_, name) for name, (bytes_, _) in flat(document, "pinned").items()), reverse=True)
    return next(name for _, name in ranked if name in OWNERS)


@pytest.mark.parametrize("sampler", ["jescope", "jemalloc"])
def test_holes_have_an_owner(start, sampler):
    victim = built(start, sampler, "groups", 192, 1)
    document = pinned(victim)
    free = int(victim.ask("holes"))
    assert document["source"]["total"]["pinned"]["estimate"] == pytest.approx(free, rel=0.1)
    assert culprit(document) == "session_store"
    found = flat(document, "pinned")
    assert sum(bytes_ for bytes_, _ in found.values()) == pytest.approx(document["source"]["shown"]["pinned"]["estimate"], rel=0.01)
    back = flat(report(victim, "whatif"), "whatif")
    truth = int(victim.ask("without session_store"))
    estimate, error = back["session_store"]
    # The proof below counts how often it is within 1.96 errors; once, it may not be.
    assert truth > 1 << 20 and abs(truth - estimate) <= 4 * error


def test_every_format_says_it(start):
    victim = built(start, "jescope", "mixed", 320, 2)
    pinned(victim)
    path = victim.sockets.parent / "heap"
    environment = services.environment(victim.sockets.parent, JESCOPE_SOCKET_DIR=str(victim.sockets))
    subprocess.run([services.JESCOPE, "dump", "-o", path, str(victim.pid)], env=environment, check=True, timeout=services.DEADLINE)
    text = path.read_bytes()
    assert re.search(rb"^#live [0-9a-f]+ 320 \d+ \d+ \d+ 64$", text, re.M)
    assert re.search(rb"^jescope_class=1 size=320 regions=64 slab=20480 slabs=\d+ live=\d+ nonfull=\d+$", text, re.M)
    for form in ["text", "stacks", "tree", "folded", "flamegraph", "callgraph", "speedscope", "json", "page", "html"]:
        for value in ["pinned", "whatif"]:
            done = subprocess.run([services.JESCOPE, "report", f"--value={value}", f"--format={form}", path], env=environment, capture_output=True, check=False, timeout=services.DEADLINE)
            assert done.returncode == 0 and b"session_store" in done.stdout, (form, value, done.stderr)
    victim.ask("free index_add")
    later = subprocess.run([services.JESCOPE, "diff", "--value=pinned", path, str(victim.pid)], env=environment, capture_output=True, text=True, check=False, timeout=services.DEADLINE)
    assert later.returncode == 0 and "index_add" in later.stdout, later.stderr


@pytest.mark.skipif(not os.environ.get("JESCOPE_PROOF"), reason="twelve programs, N runs of each: JESCOPE_PROOF=N")
@pytest.mark.parametrize("sampler", ["jescope", "jemalloc"])
def test_proof(start, sampler):
    """What goes back is inside its 95 % interval in 93 % of the runs; the culprit of pinned slabs is at rank 1."""
    runs = int(os.environ["JESCOPE_PROOF"]) if os.environ["JESCOPE_PROOF"].isdigit() else 20
    inside, asked, first, n, widths = 0, 0, 0, 0, []
    for seed in range(runs):
        for kind, size in PROGRAMS:
            victim = built(start, sampler, kind, size, seed)
            named = culprit(pinned(victim))
            # jemalloc's profiler does not know that the cache has slabs for itself.
            if sampler == "jescope" or kind not in WITH_CACHE:
                n, first = n + 1, first + (named == "session_store")
            if named != "session_store":
                print("pinned", sampler, kind, size, seed, named)
            back = flat(report(victim, "whatif"), "whatif")
            for owner in OWNERS:
                truth = int(victim.ask(f"without {owner}"))
                if owner not in back and truth == 0:
                    continue
                estimate, error = back.get(owner, (0, 0))
                fits = estimate - 1.96 * error <= truth <= estimate + 1.96 * error
                asked, inside = asked + 1, inside + fits
                widths.append(2 * 1.96 * error / max(truth, 1 << 16))
                print("whatif", sampler, kind, size, seed, owner, truth, round(estimate), round(error), "" if fits else "OUTSIDE")
            victim.process.kill()
    widths.sort()
    print(f"{sampler}: inside {inside} of {asked}, rank 1 in {first} of {n}, median width {widths[len(widths) // 2]:.2f} of the truth")
    assert inside >= 0.93 * asked
    assert first == n
