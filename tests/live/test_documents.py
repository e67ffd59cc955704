# SPDX-License-Identifier: Apache-2.0
"""--json of every command that prints data: one object with format and version, and the keys that docs/formats.md has.

The commands that the documents show exist and have the options."""

import json
import os
import pathlib
import re
import shlex

import pytest

from services import JESCOPE, VICTIMS, environment, jescope, service, started

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
LOG = SOURCE / "tests/data/stats/console-5.3.0.log.gz"
REDIS = SOURCE / "tests/data/stats/redis.log.gz"
HEAP = SOURCE / "tests/data/profile/5.3.0-heap-lg19.heap.gz"
# Objects that have keys here, and the members of one that is null.
HELD_OPEN = {"agent", "jemalloc", "profiling", "profiling.lease", "profiling.sampler_figures", "sample"}


def documented(name):
    text = (SOURCE / "docs/formats.md").read_text()
    section = text.split(f"<!-- keys: {name} -->")[1].split("<!-- keys: ")[0]
    cells = re.findall(r"^\| (`.*?`) \| ", section, re.M)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def flat(value, prefix="", whole=("metrics", "bins[]", "large[]")):
    """The paths of all values; the content of METRICS is documented elsewhere."""
    if prefix.rpartition(".")[2] in whole:
        return {prefix}
    if isinstance(value, list):
        return set().union(*(flat(item, f"{prefix}[]", whole) for item in value))
    if not isinstance(value, dict):
        return {prefix}
    return set().union(*(flat(item, f"{prefix}.{key}".lstrip("."), whole) for key, item in value.items()))


def answer(scratch, *words):
    document = json.loads(jescope(scratch, *words, "--json").stdout)
    assert list(document)[:2] == ["format", "version"] and document.pop("version") == 1
    return document.pop("format"), document


@pytest.fixture
def python(tmp_path):
    """Leased, with jescope's own sampler, so that every key has a value."""
    with service(tmp_path) as python:
        jescope(tmp_path, "enable", "--for=10m", "--sampler=jescope", python.pid)
        yield python


def test_status(tmp_path, python):
    name, document = answer(tmp_path, "status", python.pid)
    assert name == "jescope-status" and flat(document) == documented(name) - HELD_OPEN


def test_ps(tmp_path, python):
    name, document = answer(tmp_path, "ps")
    row, = (row for row in document["processes"] if row["pid"] == python.pid)
    keys = documented(name) | documented("jescope-status")
    assert name == "jescope-ps" and flat(row) == keys - HELD_OPEN and set(document) == {"processes"}
    with started([VICTIMS / "victim"], env=environment(tmp_path)) as victim:
        victim.stdout.readline()
        row, = (row for row in answer(tmp_path, "ps")[1]["processes"] if row["pid"] == victim.pid)
        assert set(row) == {key.partition(".")[0] for key in keys}
        assert {key for key, value in row.items() if value is not None} <= {*documented(name), "id", "pid", "name", "uid", "user", "arguments", "control_group"}


def test_stats(tmp_path, python):
    name, document = answer(tmp_path, "stats", "--arenas", "--classes", python.pid)
    assert name == "jescope-stats" and flat(document) | advice_keys() == documented(name)
    assert document["metrics"]["allocated"] > 0 and document["jemalloc"].startswith("5.")
    merged, = (arena for arena in document["arenas"] if arena["arena"] == "merged")
    assert merged["bins"][0]["bin.size"] == 8
    short = answer(tmp_path, "stats", python.pid)[1]
    assert [set(arena) for arena in short["arenas"]] == [{"arena", "name", "metrics"}]
    assert "jemalloc" in json.loads(jescope(tmp_path, "stats", "--raw", "--json", python.pid).stdout)


def advice_keys():
    return {f"advice[].{key}" for key in ("id", "finding", "evidence", "bytes", "change")}


def test_doctor(tmp_path):
    """A leak has every key; another one may have none of its values."""
    with started([JESCOPE, "run", "--", VICTIMS / "holds", "small=10", "leak=256"], env=environment(tmp_path)) as process:
        pid = int(process.stdout.readline())
        process.stdin.write("leak\n")
        process.stdin.flush()
        done = jescope(tmp_path, "doctor", "--for=2s", "--record", "--json", pid, check=False)
        document = json.loads(done.stdout)
        assert done.returncode == 4 and document.pop("format") == "jescope-doctor" and document.pop("version") == 1
        assert flat(document, whole=("ledger",)) | {"findings[].against[]", "notes[]"} == documented("jescope-doctor")


def test_stats_of_a_file(tmp_path):
    name, document = answer(tmp_path, "stats", REDIS)
    assert name == "jescope-stats" and document["source"] == REDIS.name
    printed = jescope(tmp_path, "stats", "--advise", REDIS).stdout
    assert document["advice"] and all(advice["finding"] in printed for advice in document["advice"])
    assert {"source", "metrics"} | advice_keys() <= flat(document)


def test_analyses(tmp_path):
    seen = set()
    for command, more in [("abs", ["0"]), ("eff", ["0"]), ("del", ["0"]), ("abs", ["--total", "0"])]:
        name, document = answer(tmp_path, command, LOG, *more)
        assert name == f"jescope-{command}" and document["iterations"]
        seen |= flat(document)
        lines = [line for line in jescope(tmp_path, command, LOG, *more).stdout.splitlines() if line.startswith("  ")]
        assert sum(len(iteration["rows"]) for iteration in document["iterations"]) == len(lines) > 0
        assert (document["iterations"][0]["rows"][0]["arena"] is None) == ("--total" in more)
    assert seen <= documented("jescope-abs") <= seen | {"iterations[].rows[].state"}


def test_nothing_reaches_the_threshold(tmp_path):
    assert all(iteration["rows"] == [] for iteration in answer(tmp_path, "abs", LOG, "1000000")[1]["iterations"])


def test_series(tmp_path):
    history = ("--history", tmp_path / "h.db")
    jescope(tmp_path, "import", *history, "--target", "app", LOG)
    assert answer(tmp_path, "series", *history)[0] == "jescope-series-targets"
    assert answer(tmp_path, "series", *history, "--metrics")[0] == "jescope-series-metrics"
    name, document = answer(tmp_path, "series", *history, "allocated")
    assert name == "jescope-series" and document["series"][0]["target"] == "app"


def test_ledger(tmp_path, python):
    name, document = answer(tmp_path, "ledger", python.pid)
    assert name == "jescope-ledger" and flat(document) | {f"classes[].{key}" for key in ("size", "holes", "live")} == documented(name)


def test_reports(tmp_path):
    assert answer(tmp_path, "report", HEAP)[0] == "jescope-report"
    assert answer(tmp_path, "diff", HEAP, HEAP)[0] == "jescope-report"


# ---- golden lists of keys: a key that goes, comes or changes its type changes a file of tests/golden/keys ----

TYPES = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
STACKS = """--- symbol
0x1000 leak--inlined
@ shop.c:12:10\tshop.c:34:30
0x2000 serve--handle
0x3000 main
---
--- heap
heap_v2/4096
  t*: 3: {total} [9: 90000]
@ 0x1000 0x2001 0x3001
  t*: 2: {leak} [8: 80000]
@ 0x2000 0x3001
  t*: 1: 500 [1: 500]

MAPPED_LIBRARIES:
1000-9000 r-xp 00000000 08:01 17 /bin/shop
jescope_capture=1 time={time} pid=7 start=8 since={since} flags=17 allocated=900000 unheld=5 large=4096 resident=99
"""


def keys(value, path=""):
    """Each path with the types that its values have."""
    if isinstance(value, list):
        return set().union({f"{path}[]"} if not value else set(), *(keys(item, f"{path}[]") for item in value))
    if isinstance(value, dict):
        return set().union(*(keys(item, f"{path}.{key}".lstrip(".")) for key, item in value.items()))
    return {f"{path} {TYPES[type(value)]}"}


def dumps(scratch):
    for i in range(3):
        leak = 1000000 * (i + 1)
        time = 1700000000000000 + 60000000 * (i + 1)
        (scratch / f"{i}.heap").write_text(STACKS.format(leak=leak, total=leak + 500, time=time, since=1700000000000000))
    return [scratch / f"{i}.heap" for i in range(3)]


@pytest.mark.parametrize("name, words", [
    ("report", ["report", "{2}"]),
    ("report-by-line", ["report", "--by=line", "{2}"]),
    ("diff", ["diff", "{0}", "{2}"]),
    ("growth", ["growth", "{0}", "{1}", "{2}"]),
    ("series", ["series", "--history={history}", "--target=app", "allocated"]),
    ("series-targets", ["series", "--history={history}"]),
    ("series-metrics", ["series", "--history={history}", "--metrics"]),
])
def test_keys_and_their_types(tmp_path, name, words):
    history = tmp_path / "h.db"
    jescope(tmp_path, "import", f"--history={history}", "--target", "app", LOG)
    files = dumps(tmp_path)
    found = json.loads(jescope(tmp_path, *(word.format(*files, history=history) for word in words), "--json").stdout)
    golden = SOURCE / f"tests/golden/keys/{name}.keys"
    if os.environ.get("JESCOPE_UPDATE_KEYS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("".join(f"{key}\n" for key in sorted(keys(found))))
    assert sorted(keys(found)) == golden.read_text().splitlines()


# ---- commands shown in documents ----

PAGES = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md"), *SOURCE.glob("integrations/**/*.md")])
FENCED = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.M | re.S)
SHOWN = re.compile(r"(?:^|\$ |sudo |-- |[|;&(] )jescope ([^#|;&)\n]+)", re.M)
QUOTED = re.compile(r"`jescope ([^`]+)`")
PLACEHOLDERS = {"COMMAND", "..."}
INTERNAL = {"--keep-lease"}  # what jescope starts itself with; no help has it


def shown(text):
    """The words after each 'jescope' in fenced blocks and between backquotes."""
    blocks = [block.replace("\\\n", " ") for block in FENCED.findall(text)]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    lines = [line for block in blocks for line in SHOWN.findall(block)] + QUOTED.findall(prose)
    return [shlex.split(line) for line in lines]


def options_in(words):
    """Those that jescope reads: none after '--', nor those of a program that 'run' starts."""
    for word in words:
        if word == "--" or (words[0] == "run" and word != "run" and not word.startswith("-")):
            return
        if re.match(r"--?[a-zA-Z]", word):
            yield word.split("=")[0]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The options of each command, by its help; those of jescope itself by the empty name."""
    scratch, found = tmp_path_factory.mktemp("help"), {}

    def options(command):
        if command not in found:
            done = jescope(scratch, *filter(None, [command]), "--help", check=False)
            found[command] = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", done.stdout)) if done.returncode == 0 else None
        return found[command]
    return options


def mistakes(words, known):
    command = "" if words[0].startswith("-") else words[0]
    if command in PLACEHOLDERS | {"help"}:
        return []
    options = known(command)
    if options is None:
        return [f"no command {command}"]
    return [f"jescope {command} has no {option}" for option in options_in(words) if option not in options | INTERNAL]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: "-".join(page.relative_to(SOURCE).parts))
def test_commands_in_documents(page, known):
    assert [mistake for words in shown(page.read_text()) for mistake in mistakes(words, known)] == []


def test_wrong_commands_would_be_found(known):
    text = ("```sh\nsudo jescope recordd x   # no\njescope run --active -- server --its\njescope ps | cat --all\n```\n"
            "`jescope stats --advice x`\n")
    assert [mistakes(words, known) for words in shown(text)] == [
        ["no command recordd"], [], [], ["jescope stats has no --advice"]]
    assert sum(len(shown(page.read_text())) for page in PAGES) > 80
