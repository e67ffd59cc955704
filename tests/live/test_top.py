# SPDX-License-Identifier: Apache-2.0
"""jescope top: frames without a terminal, and on one."""

import contextlib
import getpass
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.request

import pytest

from services import DEADLINE, JESCOPE, children, environment, free_port, jescope, profiling, redis, service, started, wait_for
from tmux import tmux

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def lines_of(scratch, *words):
    done = jescope(scratch, "top", "--json", "--every", "100ms", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def find(document, pid):
    return next((target for target in document["targets"] if target["pid"] == pid), None)


def test_json_lines_have_status_and_gain(tmp_path):
    with service(tmp_path) as python:
        assert [line["format"] for line in lines_of(tmp_path, "--count", "3", str(python.pid))] == ["jescope-top"] * 3
        with started([JESCOPE, "top", "--json", "--every", "100ms", python.pid], env=environment(tmp_path)) as top:
            first = last = json.loads(top.stdout.readline())
            # On a busy machine samples are late, and there is no gain before there are two.
            while not isinstance((found := find(last, python.pid)) and found["gain_per_minute"]["allocated"], int):
                before, last = last, json.loads(top.stdout.readline())
                assert before["time"] < last["time"] < first["time"] + DEADLINE
        assert find(first, python.pid)["gain_per_minute"]["allocated"] is None
        last = find(last, python.pid)
        status = json.loads(jescope(tmp_path, "status", "--json", str(python.pid)).stdout)
        assert set(status) - {"format", "version"} <= set(last)
        assert last["sample"]["allocated"] > 0 and last["reach"] == "agent"


def test_once_lists_and_describes(tmp_path):
    with service(tmp_path) as python:
        listed = jescope(tmp_path, "top", "--once").stdout
        assert str(python.pid) in listed and "RSS" in listed.splitlines()[0] and "\x1b" not in listed
        one = jescope(tmp_path, "top", "--once", str(python.pid)).stdout
        assert "live allocations" in one and "program text" in one and "Control group" in one
        assert "unexplained" in one and "Size classes" in one and "Arenas" in one
        other = jescope(tmp_path, "top", "--once", "--filter", "no-such-name").stdout
        assert str(python.pid) not in other


@pytest.mark.parametrize("term", ["dumb", "", "no-such-terminal"])
def test_unfit_terminals_are_told_what_to_use(tmp_path, term):
    master, slave = os.openpty()
    done = subprocess.run([JESCOPE, "top"], env=environment(tmp_path, TERM=term), stdin=slave, stdout=slave,
                          stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    os.close(slave)
    os.close(master)
    assert done.returncode == 1 and "--once" in done.stderr and "--json" in done.stderr and done.stderr.count("\n") == 1


def test_without_a_terminal(tmp_path):
    done = jescope(tmp_path, "top", check=False)
    assert done.returncode == 1 and "not a terminal" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("words, what", [
    (["--every", "1ms"], "at least 100ms"), (["--every", "2h"], "at most 1h"), (["--once", "--json"], "--json --count 1"),
    (["--count", "3"], "--json"), (["--sort", "rsss"], "rss"), (["--json", "--count", "-1"], "--count"), (["4194303999"], "4194303999")])
def test_wrong_words(tmp_path, words, what):
    done = jescope(tmp_path, "top", *words, check=False)
    assert done.returncode in (1, 2) and what in done.stderr and done.stderr.count("\n") == 1


def active(scratch, pid):
    return profiling(scratch, pid)["active"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A redis-server with an agent, sampled often, that holds something."""
    scratch = tmp_path_factory.mktemp("top")
    with redis(scratch, "--sample", "4KiB") as server:
        fill(server, "a", 2000)
        yield scratch, server


def fill(server, name, count):
    for i in range(count):
        server.ask("SET", f"{name}{i}", "x" * 500)


@needs_tmux
def test_targets_on_a_terminal(loaded):
    scratch, server = loaded
    with tmux(scratch, "top", "--every", "200ms") as terminal:
        terminal.wait("jescope targets", "RSS▼")
        terminal.press("A")
        terminal.wait("ALLOCATED▼")
        for title in ("RESIDENT▼", "GAIN/min▼", "TREND▼", "PROFILE▼", "NAME▼", "PID▼", "USER▼", "RSS▼"):
            terminal.press(">")
            terminal.wait(title)
        terminal.press("A", "I")
        terminal.wait("ALLOCATED▲")
        terminal.press("/", "no-such-name", "Enter")
        terminal.wait("no target matches")
        terminal.press("/")
        # Other tests have servers of this name, which may end while one of them is on the screen.
        terminal.press(*["BSpace"] * 12, str(server.pid), "Enter")
        terminal.wait(f" {server.pid} ", "redis-server")
        terminal.press("?")
        terminal.wait("Keys of this screen", "sort by RSS")
        terminal.press("x", "Enter")
        terminal.wait("targets > redis-server", "unexplained")
        for columns, rows in ((40, 12), (100, 30), (20, 5), (200, 50), (80, 24)):
            terminal.do("resize-window", "-x", str(columns), "-y", str(rows))
        terminal.wait("targets > redis-server", "unexplained", "Esc")
        terminal.press("q")
        terminal.wait("status 0")
        assert terminal.errors.read_text() == ""


def is_tidy(lines, rows, columns):
    once = all(sum(text in line for line in lines) == 1 for text in ("targets > redis-server", "Memory: RSS", "live allocations"))
    return once and len(lines) == rows and max(map(len, lines)) <= columns and "targets >" in lines[0] and "f flame graph" in lines[-1]


@needs_tmux
def test_many_sizes(loaded):
    """JESCOPE_PROOF: a thousand of them."""
    scratch, server = loaded
    sizes = random.Random(19)
    with tmux(scratch, "top", server.pid, "--every", "200ms") as terminal:
        terminal.wait("targets > redis-server", "unexplained")
        for _ in range(100 if os.environ.get("JESCOPE_PROOF") else 10):
            steps = [("resize-window", "-x", str(sizes.randint(2, 200)), "-y", str(sizes.randint(2, 60)), ";") for _ in range(10)]
            terminal.do(*itertools.chain(*steps), "display-message", "-p", "done")
        terminal.do("resize-window", "-x", "90", "-y", "24")
        wait_for(lambda: is_tidy(terminal.screen.splitlines(), 24, 90), "the screen without debris of other sizes")
        terminal.press("q")
        terminal.wait("status 0")
        assert terminal.errors.read_text() == ""


@needs_tmux
def test_record_mark_difference_flame(loaded):
    scratch, server = loaded
    assert not active(scratch, server.pid)
    with tmux(scratch, "top", server.pid, "--every", "200ms", rows=80) as terminal:
        terminal.wait("targets > redis-server", "profiling is ready")
        terminal.press("s")
        terminal.wait("profiling is not active")
        terminal.press("E")
        terminal.wait("y/N")
        terminal.press("n")
        assert not active(scratch, server.pid)
        terminal.press("E", "y")
        terminal.wait("profiling is enabled")
        assert active(scratch, server.pid)
        fill(server, "b", 1000)
        terminal.press("s", "y")
        terminal.wait("> sites", "OWN", "functions")
        fill(server, "c", 3000)
        terminal.press("D", "y")
        terminal.wait("gain since", "SIGMA", "+")
        terminal.press("v", "v")
        terminal.wait("STACK, ALLOCATION FIRST", "aeMain")
        terminal.press("f")
        terminal.wait("flame graph", "since the mark", "main")
        terminal.press("Escape")
        terminal.wait("OWN")
        terminal.press("Escape")
        terminal.wait("unexplained")
        terminal.press("Escape")
        terminal.wait("jescope targets", "NAME")
        wait_for(lambda: not active(scratch, server.pid), "profiling is as it was")
        terminal.press("q")
        terminal.wait("status 0")


def move_button(terminal, row, column, *codes):
    """Of the mouse: buttons are pressed, or 3, released, there, from 1 on, as xterm says it, all at once."""
    terminal.do("send-keys", "-l", "".join("\x1b[M" + "".join(chr(32 + number) for number in (code, column, row)) for code in codes))


def click(terminal, row, column, button=0):
    """Pressed and released before the program has read the first."""
    move_button(terminal, row, column, button, 3)


@needs_tmux
def test_a_button_that_is_released_late(loaded):
    """ncurses waits for another key after a mouse event that it was not asked for, and the screen stood still until then."""
    scratch, server = loaded
    with tmux(scratch, "top", "--filter", server.pid, "--every", "200ms") as terminal:
        screen = terminal.wait("jescope targets", "RSS▼", "redis-server").splitlines()
        move_button(terminal, 2, screen[1].index("ALLOCATED") + 1, 0)
        terminal.wait("ALLOCATED▼")
        for button in (3, 1, 3, 2, 3):  # one by one
            move_button(terminal, 4, 5, button)
        for _ in range(3):  # by then it has been read
            clock = terminal.screen.splitlines()[0]
            wait_for(lambda: terminal.screen.splitlines()[0] != clock, "the clock goes on")
        terminal.press("q")
        terminal.wait("status 0")


@needs_tmux
def test_mouse(loaded):
    scratch, server = loaded
    with tmux(scratch, "top", "--filter", server.pid, "--every", "200ms") as terminal:
        screen = terminal.wait("jescope targets", "RSS▼", "redis-server").splitlines()
        click(terminal, 2, screen[1].index("ALLOCATED") + 1)
        terminal.wait("ALLOCATED▼")
        click(terminal, 2, screen[1].index("ALLOCATED") + 1)
        terminal.wait("ALLOCATED▲")
        row = next(i for i, line in enumerate(terminal.screen.splitlines(), 1) if "redis-server" in line)
        wait_for(lambda: click(terminal, row, 5) or click(terminal, row, 5) or "targets > redis-server" in terminal.screen,
                 "a double click opens it")
        terminal.wait("unexplained")
        top = terminal.screen.splitlines()[1]
        # It may be all on the screen until more of it is known.
        wait_for(lambda: click(terminal, 5, 5, 65) or terminal.screen.splitlines()[1] != top, "the wheel scrolls")
        terminal.press("q")
        terminal.wait("status 0")


@needs_tmux
def test_killed_while_profiling_is_on(loaded):
    scratch, server = loaded
    with tmux(scratch, "top", server.pid, "--every", "200ms") as terminal:
        terminal.wait("profiling is ready")
        terminal.press("E", "y")
        terminal.wait("profiling is enabled")
        assert active(scratch, server.pid)
        os.kill(terminal.pid(), signal.SIGKILL)
        wait_for(lambda: not active(scratch, server.pid), "profiling is as it was")


@needs_tmux
def test_stopped_and_continued(loaded):
    scratch, server = loaded
    with tmux(scratch, "top", "--filter", server.pid, "--every", "200ms") as terminal:
        terminal.wait("jescope targets", "redis-server")
        terminal.press("C-z")
        terminal.wait("Stopped", "jescope top")
        assert "RSS▼" not in terminal.screen
        terminal.press("fg", "Enter")
        terminal.wait("jescope targets", "redis-server")
        terminal.press("q")
        terminal.wait_for_shell()
        terminal.press("echo over $?", "Enter")
        terminal.wait("over 0")


@needs_tmux
def test_a_target_that_exits_stays(tmp_path):
    with service(tmp_path) as python, tmux(tmp_path, "top", python.pid, "--every", "200ms") as terminal:
        terminal.wait("targets > python3", "unexplained")
        python.kill()
        terminal.wait("This process has ended", "unexplained")
        terminal.press("Escape")
        terminal.wait("ended")


@pytest.fixture(scope="module")
def history(loaded):
    """Samples of the redis-server, which allocates between them."""
    scratch, server = loaded
    path = scratch / "history.db"
    collecting = [JESCOPE, "collect", server.pid, "--every", "100ms", "--detail", "all", "--history", path]
    with started(collecting, env=environment(scratch), cwd=scratch):
        for count in (0, 20, 40):
            wait_for(lambda least=count: samples(scratch, path) > least, "samples")
            fill(server, f"h{count}", 500)
    return scratch, path


def samples(scratch, path):
    done = jescope(scratch, "series", "--json", "--history", path, check=False)
    return sum(target["samples"] for target in json.loads(done.stdout)["targets"]) if done.returncode == 0 else 0


def last_sample(scratch, path):
    """When it was taken, in seconds since 1970."""
    listed = json.loads(jescope(scratch, "series", "--json", "--history", path).stdout)
    return max(target["to"] for target in listed["targets"])


def clock(screen):
    return screen.splitlines()[0].split()[-1]


@needs_tmux
def test_replay_is_the_same_screens(history):
    scratch, path = history
    with tmux(scratch, "top", "--replay", path, "--every", "100ms") as terminal:
        first = clock(terminal.wait("PAUSED", "redis-server"))
        terminal.press("T")
        terminal.wait("this is the first sample")
        terminal.press("j", "BSpace", "BSpace", "BSpace", "1h", "Enter")
        terminal.wait("PAUSED", "redis-server", "/min")
        terminal.press("t")
        last = clock(terminal.wait("this is the last sample"))
        assert first != last
        terminal.press("Enter")
        terminal.wait("targets > redis-server", "unexplained", "text, files, shared memory", "per minute", "of a history file")
        terminal.press("D")
        terminal.wait("this is a replay")
        terminal.press("s")
        terminal.wait("> sites", "the history has no heap dump")
        terminal.press("Escape")
        terminal.wait("unexplained")
        terminal.press("J", "BSpace", "BSpace", "BSpace", "1h", "Enter")
        wait_for(lambda: clock(terminal.screen) == first, "the first sample")
        terminal.press("Space")
        wait_for(lambda: clock(terminal.screen) == last, "it was played to its end")
        terminal.press("q")
        terminal.wait("status 0")
        assert terminal.errors.read_text() == ""


def test_replay_once(history):
    scratch, path = history
    shown = jescope(scratch, "top", "--once", "--replay", path).stdout
    assert "redis-server" in shown and getpass.getuser() in shown and ".sock" in shown
    missing = jescope(scratch, "top", "--once", "--replay", scratch / "no.db", check=False)
    assert missing.returncode == 1 and "no.db" in missing.stderr


def test_replay_in_lines(history, loaded):
    """It begins without a key, and ends with the file."""
    scratch, path = history
    assert len(lines_of(scratch, "--count", "3", "--replay", path)) == 3
    lines = lines_of(scratch, "--replay", path)
    times = [line["time"] for line in lines]
    assert len(times) > 3 and times == sorted(set(times)) and times[-1] > last_sample(scratch, path) - 0.1
    found = [target["sample"]["allocated"] for line in lines if (target := find(line, loaded[1].pid))]
    assert len(set(found)) > 1


def rights_of_children(pid):
    for child in children(pid):
        with contextlib.suppress(OSError):
            lines = pathlib.Path(f"/proc/{child}/status").read_text().splitlines()
            yield {key: value.split() for key, _, value in (line.partition(":") for line in lines)}


def test_the_reader_of_a_history_has_no_rights(history, tmp_path):
    """Another user may have written the file: SQLite reads it in a child."""
    scratch, path = history
    own = tmp_path / "locked.db"
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(own)) as copy:
        source.backup(copy)
    with contextlib.closing(sqlite3.connect(own, isolation_level=None)) as locked:
        locked.execute("PRAGMA journal_mode=DELETE")
        locked.execute("BEGIN EXCLUSIVE")
        with started([JESCOPE, "top", "--once", "--replay", own], env=environment(scratch)) as top:
            wait_for(lambda: any(rights.get("NoNewPrivs") == ["1"] for rights in rights_of_children(top.pid)), "a child without rights")
            locked.execute("ROLLBACK")
            assert top.wait(DEADLINE) == 0 and "redis-server" in top.stdout.read()


def test_strange_times_in_a_history(history, tmp_path):
    scratch, path = history
    own = tmp_path / "strange.db"
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(own)) as copy:
        source.backup(copy)
    for every in (-1, -2**63, 2**63 - 1, 1):
        with contextlib.closing(sqlite3.connect(own)) as database:
            database.execute("UPDATE incarnation SET every_us = ?", (every,))
            database.commit()
        assert "redis-server" in jescope(scratch, "top", "--once", "--replay", own).stdout
    with contextlib.closing(sqlite3.connect(own)) as database:
        database.execute("UPDATE block SET first_us = ?, last_us = ?", (-2**62, 2**62))
        database.commit()
    done = jescope(scratch, "top", "--once", "--replay", own, check=False)
    assert done.returncode == 1 and "no samples to replay" in done.stderr


@contextlib.contextmanager
def serving(scratch, port, pid, *words):
    """A server for PID alone: other tests run programs at the same time."""

    def listed():
        shown = jescope(scratch, "top", "--json", "--count=1", f"http://127.0.0.1:{port}", check=False)
        return shown.returncode == 0 and find(json.loads(shown.stdout), pid)

    with started([JESCOPE, "serve", "--blackbox=off", "--listen", f"127.0.0.1:{port}", *words, str(pid)], env=environment(scratch), cwd=scratch,
                 stderr=subprocess.DEVNULL) as server:
        wait_for(listed, "it serves the target")
        yield server


def post(url):
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=DEADLINE) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def dumps(loaded):
    """A history with two dumps, and samples before, between and after them."""
    scratch, server = loaded
    # The server of root's becomes another user, which has to reach the directory of its history.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="jescope-top-"))
    folder.chmod(0o711)
    path, port = folder / "kept" / "dumps.db", free_port()
    target = f"http://127.0.0.1:{port}/api/v1/targets/{server.pid}"
    taken = []
    with serving(scratch, port, server.pid, "--history", path, "--every", "1s"):
        post(f"{target}/profiling?active=true&for=10m")
        for name in "st":
            wait_for_samples(scratch, path, 3)
            fill(server, name, 2000)
            taken.append(post(f"{target}/dumps")["taken"])
            # The tests jump to two seconds after a dump: before the next one, and to where the history has samples.
            wait_for(lambda: last_sample(scratch, path) > taken[-1] + 4, "samples after the dump")
        post(f"{target}/profiling?active=false")
    yield scratch, path, taken
    shutil.rmtree(folder)


def wait_for_samples(scratch, path, count):
    least = samples(scratch, path) + count
    wait_for(lambda: samples(scratch, path) >= least, "samples")


def jump(terminal, seconds):
    key, length = ("j", seconds) if seconds > 0 else ("J", -seconds)
    terminal.press(key, "BSpace", "BSpace", "BSpace", f"{length}s", "Enter")


@needs_tmux
def test_replay_shows_kept_dumps(dumps, loaded):
    scratch, path, taken = dumps
    with tmux(scratch, "top", "--replay", path, "--every", "100ms", rows=80) as terminal:
        title = terminal.wait("PAUSED", "redis-server", str(loaded[1].pid)).splitlines()[0]
        first = time.mktime(time.strptime(" ".join(title.split()[-2:]), "%Y-%m-%d %H:%M:%S"))
        terminal.press("Enter")
        terminal.wait("unexplained", "of a history file")
        terminal.press("s")
        terminal.wait("> sites", "no heap dump from before this moment")
        jump(terminal, int(taken[0] - first) + 2)
        assert "gain since" not in terminal.wait("OWN", "functions at")
        terminal.press("v", "v")
        terminal.wait("STACK, ALLOCATION FIRST", "aeMain")
        jump(terminal, int(taken[1] - taken[0]) + 2)
        terminal.wait("gain since", "SIGMA", "+")
        terminal.press("f")
        terminal.wait("flame graph", "since the mark", "main")
        terminal.press("Escape", "Escape")
        terminal.wait(f"process {loaded[1].pid}: its first sample", "heap dump 1 was kept", "heap dump 2 was kept", f"({loaded[1].pid})")
        terminal.press("s")
        terminal.wait("> sites", "gain since")
        jump(terminal, -3600)
        terminal.wait("no heap dump from before this moment")
        terminal.press("Escape")
        assert "heap dump" not in terminal.wait("its first sample")
        terminal.press("q")
        terminal.wait("status 0")
        assert terminal.errors.read_text() == ""


@needs_tmux
def test_another_jescope(loaded):
    scratch, server = loaded
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(scratch, port, server.pid) as other:
        lines = jescope(scratch, "top", "--json", "--count", "2", "--every", "100ms", url).stdout.splitlines()
        [own] = [find(line, server.pid) for line in lines_of(scratch, "--count", "1")]
        for line in lines:
            found = find(json.loads(line), server.pid)
            assert all(found[key] == own[key] for key in ("name", "user", "arguments", "control_group")) and found["name"] == "redis-server"
        with tmux(scratch, "top", f"{url}/targets/{server.pid}", "--every", "200ms", rows=80) as terminal:
            terminal.wait("targets > redis-server", "profiling is ready", "live allocations", "program text")
            wait_for(lambda: terminal.press("End") or all(text in terminal.screen for text in ("Arenas", "SLABS FULL", "Decay")),
                     "arenas and size classes of a target of another jescope")
            terminal.press("E", "y")
            terminal.wait("profiling is enabled")
            assert active(scratch, server.pid)
            fill(server, "r", 1000)
            terminal.press("s", "y")
            terminal.wait("> sites", "OWN", "functions")
            terminal.press("Escape")
            terminal.wait("Events", "profiling was switched on", "heap dump 1 was kept")
            terminal.press("Escape")
            wait_for(lambda: not active(scratch, server.pid), "profiling is as it was")
            other.terminate()
            terminal.wait("no answer, trying again")
            with serving(scratch, port, server.pid):
                terminal.wait("redis-server", "NAME")
                terminal.press("Enter")
                post(f"{url}/api/v1/targets/{server.pid}/dumps")
                wait_for(lambda: terminal.screen.count("heap dump 1 was kept") == 2, "an event of the server that came after it")
            terminal.press("q")
            terminal.wait("status 0")
    gone = jescope(scratch, "top", "--once", url, check=False)
    assert gone.returncode == 1 and "cannot connect" in gone.stderr and gone.stdout == ""
