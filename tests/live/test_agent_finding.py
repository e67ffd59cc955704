# SPDX-License-Identifier: Apache-2.0
"""Where the agent finds a jemalloc, when it stays away, and what it never asks an old one."""

import os
import pathlib
import shutil
import subprocess

import pytest
import wire
from victims import AGENT, DEBUG, assert_inert, complaint, program

SERVES, SYMTAB = wire.WIRE_FLAG_SERVES_MALLOC, wire.WIRE_FLAG_FROM_SYMTAB

# variant, prefix, flags that are set among SERVES and SYMTAB, the file that holds it
PLACES = [
    ("victim", b"", SERVES, b"libjemalloc.so.2"),
    ("victim-static", b"", SERVES | SYMTAB, b"victim-static"),
    ("victim-rjem", b"_rjem_", SYMTAB, b"victim-rjem"),
    ("victim-je", b"je_", SYMTAB, b"victim-je"),
    ("victim-shared-rjem", b"_rjem_", 0, b"libjemalloc-rjem.so"),
    ("victim-shared-je", b"je_", 0, b"libjemalloc-je.so"),
    ("victim-hidden", b"_rjem_", SYMTAB, b"libheap.so"),
]


@pytest.mark.parametrize("variant, prefix, flags, holder", PLACES, ids=[row[0] for row in PLACES])
def test_found_wherever_it_is(start, variant, prefix, flags, holder):
    victim = start(variant, conf="prof:true,prof_active:false,lg_prof_sample:0")
    with victim.client() as client:
        greeting = client.greeting
        assert greeting.prefix == prefix
        assert greeting.flags & (SERVES | SYMTAB) == flags
        assert os.path.basename(greeting.found_in) == holder
        assert greeting.jemalloc_version.startswith(b"5.3.0")
        # It is the one that the program itself allocates from.
        client.write("prof.active", "bool", 1)
        assert victim.ask("read 1 prof.active") == "1"
        victim.ask("hold 100 5120")
        assert client.dump().count(b"\n  t*: 1: 5120 ") == 100
        assert client.stats().startswith(b"___ Begin jemalloc statistics ___")


@pytest.mark.parametrize("first", ["agent first", "jemalloc first"])
def test_preloaded_beside_the_agent(start, first):
    maps = pathlib.Path(f"/proc/{start().pid}/maps").read_text()
    jemalloc = next(line.split()[-1] for line in maps.splitlines() if "libjemalloc.so" in line)
    preload = [AGENT, jemalloc] if first == "agent first" else [jemalloc, AGENT]
    with start("victim-plain", preload=preload).client() as client:
        assert client.greeting.flags & SERVES
        assert client.dump().startswith(b"heap_v2/")


@pytest.mark.parametrize("variant", ["victim-static", "victim-rjem"])
def test_stripped_of_its_names_it_is_not_found(start, variant, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-s", "-o", stripped, program(variant)], check=True)
    assert_inert(start(variant, command=[stripped]))


def test_found_under_a_file_name_with_strange_characters(start, tmp_path):
    strange = tmp_path / "a b\tc (deleted)\n.so"
    shutil.copy(program("victim-static"), strange)
    with start(command=[strange]).client() as client:
        assert client.greeting.flags & SYMTAB
        assert client.dump().startswith(b"heap_v2/")


def test_found_although_the_file_was_replaced(start, tmp_path):
    """An upgrade under a running program: the file on disk differs from the loaded one."""
    path = tmp_path / "program"
    shutil.copy(program("victim-static"), path)
    victim = start(command=[path])
    victim.client().close()
    path.unlink()
    path.write_bytes(b"\x7fELF nonsense")
    child = int(victim.ask("fork"))
    for pid in (victim.pid, child):
        with victim.client(pid) as client:
            assert client.dump().startswith(b"heap_v2/")
    victim.ask("reap")


def test_without_jemalloc_it_is_not_there(start):
    assert_inert(start("victim-plain"))


def test_a_jemalloc_that_serves_nobody_is_left_alone(start):
    assert_inert(start("victim-shadow"))


def test_python_has_no_jemalloc(start, sockets):
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import os; print(*(len(os.listdir(f'/proc/self/{what}')) for what in ('task', 'fd')))"],
        env={"LD_PRELOAD": str(AGENT), "JESCOPE_SOCKET_DIR": str(sockets)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("1 4\n", "")
    assert os.listdir(sockets) == []


# Started with prof:false, or built without profiling


def profiling_requests(client):
    """Every request that would touch the profiler."""
    yield "read prof.active", lambda: client.read("prof.active", "bool")
    yield "write prof.active", lambda: client.write("prof.active", "bool", 1)
    yield "clear prof.active", lambda: client.write("prof.active", "bool", 0)
    yield "exchange prof.active", lambda: client.ctl("prof.active", "bool", wire.WIRE_CTL_READ | wire.WIRE_CTL_WRITE, 1)
    yield "reset", lambda: client.act("prof.reset")
    yield "reset with a rate", lambda: client.write("prof.reset", "size", 10)
    yield "gdump", lambda: client.write("prof.gdump", "bool", 1)
    yield "thread_active_init", lambda: client.write("prof.thread_active_init", "bool", 1)
    yield "lg_sample", lambda: client.read("prof.lg_sample", "size")
    yield "interval", lambda: client.read("prof.interval", "u64")
    yield "thread.prof.active", lambda: client.read("thread.prof.active", "bool")
    yield "thread.prof.name", lambda: client.read("thread.prof.name", "string")
    yield "unknown prof control", lambda: client.read("prof.no_such_thing", "bool")
    yield "prof stats", lambda: client.read("prof.stats.bins.0.live", "u64")
    yield "dump", client.dump
    yield "take", lambda: client.take(1000)
    yield "take inactive", lambda: client.take(1000, active=0)


def assert_profiling_is_refused(client):
    for what, request in profiling_requests(client):
        with pytest.raises(wire.Refused) as caught:
            request()
        assert caught.value.status == wire.WIRE_STATUS_PROF_DISABLED, what
    assert client.hello().flags & (wire.WIRE_FLAG_PROF_ACTIVE | wire.WIRE_FLAG_LEASED) == 0


def test_prof_false_is_said_and_respected(start):
    """The profiler is never called: jescope's own sampler takes its place."""
    victim = start(conf="prof:false")
    with victim.client() as client:
        both = wire.WIRE_FLAG_CONFIG_PROF | wire.WIRE_FLAG_OPT_PROF
        assert client.greeting.flags & both == wire.WIRE_FLAG_CONFIG_PROF
        assert client.greeting.flags & wire.WIRE_FLAG_SAMPLER_SERVES
        for control, kind in [("thread.prof.active", "bool"), ("prof.no_such_thing", "bool"), ("prof.stats.bins.0.live", "u64")]:
            with pytest.raises(wire.Refused):
                client.read(control, kind)
        assert client.read("stats.allocated", "size") > 0
        assert client.stats().startswith(b"___ Begin")


@pytest.mark.parametrize("prof", ["off", "none"])
@pytest.mark.parametrize("version", ["4.5.0-0-g04380e79f1e2428bd0ad000bbc6e3d2dfc6b66a5", "5.2.1-0-gea6b3e973b47"])
def test_an_old_jemalloc_without_profiling_is_asked_nothing_dangerous(start, tmp_path, version, prof):
    log = tmp_path / "calls"
    victim = start("victim-standin", env={"STANDIN_LOG": str(log), "STANDIN_VERSION": version, "STANDIN_PROF": prof})
    with victim.client() as client:
        assert client.greeting.jemalloc_version.decode() == version
        assert client.greeting.flags & wire.WIRE_FLAG_OPT_PROF == 0
        assert bool(client.greeting.flags & wire.WIRE_FLAG_CONFIG_PROF) == (prof == "off")
        assert_profiling_is_refused(client)
        assert client.read("stats.allocated", "size") == 123456
        assert client.stats("J")
    with victim.client() as client:
        client.hello()
    child = int(victim.ask("fork"))
    victim.client(child).close()
    victim.ask("reap")
    calls = log.read_text().splitlines()
    asked = [call.split()[1] for call in calls if len(call.split()) > 1]
    assert "config.prof" in asked and "stats.allocated" in asked, "the stand-in was not asked at all"
    assert [name for name in asked if name.startswith(("prof.", "thread.prof."))] == []
    writes = {call for call in calls if not call.startswith(("read ", "mib ", "stats"))}
    assert writes <= {"write epoch", "write thread.arena", "write thread.tcache.enabled"}


@pytest.mark.parametrize("variant", ["victim-standin", "victim-standin-je"])
def test_jemalloc_3_dumps_in_a_thread_that_never_allocated(start, variant):
    victim = start(variant, env={"STANDIN_VERSION": "3.6.0-0-g46c0af68bd24", "STANDIN_PROF": "on"})
    with victim.client() as client:
        assert client.dump().startswith(b"heap")


def test_an_old_jemalloc_is_never_asked_to_reset_an_arena(start, tmp_path):
    log = tmp_path / "calls"
    victim = start("victim-standin", env={"STANDIN_LOG": str(log)})
    with victim.client() as client:
        for name in ("arena.0.reset", "arena.0.destroy"):
            with pytest.raises(wire.Refused):
                client.act(name)
        client.act("arena.0.purge")
    calls = log.read_text().splitlines()
    assert "act arena.0.purge" in calls
    assert not [call for call in calls if "reset" in call or "destroy" in call]


# What the environment says


def test_off(start):
    assert_inert(start(env={"JESCOPE": "off"}))


@pytest.mark.parametrize("value", ["on", "", "OFF ", "offline"])
def test_only_off_is_off(start, value):
    start(env={"JESCOPE": value}).client().close()


@pytest.mark.parametrize("names", ["victim", "redis-server,victim", "victim,redis-server", "a,,victim,"])
def test_only_lists_it(start, names):
    start(env={"JESCOPE_ONLY": names}).client().close()


@pytest.mark.parametrize("names", ["redis-server", "victi", "victims", "Victim", "victim2,xvictim", ","])
def test_only_does_not_list_it(start, names):
    assert_inert(start(env={"JESCOPE_ONLY": names}))


# Where the socket lives


def start_without_socket(start, folder):
    """A victim whose agent cannot have its socket in FOLDER, after the agent found that out."""
    victim = start(sockets=folder, env=DEBUG)
    complaint(victim)
    assert victim.ask("hold 10 100") == "10"
    assert victim.ask("drop") == "dropped"
    return victim


def test_debug_speaks_on_stderr(start):
    assert b"/proc/nowhere" in complaint(start(env=DEBUG, sockets=pathlib.Path("/proc/nowhere")))


def test_an_unwritable_directory(start):
    start_without_socket(start, pathlib.Path("/proc/nowhere/deep"))


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_directory_that_may_not_be_written(start, open_path):
    shutil.copy(AGENT, open_path)
    victim = start(sockets=open_path / "new", env=DEBUG, preload=[open_path / AGENT.name], user=65534, group=65534)
    complaint(victim)
    assert victim.ask("hold 10 100") == "10"
    assert os.listdir(open_path) == [AGENT.name]


@pytest.mark.parametrize("to", ["own directory", "nothing"])
def test_a_link_is_never_followed(start, tmp_path, to):
    elsewhere = tmp_path / "elsewhere"
    if to == "own directory":
        elsewhere.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    start_without_socket(start, link)
    assert not elsewhere.exists() or os.listdir(elsewhere) == []
    assert link.is_symlink()


def test_a_file_in_the_directorys_place(start, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"mine")
    start_without_socket(start, path)
    assert path.read_bytes() == b"mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory to another user needs root")
def test_a_directory_of_another_user(start, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    start_without_socket(start, folder)
    assert os.listdir(folder) == []
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o701, 0o1777])
def test_a_directory_that_others_may_enter(start, tmp_path, mode):
    folder = tmp_path / "wide"
    folder.mkdir()
    folder.chmod(mode)
    start_without_socket(start, folder)
    assert os.listdir(folder) == []


def test_a_directory_that_does_not_exist_yet(start, tmp_path):
    victim = start(sockets=tmp_path / "new")
    victim.client().close()
    assert victim.sockets.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("umask", [0, 0o777])
def test_a_directory_that_does_not_exist_yet_whatever_the_umask(start, tmp_path, umask):
    victim = start(sockets=tmp_path / "new", preexec_fn=lambda: os.umask(umask))
    victim.client().close()
    assert victim.sockets.stat().st_mode & 0o777 == 0o700
    assert victim.socket_of().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("length", [80, 107, 108, 200, 900])
def test_a_long_directory(start, tmp_path, length):
    """sun_path ends at 108 bytes; the directory need not."""
    folder = tmp_path
    while len(str(folder)) < length:
        folder = folder / ("d" * min(200, max(1, length - len(str(folder)) - 1)))
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    with start(sockets=folder).client() as client:
        assert client.dump().startswith(b"heap_v2/")


@pytest.mark.parametrize("folder", ["/" + "/".join(["d" * 200] * 30), "relative/path"], ids=["endless", "relative"])
def test_a_directory_that_cannot_be_named_is_not_replaced_by_another(start, tmp_path, folder):
    victim = start(env={"JESCOPE_SOCKET_DIR": folder, "XDG_RUNTIME_DIR": str(tmp_path), **DEBUG}, cwd=tmp_path)
    complaint(victim, b"JESCOPE_SOCKET_DIR")
    assert victim.ask("hold 10 100") == "10"
    assert_inert(victim)
    assert os.listdir(tmp_path) == ["sockets"]


@pytest.mark.parametrize("given", [None, ""])
def test_the_runtime_directory(start, tmp_path, given):
    victim = start(env={"JESCOPE_SOCKET_DIR": given, "XDG_RUNTIME_DIR": str(tmp_path)}, sockets=tmp_path / "jescope")
    victim.client().close()
    assert (tmp_path / "jescope").stat().st_mode & 0o777 == 0o700


def test_stale_sockets_are_in_nobodys_way(start, sockets):
    """Left by processes that were killed: names that look like ours, of no process that lives."""
    for number in range(2000):
        (sockets / f"{number}.1.sock").touch()
    start().client().close()
    assert len(os.listdir(sockets)) <= 2001


def test_a_removed_socket_directory_harms_nobody(start, sockets):
    victim = start()
    with victim.client() as client:
        shutil.rmtree(sockets)
        assert client.hello().pid == victim.pid
    assert victim.ask("hold 1 100") == "1"
