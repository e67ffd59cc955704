#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs of tests/battery/, which know what is wrong with them, and compares what jescope says with that.

    tests/live/battery.py [--mode=MODE] [--only=REGEX] [--jobs=N] [--list] [-- COMMAND...]

COMMAND is one of jescope's with --json, such as `doctor --for=10s`; the target is put at its end. Of its `findings`, the first must
have the cause, one of the functions if there is one, and the bytes within a factor of 1.5. Without COMMAND it is `ledger`, whose line
for the cause must have these bytes; causes without a line are left out. Needs JESCOPE_BUILD and JESCOPE_SOURCE (scripts/run-tests).

MODE: profiled (under `jescope run --active`), inactive (under `jescope run`), plain (jemalloc is preloaded, nothing is prepared).
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from services import BUILD, JESCOPE, environment, jescope, started

PROGRAM = BUILD / "tests/battery/battery"
MODES = ("profiled", "inactive", "plain")
FACTOR = 1.5
# The lines of the ledger in which a cause is seen; one with '-' in front is subtracted.
LINES = {
    "startup-memory": ("live",),
    "bounded-cache": ("live",),
    "oversized-capacity": ("live",),
    "fragmentation-small-classes": ("slab-holes",),
    "dirty-pages": ("dirty",),
    "many-arenas": ("slab-holes",),
    "thread-cache-hoard": ("thread-caches",),
    "metadata-overhead": ("metadata",),
    "non-jemalloc-anon-mmap": ("other-anonymous",),
    "program-data": ("static-data",),
    "other-allocator": ("other-allocators",),
    "file-mappings": ("file-mappings",),
    "shared-memory": ("shared-memory",),
    "tmpfs-files": ("tmpfs-files",),
    "kernel-memory": ("sockets", "pipes", "page-tables"),
    "thread-stacks": ("stacks",),
    "thp-inflation": ("huge-page-inflation",),
    "fork-copy-on-write": ("children",),
}


@dataclasses.dataclass
class Case:
    name: str
    cause: str
    function: str
    conf: str

    @property
    def functions(self):
        return self.function.split("|") if self.function else []


class Running:
    """A program in its state."""

    def __init__(self, process):
        self.process = process
        self.first = json.loads(process.stdout.readline())
        self.pid = self.first["pid"]

    def truth(self):
        """As it is now."""
        self.process.stdin.write("now\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def cases():
    text = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True, timeout=180).stdout
    return [Case(*line.split("\t")) for line in text.splitlines()]


@contextlib.contextmanager
def running(scratch, case, mode):
    """CASE in its state, ended with the block. Relative paths of the program are below SCRATCH."""
    runner = {"profiled": [JESCOPE, "run", "--active", "--"], "inactive": [JESCOPE, "run", "--"], "plain": []}[mode]
    variables = {"LD_PRELOAD": "libjemalloc.so.2"} if mode == "plain" else {}
    if case.conf:
        variables["MALLOC_CONF"] = case.conf
    with started([*runner, PROGRAM, case.name], env=environment(scratch, **variables), cwd=scratch) as process:
        yield Running(process)


def near(found, truth):
    """Without a truth nothing can be said of it: churn holds next to nothing."""
    return truth == 0 or truth / FACTOR <= found <= truth * FACTOR


def judge_ledger(document, truth):
    """What is wrong, as a list of sentences."""
    lines = {line["line"]: line["bytes"] for line in document["lines"]}
    found = sum(lines.get(name, 0) for name in LINES[truth["cause"]])
    faults = [] if near(found, truth["bytes"]) else [f"{'+'.join(LINES[truth['cause']])} {found}, should be {truth['bytes']}"]
    if abs(lines["unexplained"]) > document["tolerance"]:
        faults.append(f"unexplained {lines['unexplained']}")
    return faults


def judge_findings(document, truth):
    if truth["cause"] == "healthy":
        return [] if not document["findings"] or document["findings"][0]["cause"] == "healthy" else ["not healthy"]
    if not document["findings"]:
        return ["nothing found"]
    first = document["findings"][0]
    faults = [] if first["cause"] == truth["cause"] else [f"cause {first['cause']}"]
    if truth["function"] and first.get("function") not in truth["function"].split("|"):
        faults.append(f"function {first.get('function')}")
    if not near(first["bytes"], truth["bytes"]):
        faults.append(f"bytes {first['bytes']}, should be {truth['bytes']}")
    return faults


def ask(scratch, program, command):
    """The document of COMMAND about PROGRAM, and the truth right after it."""
    result = jescope(scratch, *command, "--json", program.pid, check=False)
    assert result.returncode in (0, 4), result.stderr
    return json.loads(result.stdout), program.truth()


def judge(scratch, case, mode, command):
    with running(scratch, case, mode) as program:
        document, truth = ask(scratch, program, command)
        return (judge_ledger if command[0] == "ledger" else judge_findings)(document, truth)


def main():
    words = sys.argv[1:]
    command = words[words.index("--") + 1:] if "--" in words else ["ledger"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=MODES, default="inactive")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="programs at once")
    options = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    chosen = [case for case in cases() if re.search(options.only, case.name)]
    if command[0] == "ledger":
        chosen = [case for case in chosen if case.cause in LINES]
    if options.list:
        print("\n".join(f"{case.name:22} {case.cause}" for case in chosen))
        return 0

    def check(case):
        with tempfile.TemporaryDirectory() as scratch:
            return judge(pathlib.Path(scratch), case, options.mode, command)

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as jobs:
        for case, faults in zip(chosen, jobs.map(check, chosen)):
            wrong += bool(faults)
            print(f"{case.name:22} {case.cause:28} {'; '.join(faults) or 'right'}", flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} right ({options.mode}: jescope {' '.join(command)})")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
