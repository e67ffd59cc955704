# SPDX-License-Identifier: Apache-2.0
"""jescope collect: real servers that restart, hang and are killed; logs that rotate; files that cannot be written."""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import pytest
from sanitized import SANITIZED, preloadable

BUILD = pathlib.Path(os.environ["JESCOPE_BUILD"])
JESCOPE = BUILD / "src" / "cli" / "jescope"
DEADLINE = 180
# Debian's redis-tools carries the multi-call server binary.
REDIS = next((found for name in ("redis-server", "redis-check-rdb", "redis-check-aof") if (found := shutil.which(name))), None)
needs_redis = pytest.mark.skipif(REDIS is None, reason="no redis binary; install redis-tools")


def eventually(question, what):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if answer := question():
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not within {DEADLINE} s: {what}")


class Room:
    """A user's surroundings: sockets and history of their own, and everything started ends with the test."""

    def __init__(self, folder):
        self.folder = folder
        self.history = folder / "history.db"
        self.sockets = folder / "sockets"
        self.sockets.mkdir(mode=0o700)
        self.env = dict(os.environ, JESCOPE_SOCKET_DIR=str(self.sockets), JESCOPE_HISTORY=str(self.history), TZ="UTC")
        self.started = []
        self.servers = []

    def start(self, *words, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([str(word) for word in words], env=self.env, text=True, **options)
        self.started.append(process)
        return process

    def collect(self, *words, **options):
        return self.start(JESCOPE, "collect", *words, **options)

    def run(self, *words, status=0):
        done = subprocess.run([JESCOPE, *map(str, words)], env=self.env, text=True, capture_output=True, timeout=DEADLINE)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done

    def targets(self):
        """By name, what `series --json` says; {} while there is nothing to read."""
        done = subprocess.run([JESCOPE, "series", "--json"], env=self.env, text=True, capture_output=True, timeout=DEADLINE)
        return {target["target"]: target for target in json.loads(done.stdout)["targets"]} if done.returncode == 0 else {}

    def samples(self, name):
        return self.targets().get(name, {}).get("samples", 0)

    def points(self, metric, *words):
        series = json.loads(self.run("series", metric, "--json", *words).stdout)["series"]
        return {one["target"]: one["points"] for one in series}

    def end(self):
        for server in self.servers:
            server.end()
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()


@pytest.fixture
def room(tmp_path):
    here = Room(tmp_path)
    yield here
    here.end()


def stop(collector, ending=signal.SIGTERM):
    collector.send_signal(ending)
    out, err = collector.communicate(timeout=DEADLINE)
    return collector.returncode, out, err


def unique(word):
    """A process name that no other test on this machine uses, within the kernel's fifteen letters."""
    return f"{word}-{os.getpid()}"[:15]


class Redis:
    def __init__(self, room, name):
        self.program = room.folder / name
        if not self.program.exists():
            # By the name it is called it knows what to be; without "check" in it that is the server.
            self.program.symlink_to(REDIS)
        self.socket = room.folder / f"{name}.sock"
        self.process = room.start(JESCOPE, "run", "--", self.program, "--port", "0", "--unixsocket", self.socket, "--save",
                                  "", "--set-proc-title", "no", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        room.servers.append(self)
        self.number = None
        eventually(self.answers, f"{name} answers")
        self.number = self.pid()

    def end(self):
        """The server itself: killing `jescope run` would leave it."""
        if self.number and self.process.poll() is None:
            os.kill(self.number, signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=DEADLINE)

    def answers(self):
        try:
            return self.ask("PING").startswith("+PONG")
        except OSError:
            return False

    def ask(self, *words):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(DEADLINE)
            link.connect(str(self.socket))
            parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
            link.sendall("".join(parts).encode())
            return link.recv(4096).decode()

    def pid(self):
        return int(self.ask("INFO", "server").split("process_id:")[1].split()[0])

    def stop(self):
        self.end()
        self.socket.unlink()


@needs_redis
def test_redis_through_a_restart(room):
    name = unique("rds")
    redis = Redis(room, name)
    collector = room.collect(f"cache={name}", "--every", "100ms")
    eventually(lambda: room.samples("cache") >= 5, "samples")
    redis.ask("SET", "key", "x" * 4_000_000)
    eventually(lambda: room.points("allocated")["cache"][-1][1] > 4_000_000, "the value shows")
    before = redis.number
    redis.stop()
    eventually(lambda: room.targets()["cache"]["notes"], "a note of its end")
    again = Redis(room, name)
    assert again.number != before
    eventually(lambda: room.targets()["cache"]["incarnations"] == 2, "it is the same target")
    status, out, err = stop(collector)
    assert status == 0 and "samples written" in out, err
    assert "sampled again" in err
    kept = room.targets()["cache"]
    assert [gap["restart"] for gap in kept["gaps"]].count(True) == 1
    assert kept["version"].startswith("5.")
    assert "sampled again" in kept["notes"][-1]["text"]
    # What the kernel says stands beside it, and a restart breaks no rate.
    assert room.points("process.rss")["cache"][-1][1] > 1_000_000
    assert all(value >= 0 for _, value in room.points("arena.small.nmalloc", "--rate")["cache"])


@needs_redis
def test_a_target_that_hangs_delays_no_other(room):
    well = Redis(room, unique("well"))
    ill = Redis(room, unique("ill"))
    collector = room.collect(f"well={well.number}", f"ill={ill.number}", "--every", "100ms")
    eventually(lambda: room.samples("well") >= 2 and room.samples("ill") >= 2, "samples of both")
    os.kill(ill.number, signal.SIGSTOP)
    try:
        hung = room.samples("ill")
        going = room.samples("well")
        eventually(lambda: room.samples("well") >= going + 20, "the other one goes on")
        assert room.samples("ill") <= hung + 1
        eventually(lambda: room.targets()["ill"]["notes"], "a note of the silence")
    finally:
        os.kill(ill.number, signal.SIGCONT)
    eventually(lambda: room.samples("ill") >= hung + 3, "it is sampled again")
    assert stop(collector, signal.SIGINT)[0] == 0
    # A busy machine has others.
    gap = max(room.targets()["ill"]["gaps"], key=lambda gap: gap["to"] - gap["from"])
    assert not gap["restart"] and gap["to"] - gap["from"] > 1


@needs_redis
def test_waits_for_a_process_by_name(room):
    name = unique("late")
    collector = room.collect(name, "--every", "100ms")
    eventually(lambda: room.targets().get(name), "a note that it is not there")
    assert room.samples(name) == 0
    Redis(room, name)
    eventually(lambda: room.samples(name) >= 2, "samples")
    assert stop(collector)[0] == 0


# A service of several processes of one name. For each line it reads it starts another worker ("start") or ends the
# oldest one ("end"), and says which workers it has.
MASTER = """
import os, signal, sys
workers = []
def start():
    pid = os.fork()
    if pid == 0:
        os.close(0); os.close(1)
        signal.pause()
    workers.append(pid)
def end():
    pid = workers.pop(0)
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
start()
print(os.getpid(), *workers, flush=True)
for line in sys.stdin:
    dict(start=start, end=end)[line.strip()]()
    print(os.getpid(), *workers, flush=True)
while workers: end()
"""


class Service:
    def __init__(self, room, name):
        self.program = room.folder / name
        if not self.program.exists():
            self.program.symlink_to("/usr/bin/python3")
        self.process = room.start(JESCOPE, "run", "--", self.program, "-c", MASTER, stdin=subprocess.PIPE)
        self.master, *self.workers = map(int, self.process.stdout.readline().split())

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        self.master, *self.workers = map(int, self.process.stdout.readline().split())

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE)
        self.process.stdin = None


def lives(room, name):
    """The pids that a series had, in their order."""
    with contextlib.closing(sqlite3.connect(f"file:{room.history}?mode=ro", uri=True)) as db:
        return [pid for pid, in db.execute("SELECT pid FROM incarnation JOIN target ON target.id = target WHERE name = ?"
                                           " ORDER BY incarnation.id", (name,))]


def grows(room, name):
    before = room.samples(name)
    eventually(lambda: room.samples(name) > before + 1, f"samples of {name}")


def test_all_processes_of_a_name(room):
    name = unique("svc")
    service = Service(room, name)
    collector = room.collect(f"web={name}", "--every", "100ms")
    for series in ("web", "web/2"):
        eventually(lambda series=series: room.samples(series) >= 2, f"samples of {series}")
    assert lives(room, "web") == [service.master] and lives(room, "web/2") == service.workers
    old = service.workers[0]
    # A reload: the new one is there before the old one ends.
    service.do("start")
    eventually(lambda: room.samples("web/3") >= 2, "the new one is followed")
    new = service.workers[1]
    assert lives(room, "web/3") == [new]
    service.do("end")
    eventually(lambda: room.targets()["web/2"]["notes"][-1]["text"] == f"{name} ({old}) has ended", "the old one is closed")
    closed = room.samples("web/2")
    grows(room, "web")
    grows(room, "web/3")
    assert room.samples("web/2") == closed
    # The next one goes on in the series that the old one left.
    service.do("start")
    eventually(lambda: room.samples("web/2") >= closed + 2, "the series goes on")
    assert lives(room, "web/2") == [old, service.workers[1]] and "web/4" not in room.targets()
    status, out, err = stop(collector)
    assert status == 0 and f"web/3: process {new}\n" in err and err.count("has ended") == 1
    # Running processes keep their series when collecting is restarted, even if others have ended.
    service.do("end")
    collector = room.collect(f"web={name}", "--every", "100ms")
    grows(room, "web")
    grows(room, "web/2")
    assert lives(room, "web") == [service.master] and lives(room, "web/3") == [new]
    assert lives(room, "web/2") == [old, service.workers[0]]
    service.end()
    again = Service(room, name)
    eventually(lambda: lives(room, "web")[-1] == again.master, "the service is restarted")
    grows(room, "web")
    assert stop(collector)[0] == 0
    again.end()


def test_a_namesake_that_cannot_be_sampled_is_named_once(room):
    name = unique("mix")
    service = Service(room, name)
    plain = room.start(service.program, "-c", "print(flush=True); input()", stdin=subprocess.PIPE)
    plain.stdout.readline()
    collector = room.collect(name, "--every", "100ms")
    eventually(lambda: room.samples(f"{name}/2") >= 2, "samples")
    service.do("end")
    service.process.stdin.close()
    service.process.wait(timeout=DEADLINE)
    service.process.stdin = None
    eventually(lambda: any("left out" in note["text"] for note in room.targets()[name]["notes"]), "it is named")
    again = Service(room, name)
    eventually(lambda: lives(room, name)[-1] == again.master, "the collector looks again and finds the service")
    status, out, err = stop(collector)
    assert status == 0 and err.count(f"left out {name} ({plain.pid}): it does not use jemalloc") == 1, err
    assert lives(room, name) == [service.master, again.master]
    again.end()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_a_namesake_of_another_user_gets_no_series_of_ours(room):
    name = unique("own")
    ours = Service(room, name)
    collector = room.collect(name, "--every", "100ms")
    grows(room, f"{name}/2")
    assert stop(collector)[0] == 0
    ours.end()
    with contextlib.closing(sqlite3.connect(room.history)) as db:
        owners = dict(db.execute("SELECT target, user FROM owner"))
        assert owners == {name: 0, f"{name}/2": 0}
        # As if these series had been another user's all the time.
        db.execute("UPDATE owner SET user = 65534")
        db.commit()
    theirs = Service(room, name)
    collector = room.collect(name, "--every", "100ms")
    grows(room, f"{name}/3")
    assert lives(room, name) == [ours.master] and lives(room, f"{name}/3") == [theirs.master]
    assert stop(collector)[0] == 0
    theirs.end()


# The first thread is GLib's own; the next two cannot be made.
NO_THREAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
int pthread_create(void *thread, void *attributes, void *start, void *data)
{
    static int calls;
    int (*real)(void *, void *, void *, void *) = dlsym(RTLD_NEXT, "pthread_create");
    calls++;
    return calls == 2 || calls == 3 ? EAGAIN : real(thread, attributes, start, data);
}
"""


@preloadable
def test_threads_that_cannot_be_made_are_told_at_once(room):
    library = room.folder / "no-thread.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=NO_THREAD, text=True, check=True)
    room.env["LD_PRELOAD"] = str(library)
    said = room.run("collect", unique("thr"), "--every", "100ms", status=1).stderr
    assert "cannot start" in said and "raise the limit on processes" in said


# --- logs -------------------------------------------------------------------------------------------------------------

SNAPSHOT = """___ Begin jemalloc statistics ___
Version: "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
Allocated: {0}, active: {1}, metadata: 3000000 (n_thp 0), resident: {2}, mapped: {3}, retained: 5000000
--- End jemalloc statistics ---
"""


def snapshot(number):
    return SNAPSHOT.format(1_000_000 + number, 2_000_000, 4_000_000, 6_000_000)


def allocated(room, name):
    done = subprocess.run([JESCOPE, "series", "allocated", "--target", name, "--json"], env=room.env, text=True,
                          capture_output=True, timeout=DEADLINE)
    return [value - 1_000_000 for _, value in json.loads(done.stdout)["series"][0]["points"]] if done.returncode == 0 else []


def test_log_through_rotation(room):
    log = room.folder / "console.log"
    log.write_text("from before\n" + snapshot(99))
    collector = room.collect("--log", log, "--every", "1s")
    eventually(room.history.exists, "it runs")

    def append(text):
        with log.open("a") as out:
            out.write(text)

    def seen(*numbers):
        eventually(lambda: allocated(room, "console") == list(numbers), f"{numbers}, not {allocated(room, 'console')}")

    # What was there before it began is not kept; it has begun when what is appended is.
    def begun():
        append(snapshot(1))
        return allocated(room, "console")

    assert set(eventually(begun, "it follows")) == {1}
    append(snapshot(2))
    eventually(lambda: 2 in allocated(room, "console"), "the second")
    ones = [1] * allocated(room, "console").count(1)
    half = len(snapshot(2)) // 2
    append("some line\n" + snapshot(6)[:half])
    append(snapshot(6)[half:])
    seen(*ones, 2, 6)
    # Renamed and recreated; the old file still gets its last lines.
    log.rename(room.folder / "console.log.1")
    with (room.folder / "console.log.1").open("a") as out:
        out.write(snapshot(3))
    log.write_text(snapshot(4))
    seen(*ones, 2, 6, 3, 4)
    # Copied and truncated.
    os.truncate(log, 0)
    append("x" * 10 + "\n" + snapshot(5))
    seen(*ones, 2, 6, 3, 4, 5)
    status, out, err = stop(collector)
    assert status == 0, err


def test_a_log_is_read_by_a_child_without_rights(room):
    log = room.folder / "console.log"
    log.write_text("")
    collector = room.collect("--log", log, "--every", "1s")

    def readers():
        with log.open("a") as out:
            out.write(snapshot(1))
        tasks = pathlib.Path(f"/proc/{collector.pid}/task").glob("*/children")
        found = [number for task in tasks for number in task.read_text().split()]
        return [number for number in found if "NoNewPrivs:\t1" in pathlib.Path(f"/proc/{number}/status").read_text()]

    eventually(readers, "a child without rights")
    eventually(lambda: allocated(room, "console"), "samples of it")
    assert stop(collector)[0] == 0


def test_a_log_of_any_number_of_writers_takes_no_memory(room):
    log = room.folder / "console.log"
    log.touch()
    collector = room.collect("--log", log, "--every", "1s")
    eventually(room.history.exists, "it runs")

    def word(number):
        return "".join(chr(ord("a") + number // 26**digit % 26) for digit in range(3))

    def lives():
        with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(room.history)) as database:
            return database.execute("SELECT count(*) FROM incarnation").fetchone()[0]
        return 0  # there is no table yet

    def resident():
        return int(re.search(r"VmRSS:\s*(\d+) kB", pathlib.Path(f"/proc/{collector.pid}/status").read_text()).group(1))

    # 200 writers, each of many versions.
    def append(versions):
        with log.open("a") as out:
            for version in versions:
                for writer in range(200):
                    out.write(f'{"w" * 300}{word(writer)} {{"jemalloc":{{"version":"{"v" * 100}{word(version)}","stats":'
                              '{"allocated":1,"active":2,"metadata":1,"resident":2,"mapped":3,"retained":0}}}\n')

    def begun():
        append([0])
        return lives() >= 200

    eventually(begun, "it reads what is appended")
    append(range(1, 10))
    eventually(lambda: lives() == 2000, "the first lives")
    before = resident()
    append(range(10, 70))
    eventually(lambda: lives() == 14000, "all lives")
    assert SANITIZED or resident() - before < 4096  # a sanitizer keeps memory that was freed
    assert stop(collector)[0] == 0


def test_command_makes_the_log(room):
    log = room.folder / "jem.log"
    log.touch()
    (room.folder / "snapshot").write_text(snapshot(7))
    collector = room.collect("--exec", f"cat {room.folder}/snapshot >> {log}", "--log", log, "--name", "aerospike", "--every",
                             "200ms")
    eventually(lambda: len(allocated(room, "aerospike")) >= 3, "samples")
    assert stop(collector)[0] == 0
    assert set(allocated(room, "aerospike")) == {7}


def test_command_that_fails_is_told(room):
    log = room.folder / "jem.log"
    collector = room.collect("--exec", "exit 3", "--log", log, "--every", "200ms", "--for", "300ms")
    out, err = collector.communicate(timeout=DEADLINE)
    assert collector.returncode == 0
    assert "'exit 3': " in err


# --- the file ---------------------------------------------------------------------------------------------------------


def feeder(room, count, log):
    """A program that appends COUNT numbered snapshots and says after each that it did."""
    script = room.folder / "feed.py"
    script.write_text(f"""
import sys, time
text = {SNAPSHOT!r}
for number in range({count}):
    with open({str(log)!r}, "a") as out:
        out.write(text.format(1_000_000 + number, 2_000_000, 4_000_000, 6_000_000))
    time.sleep(0.002)
""")
    return room.start(sys.executable, script)


def test_killed_at_any_moment(room):
    """Data seen by a reader before the kill exists after it, the file opens, and collecting continues."""
    log = room.folder / "jem.log"
    log.touch()
    kept = 0
    for round in range(12):
        collector = room.collect("--log", log, "--every", "100ms")
        feed = feeder(room, 2000, log)
        try:
            eventually(lambda: room.samples("jem") > kept, "samples")
            time.sleep(0.013 * round)
            before = room.samples("jem")
        finally:
            collector.kill()
            feed.kill()
        collector.wait()
        feed.wait()
        after = room.samples("jem")
        assert after >= before
        assert after == len(allocated(room, "jem"))
        with sqlite3.connect(room.history) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
        kept = after
    assert kept > 0


def test_locked_file_is_waited_for(room):
    log = room.folder / "jem.log"
    log.touch()
    collector = room.collect("--log", log, "--every", "100ms")
    feed = lambda number: log.open("a").write(snapshot(number))
    eventually(lambda: feed(1) and room.samples("jem") > 0, "samples")
    lock = sqlite3.connect(room.history, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    feed(2)
    line = collector.stderr.readline()
    assert "locked by another process" in line and "wait in memory" in line
    lock.execute("ROLLBACK")
    lock.close()
    eventually(lambda: 2 in allocated(room, "jem"), "what waited is written")
    status, out, err = stop(collector)
    assert status == 0 and "can be written again" in err


def test_full_disk(room):
    log = room.folder / "jem.log"
    log.touch()
    limit = 512 * 1024
    room.run("import", "-", "--history", room.history, status=1)  # makes the file
    collector = room.collect("--log", log, "--every", "100ms",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
    feed = feeder(room, 20000, log)
    line = collector.stderr.readline()
    assert "no space left" in line and "wait in memory" in line, line
    feed.kill()
    written = room.samples("jem")
    assert written > 0
    resource.prlimit(collector.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    line = collector.stderr.readline()
    assert "can be written again" in line, line
    eventually(lambda: room.samples("jem") > written, "what waited is written")
    assert stop(collector)[0] in (0, 3)


def test_two_collectors_share_a_file(room):
    logs = [room.folder / "one.log", room.folder / "two.log"]
    for log in logs:
        log.touch()
    collectors = [room.collect("--log", log, "--every", "100ms") for log in logs]
    eventually(lambda: all(log.open("a").write(snapshot(1)) for log in logs) and room.samples("one") and room.samples("two"),
               "both write")
    before = len(allocated(room, "one")), len(allocated(room, "two"))
    for number in range(2, 200):
        for log in logs:
            with log.open("a") as out:
                out.write(snapshot(number))
    for name in ("one", "two"):
        eventually(lambda: 199 in allocated(room, name), f"all of {name}")
    assert [stop(collector)[0] for collector in collectors] == [0, 0]
    for name in ("one", "two"):
        values = allocated(room, name)
        assert values[-198:] == list(range(2, 200))


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, status, said", [
    ([], 2, "a target is missing"),
    (["--exec", "true"], 2, "--exec needs --log"),
    (["--log", "x", "--every", "1ms"], 2, "--every: '1ms' is too short"),
    (["--log", "x", "--thin", "7d"], 2, "--thin: '7d' is not AGE:STEP"),
    (["--log", "x", "--detail", "some"], 2, "--detail: unknown word 'some'"),
    (["999999999"], 1, "999999999"),
])
def test_refuses(room, words, status, said):
    assert said in room.run("collect", *words, status=status).stderr


def test_read_only_file(room, open_path):
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root may write anything, and there is no setpriv to become somebody else")
    file = open_path / "history.db"
    log = open_path / "jem.log"
    log.write_text(snapshot(1))
    room.run("import", log, "--history", file)
    file.chmod(0o444)
    open_path.chmod(0o555)
    become = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 else []

    def as_user(*words):
        return subprocess.run([*become, JESCOPE, *words, "--history", file], env=room.env, text=True, capture_output=True,
                              timeout=DEADLINE)

    if become and subprocess.run([*become, JESCOPE, "--version"], capture_output=True).returncode != 0:
        pytest.skip("the build directory is closed to others")
    done = as_user("collect", "--log", "x", "--for", "1s")
    assert done.returncode == 1 and "may not be written to" in done.stderr
    # Reading needs no write access, though the file is in WAL mode.
    done = as_user("series", "allocated", "--format", "csv")
    open_path.chmod(0o755)
    assert done.returncode == 0 and done.stdout.endswith(",1000001\n"), done.stderr


# --- get-jem-stats ----------------------------------------------------------------------------------------------------


@pytest.fixture
def asinfo(room):
    """An asinfo that notes how it was called and when, makes noise, and fails."""
    folder = room.folder / "bin"
    folder.mkdir()
    script = folder / "asinfo"
    script.write_text(f'#!/bin/sh\necho "$*" >> {room.folder}/calls\necho noise\necho noise >&2\nexit 1\n')
    script.chmod(0o755)
    room.env["PATH"] = f"{folder}:{room.env['PATH']}"
    (folder / "get-jem-stats").symlink_to(JESCOPE)
    return folder / "get-jem-stats"


def calls(room):
    file = room.folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize("interval", ["1", "0.5", "1s"])
def test_get_jem_stats_every_second(room, asinfo, interval):
    """Intervals are those of sleep(1)."""
    process = room.start(asinfo, interval)
    eventually(lambda: len(calls(room)) >= 3, "three calls")
    assert set(calls(room)) == {"-v jem-stats:"}
    assert stop(process) == (0, "", "")


@pytest.mark.parametrize("words", [[], ["1", "2"], ["10m"]])
def test_get_jem_stats_default(room, asinfo, words):
    """The first call comes at once, the second after ten minutes."""
    process = room.start(asinfo, *words)
    eventually(lambda: calls(room), "a call")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2.5)
    assert len(calls(room)) == 1
    assert stop(process) == (0, "", "")


def test_get_jem_stats_without_asinfo(room, asinfo):
    (asinfo.parent / "asinfo").unlink()
    process = room.start(asinfo, "1")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1.5)
    assert stop(process) == (0, "", "")


def test_get_jem_stats_refuses(room, asinfo):
    process = room.start(asinfo, "soon")
    assert process.communicate(timeout=DEADLINE) == ("", "get-jem-stats: invalid interval 'soon'; give seconds as sleep(1) takes them, up to 2000000: 30, 0.5, 10m\n")
    assert process.returncode == 2
