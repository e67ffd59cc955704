# SPDX-License-Identifier: Apache-2.0
"""The doctor, of programs with known memory."""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import threading
import time

import battery
import loaded
import pytest
from services import JESCOPE, VICTIMS, children, environment, jescope, redis, redis_program, started, wait_for

MIB = 1 << 20


@contextlib.contextmanager
def holding(scratch, *words, options=(), **variables):
    command = [JESCOPE, "run", *options, "--", VICTIMS / "holds", *words]
    with started(command, env=environment(scratch, **variables), cwd=scratch) as process:
        yield process, int(process.stdout.readline())


def leak(process):
    process.stdin.write("leak\n")
    process.stdin.flush()
    assert process.stdout.readline() == "ok\n"


def doctor(scratch, *words):
    done = jescope(scratch, "doctor", "--json", *words, check=False)
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == "jescope-doctor" and (done.returncode == 0) == (document["findings"] == [])
    return document


def test_a_leak_is_named(tmp_path):
    with holding(tmp_path, "small=20", "leak=256", options=["--active", "--sample=64KiB"]) as (process, pid):
        leak(process)
        found = doctor(tmp_path, "--for=3s", pid)
        first = found["findings"][0]
        assert first["cause"] == "heap-leak" and first["function"] == "leak"
        assert first["functions"][1] == "main" and first["bytes_per_second"] > 0.2 * MIB
        assert first["bytes_per_second_low"] <= first["bytes_per_second"] <= first["bytes_per_second_high"]
        assert 0.5 < first["confidence"] < 1 and first["evidence"] and first["advice"]
        assert found["ledger"]["rss"] > 20 * MIB
        # From its dumps, and a directory of them.
        for name in "abcd":
            jescope(tmp_path, "dump", pid, "-o", f"dumps-{name}.heap")
            time.sleep(0.5)
        dumps = sorted(str(path) for path in tmp_path.glob("dumps-*.heap"))
        assert doctor(tmp_path, *dumps)["findings"][0]["function"] == "leak"
        kept = tmp_path / "kept"
        kept.mkdir()
        for path in tmp_path.glob("dumps-*.heap"):
            path.rename(kept / path.name)
        assert doctor(tmp_path, kept)["findings"][0]["function"] == "leak"


def test_nothing_is_changed_without_leave(tmp_path):
    """Sampling is ready and off: the leak is seen by the counters, and its function with --record."""
    with holding(tmp_path, "small=20", "leak=256", options=["--sample=64KiB"]) as (process, pid):
        leak(process)
        found = doctor(tmp_path, "--for=2s", pid)
        assert found["findings"][0]["cause"] == "heap-leak" and found["findings"][0]["function"] is None
        assert any("--record" in note for note in found["notes"])
        status = json.loads(jescope(tmp_path, "status", "--json", pid).stdout)
        assert not status["profiling"]["active"]
        found = doctor(tmp_path, "--for=3s", "--record", pid)
        assert found["findings"][0]["function"] in ("leak", "keep") and "leak" in found["findings"][0]["functions"]
        status = json.loads(jescope(tmp_path, "status", "--json", pid).stdout)
        assert not status["profiling"]["active"]


@pytest.mark.parametrize("conf, words", [("prof:false", []), ("", ["--sampler=jescope"])], ids=["unprofiled", "chosen"])
def test_our_own_sampler(tmp_path, conf, words):
    """Where jemalloc cannot profile, and where it is asked for."""
    with holding(tmp_path, "small=20", "leak=256", MALLOC_CONF=conf) as (process, pid):
        leak(process)
        found = doctor(tmp_path, "--for=5s", "--record", *words, pid)
        first = found["findings"][0]
        assert first["cause"] == "heap-leak" and "leak" in first["functions"], found
        assert not json.loads(jescope(tmp_path, "status", "--json", pid).stdout)["profiling"]["active"]


def test_what_keeps_nothing_is_named(tmp_path):
    """Sampling is off, and what --record samples is freed at once."""
    case = next(case for case in battery.cases() if case.name == "trade-tokens")
    with battery.running(tmp_path, case, "inactive") as program:
        document, truth = battery.ask(tmp_path, program, ["doctor", "--for=6s", "--record"])
        assert battery.judge_findings(document, truth) == [], document


@pytest.mark.parametrize("name", ["churn-requests", "trade-jobs"])
def test_what_jemalloc_does_not_sample_is_named(tmp_path, name):
    """jemalloc samples, without births, and misses short-lived threads: jescope's sampler counts at the end of the watch, and jemalloc's goes on."""
    case = next(case for case in battery.cases() if case.name == name)
    with battery.running(tmp_path, case, "profiled") as program:
        document, truth = battery.ask(tmp_path, program, ["doctor", "--for=9s", "--record"])
        assert battery.judge_findings(document, truth) == [], document
        now = json.loads(jescope(tmp_path, "status", "--json", program.pid).stdout)["profiling"]
        assert now["active"] and now["sampler"] == "jemalloc", now


@pytest.mark.parametrize("name", ["churn-frames", "trade-pages"])
def test_what_comes_and_goes_is_seen_without_a_profile(tmp_path, name):
    """By the counters of size classes, small and large."""
    case = next(case for case in battery.cases() if case.name == name)
    with battery.running(tmp_path, case, "plain") as program:
        document, truth = battery.ask(tmp_path, program, ["doctor", "--for=4s"])
        assert document["findings"][0]["cause"] == truth["cause"], document


def test_healthy(tmp_path):
    with holding(tmp_path, "small=20", options=["--active", "--sample=64KiB"]) as (_, pid):
        done = jescope(tmp_path, "doctor", "--for=2s", pid)
        assert done.returncode == 0
        assert re.search(r"^healthy; a leak above [\d.]+ [KMG]iB/[sh] would have been seen$", done.stdout, re.M), done.stdout


def test_memory_that_no_malloc_knows(tmp_path):
    with holding(tmp_path, "elsewhere=60") as (_, pid):
        first = doctor(tmp_path, "--for=1s", pid)["findings"][0]
        assert first["cause"] == "non-jemalloc-anon-mmap" and 40 * MIB < first["bytes"] < 90 * MIB


def seconds_of_growth(finding):
    found = re.search(r"^live bytes rose .* over (\d+) s", "\n".join(finding["evidence"]), re.M)
    return int(found[1]) if found else 0


def test_growth_of_the_history(tmp_path):
    """Too slow for the watch; the longer it is collected, the surer it is."""
    history = tmp_path / "history.db"
    end = time.monotonic() + 120
    with holding(tmp_path, "small=20", "leak=4") as (process, pid):
        leak(process)
        while True:
            jescope(tmp_path, "collect", f"holds={pid}", "--every=100ms", "--for=4s", "--detail=classes", f"--history={history}")
            found = doctor(tmp_path, "--for=1s", f"--history={history}", pid)
            leaks = [finding for finding in found["findings"] if finding["cause"] == "heap-leak"]
            if leaks and seconds_of_growth(leaks[0]) > found["watched_seconds"] + 1:
                break
            assert time.monotonic() < end, found
        assert leaks[0]["bytes_per_second"] > 0 and leaks[0]["bytes"] > MIB
    # Of another process nothing is taken, whatever name its samples have.
    with holding(tmp_path, "small=20") as (_, other):
        for words in ([], ["--target=holds"]):
            done = jescope(tmp_path, "doctor", "--for=1s", f"--history={history}", *words, other, check=False)
            assert done.returncode == 1 and f"has no samples of process {other}" in done.stderr, done.stderr
        done = jescope(tmp_path, "doctor", "--history=/dev/null", other, check=False)
        assert done.returncode == 2 and "not a history file" in done.stderr


def test_a_long_history(tmp_path):
    """Longer than what is kept of it."""
    samples = [f'{{"jemalloc":{{"version":"5.3.0-0","arenas":{{"narenas":1,"page":4096}},"stats":{{"allocated":{(50 + second / 20) * MIB:.0f},"active":{90 * MIB},"metadata":4194304,"resident":{95 * MIB},"mapped":{99 * MIB},"retained":0}},"stats.arenas":{{}}}}}}' for second in range(1100)]
    log = tmp_path / "log"
    log.write_text("".join(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(1700000000 + 10 * number))}\n{sample}\n" for number, sample in enumerate(samples)))
    found = doctor(tmp_path, log)
    assert found["watched_seconds"] == pytest.approx(10990) and [finding["cause"] for finding in found["findings"]] == ["heap-leak"], found
    assert found["findings"][0]["bytes_per_second"] == pytest.approx(MIB / 200, rel=0.05)


def timeless_among(tmp_path, *places, until=60):
    """A log of a leak, whose snapshots at PLACES have no time."""
    text = ""
    for number in range(until):
        stats = {"allocated": (50 + number) * MIB, "active": 150 * MIB, "metadata": 4 * MIB, "resident": 150 * MIB, "mapped": 150 * MIB, "retained": 0}
        sample = {"jemalloc": {"version": "5.3.0-0", "arenas": {"narenas": 1, "page": 4096}, "stats": stats, "stats.arenas": {}}}
        text += "" if number in places else time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime(1700000000 + 60 * number))
        text += json.dumps(sample) + "\n" * 20  # a time that far before is not its
    (tmp_path / "log").write_text(text)
    return jescope(tmp_path, "doctor", "--json", tmp_path / "log", check=False)


@pytest.mark.parametrize("places", [[0], [30], [59], [0, 1, 30, 59]])
def test_a_snapshot_without_a_time(tmp_path, places):
    """It was the first of a series whose times were then far from it, which had the leak called healthy."""
    done = timeless_among(tmp_path, *places)
    found = json.loads(done.stdout)
    assert done.returncode == 4 and [finding["cause"] for finding in found["findings"]] == ["heap-leak"], done
    assert 56 * 60 <= found["watched_seconds"] <= 59 * 60
    assert f"left out {len(places)} snapshots without a time" in done.stderr


def test_snapshots_without_any_time(tmp_path):
    """The last one is what can be said."""
    done = timeless_among(tmp_path, *range(5), until=5)
    assert done.returncode == 0 and json.loads(done.stdout)["watched_seconds"] == 0
    assert "left out 4 snapshots without a time" in done.stderr
    assert "left out" not in timeless_among(tmp_path, 0, until=1).stderr


def slow_history(tmp_path):
    """A history of another user, whose schema has each block take a second to read."""
    sample = f'{{"jemalloc":{{"version":"5.3.0-0","arenas":{{"narenas":1,"page":4096}},"stats":{{"allocated":{MIB}}},"stats.arenas":{{}}}}}}'
    (tmp_path / "log").write_text(f"2026-11-22T12:00:00Z\n{sample}\n")
    jescope(tmp_path, "import", f"--history={tmp_path}/history.db", tmp_path / "log")
    with contextlib.closing(sqlite3.connect(tmp_path / "history.db")) as database:
        [schema] = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'block'").fetchone()
        database.execute("ALTER TABLE block RENAME TO once")
        database.execute(schema.replace("rows INTEGER NOT NULL", "n INTEGER NOT NULL, rows INTEGER AS (n) VIRTUAL"))
        columns = "target, incarnation, first_us + %d, last_us + %d, rows, step_us, times, totals"
        for i in range(500):
            database.execute("INSERT INTO block(target, incarnation, first_us, last_us, n, step_us, times, totals) SELECT " + columns % (i, i) + " FROM once")
        database.execute("DROP TABLE once")
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET sql = replace(sql, 'AS (n)', 'AS (n + 0 * length(replace(hex(zeroblob(10000000)), ''0'', ''1'')))')")
        database.commit()
    os.chown(tmp_path / "history.db", 12345, 12345)
    return tmp_path / "history.db"


def seconds_allowed(pid):
    """The limits in seconds of processor time of the processes that PID and its children have started."""
    with contextlib.suppress(OSError):
        for child in children(pid):
            yield from seconds_allowed(child)
            limit = re.search(r"^Max cpu time +(\w+)", pathlib.Path(f"/proc/{child}/limits").read_text(), re.M)[1]
            yield int(limit) if limit.isdigit() else None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_time_for_a_history_of_another_user(tmp_path):
    """How long a query of it takes is up to its owner."""
    history = slow_history(tmp_path)
    with started([JESCOPE, "doctor", history], env=environment(tmp_path), cwd=tmp_path) as process:
        wait_for(lambda: 30 in seconds_allowed(process.pid) or process.poll() is not None, "it is read")
        assert process.poll() is None


def test_operands(tmp_path):
    done = jescope(tmp_path, "doctor", "--for=never", "1", check=False)
    assert done.returncode == 2 and "--for" in done.stderr
    done = jescope(tmp_path, "doctor", "--sampler=jescope", "1", check=False)
    assert done.returncode == 2 and "--sampler is for --record" in done.stderr
    (tmp_path / "empty").mkdir()
    done = jescope(tmp_path, "doctor", tmp_path / "empty", check=False)
    assert done.returncode == 1 and "holds no files" in done.stderr
    (tmp_path / "notes").write_text("nothing of interest\n")
    done = jescope(tmp_path, "doctor", tmp_path / "notes", check=False)
    assert done.returncode == 1 and "neither a heap dump nor jemalloc statistics" in done.stderr


@pytest.fixture
def server(tmp_path):
    if "JESCOPE_PROOF" not in os.environ:
        pytest.skip("a service is brought into its states with JESCOPE_PROOF alone")
    if redis_program(tmp_path) is None:
        pytest.skip("redis-server is not installed (Debian: redis-tools)")
    with redis(tmp_path, "--active") as running:
        yield running


def keep_pushing(server, stop):
    number = 0
    while not stop.is_set():
        server.ask("RPUSH", f"list{number % 100}", "v" * 4000)
        number += 1


def test_a_database_that_is_full(tmp_path, server):
    server.ask("EVAL", "for i = 1, 30000 do redis.call('SET', 'key' .. i, string.rep('v', 4000)) end", 0)
    first = doctor(tmp_path, "--for=8s", server.pid)["findings"][0]
    assert first["cause"] in ("startup-memory", "bounded-cache") and 80 * MIB < first["bytes"] < 180 * MIB
    assert server.ask("FLUSHALL") == "+OK\r\n"
    jescope(tmp_path, "purge", server.pid)
    first = doctor(tmp_path, "--for=5s", server.pid)["findings"][0]
    assert first["cause"] == "burst-returned" and 80 * MIB < first["bytes"] < 200 * MIB


def test_a_list_that_only_grows(tmp_path, server):
    stop = threading.Event()
    pushing = threading.Thread(target=keep_pushing, args=(server, stop))
    pushing.start()
    try:
        first = doctor(tmp_path, "--for=10s", server.pid)["findings"][0]
    finally:
        stop.set()
        pushing.join()
    assert first["cause"] == "heap-leak" and first["bytes_per_second"] > 0
    assert any("push" in function.lower() for function in first["functions"]), first["functions"]


@pytest.mark.parametrize("kind", loaded.SERVERS, ids=lambda kind: kind.name)
def test_a_server_at_work_leaks_nothing(tmp_path, kind):
    """Debian's servers with jemalloc in front, under load."""
    if "JESCOPE_PROOF" not in os.environ:
        pytest.skip("servers are put under load with JESCOPE_PROOF alone")
    if loaded.need(kind.program) is None:
        pytest.skip(f"{kind.name} is not installed")
    with loaded.running(kind, tmp_path) as server, loaded.under_load(server) as load:
        found = doctor(tmp_path, "--for=15s", server.pid)
        server.assert_runs()
    assert not {finding["cause"] for finding in found["findings"]} & {"heap-leak", "leak-in-unloaded-code", "growth-with-load"}, found
    assert load.failures == []
