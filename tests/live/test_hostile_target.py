# SPDX-License-Identifier: Apache-2.0
"""A target that owns its agent's socket and does its worst: no command dies, hangs, or takes what it is given for a profile."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import time

import pytest

from services import JESCOPE, environment, jescope, service, started, wait_for
from terminal import shown

PROGRAM = pathlib.Path(__file__).parent / "programs/hostile_agent.py"
MODES = ["well", "ansi", "bad-utf8", "garbage", "prof-disabled", "refuses", "ones", "one-row", "held", "sparse", "lseek"]
COMMANDS = ["status", "dump", "stats", "report"]
SECONDS = 40  # of one command; the deadlines of a whole command are far shorter


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "agents").mkdir(mode=0o700)
    return tmp_path


@contextlib.contextmanager
def hostile(folder, mode):
    with started([sys.executable, PROGRAM, mode], env=environment(folder)) as process:
        assert int(process.stdout.readline()) == process.pid
        yield process


def words_of(command, pid, folder):
    extra = {"dump": ["-o", folder / "taken"]}.get(command, [])
    return [command, pid, *extra]


@pytest.mark.parametrize("mode", MODES)
def test_commands_end_by_themselves(folder, mode):
    with hostile(folder, mode) as target:
        for command in ["ps", *COMMANDS]:
            begun = time.monotonic()
            done = jescope(folder, *(["ps"] if command == "ps" else words_of(command, target.pid, folder)), check=False)
            assert done.returncode in (0, 1, 3), (mode, command, done)
            assert time.monotonic() - begun < SECONDS, (mode, command)
            assert "\x1b" not in done.stdout + done.stderr
            if done.returncode == 1:
                assert done.stderr.startswith("jescope: ") and done.stderr.count("\n") == 1, (mode, command, done.stderr)


@pytest.mark.parametrize("message", [["jem-stats:"], ["memory_profile", "stats"]])
def test_statistics_sent_to_a_terminal(folder, message):
    """Those of jem-stats go to standard error, as lines of a log."""
    with hostile(folder, "ansi") as target:
        text = shown(folder, "msg", target.pid, *message)
        assert "Version: ?[2J" in text and not set(text) & {"\x1b", "\x07", "\x9b"}, text


def test_a_dump_does_not_say_whose_it_is(folder):
    """Its text and its agent say that it is of process 1, and its environment that it is root's."""
    begun = time.time()
    with started([sys.executable, PROGRAM, "forges"], env=environment(folder, FAKE="mallory")) as target:
        assert int(target.stdout.readline()) == target.pid
        start = int(pathlib.Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()[19])
        printed = jescope(folder, "push", target.pid, "--print=json", "--label-from-env=user=FAKE", check=False)
        found = json.loads(printed.stdout)
        assert (found["pid"], found["start_ticks"], found["labels"]["user"]) == (target.pid, start, pwd.getpwuid(os.getuid()).pw_name)
        assert found["time_us"] >= begun * 1e6
        jescope(folder, "dump", target.pid, "-o", folder / "taken", check=False)
        own = (folder / "taken").read_text().splitlines()[-1]
        assert own.startswith("jescope_capture=1 ") and f" pid={target.pid} start={start} " in own, own


def test_a_refused_hello_is_a_malformed_reply(folder):
    with hostile(folder, "prof-disabled") as target:
        for command in COMMANDS:
            done = jescope(folder, *words_of(command, target.pid, folder), check=False)
            assert done.returncode == 1 and "a reply that the protocol does not allow" in done.stderr


def get(socket, path):
    return subprocess.run(["curl", "-s", "--unix-socket", socket, f"http://localhost{path}"], capture_output=True, text=True,
                          timeout=SECONDS)


def pids_served(socket):
    done = get(socket, "/api/v1/targets")
    return [row["pid"] for row in json.loads(done.stdout)["targets"]] if done.returncode == 0 else []


def test_serve_lives_on(folder):
    """It finds targets by itself, including this one."""
    socket = folder / "http.sock"
    with started([JESCOPE, "serve", "--blackbox=off", "--listen", f"unix:{socket}"], env=environment(folder)) as server:
        wait_for(socket.exists, "serve listens")
        with hostile(folder, "prof-disabled"), service(folder) as honest:
            wait_for(lambda: honest.pid in pids_served(socket), "serve lists the honest target")
            assert "jescope_" in get(socket, "/metrics").stdout
            assert server.poll() is None


def test_what_is_no_json_is_not_served_as_json(folder):
    """Clients read what the server says is JSON; the target prints a dump there."""
    socket = folder / "http.sock"
    with started([JESCOPE, "serve", "--blackbox=off", "--listen", f"unix:{socket}"], env=environment(folder)) as server:
        wait_for(socket.exists, "serve listens")
        with hostile(folder, "well") as target:
            wait_for(lambda: target.pid in pids_served(socket), "serve lists the target")
            failure = get(socket, f"/api/v1/targets/{target.pid}/statistics").stdout
            assert "printed statistics that are not JSON" in json.loads(failure)["error"]["message"], failure
            assert get(socket, f"/api/v1/targets/{target.pid}/statistics?format=text").stdout.startswith("heap_v2")
            assert server.poll() is None


def test_holes_are_no_dump(folder):
    with hostile(folder, "sparse") as target:
        done = jescope(folder, "dump", target.pid, "-o", folder / "taken", check=False)
        assert done.returncode == 1 and "holes" in done.stderr
        assert not (folder / "taken").exists()


@pytest.mark.parametrize("command", [["stats"], ["doctor", "--for=1s"], ["ledger"]], ids=lambda words: words[0])
def test_more_arenas_than_jemalloc_has(folder, command):
    """Reading each of them took half a minute."""
    with hostile(folder, "arenas") as target:
        done = jescope(folder, *command, target.pid, check=False)
        said = "says that it has 4294967296 arenas; jemalloc has 4096 at most" in done.stderr
        assert done.returncode == 1 and said or command == ["ledger"] and "arenas" not in done.stdout, done


def test_doctor_does_not_wait_for_the_last_statistics(folder):
    """It did for two minutes; what is missing is said."""
    with hostile(folder, "late-statistics") as target:
        begun = time.monotonic()
        done = jescope(folder, "doctor", "--for=2s", target.pid, check=False)
        assert done.returncode in (0, 4), done
        assert "the size classes of each arena could not be read in time" in done.stdout
        assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize("command", ["dump", "stats"])
def test_output_without_end(folder, command):
    with hostile(folder, "endless") as target:
        begun = time.monotonic()
        words = [*words_of(command, target.pid, folder), "--max-output", "8MiB"] + ["--options", "a"] * (command == "stats")
        done = jescope(folder, *words, check=False)
        assert done.returncode == 1 and "--max-output" in done.stderr
        assert time.monotonic() - begun < SECONDS
        # What it wrote is not left to it: its descriptor leads to an empty file that cannot grow.
        wait_for(lambda: not [size for size in memory_files(target.pid) if size > 0], "what it wrote is freed")


def memory_files(pid):
    found = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if entry.readlink().name.startswith("memfd:jescope"):
                found.append(entry.stat().st_size)
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="a file is made with root's rights by root alone")
def test_a_user_that_becomes_root_has_no_file_made(folder):
    """It names the file and has its bytes; it could execute sudo while its dump is taken."""
    with started([sys.executable, PROGRAM, "becomes-root"], env=environment(folder), cwd=folder) as target:
        assert int(target.stdout.readline()) == target.pid
        done = jescope(folder, "msg", target.pid, "memory_profile", "dump", check=False)
        assert done.returncode == 1 and "Operation not permitted" in done.stderr
        assert not list(folder.glob("*.heap"))


def dump_of_secret_library(folder):
    """A dump whose addresses lie in a copy of the C library that only root may read."""
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    line = next(line for line in maps if " r-xp " in line and ("/libc.so" in line or "/libc-" in line))
    first, last = (int(word, 16) for word in line.split()[0].split("-"))
    secret = folder / "secret.so"
    shutil.copyfile(line.split()[-1], secret)
    secret.chmod(0o600)
    stacks = "".join(f"@ {address:#x}\n  t*: 1: 8 [0: 0]\n" for address in range(first + 16, last, 997))
    path = folder / "given.heap"
    fields = [*line.split()[:4], str(secret.stat().st_ino), str(secret)]
    path.write_text(f"heap_v2/524288\n  t*: 1: 8 [0: 0]\n{stacks}\nMAPPED_LIBRARIES:\n{' '.join(fields)}\n")
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what others may not")
def test_a_user_that_says_it_is_root_and_ends(open_path):
    """Functions of its last dump are looked up with its own rights."""
    folder = open_path
    (folder / "agents").mkdir(mode=0o700)
    dump = dump_of_secret_library(folder)
    assert "printf" in jescope(folder, "report", "--format=symbolized", dump).stdout
    dump.chmod(0o644)
    # Its parent collects its exit status at once: as a zombie it would still show its user.
    with started(["sh", "-c", '"$@"; exit', "sh", sys.executable, PROGRAM, "claims-root", dump], env=environment(folder)) as parent:
        pid = int(parent.stdout.readline())
        taken = folder / "taken"
        done = jescope(folder, "record", pid, "--for=600s", "--symbolize", "-o", taken, check=False)
        assert taken.exists(), done
        named = taken.read_text()
        assert "secret.so" in named and "printf" not in named


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what others may not")
def test_a_dump_of_the_black_box_is_its_authors(open_path):
    """The file is root's; functions are looked up with the rights of the user of the process all the same."""
    folder = open_path
    (folder / "agents").mkdir(mode=0o700)
    dump = dump_of_secret_library(folder)
    dump.chmod(0o644)
    box = f"--directory={folder / 'box'}"
    with started([sys.executable, PROGRAM, "claims-root", dump], env=environment(folder)) as target:
        pid = int(target.stdout.readline())
        with started([JESCOPE, "watch", "-v", "--no-profiling", box, pid], env=environment(folder), stderr=subprocess.PIPE) as watch:
            assert "snapshot 1 (first)" in watch.stderr.readline()
            target.kill()
            assert watch.wait(SECONDS) == 0
    named = jescope(folder, "last", pid, box, "--format=symbolized").stdout
    assert "secret.so" in named and "printf" not in named
    assert "printf" not in jescope(folder, "last", pid, box).stdout
    [life] = json.loads(jescope(folder, "last", pid, box, "--json").stdout)["lives"]
    assert life["uid"] == 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what others may not")
@pytest.mark.parametrize("mode", ["becomes-root", "becomes-root-early"])
def test_a_user_that_becomes_root_names_no_files(open_path, mode):
    """While it is greeted, or its dump is taken, it could execute sudo, and another process with its socket answer."""
    folder = open_path
    (folder / "agents").mkdir(mode=0o700)
    dump = dump_of_secret_library(folder)
    dump.chmod(0o644)
    box = f"--directory={folder / 'box'}"

    takes = [lambda pid: jescope(folder, "dump", pid, "--symbolize", "-o", "-").stdout,
             lambda pid: jescope(folder, "report", pid, "--format=symbolized").stdout,
             lambda pid: kept_by_watch(folder, pid, box)]
    for n, take in enumerate(takes):
        with started([sys.executable, PROGRAM, mode, dump], env=environment(folder)) as target:
            assert int(target.stdout.readline()) == target.pid
            named = take(target.pid)
            assert "secret.so" in named and "printf" not in named, n
            uids = next(line for line in pathlib.Path(f"/proc/{target.pid}/status").read_text().splitlines() if line.startswith("Uid:"))
            assert uids.split()[1:4] == ["0"] * 3


def descendants(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(child)
            yield from descendants(child)


def processor_time_of(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        if found := re.search(r"^Max cpu time +(\d+)", limits, re.MULTILINE):
            return int(found[1])
    return None


def processor_times(folder, *words):
    """The seconds of a processor that the children of a command may take."""
    seen = set()
    with subprocess.Popen([JESCOPE, *map(str, words)], env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as command:
        try:
            while command.poll() is None:
                seen |= {processor_time_of(child) for child in descendants(command.pid)}
            assert command.returncode in (0, 4), command.stderr.read()
        finally:
            command.kill()
    return seen - {None}


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")
@pytest.mark.parametrize("mode", ["another-user", "same-user"])
def test_processor_time_for_what_another_users_process_says(open_path, mode):
    """It is in a file of the reader's own: what counts is who chose it. The text is long, so that its reader is seen."""
    folder = open_path
    (folder / "agents").mkdir(mode=0o700)
    text = folder / "given.heap"
    stacks = "".join(f"@ {' '.join(hex(0x1000 + (n * 7919 + k * 104729) % 0x2A0000) for k in range(30))}\n  t*: 1: 8 [0: 0]\n" for n in range(5000))
    text.write_text(f"heap_v2/524288\n  t*: 1: 8 [0: 0]\n{stacks}\nMAPPED_LIBRARIES:\n")
    text.chmod(0o644)
    with started([sys.executable, PROGRAM, mode, text], env=environment(folder)) as target:
        pid = int(target.stdout.readline())
        for words, seconds in [(["report", pid], 120), (["growth", text, text, pid], 120), (["push", pid, "--print=json"], 120),
                               (["dump", pid, "--symbolize", "-o", folder / "named"], 120), (["doctor", "--for=1s", pid], 30)]:
            wanted = seconds if mode == "another-user" else 1800
            assert processor_times(folder, *words) - {wanted + 1} == {wanted}, words  # the hard limit is set first, a second later


def kept_by_watch(folder, pid, box):
    with started([JESCOPE, "watch", "-v", "--no-profiling", box, pid], env=environment(folder), stderr=subprocess.PIPE) as watch:
        assert "snapshot 1 (first)" in watch.stderr.readline()
    return jescope(folder, "last", pid, box, "--format=symbolized").stdout


def test_an_offset_that_moves(folder):
    """A descriptor that was sent shares its offset; reading must not depend on it."""
    with hostile(folder, "lseek") as target:
        jescope(folder, "dump", target.pid, "-o", folder / "taken")
        text = (folder / "taken").read_text()
        assert text.startswith("heap_v2/") and text.count("@ 0x1000") == 50000 and text.count("MAPPED_LIBRARIES:\n") == 1
        jescope(folder, "report", target.pid)
