# SPDX-License-Identifier: Apache-2.0
"""jescope import: files of statistics come in once, whole ones only."""

import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import sqlite3
import struct
import subprocess
import tempfile
import time

import pytest

JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src" / "cli" / "jescope"
DEADLINE = 180

SNAPSHOT = """{0}___ Begin jemalloc statistics ___
{0}Version: "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
{0}Allocated: {1}, active: 2000000, metadata: 3000000 (n_thp 0), resident: 4000000, mapped: 6000000, retained: 5000000
{0}--- End jemalloc statistics ---
"""


def log(*numbers, dated=True):
    text = "server starting\n"
    for number in numbers:
        text += SNAPSHOT.format(f"2026-11-20 21:{number // 60:02d}:{number % 60:02d}.000 [INFO] " if dated else "", 1_000_000 + number)
    return text


@pytest.fixture
def run(tmp_path):
    env = dict(os.environ, JESCOPE_HISTORY=str(tmp_path / "history.db"), TZ="UTC")

    def run_one(*words, status=0, **options):
        done = subprocess.run([JESCOPE, *map(str, words)], env=env, text=True, capture_output=True, timeout=DEADLINE, **options)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done

    run_one.env = env
    return run_one


def allocated(run, target):
    series = json.loads(run("series", "allocated", "--target", target, "--json").stdout)["series"]
    return [value - 1_000_000 for _, value in series[0]["points"]]


def test_twice_is_once(run, tmp_path):
    file = tmp_path / "console.log"
    file.write_text(log(1, 2, 3))
    assert run("import", file).stdout == f"{file}: 3 samples added\n"
    assert run("import", file).stdout == f"{file}: 0 samples added, 3 were there already\n"
    # It is the samples that are known, not the file.
    with gzip.open(tmp_path / "console.log.gz", "wt") as out:
        out.write(log(2, 3, 4))
    assert "1 samples added, 2 were there already" in run("import", tmp_path / "console.log.gz").stdout
    assert allocated(run, "console") == [1, 2, 3, 4]


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_reader_of_a_log_has_no_rights(run, tmp_path):
    pipe = tmp_path / "console.log"
    os.mkfifo(pipe)
    process = subprocess.Popen([JESCOPE, "import", pipe], env=run.env, stdout=subprocess.DEVNULL)
    with open(pipe, "w") as out:
        end = time.monotonic() + DEADLINE
        rights = {}
        while time.monotonic() < end and rights.get("NoNewPrivs") != ["1"]:
            with contextlib.suppress(OSError, IndexError):
                lines = pathlib.Path(f"/proc/{children_of(process.pid)[0]}/status").read_text().splitlines()
                rights = {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
        out.write(log(1))
    assert process.wait(timeout=DEADLINE) == 0
    assert rights.get("NoNewPrivs") == ["1"], "no child without rights"
    assert allocated(run, "console") == [1]


def test_a_log_that_grew(run, tmp_path):
    file = tmp_path / "console.log"
    file.write_text(log(1, 2))
    run("import", file)
    with file.open("a") as out:
        out.write(log(3))
    assert "1 samples added, 2 were" in run("import", file).stdout
    assert allocated(run, "console") == [1, 2, 3]


def test_without_times(run, tmp_path):
    file = tmp_path / "raw.txt"
    file.write_text(log(7, 7, 8, dated=False))
    os.utime(file, (1_800_000_000, 1_800_000_000))
    done = run("import", file)
    assert "3 samples have no time" in done.stderr
    points = json.loads(run("series", "allocated", "--json").stdout)["series"][0]["points"]
    assert [time for time, _ in points] == [1_799_999_998, 1_799_999_999, 1_800_000_000]
    # Equal samples are two, and none comes in again when the file is touched.
    os.utime(file, (1_900_000_000, 1_900_000_000))
    assert "0 samples added, 3 were there already" in run("import", file).stdout


def test_times_that_are_told(run, tmp_path):
    file = tmp_path / "raw.txt"
    file.write_text(log(1, 2, dated=False))
    run("import", file, "--start", "2026-11-01T00:00Z", "--every", "10m", "--target", "db")
    out = run("series", "allocated", "--target", "db", "--format", "csv").stdout
    assert out == "time,allocated\n2026-11-01T00:00:00Z,1000001\n2026-11-01T00:10:00Z,1000002\n"


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@a"])
def test_names_are_no_formulas(run, tmp_path, name):
    """A process chooses its name, and a spreadsheet would run what begins like that."""
    file = tmp_path / "raw.txt"
    file.write_text(log(1, 2, dated=False))
    run("import", file, "--start", "2026-11-01T00:00Z", "--every", "10m", "--target=" + name)
    run("import", file, "--start", "2026-11-01T00:00Z", "--every", "10m", "--target=db")
    head = run("series", "allocated", "--format", "csv").stdout.splitlines()[0].split(",")
    assert head[0] == "time" and [cell for cell in head if name in cell] == [cell for cell in head if cell.startswith("'" + name)] != [], head


def test_cut_short(run, tmp_path):
    file = tmp_path / "cut.log"
    file.write_text(log(1, 2)[:-40])
    done = run("import", file, status=3)
    assert "1 samples added" in done.stdout
    assert "left out 1 truncated and 0 damaged snapshots, the first at line 6" in done.stderr


def test_nothing_in_it(run, tmp_path):
    file = tmp_path / "empty.log"
    file.write_text("hello\n")
    assert "no complete statistics of jemalloc in 1 lines" in run("import", file, status=1).stderr
    # One of several does not keep the others out.
    good = tmp_path / "good.log"
    good.write_text(log(1))
    done = run("import", file, good, tmp_path / "missing.log", status=3)
    assert "1 samples added" in done.stdout
    assert "missing.log" in done.stderr


def test_standard_input(run):
    assert run("import", "-", "--target", "pipe", input=log(1, 2)).stdout == "-: 2 samples added\n"
    assert allocated(run, "pipe") == [1, 2]


def test_progress_on_a_terminal_only(run, tmp_path):
    fifo = tmp_path / "slow.log"
    os.mkfifo(fifo)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([JESCOPE, "import", fifo], env=run.env, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said = b""
    with fifo.open("w") as out:
        number = 0
        end = time.monotonic() + DEADLINE
        # As long as it takes: the first line comes after half a second.
        while b"samples, up to 2026-11-20" not in said and time.monotonic() < end:
            out.write(log(number % 3000))
            out.flush()
            number += 1
            os.set_blocking(ours, False)
            try:
                said += os.read(ours, 65536)
            except BlockingIOError:
                os.sched_yield()
    out, _ = process.communicate(timeout=DEADLINE)
    os.close(ours)
    assert process.returncode == 0
    assert b"samples, up to 2026-11-20" in said
    # No progress without a terminal.
    assert run("import", "-", input=log(1)).stderr == ""


def test_killed_and_done_again(run, tmp_path):
    """Samples written by a killed import are not written again."""
    file = tmp_path / "big.log"
    file.write_text("".join(log(number) for number in range(3000)))
    for moment in range(6):
        process = subprocess.Popen([JESCOPE, "import", file], env=run.env, stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.01 * (moment + 1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    run("import", file)
    assert allocated(run, "big") == list(range(3000))


def test_several_writers(run, tmp_path):
    text = "".join(SNAPSHOT.format(f"2026-11-20 21:00:{number:02d}.000 [app-{number % 2}] ", 1_000_000 + number)
                   for number in range(6))
    file = tmp_path / "both.log"
    file.write_text(text)
    assert run("import", file).stdout.endswith("6 samples added\n")
    names = [target["target"] for target in json.loads(run("series", "--json").stdout)["targets"]]
    assert len(names) == 2 and names[0] == "both" and names[1].startswith("both/") and "app-1" in names[1]
    assert allocated(run, "both") == [0, 2, 4]
    # The first writer stays the first, independent of the beginning of the next file.
    (tmp_path / "next").mkdir()
    file = tmp_path / "next" / "both.log"
    file.write_text(SNAPSHOT.format("2026-11-20 22:00:01.000 [app-1] ", 1_000_007))
    run("import", file)
    assert allocated(run, "both") == [0, 2, 4]
    assert allocated(run, names[1]) == [1, 3, 5, 7]


JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


READERS = [["series", "allocated"], ["abs", "@", "0", "--total"], ["del", "@", "0", "--total"], ["eff", "@", "0", "--total"], ["doctor", "@"],
           ["top", "--replay", "@", "--once"]]


def damage(database, which):
    with contextlib.closing(sqlite3.connect(database)) as history, history:
        changed = history.execute(f"UPDATE block SET totals = x'0105deadbeef' WHERE id IN (SELECT {which} FROM block)").rowcount
        assert history.execute("SELECT count(*) FROM block").fetchone()[0] >= 2
    return changed


@pytest.mark.parametrize("reader", READERS, ids=lambda words: words[0])
def test_damaged_blocks_are_reported(run, tmp_path, reader):
    """Most readers left them out without a word, and 'doctor' called a history without a sample healthy."""
    database = tmp_path / "history.db"
    file = tmp_path / "console.log"
    file.write_text(log(*range(1200)))
    run("import", file)
    words = [str(database) if word == "@" else word for word in reader]
    assert run(*words).stderr == ""
    assert damage(database, "min(id)") == 1
    done = run(*words, status=3)
    assert done.stderr == f"jescope: {database}: left out 1 damaged blocks\n"
    blocks = damage(database, "id")
    done = run(*words, status=3 if reader[0] == "top" else 1)
    assert f"left out {1 if reader[0] == 'top' else blocks} damaged blocks\n" in done.stderr
    assert "healthy" not in done.stdout


def json_log(*times, sizes=(64, 128)):
    classes = {"bin": [{"size": size, "nregs": 64, "slab_size": 4096} for size in sizes]}
    used = [{"nmalloc": 5, "ndalloc": 0, "nrequests": 5, "curregs": 5, "curslabs": 1} for _ in sizes]
    arena = {"nthreads": 1, "pactive": 9, "mapped": 8192, "small": {"allocated": 99, "nmalloc": 5, "ndalloc": 0, "nrequests": 5}, "bins": used}
    jemalloc = {"version": "5.3.0", "arenas": {"narenas": 1, "page": 4096, **classes}, "stats": {"allocated": 1_000_001, "active": 2_000_000},
                "stats.arenas": {"merged": arena, "0": arena}}
    return "".join(f"{time} host x[1]: hello\n{json.dumps({'jemalloc': jemalloc})}\n" for time in times)


@pytest.mark.parametrize("last", ["9999-12-31T23:59:59-99:99", "0001-01-01T00:00:00+99:99", "9999-12-31T23:59:59Z"])
def test_a_time_at_the_end_of_all_times(run, tmp_path, last):
    """The zone brought it into a year that no reader takes, and the 50 samples before it could not be read either."""
    file = tmp_path / "console.log"
    file.write_text(json_log(*(f"2026-11-30T10:00:{second:02d}Z" for second in range(50)), last))
    assert run("import", file).stdout == f"{file}: 51 samples added\n"
    assert allocated(run, "console") == [1] * 51


def test_classes_of_one_size(run, tmp_path):
    """The columns of their values were two of one name, and no reader took the block."""
    file = tmp_path / "console.log"
    file.write_text(json_log("2026-11-30T10:00:00Z", "2026-11-30T10:00:01Z", sizes=(64, 64, 128)))
    run("import", file)
    assert run("series", "--metrics").stderr == ""
    assert run("doctor", tmp_path / "history.db").stderr == ""


@pytest.mark.parametrize("every", ["1s", "30d"])
def test_times_that_no_reader_takes_are_not_stored(run, tmp_path, every):
    file = tmp_path / "raw.txt"
    file.write_text(log(*range(50), dated=False))
    done = run("import", file, "--start=9999-12-31T23:59:30Z", f"--every={every}", status=3)
    left_out = int(re.search(r"left out (\d+) samples without a time, which would be placed outside", done.stderr)[1])
    assert f"{50 - left_out} samples added" in done.stdout and left_out > 0
    listed = run("series", "--json")
    assert sum(target["samples"] for target in json.loads(listed.stdout)["targets"]) == 50 - left_out and listed.stderr == ""


def test_a_file_that_was_changed_after_all_times(run):
    """On a file system whose times are not bounded."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        file = pathlib.Path(folder) / "raw.txt"
        file.write_text(log(1, 2, dated=False))
        os.utime(file, (1 << 40, 1 << 40))
        if file.stat().st_mtime < 1 << 40:
            pytest.skip("/dev/shm has no such times")
        done = run("import", file, status=3)
        assert "0 samples added" in done.stdout and "left out 2 samples without a time" in done.stderr


def hot_journal(database, super_journal):
    """The bytes of a journal with one page of DATABASE, as a crash leaves it, that names SUPER_JOURNAL (pager.c of SQLite)."""
    content, page, nonce = database.read_bytes(), 4096, 12345
    checksum = (nonce + sum(content[at] for at in range(page - 200, 0, -200))) & 0xFFFFFFFF
    name = os.fsencode(super_journal)
    head = JOURNAL_MAGIC + struct.pack(">5I", 1, nonce, len(content) // page, 512, page)
    record = struct.pack(">I", 1) + content[:page] + struct.pack(">I", checksum)
    end = struct.pack(">I", (1 << 30) // page + 1) + name + struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
    body = head.ljust(512, b"\0") + record
    return body + bytes(-len(body) % 512) + end


@pytest.fixture
def foreign_history(tmp_path):
    """A database with a journal beside it, and a file that the journal names."""
    victim, database = tmp_path / "victim", tmp_path / "history.db"
    victim.write_text("not a journal")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE something(x)")
        connection.commit()
    journal = tmp_path / "history.db-journal"
    journal.write_bytes(hot_journal(database, victim))
    return victim, database, journal


def run_import(database):
    return subprocess.run([JESCOPE, "import", "/dev/null", "--history", database], capture_output=True, text=True, timeout=180)


def test_journal_beside_a_history_removes_no_other_file(foreign_history):
    victim, database, _ = foreign_history
    done = run_import(database)
    assert victim.exists()
    assert done.returncode == 1 and done.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
def test_journal_of_another_user_is_not_played_back(foreign_history):
    _, database, journal = foreign_history
    os.chown(journal, 65533, 65533)
    before = journal.read_bytes()
    done = run_import(database)
    assert done.returncode == 1 and "other users can write to" in done.stderr
    assert journal.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
@pytest.mark.parametrize("exists", [True, False])
def test_link_of_another_user_is_not_followed(tmp_path, exists):
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "history.db"
    if exists:
        elsewhere.touch()
    link.symlink_to(elsewhere)
    os.chown(link, 65533, 65533, follow_symlinks=False)
    done = run_import(link)
    assert done.returncode == 1 and "is a link of another user" in done.stderr
    assert elsewhere.exists() == exists and not (exists and elsewhere.stat().st_size)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
@pytest.mark.parametrize("name", ["history.db", "new/history.db"])
def test_link_of_another_user_leads_nowhere(tmp_path, name):
    place, link = tmp_path / "place", tmp_path / "link"
    place.mkdir()
    link.symlink_to(place)
    os.chown(link, 65533, 65533, follow_symlinks=False)
    done = run_import(link / name)
    assert done.returncode == 1 and "link of another user" in done.stderr, done
    assert not list(place.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
@pytest.mark.parametrize("owner,mode", [(65533, 0o755), (0, 0o1777), (0, 0o775)])
def test_no_history_where_others_can_write(tmp_path, owner, mode):
    """By files beside it that SQLite opens, maps and locks, they could end root's process or block it."""
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(mode)
    os.chown(place, owner, owner)
    done = run_import(place / "history.db")
    assert done.returncode == 1 and "other users can write to its directory" in done.stderr, done
    assert not list(place.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
@pytest.mark.parametrize("owner,mode", [(65533, 0o644), (0, 0o666), (0, 0o664)])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_no_history_that_others_can_write(tmp_path, owner, mode, ending):
    """SQLite maps and locks it, and gives the files beside it the same owner and mode."""
    history = tmp_path / "history.db"
    history.touch(0o600)
    given = tmp_path / f"history.db{ending}"
    given.touch()
    given.chmod(mode)
    os.chown(given, owner, owner)
    done = run_import(history)
    assert done.returncode == 1 and f"other users can write to {given}" in done.stderr, done


def test_own_links_are_followed(run, tmp_path):
    file, place, link = tmp_path / "console.log", tmp_path / "place", tmp_path / "link"
    file.write_text(log(1))
    place.mkdir()
    (place / "kept.db").touch(mode=0o600)
    link.symlink_to(place)
    (tmp_path / "name.db").symlink_to(link / "kept.db")
    run("import", file, "--history", tmp_path / "name.db")
    run("import", file, "--history", link / "new.db")
    assert (place / "kept.db").stat().st_size and (place / "new.db").stat().st_size
