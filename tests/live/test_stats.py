# SPDX-License-Identifier: Apache-2.0
"""`jescope stats`: one screen, OpenMetrics, advice, jemalloc's own output; of files and of a living process."""

import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
BUILD = pathlib.Path(os.environ["JESCOPE_BUILD"])
JESCOPE = BUILD / "src" / "cli" / "jescope"
DATA = SOURCE / "tests" / "data" / "stats"
FILES = sorted(path.name for path in DATA.iterdir())
DEADLINE = 180


def jescope(*arguments, environment=None):
    return subprocess.run([str(JESCOPE), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                          check=False, env=dict(os.environ, TZ="UTC", **(environment or {})))


def printed(*arguments, **options):
    result = jescope(*arguments, **options)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


# A child of jescope run that holds a known amount, fragments one size class, leaves dirty pages, and waits until its standard input closes.
PROGRAM = """
import sys
kept = [bytes(200) for _ in range(200000)]
kept = kept[::16]
freed = [bytes(5000) for _ in range(8000)]
del freed
large = bytes(50 << 20)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    sockets = tmp_path_factory.mktemp("sockets")
    environment = dict(os.environ, JESCOPE_SOCKET_DIR=str(sockets), MALLOC_CONF="narenas:3,dirty_decay_ms:-1",
                       PYTHONMALLOC="malloc")
    sockets.chmod(0o700)
    process = subprocess.Popen([str(JESCOPE), "run", "--", sys.executable, "-c", PROGRAM], env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    deadline = time.monotonic() + DEADLINE
    while not (found := list(sockets.glob("*.sock"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found, "no agent socket"
    yield f"unix:{found[0]}"
    process.stdin.close()
    try:
        process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        raise


def size(text):
    """The bytes of '12.3 MiB'."""
    number, unit = text.split()
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)


def own_json(live):
    return json.JSONDecoder(strict=False).decode(printed("stats", live, "--raw", "--json"))["jemalloc"]


def test_summary_of_a_process(live):
    text = printed("stats", live)
    shown = {name: size(value) for name, value in re.findall(r"^  (\w+) +([\d.]+ \w+)", text, re.M)}
    stats = own_json(live)["stats"]
    for name in ("allocated", "active", "resident", "mapped", "retained", "metadata"):
        assert shown[name] == pytest.approx(stats[name], rel=0.1, abs=200000), name
    assert 50 << 20 < shown["allocated"] < shown["active"] < shown["mapped"]
    assert re.search(r"size class +wasted +in use +full", text)
    assert "what the program holds" in text and "fragmentation" in text


def test_live_values_are_jemallocs(live):
    text = printed("stats", live, "--format=openmetrics", "--arenas", "--classes")
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    document = own_json(live)
    merged = document["stats.arenas"].get("merged") or document["stats.arenas"]["0"]
    assert float(values["jemalloc_mapped_bytes"]) == pytest.approx(document["stats"]["mapped"], rel=0.05)
    assert values["jemalloc_page_bytes"] == str(document["arenas"]["page"])
    assert values["jemalloc_narenas"] == "3"
    assert values['jemalloc_arena_dirty_decay_seconds{arena="0"}'] == "+Inf"
    assert 'jemalloc_arena_dirty_decay_seconds{arena="merged"}' not in values
    close = lambda name, key: float(values[f'jemalloc_arena_{name}{{arena="merged"}}']) == pytest.approx(key, rel=0.05,
                                                                                                       abs=100)
    assert close("small_allocated_bytes", merged["small"]["allocated"])
    assert close("large_nmalloc_total", merged["large"]["nmalloc"])
    assert close("pactive_pages", merged["pactive"])
    for index, bin_class in list(enumerate(document["arenas"]["bin"]))[20:30]:
        name = f'jemalloc_bin_curregs{{arena="merged",size="{bin_class["size"]}"}}'
        expected = merged["bins"][index]["curregs"]
        assert float(values.get(name, 0)) == pytest.approx(expected, rel=0.05, abs=30), name
    arenas = {key for key in document["stats.arenas"] if key.isdigit()}
    assert arenas == set(re.findall(r'jemalloc_arena_nthreads\{arena="(\d+)"\}', text))


def test_advice_about_a_process(live):
    text = printed("stats", live, "--advise")
    found = set(re.findall(r"\[([\w-]+)\]$", text, re.M))
    assert "dirty-pages" in found and "dirty_decay_ms is -1 in arena 0" in text
    assert "fragmentation-small-classes" in found
    assert "in size class 256" in text and re.search(r"^  returns: +up to [\d.]+ MiB$", text, re.M)


def test_own_output(live):
    assert printed("stats", live, "--raw").startswith("___ Begin jemalloc statistics ___\n")
    short = printed("stats", live, "--options", "gmablxe")
    assert short.startswith("___ Begin") and "Build-time" not in short and "bins:" not in short
    assert set(own_json(live)) >= {"version", "stats", "stats.arenas"}


@pytest.mark.parametrize("name", FILES)
def test_openmetrics_of_files(name):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    text = printed("stats", DATA / name, "--format=openmetrics", "--arenas", "--classes")
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False,
                             timeout=DEADLINE)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    assert text.endswith("# EOF\n")
    families = re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M)
    assert len(families) == len(set(families))
    for family, kind in families:
        assert re.fullmatch(r"jemalloc(_[a-z0-9]+)+", family)
        assert family.endswith("_total") == (kind == "counter")
        assert not re.search(r"_(ms|ns|kb|mb)(_|$)", family)


@pytest.mark.parametrize("name", FILES)
def test_summary_of_files(name):
    lines = printed("stats", DATA / name).splitlines()
    assert re.match(re.escape(name) + r", jemalloc \d", lines[0])
    assert len(lines) <= 40 and max(map(len, lines)) <= 100, "one screen"
    assert any("allocated" in line for line in lines) and any("mapped" in line for line in lines)


def test_advice_of_a_file():
    text = printed("stats", DATA / "redis.log.gz", "--advise")
    assert "[fragmentation-small-classes]" in text and "size class 320 is 5% full" in text
    assert "No findings" in printed("stats", DATA / "console-4.0.4.log.gz", "--advise")


HOLDS = BUILD / "tests" / "victims" / "holds"


@contextlib.contextmanager
def holding(scratch, *words, options=(), conf=None):
    """The victim under `jescope run`; its pid, and the environment to ask in."""
    sockets = scratch / "agents"
    sockets.mkdir(mode=0o700, exist_ok=True)
    environment = {"JESCOPE_SOCKET_DIR": str(sockets)}
    with subprocess.Popen([str(JESCOPE), "run", *options, "--", str(HOLDS), *words], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, **environment, **({"MALLOC_CONF": conf} if conf else {}))) as process:
        try:
            yield int(process.stdout.readline()), environment
        finally:
            process.stdin.close()
            process.wait(DEADLINE)


def figures(pid, environment):
    return json.loads(printed("status", "--json", pid, environment=environment))


def test_thread_caches_are_not_held(tmp_path):
    """F8: 500 threads that freed everything: allocated is what their caches hold."""
    with holding(tmp_path, "small=20", "cached=500") as (pid, environment):
        memory = figures(pid, environment)["sample"]
        assert memory["allocated"] > 100 << 20, "the caches are full, or this tests nothing"
        assert 19 << 20 < memory["held"] < 26 << 20
        text = printed("stats", pid, environment=environment)
        assert re.search(r"^  held +2\d\.\d MiB +what the program holds$", text, re.M)
        assert re.search(r"^    \+ +\d+\.\d MiB +\d\d\.\d%  in thread caches, freed by the program$", text, re.M)
        assert re.search(r"^  allocated +\d+\.\d MiB$", text, re.M)
        assert "jemalloc_held_bytes " in printed("stats", "--format=openmetrics", pid, environment=environment)


@pytest.mark.parametrize("sample", ["64KiB", "16KiB"])
def test_sampling_is_not_held(tmp_path, sample):
    """Each sampled small object is counted as 16 KiB."""
    with holding(tmp_path, "small=40", options=["--active", f"--sample={sample}"]) as (pid, environment):
        memory = figures(pid, environment)["sample"]
        assert memory["allocated"] > 48 << 20, "the samples show in allocated, or this tests nothing"
        assert 38 << 20 < memory["held"] < 44 << 20


def test_own_buffers_are_held(tmp_path):
    """Objects of the class as which samples are counted are the program's, but for what sampling may explain."""
    with holding(tmp_path, "small=16", "buffers=2000") as (pid, environment):
        assert 45 << 20 < figures(pid, environment)["sample"]["held"] < 50 << 20


def test_a_heap_elsewhere_is_told(tmp_path):
    with holding(tmp_path, "elsewhere=30") as (pid, environment):
        found = figures(pid, environment)
        assert 26 << 20 < found["sample"]["outside"] < 32 << 20 and found["sample"]["rss"] > 30 << 20
        assert "does not serve the main heap" in found["notice"]
        for command in (["status"], ["stats"], ["stats", "--advise"], ["stats", "--via=attach"], ["ledger"]):
            assert "does not serve the main heap" in printed(*command, pid, environment=environment), command
        assert re.search(r"^  RSS +\d\d\.\d MiB ", printed("stats", pid, environment=environment), re.M)


def test_no_notice_where_jemalloc_serves(tmp_path):
    with holding(tmp_path, "small=40") as (pid, environment):
        assert figures(pid, environment)["notice"] is None
        assert "WARNING" not in printed("stats", pid, environment=environment)


def test_truncated_file(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(gzip.decompress((DATA / "console-5.3.0.log.gz").read_bytes())[:-300])
    result = jescope("stats", log)
    assert result.returncode == 3 and "left out 1 of 2 snapshots" in result.stderr
    assert "  allocated        5.1 MiB" in result.stdout


@pytest.mark.parametrize("arguments, status, words", [
    (("1", "--format=xml"), 2, "unknown value 'xml'; known: summary, openmetrics, json"),
    (("1", "--raw", "--advise"), 2, "cannot be combined with"),
    (("/dev/null/x",), 1, "/dev/null/x"),
    ((SOURCE / "meson.build",), 1, "holds no jemalloc statistics"),
])
def test_errors(arguments, status, words):
    result = jescope("stats", *arguments)
    assert result.returncode == status and result.stdout == ""
    assert words in result.stderr and result.stderr.count("\n") == 1


# Objects of two classes in twelve arenas of their own, of a process without an agent.
ARENAS = """
import ctypes, sys
jemalloc = ctypes.CDLL(None)
jemalloc.mallocx.restype = ctypes.c_void_p
number, length = ctypes.c_uint(), ctypes.c_size_t(4)
for i in range(12):
    assert jemalloc.mallctl(b"arenas.create", ctypes.byref(number), ctypes.byref(length), None, ctypes.c_size_t(0)) == 0
    for size in [160] * (i + 1) + [20480] * 2:
        jemalloc.mallocx(ctypes.c_size_t(size), ctypes.c_int((number.value + 1) << 20 | 1 << 8))
print(number.value - 11, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def many_arenas():
    environment = dict(os.environ, LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF="narenas:1")
    process = subprocess.Popen(["/usr/bin/python3", "-c", ARENAS], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    yield process.pid, int(process.stdout.readline())
    process.communicate("", DEADLINE)


def test_many_arenas_without_agent(many_arenas):
    pid, first = many_arenas
    document = json.loads(printed("stats", pid, "--json", "--arenas", "--classes"))
    arenas = {arena["arena"]: arena for arena in document["arenas"]}
    for i in range(12):
        arena = arenas[first + i]
        small = {row["bin.size"]: row for row in arena["bins"]}
        large = {row["large.size"]: row for row in arena["large"]}
        assert small[160]["bin.curregs"] == i + 1 and large[20480]["large.curlextents"] == 2
        assert arena["metrics"]["arena.small.nmalloc"] == i + 1
        # What jemalloc does not print: these values came out of its JSON.
        assert "bin.nslabs" not in small[160]
    # Those of all arenas came out of its text, which says how often large classes are allocated from.
    large = {row["large.size"]: row for row in arenas["merged"]["large"]}
    small = {row["bin.size"]: row for row in arenas["merged"]["bins"]}
    assert large[20480]["large.nmalloc"] >= large[20480]["large.curlextents"] >= 24
    assert small[160]["bin.nmalloc"] >= small[160]["bin.curregs"] >= 78 and small[160]["bin.nslabs"] >= 12


def test_collect_many_arenas_without_agent(many_arenas, tmp_path):
    """F17: all of their classes, by ptrace, are one call of jemalloc."""
    pid, first = many_arenas
    history = tmp_path / "history.db"
    collector = subprocess.Popen([str(JESCOPE), "collect", f"many={pid}", "--every=500ms", "--detail=all", f"--history={history}"],
                                 stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + DEADLINE
        asked = ["series", f"bin.curregs@{first + 11}/160", f"--history={history}", "--format=csv"]
        while len(found := jescope(*asked).stdout.splitlines()) < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        collector.terminate()
        collector.wait(DEADLINE)
    assert found[-1].endswith(",12")
