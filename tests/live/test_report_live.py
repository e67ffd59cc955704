# SPDX-License-Identifier: Apache-2.0
"""Reports of a process that runs."""

import contextlib
import json
import os
import re
import shutil
import signal
import time

import pytest

from services import JESCOPE, PYTHON, VICTIMS, environment, jescope, service, started


def test_says_coverage_and_since_when(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        for _ in range(8):
            target.allocate(16384)
        text = jescope(tmp_path, "report", target.pid).stdout
        title, coverage, since = text.splitlines()[:3]
        assert title.startswith(f"python3 ({target.pid}): ") and "one sample per 64.0 KiB" in title
        share = re.fullmatch(r"explains ([\d.]+)% ± ([\d.]+)% of the [\d.]+ [KM]iB that the program holds", coverage)
        assert abs(float(share.group(1)) - 100) < 5 * float(share.group(2)) + 5
        assert since == "sampling on since the process started"


def test_says_what_it_cannot_have_seen(tmp_path):
    with service(tmp_path, "--sample", "64K") as target:
        jescope(tmp_path, "enable", target.pid)
        target.allocate(65536)
        assert "sampling on since 20" in jescope(tmp_path, "report", target.pid).stdout
        jescope(tmp_path, "disable", target.pid)
        assert "sampling is off now" in jescope(tmp_path, "report", target.pid).stdout


def test_names_functions(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        for _ in range(8):
            target.allocate(65536)
        found = json.loads(jescope(tmp_path, "report", "--format=json", target.pid).stdout)
        assert any(row["name"] == "Py_BytesMain" for row in found["rows"])
        assert not any("jemalloc" in row.get("object", "") for row in found["rows"])
        assert found["notes"]


def test_difference_of_a_file_and_the_process(tmp_path):
    with service(tmp_path, "--sample", "64K", "--active") as target:
        jescope(tmp_path, "dump", target.pid, "-o", "before.heap")
        for _ in range(8):
            target.allocate(65536)
        text = jescope(tmp_path, "diff", "before.heap", target.pid).stdout
        assert re.search(r"^ *\+1\d\d\.\d MiB", text, re.M), text


@contextlib.contextmanager
def holding(scratch, *words, options=()):
    command = [JESCOPE, "run", *options, "--", VICTIMS / "holds", *words]
    with started(command, env=environment(scratch), cwd=scratch) as process:
        yield process, int(process.stdout.readline())


@pytest.mark.parametrize("sample", ["512KiB", "64KiB", "16KiB"])
def test_coverage_is_of_what_the_program_holds(tmp_path, sample):
    """F9, F16: thread caches and what sampling adds are not held: sampled from the start, a profile explains all."""
    with holding(tmp_path, "small=60", "cached=100", options=["--active", f"--sample={sample}"]) as (_, pid):
        for format_ in ("text", "tree", "source"):
            text = jescope(tmp_path, "report", f"--format={format_}", pid).stdout
            share = re.search(r"^explains ([\d.]+)% ± ([\d.]+)% of the ([\d.]+) MiB that the program holds$", text, re.M)
            assert abs(float(share.group(1)) - 100) < 4 * float(share.group(2)) + 4, text
            assert 56 < float(share.group(3)) < 68


def test_a_heap_elsewhere_is_told(tmp_path):
    with holding(tmp_path, "elsewhere=30", options=["--active", "--sample=4KiB"]) as (_, pid):
        assert "does not serve the main heap" in jescope(tmp_path, "report", pid).stdout


def sampled_seconds(dump):
    since, until = map(int, re.search(r"^jescope_capture=1 .*since=(\d+) until=(\d+)", dump.read_text(), re.M).groups())
    return (until - since) / 1e6


def test_growth_over_recordings_with_gaps(tmp_path):
    """The profiler was off between the recordings: these seconds do not count, and are reported."""
    with holding(tmp_path, "leak=256", options=["--sample=64KiB"]) as (process, pid):
        process.stdin.write("leak\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ok\n"
        for i in range(3):
            jescope(tmp_path, "record", "--for=1s", "-o", f"{i}.heap", pid)
            time.sleep(2)
        found = json.loads(jescope(tmp_path, "growth", "--json", "0.heap", "1.heap", "2.heap").stdout)
        assert any(re.match(r"sampling was off for [\d.]+ \w+.* of the [\d.]+ \w+.* between", note) for note in found["notes"])
        assert found["slope_per"] == "second" and found["total"]["verdict"] == "still growing"
        # However long each recording took: the slope is one between those of its two steps, in seconds of sampling.
        held = found["stacks"][0]["series"]
        sampled = [sampled_seconds(tmp_path / f"{i}.heap") for i in range(3)]
        steps = [(held[i] - held[i - 1]) / sampled[i] for i in (1, 2)]
        assert 0.95 * min(steps) < found["stacks"][0]["slope"] < 1.05 * max(steps)
        assert "sampling was off" in jescope(tmp_path, "diff", "0.heap", "1.heap").stdout


def test_growth_of_a_process_that_is_sampled_all_the_time(tmp_path):
    with holding(tmp_path, "leak=64", options=["--active", "--sample=64KiB"]) as (process, pid):
        process.stdin.write("leak\n")
        process.stdin.flush()
        for i in range(2):
            jescope(tmp_path, "dump", "-o", f"{i}.heap", pid)
            time.sleep(1)
        text = jescope(tmp_path, "growth", "0.heap", "1.heap", pid).stdout
        assert "sampling was off" not in text and "do not show" not in text
        assert "inuse_space in all: still growing" in text and "leak" in text


def test_growth_over_a_restart(tmp_path):
    """Other addresses, the same functions: growth in both processes is one row."""
    for i, blocks in enumerate((200, 400, 600, 800)):
        with holding(tmp_path, f"small={blocks // 10}", options=["--active", "--sample=64KiB"]) as (_, pid):
            jescope(tmp_path, "dump", "-o", f"{i}.heap", pid)
    dumps = [f"{i}.heap" for i in range(4)]
    found = json.loads(jescope(tmp_path, "growth", "--json", *dumps).stdout)
    for rows in (found["functions"], found["stacks"]):
        frames = [tuple(row["frames"]) for row in rows]
        assert len(frames) == len(set(frames))
        (grown,) = [row for row in rows if row["verdict"] == "still growing"]
        assert all(held > 0.5 * 2**20 * blocks / 10 for held, blocks in zip(grown["series"], (200, 400, 600, 800)))
    assert any("of 4 successive processes" in note for note in found["notes"])


def test_no_profiling(tmp_path):
    """jemalloc cannot; jescope's own sampler can."""
    with service(tmp_path, MALLOC_CONF="prof:false") as target:
        jescope(tmp_path, "enable", target.pid)
        target.allocate(80000)
        found = json.loads(jescope(tmp_path, "report", target.pid, "--format=json").stdout)
        assert found["source"]["total"]["inuse_space"]["estimate"] > 10 << 20


def total(text):
    """Bytes in use, of a report as JSON."""
    return json.loads(text)["source"]["total"]["inuse_space"]["estimate"]


def test_the_process_and_not_the_program_beside_it(tmp_path):
    """./NAME is the program itself, a directory, or notes; NAME runs. A profile of that name is a profile."""
    name = f"beside-{os.getpid()}"
    with service(tmp_path, "--active", "--sample=64KiB") as python:
        python.rename(name)
        beside = tmp_path / name
        shutil.copy(PYTHON, beside)
        for command in ("report", "stats"):
            done = jescope(tmp_path, command, name)
            assert f"({python.pid})" in done.stdout
        beside.unlink()
        beside.mkdir()
        (tmp_path / str(python.pid)).mkdir()
        for command, operand in (("report", name), ("stats", name), ("report", python.pid), ("stats", python.pid)):
            assert f"({python.pid})" in jescope(tmp_path, command, operand).stdout
        beside.rmdir()
        jescope(tmp_path, "dump", python.pid, "-o", beside)
        assert f"({python.pid})" not in jescope(tmp_path, "report", name).stdout
        assert f"({python.pid})" in jescope(tmp_path, "stats", f"{python.pid}").stdout
    # Nothing runs: the file is what is complained about.
    beside.unlink()
    shutil.copy(PYTHON, beside)
    done = jescope(tmp_path, "report", name, check=False)
    assert done.returncode == 1 and "is not a heap profile" in done.stderr


def test_several_processes_are_added_up(tmp_path):
    name = f"family-{os.getpid()}"
    with service(tmp_path, "--active", "--sample=4KiB") as first, service(tmp_path, "--active", "--sample=4KiB") as second:
        for python, size in ((first, 40000), (second, 80000)):
            python.rename(name)
            python.allocate(size)
        each = [total(jescope(tmp_path, "report", "--format=json", python.pid).stdout) for python in (first, second)]
        together = [("report", "--format=json", first.pid, second.pid), ("report", "--format=json", "--all", name)]
        for words in together:
            done = jescope(tmp_path, *words)
            assert abs(total(done.stdout) - sum(each)) < 0.02 * sum(each), (each, done.stdout)
            assert f"{name} ({first.pid})" in json.loads(done.stdout)["source"]["name"]
        # The runner, of which one is the child.
        done = jescope(tmp_path, "report", "--format=json", "--children", first.runner.pid)
        assert abs(total(done.stdout) - each[0]) < 0.02 * each[0]
        # One of them cannot be reached.
        os.kill(second.pid, signal.SIGSTOP)
        done = jescope(tmp_path, "report", "--all", name, check=False)
        os.kill(second.pid, signal.SIGCONT)
        assert done.returncode == 1 and str(second.pid) in done.stderr


def test_a_file_and_a_process_are_not_added_up(tmp_path):
    with service(tmp_path) as python:
        jescope(tmp_path, "dump", python.pid, "-o", tmp_path / "a.heap")
        done = jescope(tmp_path, "report", tmp_path / "a.heap", python.pid, check=False)
        assert done.returncode == 2 and "cannot be added up" in done.stderr
