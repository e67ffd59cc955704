# SPDX-License-Identifier: Apache-2.0
"""`jescope attach` brings the agent into programs that run, `detach` ends it; where it cannot be brought in, it says why."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
import services
from victims import AGENT, EVERY_BLOCK, VICTIMS, agent_threads, assert_inert, descriptors, eventually, program, threads

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
STRANGER = 65534


def jescope(victim, *words, check=True, **variables):
    done = subprocess.run(
        [services.JESCOPE, *map(str, words), str(victim.pid)],
        env=services.environment(victim.sockets.parent, **{"JESCOPE_SOCKET_DIR": str(victim.sockets), **variables}),
        cwd=victim.sockets.parent, capture_output=True, text=True, timeout=services.DEADLINE, check=False,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


def refusal(victim, *words, **variables):
    """Why attaching was refused; the victim has not changed."""
    done = jescope(victim, "attach", *words, check=False, **variables)
    assert done.returncode == 1 and done.stdout == ""
    return done.stderr


def environment(scratch, **more):
    return services.environment(scratch, **more)


@pytest.fixture
def bare(start):
    """Starts victims that nothing was preloaded into."""

    def start_bare(variant="victim", **options):
        options.setdefault("preload", None)
        return start(variant, **options)

    return start_bare


def test_comes_and_goes(bare):
    victim = bare(conf=EVERY_BLOCK)
    victim.ask("hold 100 100")
    said = jescope(victim, "attach").stdout
    assert f"({victim.pid}): agent attached" in said
    assert "ready, not active" in jescope(victim, "status").stdout
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")
    assert f"({victim.pid}): agent detached" in jescope(victim, "detach").stdout
    assert_inert(victim)
    assert os.listdir(victim.sockets) == []
    jescope(victim, "attach")
    with victim.client() as client:
        assert client.greeting.agent_clients >= 1
    assert len(agent_threads(victim.pid)) == 1


def test_twice_is_once(bare):
    victim = bare()
    jescope(victim, "attach")
    jescope(victim, "attach")
    assert len(agent_threads(victim.pid)) == 1


def test_brings_back_one_that_was_preloaded(start):
    victim = start()
    victim.client().close()
    jescope(victim, "detach")
    eventually(lambda: not agent_threads(victim.pid), "the agent's thread ends")
    jescope(victim, "attach")
    victim.client().close()
    assert "memfd:" not in pathlib.Path(f"/proc/{victim.pid}/maps").read_text()


def test_detach_ends_a_lease(bare):
    victim = bare()
    jescope(victim, "attach")
    jescope(victim, "enable", "--for", "10m")
    assert victim.ask("read 1 prof.active") == "1"
    jescope(victim, "detach")
    assert victim.ask("read 1 prof.active") == "0"


def test_leaves_no_descriptor(bare):
    victim = bare()
    before = descriptors(victim.pid)
    jescope(victim, "attach")
    assert descriptors(victim.pid) == before
    jescope(victim, "detach")
    assert descriptors(victim.pid) == before


@pytest.mark.parametrize(
    "variant",
    ["victim-static", "victim-static-fixed", "victim-je", "victim-rjem", "victim-shared-je", "victim-shared-rjem", "victim-hidden"],
)
def test_wherever_jemalloc_is(bare, variant):
    victim = bare(variant, conf=None, env={"MALLOC_CONF": EVERY_BLOCK, "JE_MALLOC_CONF": EVERY_BLOCK, "_RJEM_MALLOC_CONF": EVERY_BLOCK})
    victim.ask("hold 20 100")
    jescope(victim, "attach")
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/")
    jescope(victim, "detach")
    assert_inert(victim)
    jescope(victim, "attach")
    victim.client().close()


def test_the_program_has_many_threads(bare):
    victim = bare()
    victim.ask("threads 200")
    jescope(victim, "attach")
    jescope(victim, "detach")
    assert victim.ask("join") == "200"


def test_a_forked_child_of_one_it_was_brought_into(bare):
    victim = bare()
    jescope(victim, "attach")
    child = int(victim.ask("fork"))
    with victim.client(child) as client:
        assert client.read("stats.allocated", "size") > 0
    assert victim.ask("reap") == "0"


# Namespaces, roots and users


def test_across_mounts(bare, own_mounts, tmp_path):
    """The agent's file is out of the program's sight, and so is our directory."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    shutil.copy(AGENT, hidden)
    inside = tmp_path / "inside"
    command = [*own_mounts, "sh", "-c", f"mount -t tmpfs none {hidden} && mkdir -m 700 {inside} && mount -t tmpfs -o mode=700 none {inside} "
               f'&& exec "{program()}"']  # fmt: skip
    victim = bare(command=command, env={"JESCOPE_SOCKET_DIR": str(inside)})
    assert not pathlib.Path(f"/proc/{victim.pid}/root{hidden}/{AGENT.name}").exists()
    jescope(victim, "attach", JESCOPE_AGENT=str(hidden / AGENT.name))
    assert "jemalloc" in jescope(victim, "status").stdout
    jescope(victim, "detach")
    assert list(pathlib.Path(f"/proc/{victim.pid}/root{inside}").iterdir()) == []


@AS_ROOT
def test_across_pid_namespaces(bare):
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", program()]
    if subprocess.run([*command[:-1], "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine (or container) does not permit pid namespaces")
    victim = bare(command=command)
    victim.pid = services.children(victim.process.pid)[0]
    assert victim.said_pid == 1
    jescope(victim, "attach")
    with victim.client() as client:
        assert client.greeting.pid == 1
    jescope(victim, "detach")


@AS_ROOT
def test_another_users_process(bare, open_path):
    shutil.copy(program(), open_path)
    folder = open_path / "sockets"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)
    victim = bare(command=[open_path / "victim"], sockets=folder, user=STRANGER, group=STRANGER, extra_groups=[])
    jescope(victim, "attach")
    with victim.client() as client:
        assert client.greeting.uid == STRANGER
    jescope(victim, "detach")
    assert os.listdir(folder) == []


@AS_ROOT
def test_a_root_without_proc(bare, tmp_path):
    victim = bare()
    (tmp_path / "empty").mkdir()
    victim.ask(f"chroot {tmp_path / 'empty'}")
    assert "its dynamic loader says: /proc/thread-self/fd/" in refusal(victim)
    assert_inert(victim)
    assert descriptors(victim.pid) == {}


# Stripped, its symbols in a separate debug file


def strip(variant, folder):
    """A stripped copy of a victim and its debug file at its place below a /usr/lib/debug."""
    whole, copy, debug = program(variant), folder / variant, folder / "debug"
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    subprocess.run(["strip", "-o", copy, whole], check=True)
    notes = subprocess.run(["readelf", "-n", whole], check=True, capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    place = folder / "root" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.rename(place)
    return copy, folder / "root"


@pytest.fixture
def debug_folder():
    """/usr/lib/debug, for something to be mounted on."""
    folder = pathlib.Path("/usr/lib/debug")
    made = not folder.exists()
    if made:
        folder.mkdir()
    yield folder
    if made:
        folder.rmdir()


@pytest.mark.parametrize("variant", ["victim-static", "victim-static-fixed", "victim-je", "victim-rjem"])
def test_stripped_with_a_debug_file(bare, own_mounts, debug_folder, tmp_path, variant):
    """jescope finds the functions in the debug file and calls them; an agent, which sees no such file, does not come in."""
    copy, debug = strip(variant, tmp_path)
    settings = {name: EVERY_BLOCK for name in ("MALLOC_CONF", "JE_MALLOC_CONF", "_RJEM_MALLOC_CONF")}
    command = [*own_mounts, "sh", "-c", f"mount --bind {debug} {debug_folder} && exec {copy}"]
    victim = bare(variant, command=command, conf=None, env=settings)
    victim.ask("hold 20 100")
    assert "(statically linked)" in jescope(victim, "status", "--via", "attach").stdout
    jescope(victim, "dump", "-o", tmp_path / "dump")
    assert (tmp_path / "dump").read_bytes().startswith(b"heap_v2/")
    assert "no jemalloc" in refusal(victim)
    assert_inert(victim)


def test_stripped_without_a_debug_file(bare, tmp_path):
    copy, _ = strip("victim-static", tmp_path)
    victim = bare("victim-static", command=[copy])
    done = jescope(victim, "status", check=False)
    assert done.returncode == 1 and "jemalloc" in done.stderr


# Where it cannot be


def test_not_into_a_static_program(tmp_path):
    with services.started([VICTIMS / "storm-alone", tmp_path / "rounds", 1]) as process:
        done = services.jescope(tmp_path, "attach", process.pid, check=False)
        assert done.returncode == 1 and "it is statically linked" in done.stderr
        assert process.poll() is None


MUSL_PROGRAM = """
#include <stddef.h>
#include <unistd.h>
int mallctl(const char *n, void *o, size_t *os, void *w, size_t ws) { return 2; }
int mallctlnametomib(const char *n, size_t *m, size_t *l) { return 2; }
void malloc_stats_print(void (*w)(void *, const char *), void *o, const char *l) {}
int main(void) { write(1, "up\\n", 3); pause(); return 0; }
"""


def test_not_into_a_program_of_another_c_library(tmp_path):
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not installed")
    source = tmp_path / "program.c"
    source.write_text(MUSL_PROGRAM)
    subprocess.run(["musl-gcc", "-rdynamic", "-o", tmp_path / "program", source], check=True)
    with services.started([tmp_path / "program"]) as process:
        assert process.stdout.readline() == "up\n"
        done = services.jescope(tmp_path, "attach", process.pid, check=False)
        assert done.returncode == 1 and "its C library is musl" in done.stderr
        assert process.poll() is None


def test_not_where_the_c_library_is_older(bare, tmp_path):
    """An agent that needs what this C library does not have yet."""
    newer = tmp_path / AGENT.name
    newer.write_bytes(AGENT.read_bytes().replace(b"GLIBC_2.34\0", b"GLIBC_9.34\0"))
    victim = bare()
    assert "its C library is older than this agent: it lacks GLIBC_9.34" in refusal(victim, JESCOPE_AGENT=str(newer))
    assert_inert(victim)


def test_not_where_it_was_asked_to_keep_out(bare):
    victim = bare(env={"JESCOPE": "off"})
    assert "it was started with JESCOPE=off" in refusal(victim)
    assert_inert(victim)


def test_not_where_there_is_no_jemalloc():
    with subprocess.Popen(["sleep", "1000"]) as process:
        done = subprocess.run([services.JESCOPE, "attach", str(process.pid)], capture_output=True, text=True, check=False)
        process.kill()
    assert done.returncode == 1 and "does not use jemalloc" in done.stderr


def test_not_into_a_loop_without_system_calls(tmp_path):
    """The refusal names the one way that is left."""
    loop = [services.PYTHON, "-c", "print('loops', flush=True)\nwhile True: pass"]
    with subprocess.Popen(loop, env={**os.environ, "LD_PRELOAD": "libjemalloc.so.2"}, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"loops\n"
            done = subprocess.run([services.JESCOPE, "attach", str(process.pid)], env=environment(tmp_path), capture_output=True,
                                  text=True, timeout=services.DEADLINE, check=False)  # fmt: skip
        finally:
            process.kill()
    assert done.returncode == 1 and f"thread {process.pid} is not in a system call" in done.stderr
    assert "must be restarted under 'jescope run', otherwise try again\n" in done.stderr


def test_not_under_a_filter_unless_it_is_asked_for(bare):
    victim = bare(command=[program("forbid"), "unshare", "--", program()])
    assert "--under-seccomp attaches anyway" in refusal(victim)
    assert_inert(victim)
    done = jescope(victim, "attach", "--under-seccomp", check=False)
    if os.geteuid() == 0:
        assert done.returncode == 0, done.stderr
        victim.client().close()
    jescope(victim, "detach")


def test_says_what_is_wrong_with_its_directory(bare, tmp_path):
    odd = tmp_path / "odd"
    odd.mkdir(mode=0o755)
    victim = bare(env={"JESCOPE_SOCKET_DIR": str(odd)})
    assert "no directory for its socket" in refusal(victim)
    jescope(victim, "detach", check=False)


def test_a_stopped_program(bare):
    """Stopped by a signal or at work, a wait in a system call is a wait."""
    victim = bare()
    os.kill(victim.pid, signal.SIGSTOP)
    done = jescope(victim, "attach", check=False)
    os.kill(victim.pid, signal.SIGCONT)
    assert done.returncode in (0, 1)
    victim.ask("hold 1 100")
    jescope(victim, "attach")


def test_detach_needs_an_agent(bare):
    victim = bare()
    done = jescope(victim, "detach", check=False)
    assert done.returncode == 1 and "agent" in done.stderr
    assert list(threads(victim.pid)) == [victim.pid]


def test_says_what_cannot_be_profiled(bare):
    """The agent is in, and nothing is promised that it cannot do."""
    unprepared = bare("victim-standin", conf=None)
    done = jescope(unprepared, "attach")
    assert done.returncode == 0 and "agent attached" in done.stdout
    assert "cannot be profiled" in done.stderr and "prof:true" in done.stderr
    assert jescope(bare(), "attach").stderr == ""
