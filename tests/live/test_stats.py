# SPDX-License-Identifier: Apache-2.0
"""`jescope stats`: one screen, OpenMetrics, advice, jemalloc's own output; of files and of a living process."""

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
DEADLINE = 60


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
    return json.JSONDecoder(strict=False).decode(printed("stats", live, "--json"))["jemalloc"]


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
    assert "no-decay" in found and "dirty_decay_ms is -1 in arena 0" in text
    assert {"empty-class", "fragmentation"} <= found
    assert "size class 256 is" in text


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
    assert "[empty-class]" in text and "size class 320 is 5% full" in text
    assert "Nothing stands out" in printed("stats", DATA / "console-4.0.4.log.gz", "--advise")


def test_truncated_file(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(gzip.decompress((DATA / "console-5.3.0.log.gz").read_bytes())[:-300])
    result = jescope("stats", log)
    assert result.returncode == 3 and "left out 1 of 2 snapshots" in result.stderr
    assert "  allocated        5.1 MiB" in result.stdout


@pytest.mark.parametrize("arguments, status, words", [
    (("1", "--format=xml"), 2, "'xml' is not one of summary, openmetrics"),
    (("1", "--raw", "--advise"), 2, "do not go with"),
    (("/dev/null/x",), 1, "/dev/null/x"),
    ((SOURCE / "meson.build",), 1, "holds no jemalloc statistics"),
])
def test_errors(arguments, status, words):
    result = jescope("stats", *arguments)
    assert result.returncode == status and result.stdout == ""
    assert words in result.stderr and result.stderr.count("\n") == 1
