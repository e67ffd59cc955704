# SPDX-License-Identifier: Apache-2.0
"""Output on a terminal: progress, colours, widths, untrusted names."""

import contextlib
import gzip
import json
import os
import pathlib
import sqlite3
import subprocess
import unicodedata

import pytest

from services import JESCOPE, PYTHON, children, environment, jescope, service, started
from terminal import ESCAPE, at_terminal, shown

DATA = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "tests/data"
LOG = DATA / "stats/console-5.3.0.log.gz"
OTHER = "5.3.0-heap-lg19.heap.gz"


def columns(text):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in ESCAPE.sub("", text))


@pytest.mark.parametrize("width", [30, 60, 200])
def test_progress_never_wraps_and_leaves_nothing(tmp_path, width):
    words = ("import", "--history", tmp_path / "h.db", "--target", "a-target", "-")
    with at_terminal(tmp_path, *words, columns=width, streams=["stderr"], stdin=subprocess.PIPE) as (process, terminal):
        terminal.read(lambda: terminal.text.count("\r\x1b[K") >= 4, process)
        process.stdin.write(gzip.decompress(LOG.read_bytes()))
        process.stdin.close()
        process.stdin = None
        terminal.read(lambda: False, process)
        assert process.wait() == 0
        first, *drawn, last = terminal.text.split("\r\x1b[K")
        assert first == "" and last == "" and drawn
        assert all(0 < columns(line) < width and "\n" not in line for line in drawn), drawn


@pytest.mark.parametrize("command", ["stats", "abs"])
def test_progress_of_what_a_child_reads(tmp_path, command):
    with at_terminal(tmp_path, command, "-", streams=["stderr"], stdin=subprocess.PIPE) as (process, terminal):
        terminal.read(lambda: "reading -" in terminal.text, process)
        process.stdin.write(gzip.decompress(LOG.read_bytes()))
        process.stdin.close()
        process.stdin = None
        terminal.read(lambda: False, process)
        assert process.wait() == 0 and terminal.text.endswith("\r\x1b[K")


def test_progress_of_attach(tmp_path):
    """A thread that makes no system calls cannot be attached to, which takes a while to find out."""
    conf = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "prof:true,prof_active:false"}
    with started([PYTHON, "-c", "print('ready', flush=True)\nwhile True: pass"], env=environment(tmp_path, **conf)) as victim:
        assert victim.stdout.readline() == "ready\n"
        text = shown(tmp_path, "attach", victim.pid, streams=["stderr"])
        first, *drawn, last = text.split("\r\x1b[K")
        assert first == "" and drawn and all(line.startswith(f"attaching to {victim.pid}") for line in drawn)
        assert last.startswith("jescope: ")


def test_no_progress_elsewhere(tmp_path):
    with at_terminal(tmp_path, "import", "--history", tmp_path / "h.db", LOG, streams=[]) as (process, _):
        assert process.communicate()[1] == b""


def test_no_progress_for_the_quick(tmp_path):
    assert "\r" not in shown(tmp_path, "--version")


def test_ps_fits(tmp_path):
    with service(tmp_path) as python:
        for width in (20, 40, 60, 80, 100, 200):
            lines = shown(tmp_path, "ps", columns=width, streams=["stdout"]).splitlines()
            assert all(columns(line) <= width for line in lines), (width, lines)
            assert any(str(python.pid) in line for line in lines)
            titles = ESCAPE.sub("", lines[0]).split()
            assert ("RSS" in titles) and ("REACH" in titles) == (width >= 60) and ("USER" in titles) == (width >= 80)


def test_color_where_it_is_wanted(tmp_path):
    with service(tmp_path):
        for words, variables, streams, colored in [
                ([], {}, ["stdout"], True), ([], {"NO_COLOR": "1"}, ["stdout"], False), ([], {"NO_COLOR": ""}, ["stdout"], True),
                ([], {"TERM": "dumb"}, ["stdout"], False), (["--color=never"], {}, ["stdout"], False),
                (["--color=always"], {"NO_COLOR": "1"}, [], True), ([], {}, [], False)]:
            with at_terminal(tmp_path, "ps", *words, streams=streams, **variables) as (process, terminal):
                if streams:
                    terminal.read(lambda: False, process)
                text = terminal.text if streams else process.communicate()[0].decode()
            assert ("\x1b[" in text) == colored, (words, variables, streams, text)


HOSTILE = "a\u009b31m\u202eb\u200bc\x1b[2J"


@pytest.mark.parametrize("words", [["ps"], ["ps", "--json"], ["status", "PID"], ["status", "nobody-is-called-so"]])
def test_names_of_processes_are_harmless(tmp_path, words):
    """A process that calls itself what would control a terminal, in the kernel's eyes and in its arguments."""
    script = f"import ctypes, sys; ctypes.CDLL(None).prctl(15, {HOSTILE.encode()[:15]!r}, 0, 0, 0); print(1, flush=True); sys.stdin.read()"
    with started([JESCOPE, "run", "--", PYTHON, "-c", script, HOSTILE], env=environment(tmp_path)) as runner:
        runner.stdout.readline()
        pid = children(runner.pid)[0]
        done = jescope(tmp_path, *[str(pid) if word == "PID" else word for word in words], check=False)
        said = done.stdout + done.stderr
        assert not [letter for letter in said if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp")]
        assert words != ["ps", "--json"] or "u{009B}" in said


@pytest.mark.parametrize("words", [["report"], ["report", "--format=tree"], ["report", "--format=stacks"], ["diff"], ["stats"]])
def test_color_of_reports(tmp_path, words):
    """Where people look, and the same words as without."""
    dump = DATA / "profile/4.5.0-heap-lg19.heap.gz"
    operands = {"diff": [dump, dump.with_name(OTHER)], "stats": [LOG]}.get(words[0], [dump])
    plain = jescope(tmp_path, *words, *operands).stdout
    assert "\x1b" not in plain
    colored = shown(tmp_path, *words, *operands, streams=["stdout"])
    assert "\x1b[1m" in colored and ESCAPE.sub("", colored) == plain
    assert colored.count("\x1b[0m") == len(ESCAPE.findall(colored)) / 2
    assert "\x1b" not in shown(tmp_path, *words, *operands, streams=["stdout"], NO_COLOR="1")


def test_no_color_in_files(tmp_path):
    jescope(tmp_path, "report", "--color=auto", DATA / "profile/4.5.0-heap-lg19.heap.gz", "-o", tmp_path / "a.txt")
    assert "\x1b" not in (tmp_path / "a.txt").read_text()


def test_json_by_the_same_word(tmp_path):
    dump = DATA / "profile/4.5.0-heap-lg19.heap.gz"
    by_word = json.loads(jescope(tmp_path, "report", "--json", dump).stdout)
    assert by_word["format"] == "jescope-report" and by_word["version"] >= 1
    assert by_word == json.loads(jescope(tmp_path, "report", "--format=json", dump).stdout)


# Has mapped a file of a hostile name, which makes it a user of tcmalloc.
HOSTILE_FILE = """
import mmap, signal, sys
with open(sys.argv[1] + "/libtcmalloc\\x1b]0;owned\\x07.so", "w+b") as file:
    file.write(bytes(4096))
    file.flush()
    mapped = mmap.mmap(file.fileno(), 4096)
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("command", ["stats", "abs", "series"])
def test_texts_in_statistics_are_harmless(tmp_path, command):
    """A version, an arena's name and a logger's prefix are what the writer of the log says."""
    log, history = tmp_path / "a.log", f"--history={tmp_path / 'h.db'}"
    lines = ["___ Begin jemalloc statistics ___", 'Version: "5.3.0\x1b]0;v\x07"', "Allocated: 5, active: 6, resident: 7, mapped: 8",
             "arenas[0]:", "name: n\x1b[31m\x9b", "--- End jemalloc statistics ---"]
    log.write_text("".join(f"{writer}\x1b[32m: {line}\n" for writer in "ab" for line in lines), encoding="latin-1")
    if command == "series":
        jescope(tmp_path, "import", history, log)
    printed = jescope(tmp_path, command, history if command == "series" else log).stdout
    assert printed and not set(printed) & {"\x1b", "\x07", "\x9b"}


STATISTICS = """___ Begin jemalloc statistics ___
Version: "5.3.0"
Allocated: 5, active: 6, resident: 7, mapped: 8
--- End jemalloc statistics ---
"""
FOREIGN = "\x1b]0;owned\x07\x9b31m"


@pytest.fixture
def hostile_history(tmp_path):
    """Another user made the file, and wrote into it what jescope would not."""
    (tmp_path / "log").write_text(STATISTICS * 2)
    history = tmp_path / "h.db"
    jescope(tmp_path, "import", f"--history={history}", tmp_path / "log")
    with contextlib.closing(sqlite3.connect(history)) as database, database:
        database.execute("UPDATE target SET name = ?", ("evil" + FOREIGN,))
        database.execute("UPDATE incarnation SET version = ?", ("5.3.0" + FOREIGN,))
        database.execute("INSERT INTO note(target, time_us, text) SELECT id, 1, ? FROM target", ("note" + FOREIGN,))
    return history


@pytest.mark.parametrize("words", [["series"], ["series", "allocated"], ["series", "allocated", "--json"], ["series", "no-such"],
                                   ["series", "--target=none"], ["series", "allocated", "--target=evil\\u{001B}]0;owned\\u{0007}\\u{009B}31m"],
                                   ["import", "/dev/null"]])
def test_names_in_a_history_are_harmless(tmp_path, hostile_history, words):
    done = jescope(tmp_path, *words, f"--history={hostile_history}", check=False)
    printed = done.stdout + done.stderr
    assert printed and not set(printed) & {"\x1b", "\x07", "\x9b"}
    assert words[-1].startswith("--target=evil") <= (done.returncode == 0), done.stderr


@pytest.mark.parametrize("command", ["abs", "stats"])
def test_names_in_a_history_that_others_read_are_harmless(tmp_path, hostile_history, command):
    done = jescope(tmp_path, command, hostile_history, check=False)
    printed = done.stdout + done.stderr
    assert printed and not set(printed) & {"\x1b", "\x07", "\x9b"}


def test_what_a_target_writes_is_harmless(tmp_path):
    """Its dump names the files that it has mapped. Elsewhere than on a terminal the bytes stay as they are."""
    command = [JESCOPE, "run", "--active", "--", "/usr/bin/python3", "-c", HOSTILE_FILE, tmp_path]
    with started(command, env=environment(tmp_path)) as runner:
        assert runner.stdout.readline() == "ready\n"
        (victim,) = pathlib.Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
        text = shown(tmp_path, "dump", "--output=-", victim)
        assert "libtcmalloc?]0;owned?.so" in text and not set(text) & {"\x1b", "\x07"}
        assert "libtcmalloc\x1b]0;owned\x07.so" in jescope(tmp_path, "dump", "--output=-", victim).stdout


def test_names_in_errors_are_harmless(tmp_path):
    with started(["/usr/bin/python3", "-c", HOSTILE_FILE, tmp_path], env=environment(tmp_path)) as victim:
        assert victim.stdout.readline() == "ready\n"
        done = jescope(tmp_path, "status", victim.pid, check=False)
        assert done.returncode == 1
        assert "libtcmalloc?]0;owned?.so" in done.stderr


def test_a_line_feed_in_a_name_begins_no_message(tmp_path):
    """Nor in that of a file which another user has put where root reads all of them."""
    name = "dump\njescope: all is well"
    (tmp_path / name).write_text("nothing")
    for words in (["report", f"./{name}"], ["status", "no such\njescope: process"]):
        done = jescope(tmp_path, *words, check=False)
        assert done.stderr.count("\njescope: ") == 0 and "\n    jescope: " in done.stderr, done


@pytest.mark.parametrize("words", [["import", "--history=h.db"], ["stats"], []])
def test_names_of_files_on_the_command_line_are_harmless(tmp_path, words):
    """A pattern of the shell names the files of a directory in which another user has put them."""
    name = "a\x1b[31mred.log"
    (tmp_path / name).write_bytes(gzip.decompress(LOG.read_bytes()))
    done = jescope(tmp_path, *words, f"./{name}" if words else name, check=False)
    assert done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr, done


@pytest.mark.parametrize(("words", "count"), [(["report"], 1), (["report"], 2), (["report", "--format=flamegraph"], 1), (["diff"], 2), (["growth"], 3),
                                              (["doctor"], 1), (["doctor"], 3)])
def test_names_of_dumps_in_reports_are_harmless(tmp_path, words, count):
    """Also where a report goes through a pipe, to a pager or a filter, to the terminal."""
    names = [f"./{number}\x1b[31mred\u202e.heap" for number in range(count)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f"--- symbol\n0x1000 main\n---\n--- heap\nheap profile: 1: {50 + number} [0: 0] @ heapprofile\n"
                                     f"1: {50 + number} [0: 0] @ 0x1001\n\nMAPPED_LIBRARIES:\n")
    done = jescope(tmp_path, *words, *names, check=False)
    assert done.stdout and not set(done.stdout + done.stderr) & {"\x1b", "\u202e"}, done


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", ">&- 2>&-", "<&- >&-"])
@pytest.mark.parametrize("command, start", [("stats", b"console-"), ("abs", b"iteration 0")])
def test_standard_descriptors_that_are_closed(tmp_path, command, start, closed):
    """A file that is opened does not get their numbers."""
    words = " ".join(f"'{word}'" for word in (JESCOPE, command, LOG))
    done = subprocess.run(["sh", "-c", f"exec {words} {closed}"], capture_output=True, env=environment(tmp_path), timeout=180, check=False)
    if ">&-" in closed.split():
        assert done.returncode == 1 and done.stdout == b"" and ("2>&-" in closed or b"Bad file descriptor" in done.stderr), done
    else:
        assert done.returncode == 0 and done.stdout.startswith(start), done
