# SPDX-License-Identifier: Apache-2.0
"""`jescope serve` while the clock of the machine is set forward and back by days: what is to happen after some time goes by another clock."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

import pytest
from endpoint import serve
from groups import MIB, group  # noqa: F401
from leaker import NAME, leaker
from receivers import Receiver
from services import DEADLINE, SANITIZED, jescope, wait_for

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer's runtime must be the first library that is loaded")
SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
DAY = 86400
STEPS = (DAY, -3 * DAY, 30 * DAY)


class Clock:
    """That of the programs with `variables` in their environment (programs/clock.c)."""

    def __init__(self, folder):
        compiler = shutil.which("cc") or pytest.skip("cc is not installed")
        library, self.file = folder / "clock.so", folder / "ahead"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests/live/programs/clock.c", "-ldl"], check=True, timeout=DEADLINE)
        self.ahead = 0
        self.step(0)
        self.variables = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self.file)}

    def step(self, seconds):
        """In one write: a process sees the old time or the new one."""
        self.ahead += seconds
        with open(self.file, "r+b" if self.file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("q", self.ahead * 10**9))


@pytest.fixture
def clock(folder):
    return Clock(folder)


def metric(server, name):
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", server.get("/metrics").text, re.MULTILINE))


def test_the_clock_is_ours(folder, clock):
    told = subprocess.run(["date", "+%Y"], env=dict(os.environ, **clock.variables), capture_output=True, text=True, check=True).stdout
    clock.step(-10 * 366 * DAY)
    assert int(subprocess.run(["date", "+%Y"], env=dict(os.environ, **clock.variables), capture_output=True, text=True, check=True).stdout) < int(told) - 8


def test_rules(folder, clock):
    """No step makes a condition hold for an hour, and none keeps a rule from firing."""
    rules = folder / "rules"
    rules.mkdir(mode=0o755)

    def add(name, time):
        (rules / f"{name}.new").write_text(f"[{name}]\nwhen = allocated above 1\nfor = {time}\ndo = log\n")
        (rules / f"{name}.new").rename(rules / f"{name}.rules")

    def rule(name):
        return next((row for row in server.get("/api/v1/rules").json()["rules"] if row["rule"] == name), {"state": None, "fired": 0})

    add("long", "1h")
    with leaker(folder) as program, serve(folder, "--every=100ms", f"--rules={rules}", program.pid_inside, **clock.variables) as server:
        for number, step in enumerate(STEPS):
            wait_for(lambda: rule("long")["state"] == "holding", "the long rule holds")
            clock.step(step)
            before = metric(server, "jescope_samples_total")
            wait_for(lambda: metric(server, "jescope_samples_total") >= before + 5, "samples go on")
            add(f"short{number}", "300ms")
            wait_for(lambda: rule(f"short{number}")["fired"] == 1, "a rule fires")
        assert rule("long")["fired"] == 0


def test_the_black_box(folder, group, clock):  # noqa: F811
    box = folder / "box"

    def lives():
        done = jescope(folder, "last", NAME, "--json", f"--directory={box}", check=False)
        return json.loads(done.stdout)["lives"] if done.returncode == 0 else []

    def numbers():
        return [snapshot["number"] for life in lives() for snapshot in life["snapshots"] if snapshot["dump"]]

    with leaker(folder) as program:
        group.take(program.pid_inside)
        group.limit(400 * MIB)  # a twentieth is a step
        with serve(folder, f"--blackbox-dir={box}", "--blackbox-keep=10", program.pid_inside, **clock.variables) as server:
            wait_for(numbers, "a first snapshot")
            for step in STEPS:
                clock.step(step)
                last = numbers()[-1]
                program.tell(f"hold {50 * MIB}")
                wait_for(lambda last=last: numbers()[-1] > last, "another snapshot")
            os.kill(program.pid_inside, signal.SIGKILL)
            wait_for(lambda: lives()[0]["end"], "the end is noted")
            assert metric(server, "jescope_blackbox_failures_total") == 0
    assert numbers() == sorted(numbers()) and lives()[0]["state"] == "signal"
    assert re.search(r"ended by signal 9 \(Killed\) .*last profile \S+ \w+ old", jescope(folder, "last", NAME, f"--directory={box}").stdout.splitlines()[0])


def test_rounds_of_push(folder, clock):
    receiver = Receiver()
    (folder / "serve.conf").write_text(f"[push]\nto=put+http://127.0.0.1:{receiver.port}\nevery=1s\ndump-share=100\nqueue={folder}/state/push\n")
    try:
        with leaker(folder) as program, serve(folder, f"--config={folder}/serve.conf", program.pid_inside, **clock.variables) as server:
            for step in (0, *STEPS):
                clock.step(step)
                before = metric(server, "jescope_push_rounds_total")
                with receiver.lock:
                    there = len(receiver.stored)
                wait_for(lambda before=before: metric(server, "jescope_push_rounds_total") >= before + 2, "rounds go on")
                wait_for(lambda there=there: len(receiver.stored) > there, "batches arrive")
    finally:
        receiver.stop()
