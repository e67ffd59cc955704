# SPDX-License-Identifier: Apache-2.0
"""jescope series: stored samples as tables, numbers for programs, and drawings."""

import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest

JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src" / "cli" / "jescope"
DEADLINE = 180
BRAILLE = re.compile("[\u2801-\u28ff]")

SNAPSHOT = """2026-11-20 {0:02d}:{1:02d}:00.000 [INFO] ___ Begin jemalloc statistics ___
2026-11-20 {0:02d}:{1:02d}:00.000 [INFO] Version: "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
2026-11-20 {0:02d}:{1:02d}:00.000 [INFO] Allocated: {2}, active: {3}, metadata: 3000000 (n_thp 0), resident: {4}, mapped: 6000000, retained: 5000000
2026-11-20 {0:02d}:{1:02d}:00.000 [INFO] Count of realloc(non-null-ptr, 0) calls: {5}
2026-11-20 {0:02d}:{1:02d}:00.000 [INFO] --- End jemalloc statistics ---
"""


def log(count, calls=lambda minute: 60 * minute):
    return "".join(SNAPSHOT.format(10 + minute // 60, minute % 60, 1_000_000 + minute * 1000, 2_000_000, 4_000_000, calls(minute))
                   for minute in range(count))


@pytest.fixture
def run(tmp_path):
    env = dict(os.environ, JESCOPE_HISTORY=str(tmp_path / "history.db"), TZ="UTC", LC_ALL="C.UTF-8", COLUMNS="80")
    env.pop("NO_COLOR", None)

    def run_one(*words, status=0, **options):
        done = subprocess.run([JESCOPE, *map(str, words)], env=env, text=True, capture_output=True, timeout=DEADLINE, **options)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done

    run_one.env = env
    return run_one


@pytest.fixture
def hour(run):
    """Ninety minutes of one target, a sample a minute from 10:00 on."""
    run("import", "-", "--target", "app", input=log(90))
    return run


def rows(run, *words):
    return list(csv.reader(io.StringIO(run("series", *words, "--format", "csv").stdout)))


def test_list(hour):
    listed = hour("series").stdout.splitlines()
    assert listed[0].split() == ["TARGET", "SAMPLES", "FROM", "TO", "EVERY", "LIVES", "GAPS", "JEMALLOC"]
    assert listed[1].split() == ["app", "90", "2026-11-20T10:00:00Z", "2026-11-20T11:29:00Z", "-", "1", "0", "5.3.0"]
    kept = json.loads(hour("series", "--json").stdout)["targets"][0]
    assert kept["samples"] == 90 and kept["gaps"] == [] and kept["incarnations"] == 1
    metrics = hour("series", "--metrics").stdout
    assert re.search(r"^allocated +gauge +bytes +Bytes of allocations", metrics, re.M)
    names = [metric["metric"] for metric in json.loads(hour("series", "--metrics", "--json").stdout)["metrics"]]
    assert "zero_reallocs" in names and "bin.curregs" not in names


def test_table(hour):
    lines = hour("series", "allocated", "active", "--to", "2026-11-20T10:02Z").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["TIME", "allocated", "active"],
        ["2026-11-20T10:00:00Z", "976.6", "KiB", "1.907", "MiB"],
        ["2026-11-20T10:01:00Z", "977.5", "KiB", "1.907", "MiB"],
    ]


def test_range_and_step(hour):
    table = rows(hour, "allocated", "--from", "2026-11-20T10:10Z", "--to", "2026-11-20 10:20:00Z")
    assert table[0] == ["time", "allocated"]
    assert table[1] == ["2026-11-20T10:10:00Z", "1010000"] and len(table) == 11
    table = rows(hour, "allocated", "--step", "30m")
    assert table[1:] == [["2026-11-20T10:00:00Z", "1014500"], ["2026-11-20T10:30:00Z", "1044500"],
                         ["2026-11-20T11:00:00Z", "1074500"]]
    each = {word: rows(hour, "allocated", "--step", "1h", "--each", word)[1][1] for word in ("min", "max", "last", "mean")}
    assert each == {"min": "1000000", "max": "1059000", "last": "1059000", "mean": "1029500"}
    assert "app has" not in hour("series", "allocated", "--from", "-1m", status=1).stdout


def test_rates(run):
    # The process was restarted at minute 20: its counter restarts.
    run("import", "-", "--target", "app", input=log(40, lambda minute: 60 * (minute if minute < 20 else minute - 20)))
    points = [value for _, value in json.loads(run("series", "zero_reallocs", "--rate", "--json").stdout)["series"][0]["points"]]
    assert points == [1.0] * 38
    table = rows(run, "zero_reallocs", "--rate", "--step", "10m")
    assert table[0] == ["time", "zero_reallocs per second"]
    assert {value for _, value in table[1:]} == {"1"}


def test_json(hour):
    series = json.loads(hour("series", "zero_reallocs", "--to", "2026-11-20T10:01Z", "--format", "json").stdout)["series"]
    assert series == [{"target": "app", "metric": "zero_reallocs", "type": "counter", "unit": "count",
                       "points": [[1795168800.0, 0]]}]


def test_openmetrics(hour, tmp_path):
    text = hour("series", "allocated", "zero_reallocs", "--format", "openmetrics").stdout
    lines = text.splitlines()
    assert "# TYPE jemalloc_allocated_bytes gauge" in lines and "# UNIT jemalloc_allocated_bytes bytes" in lines
    assert 'jemalloc_allocated_bytes{target="app"} 1000000 1795168800.000' in lines
    assert "# TYPE jemalloc_zero_reallocs counter" in lines
    assert 'jemalloc_zero_reallocs_total{target="app"} 60 1795168860.000' in lines
    assert lines[-1] == "# EOF"
    if not shutil.which("promtool"):
        pytest.skip("no promtool; install prometheus")
    file = tmp_path / "metrics"
    file.write_text(text)
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", file, tmp_path / "tsdb"], check=True,
                   capture_output=True, timeout=DEADLINE)
    assert any((tmp_path / "tsdb").iterdir())


def test_several_targets(hour):
    hour("import", "-", "--target", "other, \"quoted\"", input=log(3))
    table = rows(hour, "allocated", "--to", "2026-11-20T10:01Z")
    assert table == [["time", "app allocated", 'other, "quoted" allocated'], ["2026-11-20T10:00:00Z", "1000000", "1000000"]]
    assert rows(hour, "allocated", "--target", "app", "--to", "2026-11-20T10:01Z")[0] == ["time", "allocated"]


def test_drawing(hour):
    out = hour("series", "allocated", "active", "--draw").stdout
    assert BRAILLE.search(out) and "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    # Without colours each has a panel of its own.
    assert out.count("└") == 2 and "allocated, last 1.039 MiB" in out
    lines = out.splitlines()
    assert lines[0].strip() == "app" and any(line.split()[0] == "UTC" and "10:30" in line for line in lines if line.strip())
    # 1000000 to 1089000 bytes, and 2000000 all the time.
    assert "scale begins at 960 KiB, not at 0" in out and "not at 0" not in hour("series", "zero_reallocs", "--draw").stdout
    narrow = subprocess.run([JESCOPE, "series", "allocated", "--draw"], env=dict(hour.env, COLUMNS="50"), text=True,
                            capture_output=True).stdout
    assert max(len(line) for line in narrow.splitlines()) <= 50
    plain = subprocess.run([JESCOPE, "series", "allocated", "--draw"], env=dict(hour.env, LC_ALL="C"), text=True,
                           capture_output=True).stdout
    assert plain.isascii() and "*" in plain


def on_terminal(env, *words):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([JESCOPE, *words], env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        out += piece
    os.close(ours)
    assert process.wait(timeout=DEADLINE) == 0
    return out.decode()


def test_colours_on_a_terminal(hour):
    env = dict(hour.env, TERM="xterm")
    assert "\x1b[36m" in on_terminal(env, "series", "allocated", "active", "--draw")
    assert "\x1b" not in on_terminal(dict(env, NO_COLOR="1"), "series", "allocated", "--draw")


def test_svg(hour, tmp_path):
    file = tmp_path / "plot.svg"
    hour("series", "allocated", "resident", "zero_reallocs", "--plot", file)
    root = xml.parse(file).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg"
    lines = [path.get("d") for path in root.iter(space + "path")]
    assert len(lines) == 6  # three in legends
    text = "".join(root.itertext())
    assert root.find(space + "title").text == "app: allocator statistics over time"
    assert [mark.text for mark in root.iter(space + "text")][0] == "app" and "UTC" in text
    assert "not at 0" not in text and "not at 0" in hour("series", "allocated", "--plot", "-").stdout
    assert "allocated, last 1.039 MiB" in text and "prefers-color-scheme:dark" in text
    assert all(tag not in file.read_text() for tag in ("<script", "href", "@import"))
    assert "exists" in hour("series", "allocated", "--plot", file, status=1).stderr
    assert hour("series", "allocated", "--plot", "-").stdout.startswith("<svg ")


def test_a_line_breaks_at_a_gap(run):
    """Collected samples tell their interval; imported ones do not, so only a counter's restart shows."""
    run("import", "-", "--target", "app", input=log(30, lambda minute: 60 * (minute % 15)))
    svg = run("series", "zero_reallocs", "--rate", "--plot", "-").stdout
    line = next(path for path in re.findall(r'd="([^"]*)"', svg) if "h24" not in path)
    assert line.count("M") == 2


@pytest.mark.parametrize("words, status, said", [
    (["nothing"], 1, "no metric 'nothing'"),
    (["allocate"], 1, "did you mean 'allocated'?"),
    (["allocated@3"], 1, "'allocated' is a value of the process; leave '@3' out"),
    (["arena.mapped@0/5"], 1, "leave '/5' out"),
    (["arena.mapped@x"], 1, "'x' is not an arena"),
    (["bin.curregs"], 1, "has no values of 'bin.curregs'"),
    (["allocated", "--target", "nobody"], 1, "no target 'nobody'"),
    (["allocated", "--from", "soon"], 2, "--from: 'soon' is not a time"),
    (["allocated", "--from", "2026-11-21", "--to", "2026-11-20"], 2, "is not before"),
    (["allocated", "--step", "0"], 2, "--step: '0' is out of range"),
    (["allocated", "--each", "median"], 2, "--each: unknown value 'median'"),
    (["allocated", "--format", "xml"], 2, "--format: unknown value 'xml'"),
    (["--draw"], 2, "--draw needs the name of a metric"),
])
def test_refuses(hour, words, status, said):
    assert said in hour("series", *words, status=status).stderr
