# SPDX-License-Identifier: Apache-2.0
"""A dump is charged to jescope, not to the target's memory control group; where neither has room, it is refused before it begins."""

import os
import resource

import pytest

from groups import MIB, group  # noqa: F401
from sanitized import SANITIZED
from services import JESCOPE, VICTIMS, environment, jescope, service, started, wait_for


def test_a_dump_that_does_not_fit_is_refused(tmp_path, group):
    with service(tmp_path) as python:
        group.take(python.pid)
        python.allocate(1 << 20)  # 256 MiB, of which what is touched is charged
        group.limit(group.usage() + 64 * 1024)
        done = jescope(tmp_path, "dump", "-o", tmp_path / "taken", python.pid, check=False)
        assert done.returncode == 1 and not (tmp_path / "taken").exists()
        assert "memory control group" in done.stderr and "--force" in done.stderr and done.stderr.count("\n") == 1
        group.limit(group.usage() + 64 * MIB)
        jescope(tmp_path, "dump", "-o", tmp_path / "taken", python.pid)


def test_force(tmp_path, group):
    """The estimate is a bound: a dump of a small heap takes far less."""
    with service(tmp_path) as python:
        group.take(python.pid)
        group.limit(group.usage() + MIB)
        assert jescope(tmp_path, "dump", "-o", tmp_path / "taken", python.pid, check=False).returncode == 1
        jescope(tmp_path, "dump", "--force", "-o", tmp_path / "taken", python.pid)


def test_profiling_does_not_begin_without_room(tmp_path, group):
    """An agent, jemalloc's profiler and the sampler take up to 3 MiB, for which the kernel would end the program."""
    prepared = environment(tmp_path, LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF="prof:true,prof_active:false")
    with started([VICTIMS / "leaker"], cwd=tmp_path, env=prepared) as program:
        pid = int(program.stdout.readline())
        group.take(pid)

        def refused(*words):
            group.limit(group.usage() + MIB)
            done = jescope(tmp_path, *words, check=False)
            assert done.returncode == 1 and "memory control group" in done.stderr, done
            assert "--force" in done.stderr and done.stderr.count("\n") == 1
            group.limit(group.usage() + 64 * MIB)

        refused("attach", pid)
        jescope(tmp_path, "attach", pid)
        refused("enable", pid)
        refused("enable", "--for=10s", pid)
        refused("record", "--for=1s", "-o", tmp_path / "taken", pid)
        assert not (tmp_path / "taken").exists()
        jescope(tmp_path, "enable", "--sample=512KiB", pid)
        group.limit(group.usage() + MIB)
        jescope(tmp_path, "enable", pid)  # which has the memory that it takes
        assert program.poll() is None


@pytest.mark.skipif(SANITIZED, reason="a sanitizer reserves terabytes of address space")
def test_no_room_below_a_limit(tmp_path):
    """What an agent and the sampler take of a limit of address space, the program cannot allocate any more."""
    prepared = environment(tmp_path, LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF="prof:true,prof_active:false")
    with started([VICTIMS / "leaker"], cwd=tmp_path, env=prepared) as program:
        pid = int(program.stdout.readline())
        size = next(int(line.split()[1]) << 10 for line in open(f"/proc/{pid}/status") if line.startswith("VmSize:"))
        resource.prlimit(pid, resource.RLIMIT_AS, (size + 12 * MIB, resource.RLIM_INFINITY))
        for words in (["attach", pid], ["enable", pid], ["record", "--for=1s", "-o", tmp_path / "taken", pid]):
            done = jescope(tmp_path, *words, check=False)
            assert done.returncode == 1 and "address space (RLIMIT_AS)" in done.stderr and "--force" in done.stderr, done
            assert done.stderr.count("\n") == 1
        jescope(tmp_path, "status", pid)
        jescope(tmp_path, "attach", "--force", pid)
        assert program.poll() is None


def test_force_begins(tmp_path, group):
    with service(tmp_path) as python:
        jescope(tmp_path, "disable", python.pid)
        group.take(python.pid)
        group.limit(group.usage() + 3 * MIB)
        assert jescope(tmp_path, "enable", python.pid, check=False).returncode == 1
        jescope(tmp_path, "enable", "--force", python.pid)


def leaker(tmp_path):
    """A program with 30 000 call stacks, whose dump has 14 MB."""
    return started([JESCOPE, "run", "--active", "--", VICTIMS / "leaker"], cwd=tmp_path,
                   env=environment(tmp_path, MALLOC_CONF="prof:true,lg_prof_sample:0"))


@pytest.mark.parametrize("via", ["agent", "attach"])
def test_jescope_pays(tmp_path, group, via):
    """The dump is larger than what is left to the target, of which nearly nothing is used."""
    with leaker(tmp_path) as program:
        pid = int(program.stdout.readline())
        wait_for(lambda: list((tmp_path / "agents").glob(f"{pid}.*.sock")), "the agent listens")
        group.take(pid)
        program.stdin.write("stacks 30000\n")
        program.stdin.flush()
        program.stdout.readline()
        group.limit(group.usage() + 10 * MIB)
        group.forget_peak()
        before = group.usage()
        words = "dump", f"--via={via}", "--max-output=32MiB", "-o", tmp_path / "taken", pid
        # One may be stopped on a very busy machine.
        wait_for(lambda: jescope(tmp_path, *words, check=False).returncode == 0, "a dump that jescope pays for")
        assert (tmp_path / "taken").stat().st_size > 12 * MIB
        if group.peak_file.exists():  # since Linux 5.19
            assert group.peak() - before < 10 * MIB  # 0 to 0.5 MiB, unless the machine is very busy


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory exceeds what is left in the group")
def test_a_shared_group(tmp_path, group):
    """Where jescope itself runs in the group of the target, that group pays for everything."""
    with service(tmp_path, MALLOC_CONF="prof_accum:true") as python:  # how large a dump may be is not known then: 32 MiB
        group.take(python.pid)
        group.limit(group.usage() + 24 * MIB)
        done = jescope(tmp_path, "dump", "-o", tmp_path / "taken", python.pid, check=False, preexec_fn=lambda: group.take(os.getpid()))
        assert done.returncode == 1 and not (tmp_path / "taken").exists()
        assert "jescope runs in the same group" in done.stderr and "32.0\xa0MiB" in done.stderr and done.stderr.count("\n") == 1
        jescope(tmp_path, "dump", "-o", tmp_path / "taken", python.pid)
