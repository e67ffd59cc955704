# SPDX-License-Identifier: Apache-2.0
"""The multi-call names of Aerospike's JEMalloc tools: arguments, lines and exit status."""

import gzip
import os
import pathlib
import random
import resource
import shutil
import subprocess
import threading

import pytest
from services import SANITIZED, small_disk

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src" / "cli" / "jescope"
JEMDEFS = SOURCE / "integrations" / "aerospike"
MB = 1 << 20


@pytest.fixture
def tool(tmp_path):
    """Runs TOOL under that name in a directory of its own."""
    names = tmp_path / "bin"
    names.mkdir()
    work = tmp_path / "work"
    work.mkdir()

    def run(name, *arguments):
        link = names / name
        if not link.exists():
            link.symlink_to(JESCOPE)
        return subprocess.run([str(link), *map(str, arguments)], cwd=work, capture_output=True, text=True, timeout=180,
                              check=False)

    run.work = work
    return run


def write_data(path, iterations):
    """ITERATIONS: a list of {arena: (total, active, mapped)}."""
    lines = ["def load(arenas, total, active, mapped):"]
    for arenas in iterations:
        lines.append("    arenas('sum') ")
        for arena, values in arenas.items():
            lines.append(f"    arenas({arena}) ")
            lines += [f"    {name}({value}) " for name, value in zip(("total", "active", "mapped"), values)]
    path.write_text("\n".join(lines) + "\n")


TWO = [
    {1: (90 * MB, 120 * MB, 120 * MB), 2: (120 * MB, 120 * MB, 160 * MB)},
    {1: (330 * MB, 378961920, int(360.9375 * MB)), 2: (40 * MB, 60 * MB, 120 * MB)},
]


def test_absolutes(tool):
    write_data(tool.work / "jemdata.py", TWO)
    result = tool("jemabs", 100, 1)
    assert result.stdout == (
        "Absolutes from iteration # 1 above 100 MB:\n"
        "arena:  1  total:  330.0 MB\n"
        "arena:  1  active:  361.40625 MB\n"
        "arena:  1  mapped:  360.9375 MB\n"
        "arena:  2  mapped:  120.0 MB\n")
    assert (result.returncode, result.stderr) == (0, "")


def test_deltas(tool):
    write_data(tool.work / "jemdata.py", TWO)
    assert tool("jemdel", 50).stdout == (
        "Deltas from iteration # 0 to 1 above 50 MB:\n"
        "arena:  1  delta total:  240.0 MB\n"
        "arena:  1  delta mapped:  240.9375 MB\n"
        "arena:  2  delta total:  -80.0 MB\n")


def test_deltas_of_other_base(tool):
    write_data(tool.work / "jemdata.py", TWO + TWO)
    titles = lambda *numbers: [line for line in tool("jemdel", *numbers).stdout.splitlines() if line[0] == "D"]
    title = "Deltas from iteration # {} to {} above 50 MB:".format
    assert titles(50, 1) == [title(1, 1), title(1, 2), title(1, 3)]
    assert titles(50, 0, 2) == [title(0, 2), title(0, 3)]
    assert titles(50, 0, 1, 2) == [title(0, 1)]
    assert tool("jemdel", 50, 1).stdout.splitlines()[1] == title(1, 2), "1 to 1 is empty"


def test_efficiency(tool):
    write_data(tool.work / "jemdata.py", TWO)
    assert tool("jemeff", 130, 0, 1).stdout == (
        "Efficiency from iteration # 0 above 130 MB:\n"
        "arena:  2  total:  120.0 MB (75.0%) active:  120.0 MB  (75.0%) mapped:  160.0 MB\n")
    write_data(tool.work / "jemdata.py", [{0: (MB, 6 * MB, 3 * MB)}])
    assert tool("jemeff", 1).stdout.splitlines()[1] == (
        "arena:  0  total:  1.0 MB (33.33%) active:  6.0 MB  (200.0%) mapped:  3.0 MB")


def test_ranges_and_thresholds(tool):
    write_data(tool.work / "jemdata.py", [{0: (MB, MB, MB)}] * 8)
    assert [line for line in tool("jemabs", 1024, 3, 6).stdout.splitlines()] == [
        f"Absolutes from iteration # {i} above 1 GB:" for i in (3, 4, 5)]
    assert tool("jemabs", 1536, 0, 1).stdout == "Absolutes from iteration # 0 above 1 GB:\n"
    assert tool("jemabs", 0, 0, 1).stdout.splitlines()[0] == "Absolutes from iteration # 0 above 0 B:"
    assert tool("jemabs").stdout.splitlines()[-1] == "Absolutes from iteration # 7 above 200 MB:"


def test_units(tool):
    write_data(tool.work / "jemdata.py", [{0: (1023, 1536, int(1.5 * (1 << 30))), 3: (123456789, 1 << 40, 1024)}])
    assert tool("jemabs", 0).stdout.splitlines()[1:] == [
        "arena:  0  total:  1023.0 B", "arena:  0  active:  1.5 KB", "arena:  0  mapped:  1.5 GB",
        "arena:  3  total:  117.737568855 MB", "arena:  3  active:  1024.0 GB", "arena:  3  mapped:  1.0 KB"]


def test_order_and_sum(tool):
    arenas = {10: (MB,) * 3, 2: (MB,) * 3, 0: (MB,) * 3}
    write_data(tool.work / "jemdata.py", [arenas])
    text = tool("jemabs", 1).stdout
    assert [line.split()[1] for line in text.splitlines()[1:]] == ["0"] * 3 + ["2"] * 3 + ["10"] * 3
    assert "sum" not in text


def test_extract_takes_long_lines_without_end(tool):
    """A log that others write may have a line without end: its beginning counts, and no memory is taken for the rest."""
    log = tool.work / "log"
    limited = tool.work / "small.log"
    with limited.open("w") as file:
        file.write("Begin jemalloc statistics " + "x" * 300000 + "\nMerged arenas stats:\n")
    done = tool("extract-jem-stats", limited)
    assert done.returncode == 0 and "arenas('sum')" in (tool.work / "jemdata.py").read_text(), done
    log.write_bytes(b"x" * (200 << 20))
    limit = "" if SANITIZED else "ulimit -v 150000; "  # a sanitizer reserves more address space
    short = f'{limit}exec "{tool.work.parent}/bin/extract-jem-stats" "{log}"'
    done = subprocess.run(["sh", "-c", short], cwd=tool.work, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file needs root")
def test_extract_of_another_users_log(tool):
    """Its name may control a terminal, and its size be a hole's."""
    log = tool.work / "log\x1b[2J\x9b"
    log.write_text("Begin jemalloc statistics\nMerged arenas stats:\n")
    os.chown(log, 65534, 65534)
    done = tool("extract-jem-stats", log)
    assert done.returncode == 0 and "\x1b" not in done.stdout and "log\\u{001B}[2J" in done.stdout, done
    os.truncate(log, 5 << 30)
    done = tool("extract-jem-stats", log)
    assert done.returncode == 1 and "belongs to another user and is larger than 4 GiB" in done.stderr, done
    missing = tool("extract-jem-stats", f"{log}?")
    assert "not found" in missing.stdout and "\x1b" not in done.stdout + done.stderr + missing.stdout


def test_extract_of_a_log_that_grows(tool):
    """What was there at the beginning is read."""
    log = tool.work / "log"
    lines = "Begin jemalloc statistics\nMerged arenas stats:\n" + "x" * 1000 + "\n"
    log.write_text(lines * 1000)
    ended = threading.Event()

    def write():
        with log.open("a") as file:
            while not ended.is_set() and file.tell() < 256 << 20:
                file.write(lines * 1000)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert tool("extract-jem-stats", log).returncode == 0
        size = (tool.work / "jemdata.py").stat().st_size
    finally:
        ended.set()
        writer.join()
    assert 0 < size < 1 << 20


def test_extract_takes_as_long_as_the_log(tool):
    """Not the square of the number of colons in a line."""
    log = tool.work / "log"
    log.write_text(("arenas" + ":" * 65000 + "\n") * 1000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert tool("extract-jem-stats", log).returncode == 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10, "it took 23 s"


def test_extract_of_more_than_a_console_has(tool):
    """Six bytes of log become 21 of data: nothing is left of what is too much, and what was there before stays."""
    log, data = tool.work / "log", tool.work / "jemdata.py"
    data.write_text("def load(arenas, total, active, mapped):\n    arenas('sum') \n")
    log.write_bytes(b"Begin\n" * (14 << 20))
    refused = tool("extract-jem-stats", log)
    assert refused.returncode == 1 and "more than 256 MiB of statistics; copy the part that is needed" in refused.stderr, refused
    assert data.read_text().endswith("    arenas('sum') \n") and data.stat().st_size < 100


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root")
def test_extract_to_a_full_disk(tool):
    """No part is left that looks like the whole."""
    log = tool.work / "log"
    log.write_text("Begin\n" * 400000)
    assert tool("extract-jem-stats", log).returncode == 0
    with small_disk(tool.work / "small"):
        done = subprocess.run([tool.work.parent / "bin/extract-jem-stats", log], cwd=tool.work / "small", capture_output=True, text=True,
                              timeout=180, check=False)
        assert (tool.work / "small" / "jemdata.py").stat().st_size == 0
    assert done.returncode == 1 and "cannot write jemdata.py from" in done.stderr and "No space left" in done.stderr, done


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's directory needs root")
def test_extract_writes_to_no_other_name_of_a_file(tool):
    """Where fs.protected_hardlinks is 0, another user could make a file of root's jemdata.py in his directory."""
    victim = tool.work / "victim"
    victim.write_text("kept")
    (tool.work / "log").write_text("Begin\n")
    os.link(victim, tool.work / "jemdata.py")
    refused = tool("extract-jem-stats", "log")
    assert refused.returncode == 1 and victim.read_text() == "kept", refused


def test_other_module(tool):
    write_data(tool.work / "other.py", TWO)
    assert tool("jemabs", "other", 100).returncode == 0
    missing = tool("jemabs", "nothing", 100)
    assert missing.returncode == 1 and missing.stdout == ""
    assert "nothing.py" in missing.stderr and missing.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments, word", [
    ((50, 0, 99), "iteration 2"), ((50, "x"), "'x'"), ((1, 2, 3, 4), "'4'"), (("-5",), "-5"),
])
def test_clear_errors(tool, arguments, word):
    write_data(tool.work / "jemdata.py", TWO)
    result = tool("jemabs", *arguments)
    assert result.returncode == 1
    assert word in result.stderr and result.stderr.startswith("jemabs: ") and result.stderr.count("\n") == 1
    if arguments == (50, 0, 99):
        assert result.stdout.endswith("Absolutes from iteration # 2 above 50 MB:\n")


def test_missing_field(tool):
    (tool.work / "jemdata.py").write_text(
        "def load(arenas, total, active, mapped):\n    arenas('sum') \n    arenas(0) \n    total(5) \n    active(5) \n"
        "    arenas('sum') \n")
    result = tool("jemabs", 0)
    assert result.returncode == 0
    assert result.stdout.splitlines()[1:] == [
        "caught exception 'mapped' <type 'exceptions.KeyError'> at iteration = 0"]


def test_vanished_arena(tool):
    write_data(tool.work / "jemdata.py", [TWO[0], {1: TWO[1][1]}])
    result = tool("jemdel", 50)
    assert result.returncode == 1 and "arena 2" in result.stderr
    assert "arena:  1  delta total:  240.0 MB\n" in result.stdout


def test_nothing_mapped(tool):
    write_data(tool.work / "jemdata.py", [{0: (0, 0, 0)}])
    assert tool("jemeff", 1).returncode == 0
    result = tool("jemeff", 0)
    assert result.returncode == 1 and "arena 0" in result.stderr


# The published algorithm, written down again: Python 2's output, in Python 3.

def python2_float(number):
    text = f"{number:.12g}"
    return text if set(text) & set(".en") else text + ".0"


def readable(size):
    for unit, name in ((1 << 30, " GB"), (MB, " MB"), (1 << 10, " KB"), (1, " B")):
        if abs(size) >= unit or unit == 1:
            return (str(size // unit) if isinstance(size, int) else python2_float(size / unit)) + name
    raise AssertionError


def percent(part, whole):
    return python2_float(int(10000 * (part / whole)) / 100.0) + "%"


def reference(kind, iterations, threshold):
    limit = threshold * MB
    for i, arenas in enumerate(iterations):
        if kind == "jemdel" and i == 0:
            continue
        yield {"jemabs": f"Absolutes from iteration # {i}", "jemdel": f"Deltas from iteration # 0 to {i}",
               "jemeff": f"Efficiency from iteration # {i}"}[kind] + f" above {readable(limit)}:"
        for arena in sorted(arenas):
            total, active, mapped = map(float, arenas[arena])
            name = f"arena:  {arena} "
            if kind == "jemabs":
                for word, value in (("total", total), ("active", active), ("mapped", mapped)):
                    if value >= limit:
                        yield f"{name} {word}:  {readable(value)}"
            elif kind == "jemdel":
                first = iterations[0][arena]
                for word, value in (("total", total - first[0]), ("mapped", mapped - first[2])):
                    if abs(value) >= limit:
                        yield f"{name} delta {word}:  {readable(value)}"
            elif max(total, active, mapped) >= limit:
                yield (f"{name} total:  {readable(total)} ({percent(total, mapped)}) active:  {readable(active)}  "
                       f"({percent(active, mapped)}) mapped:  {readable(mapped)}")


@pytest.mark.parametrize("kind", ["jemabs", "jemdel", "jemeff"])
@pytest.mark.parametrize("threshold", [0, 1, 700])
def test_against_the_algorithm(tool, kind, threshold):
    dice = random.Random(f"{kind} {threshold}")
    size = lambda: dice.randrange(1, 1 << dice.randrange(1, 42))
    iterations = [{arena: (size(), size(), size()) for arena in range(0, 60, 3)} for _ in range(20)]
    write_data(tool.work / "jemdata.py", iterations)
    assert tool(kind, threshold).stdout.splitlines() == list(reference(kind, iterations, threshold))


CONSOLES = ["3.6.0", "4.0.4", "4.5.0", "5.0.1", "5.1.0", "5.2.1", "5.3.0", "5.3.1", "head"]


def load(path):
    """The result of the tools' own loader for a data file, which it executes as Python."""
    iterations = []

    def arenas(name):
        if name == "sum":
            iterations.append({})
        iterations[-1][name] = {}
        arenas.current = iterations[-1][name]

    setter = lambda name: lambda value: arenas.current.__setitem__(name, value)
    scope = {}
    exec(path.read_text(), scope)  # pylint: disable=exec-used
    scope["load"](arenas, setter("total"), setter("active"), setter("mapped"))
    return iterations


def unpack(tool, version):
    log = tool.work / "console.log"
    with gzip.open(SOURCE / "tests" / "data" / "stats" / f"console-{version}.log.gz") as packed, log.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return log


@pytest.mark.parametrize("version", CONSOLES)
def test_extract(tool, version):
    unpack(tool, version)
    result = tool("extract-jem-stats", "console.log")
    assert (result.stdout, result.stderr, result.returncode) == ("Extracting data from console.log....Done.\n", "", 0)
    text = (tool.work / "jemdata.py").read_text()
    assert text.startswith("def load(arenas, total, active, mapped):\n    arenas('sum') \n    total(")
    iterations = load(tool.work / "jemdata.py")
    assert len(iterations) == 2
    for arenas in iterations:
        assert list(arenas) == ["sum", 0, 1]
        assert all(set(values) == {"total", "active", "mapped"} for values in arenas.values())
        assert arenas[0]["total"] + arenas[1]["total"] == arenas["sum"]["total"]
    before = tool("jemabs", 0).stdout
    (tool.work / "jemdata.py").unlink()
    assert tool("jemabs", "console.log", 0).stdout == before, "straight from the log it is the same"


# A script as Aerospike's own: it loads the data through the names of jemdefs, and calls what is no built-in of Python sys.
SCRIPT = """
from jemdefs import *
pkg = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].isdigit() else 'jemdata'
__import__(pkg, fromlist=['load']).load(arenas, total, active, mapped)
thresh = int(sys.argv[1]) * one_meg
for i in range(len(table)):
    sys.stdout.write('Absolutes from iteration # ' + str(i) + ' above ' + readable(thresh) + ':\\n')
    for arena in sorted(a for a in table[i] if a != 'sum'):
        for name in ('total', 'active', 'mapped'):
            value = float(table[i][arena][name])
            if abs(value) >= thresh:
                sys.stdout.write('arena:  %s  %s:  %s\\n' % (arena, name, readable(value)))
"""


@pytest.mark.parametrize("threshold", [0, 100])
@pytest.mark.parametrize("version", CONSOLES)
def test_a_script_that_imports_jemdefs(tool, version, threshold):
    unpack(tool, version)
    tool("extract-jem-stats", "console.log")
    script = tool.work / "elsewhere" / "script"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    done = subprocess.run(["/usr/bin/python3", script, str(threshold)], cwd=tool.work, capture_output=True, text=True, timeout=180,
                          env={**os.environ, "PYTHONPATH": str(JEMDEFS), "PYTHONDONTWRITEBYTECODE": "1"}, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == tool("jemabs", threshold).stdout and done.stdout.count("Absolutes") == 2


@pytest.mark.parametrize("expression, value", [
    ("readable(1536)", "1 KB"), ("readable(-300000000)", "-287 MB"), ("readable(1536.0)", "1.5 KB"), ("readable(0)", "0 B"),
    ("readable(123456789.0)", "117.737568855 MB"), ("readable(330.0 * one_meg)", "330.0 MB"), ("readable(1.5 * one_gig)", "1.5 GB"),
    ("pct(3.0, 4.0)", "75.0%"), ("pct(1.0, 3.0)", "33.33%"), ("pct(2.0, 1.0)", "200.0%"), ("(i, j, table)", "(-1, None, {})"),
])
def test_jemdefs_writes_sizes_as_the_tools_do(expression, value):
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", f"from jemdefs import *; print({expression})"], cwd=JEMDEFS,
                          capture_output=True, text=True, timeout=180, check=False)
    assert (done.stdout, done.stderr) == (f"{value}\n", "")


def test_extract_prefixed(tool):
    (tool.work / "log").write_text("Nov 20 INFO ___ Begin jemalloc statistics ___\nNov 20 INFO total:   5 6\n")
    tool("extract-jem-stats", "log")
    assert (tool.work / "jemdata.py").read_text() == (
        "def load(arenas, total, active, mapped):\n    arenas('sum') \n")


@pytest.mark.parametrize("line", [
    "arenas;__import__('os').mkdir('planted')#  1", "arenas[0];raise/**/  1", "total:;print()#  1", "mapped:=active#\t1", "arenas_of_mine  1",
])
def test_extract_writes_no_code(tool, line):
    """Python runs jemdata.py, and the log is another's: only the four calls come out, with numbers."""
    (tool.work / "log").write_text(f"Begin\n{line}\narenas[3]:\ntotal:  5 6\n")
    tool("extract-jem-stats", "log")
    assert (tool.work / "jemdata.py").read_text() == (
        "def load(arenas, total, active, mapped):\n    arenas('sum') \n    arenas(3) \n    total(5) \n")
    assert load(tool.work / "jemdata.py") == [{"sum": {}, 3: {"total": 5}}]


def test_extract_refusals(tool):
    missing = tool("extract-jem-stats", "missing")
    assert (missing.stdout, missing.returncode) == ("Error!  File missing not found!\n", 255)
    usage = tool("extract-jem-stats", "a", "b")
    assert usage.returncode == 255
    assert usage.stdout.startswith("Usage:  ") and usage.stdout.count("\n") == 5
    assert not (tool.work / "jemdata.py").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has links of other users")
def test_extract_follows_no_link_of_another_user(tool):
    victim = tool.work / "victim"
    victim.write_text("kept")
    (tool.work / "log").write_text("___ Begin jemalloc statistics ___\n")
    data = tool.work / "jemdata.py"
    data.symlink_to(victim)
    os.chown(data, 65534, 65534, follow_symlinks=False)
    refused = tool("extract-jem-stats", "log")
    assert refused.returncode == 1 and victim.read_text() == "kept"
    os.chown(data, 0, 0, follow_symlinks=False)
    assert tool("extract-jem-stats", "log").returncode == 0
    assert data.is_symlink() and victim.read_text().startswith("def load(")


# jescope's own commands on the same files.

def jescope(*arguments, **options):
    environment = dict(os.environ, TZ="UTC")
    return subprocess.run([str(JESCOPE), *map(str, arguments)], capture_output=True, text=True, timeout=180, check=False,
                          env=environment, **options)


def test_own_commands(tool):
    log = unpack(tool, "5.3.0")
    result = jescope("abs", log, 3)
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.splitlines()[0] == "iteration 0  2026-11-20 21:15:18  above 3.0 MiB"
    assert "  arena 1     allocated     3.8 MiB  active     3.9 MiB  mapped     5.9 MiB" in result.stdout
    total = jescope("eff", log, 1, 0, 1, "--total").stdout.splitlines()
    assert total[1] == "  process   allocated     5.1 MiB  54.3%  active     5.3 MiB  57.2%  mapped     9.3 MiB"
    changes = jescope("del", log, 0, "--successive").stdout.splitlines()
    assert changes[0] == "iteration 0 to 1  2026-11-20 21:15:18" and len(changes) == 3


@pytest.mark.parametrize("arguments, status, words", [
    (("abs", "{log}", 0, 0, 9), 1, "no iteration 8; it contains 2, 0 to 1"),
    (("abs", "{log}", 0, 1, 1), 1, "the range 1 to 1 is empty"),
    (("del", "{log}", 0, 1), 1, "the range 1 to 2 is empty"),
    (("abs", "{log}", "x"), 2, "'x' is not a whole number"),
    (("abs", "/dev/null/x"), 1, "cannot open /dev/null/x"),
    (("abs", "/dev/null"), 1, "it is a device, not a file"),
])
def test_own_errors(tool, arguments, status, words):
    log = unpack(tool, "5.3.0")
    result = jescope(*(str(word).format(log=log) for word in arguments))
    assert result.returncode == status
    assert words in result.stderr and result.stderr.count("\n") == 1 and result.stdout == ""


def test_truncated_log(tool):
    log = unpack(tool, "5.3.0")
    os.truncate(log, log.stat().st_size - 300)
    result = jescope("abs", log, 0)
    assert result.returncode == 3
    assert "left out 1 of 2 snapshots" in result.stderr
    assert result.stdout.count("iteration ") == 1
