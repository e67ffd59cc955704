# SPDX-License-Identifier: Apache-2.0
"""jescope fleet: what a ClickHouse server that `jescope push` fills is asked, and that its answers are those of the dumps."""

import contextlib
import json
import os
import re
import subprocess
import time

import clickhouse
import pytest
import receivers
from profiles import JESCOPE, SOURCE, need
from services import DEADLINE, children, environment, jescope, started
from test_documents import documented, flat

DUMPS = SOURCE / "tests/data/profile"
HOUR = 3600
PROCESSES, HOSTS = (50, 5) if os.environ.get("JESCOPE_PROOF") else (4, 2)
VALUES = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")
DASHBOARD = json.loads((SOURCE / "integrations/grafana/jescope-fleet.json").read_text())
HOSTILE = "x'; DROP TABLE jescope.dump; --\\' \" ` {a:String} \t\u202e\N{SNOWMAN}"


class Fleet:
    def __init__(self, store, folder):
        self.store, self.folder, self.queues = store, folder, 0

    def run(self, *words, status=0):
        done = subprocess.run([str(word) for word in (JESCOPE, *words)], capture_output=True, text=True, timeout=DEADLINE,
                              env=dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", JESCOPE_STORE=self.store.url), check=False)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done

    def push(self, service, host, *dumps, version="", words=()):
        """By a jescope that knows nothing of earlier ones."""
        self.queues += 1
        labels = [f"--label=version={version}"] if version else []
        self.run("push", *dumps, f"--to={self.store.url}", f"--queue={self.folder}/queue{self.queues}", f"--service={service}",
                 f"--host={host}", *labels, *words)

    def ask(self, *words, **options):
        document = json.loads(self.run("fleet", *words, "--json", **options).stdout)
        if document["format"].startswith("jescope-fleet-"):
            assert flat(document) - {"format", "version"} == documented(document["format"])
        return document

    def rows(self, service):
        """Values of stacks that were sent, in whole dumps or as changes."""
        [[whole]], [[changed]] = (self.store.rows(f"SELECT toString({what}) FROM jescope.{table} WHERE service = '{service}'")
                                  for table, what in (("whole", "sum(length(hashes))"), ("sample", "count()")))
        return int(whole) + int(changed)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    with clickhouse.serving(folder) as store:
        yield Fleet(store, folder)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """release(CACHED, REQUESTS, AGO): a dump of the release that caches this much, taken that many seconds ago. With SAMPLE 0 it
    has every allocation."""
    folder = tmp_path_factory.mktemp("releases")
    archive = subprocess.run([need("cc"), "-print-file-name=libjemalloc.a"], capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(archive):
        pytest.skip("libjemalloc.a is not installed")
    begun = time.time()

    def build(cached, *libraries):
        program = folder / f"{cached}{'s' * bool(libraries)}" / "release"  # the same name: releases of one program
        if not program.exists():
            program.parent.mkdir()
            subprocess.run(["cc", "-O1", "-g", "-fno-optimize-sibling-calls", f"-DCACHED={cached}", "-o", program,
                            SOURCE / "tests/live/programs/release.c", *libraries], check=True, timeout=DEADLINE)
            os.utime(program, (begun - 30 * 24 * HOUR,) * 2)  # it is older than the dumps seem to be
        return program

    def release(cached, requests, ago=0, sample=14):
        program = build(cached, archive, "-lpthread", "-lm", "-ldl", "-lstdc++")
        dump = folder / f"{cached}-{requests}-{ago}.heap"
        subprocess.run([program, dump, str(requests)], check=True, timeout=DEADLINE,
                       env=dict(os.environ, MALLOC_CONF=f"prof:true,prof_accum:true,lg_prof_sample:{sample}"))
        os.utime(dump, (begun - ago, begun - ago))
        return dump

    release.build = build
    return release


@pytest.fixture(scope="module")
def two_releases(fleet, releases):
    """Two hosts run release 1, two release 2, which caches more."""
    dumps = {f"host{i}": releases((4, 12)[i // 2], 200 + 10 * i) for i in range(4)}
    for i, (host, dump) in enumerate(dumps.items()):
        fleet.push("shop", host, dump, version=f"{1 + i // 2}")
    return dumps


def by_name(report):
    return {row["name"]: row for row in report["rows"]}


def change(row, value="inuse_space"):
    return row["flat"][value]["estimate"] - row["flat_base"][value]["estimate"]


def own_report(fleet, dump, *words):
    return by_name(json.loads(fleet.run("report", dump, *words, "--json", "--count=0").stdout))


def test_totals_are_the_sums_of_the_hosts(fleet, two_releases):
    for value in VALUES:
        own = [own_report(fleet, dump, f"--value={value}") for dump in two_releases.values()]
        whole = by_name(fleet.ask("report", "shop", f"--value={value}", "--count=0"))
        assert {"cache_insert", "session_open", "index_build", "main"} <= set(whole)
        for name, row in whole.items():
            for kind in ("flat", "cum"):
                expected = sum(one[name][kind][value]["estimate"] for one in own if name in one)
                assert row[kind][value]["estimate"] == pytest.approx(expected, abs=len(own)), (value, name, kind)


def test_errors_add_up_as_variances(fleet, two_releases):
    own = [own_report(fleet, dump)["main"] for dump in two_releases.values()]
    whole = by_name(fleet.ask("report", "shop", "--count=0"))["main"]
    expected = sum(row["cum"]["inuse_space"]["error"] ** 2 for row in own) ** 0.5
    assert whole["cum"]["inuse_space"]["error"] == pytest.approx(expected, rel=1e-3, abs=2)


def test_a_filter_chooses_processes(fleet, two_releases):
    dump = two_releases["host1"]
    own = own_report(fleet, dump)["main"]["cum"]["inuse_space"]["estimate"]
    for filter in (["--host=host1"], ["--version=1", "--host=host1"], ["--label=version=1", "--host=host1"]):
        found = by_name(fleet.ask("report", "shop", "--count=0", *filter))["main"]
        assert found["cum"]["inuse_space"]["estimate"] == pytest.approx(own, abs=1)
    done = fleet.run("fleet", "report", "shop", "--version=3", status=3)
    assert "the store has no dump of service 'shop', version '3'" in done.stderr


def test_a_difference_names_the_changed_function_first(fleet, two_releases):
    report = fleet.ask("diff", "shop", "--version=2", "--base-version=1")
    first = report["rows"][0]
    assert first["name"] == "cache_insert", [row["name"] for row in report["rows"][:4]]
    assert not first["noise"]
    # A process of release 2 handles 20 more requests, and holds 8 KiB more of each: the mean of two against the mean of two.
    assert change(first) == pytest.approx(225 * 12288 - 205 * 4096, rel=0.25)
    same = fleet.ask("diff", "shop", "--version=1", "--base-version=1", status=0)
    assert all(change(row) == 0 for row in same["rows"])


def test_processes(fleet, releases, tmp_path):
    """Live processes of two releases, with preloaded jemalloc, on simulated hosts; dumped, then dumped again after more work."""
    programs = {cached: releases.build(cached) for cached in (4, 12)}
    with contextlib.ExitStack() as stack:
        running = []
        for i in range(PROCESSES):
            command = [JESCOPE, "run", "--active", "--sample=16KiB", "--", programs[(4, 12)[i % 2]], "-", 150 + i]
            runner = stack.enter_context(started(command, env=environment(tmp_path), cwd=tmp_path))
            assert runner.stdout.readline() == "ready\n"
            running.append(runner)
        for round in range(2):
            dumps = []
            for i, runner in enumerate(running):
                [pid] = children(runner.pid)
                dumps.append(tmp_path / f"{round}-{i}.heap")
                jescope(tmp_path, "dump", pid, "-o", dumps[-1])
                fleet.push("live", f"host{i // (PROCESSES // HOSTS)}", dumps[-1], version=str(1 + i % 2))
                runner.stdin.write("40\n")
                runner.stdin.flush()
                assert runner.stdout.readline() == "ready\n"
            own = [own_report(fleet, dump) for dump in dumps]
            whole = by_name(fleet.ask("report", "live", "--count=0", "--window=1h"))
            for name in ("main", "cache_insert", "session_open", "index_build"):
                expected = sum(one[name]["cum"]["inuse_space"]["estimate"] for one in own)
                assert whole[name]["cum"]["inuse_space"]["estimate"] == pytest.approx(expected, abs=PROCESSES), (round, name)
            [live] = [row for row in fleet.ask("services", "--window=1h")["services"] if row["name"] == "live"]
            assert (live["processes"], live["hosts"], live["versions"]) == (PROCESSES, HOSTS, 2)
    first = fleet.ask("diff", "live", "--version=2", "--base-version=1", "--window=1h")["rows"][0]
    assert first["name"] == "cache_insert" and not first["noise"]


def test_services_and_top(fleet, two_releases):
    [shop] = [row for row in fleet.ask("services")["services"] if row["name"] == "shop"]
    assert (shop["processes"], shop["hosts"], shop["versions"]) == (4, 4, 2)
    assert "shop" in [row["name"] for row in fleet.ask("top", "growth")["services"]]
    assert "shop" in fleet.run("fleet", "services").stdout
    assert "unknown value 'color'" in fleet.run("fleet", "top", "color", status=2).stderr


def test_nothing_counts_twice(fleet, two_releases):
    """The same dump again: by a jescope that was killed before it could note that the first one had arrived."""
    before = fleet.ask("report", "shop", "--count=0")
    fleet.push("shop", "host2", two_releases["host2"], version="2")
    fleet.push("shop", "host2", two_releases["host2"], version="2")
    after = fleet.ask("report", "shop", "--count=0")
    assert after["source"]["shown"] == before["source"]["shown"] and {name: row["cum"] for name, row in by_name(after).items()} == {name: row["cum"] for name, row in by_name(before).items()}
    [shop] = [row for row in fleet.ask("services")["services"] if row["name"] == "shop"]
    assert shop["processes"] == 4


def test_only_changes_are_sent(fleet, releases):
    """Three dumps of one process: the second is the same a minute later, the third has other values of some stacks."""
    old = releases(4, 100, ago=180, sample=0)
    same = old.with_name("same.heap")
    same.write_bytes(old.read_bytes())
    stamp = old.stat().st_mtime + 60
    os.utime(same, (stamp, stamp))
    fleet.push("alone", "host", old)
    whole = fleet.rows("alone")
    assert whole >= 3
    fleet.push("twice", "host", old, same)
    assert fleet.rows("twice") == whole
    changed = releases(4, 160, ago=30, sample=0)
    fleet.push("thrice", "host", old, same, changed)
    assert whole < fleet.rows("thrice") < 2 * whole
    for at, dump in ((stamp + 1, old), (stamp + 100, changed)):
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        own = own_report(fleet, dump)
        found = by_name(fleet.ask("report", "thrice", "--count=0", f"--at={when}"))
        assert set(found) == set(own)
        for name in own:
            assert found[name]["flat"]["inuse_space"]["estimate"] == pytest.approx(own[name]["flat"]["inuse_space"]["estimate"], abs=1), name


def test_a_range_of_hours_is_the_mean_of_its_times(fleet, releases):
    """A dump of an hour ago counts at the last of the twelve times, one of thirteen hours ago at the two within five hours after it."""
    late, early = releases(8, 60, ago=HOUR, sample=0), releases(8, 20, ago=13 * HOUR, sample=0)
    words = ("--count=0", "--from=-24h", "--window=5h")
    fleet.push("wide", "host", early)
    fleet.push("wide", "other", late)
    fleet.push("wide", "host", early)  # again: it counts once
    for value in ("inuse_space", "alloc_objects"):
        own = [own_report(fleet, dump, f"--value={value}") for dump in (late, early, early)]
        found = by_name(fleet.ask("report", "wide", f"--value={value}", *words))
        for name in ("cache_insert", "index_build", "main"):
            expected = sum(one[name]["cum"][value]["estimate"] for one in own) / 12
            assert found[name]["cum"][value]["estimate"] == pytest.approx(expected, abs=2), (name, value)
    moments = fleet.ask("trace", "cache_insert", "--service=wide", *words[1:])["moments"]
    held = [own_report(fleet, dump)["cache_insert"]["cum"]["inuse_space"]["estimate"] for dump in (early, early, late)]
    assert [moments[i]["inuse"] for i in (5, 6, 11)] == pytest.approx(held, abs=1), moments
    assert not any(moments[i]["hosts"] for i in (*range(5), *range(7, 11)))


def test_growth_and_trace(fleet, releases):
    for hours in range(6):
        fleet.push("grows", "host", releases(32, 40 * (6 - hours), ago=2 * HOUR * hours + 60, sample=0))
    words = ("--from=-12h", "--window=2h")
    growth = fleet.ask("growth", "grows", *words)
    verdicts = {row["frames"][0]: row["verdict"] for row in growth["functions"]}
    assert verdicts["cache_insert"] == "still growing", growth
    assert verdicts.get("index_build", "within error") != "still growing"
    moments = fleet.ask("trace", "cache_insert", "--service=grows", *words)["moments"]
    assert len(moments) == 12
    assert moments[-1]["inuse"] > 3 * moments[2]["inuse"] > 0
    assert [row["host"] for row in moments[-1]["hosts"]] == ["host"]
    done = fleet.run("fleet", "trace", "no_such_function", "--service=grows", status=3)
    assert "no stack with a function called 'no_such_function'" in done.stderr


def test_hosts_that_differ(fleet):
    now = int(time.time() * 1e6)
    day = time.strftime("%Y-%m-%d", time.gmtime())

    def insert(service, sizes):
        rows = "".join(json.dumps({"day": day, "service": service, "time": now, "target": str(i + 1), "base": now, "host": f"node{i}",
                                   "inuse_space": size * 1e6, "inuse_space_variance": 1e10}) + "\n" for i, size in enumerate(sizes))
        fleet.store.run("INSERT INTO jescope.dump FORMAT JSONEachRow\n" + rows)

    insert("even", [100, 101, 99, 100.5, 98.5, 100.2, 99.4])
    insert("odd", [100, 101, 99, 160, 98.5, 100.2, 99.4])
    insert("few", [100, 101, 160])
    assert not any(row["outlier"] for row in fleet.ask("hosts", "even")["hosts"])
    odd = fleet.ask("hosts", "odd")["hosts"]
    assert [row["name"] for row in odd if row["outlier"]] == ["node3"] == [odd[0]["name"]]
    few = fleet.ask("hosts", "few")
    assert few["needed_hosts"] == 6 and all(row["outlier"] is None for row in few["hosts"])
    assert "no outliers are sought among 3 hosts: it takes 6" in fleet.run("fleet", "hosts", "few").stdout
    assert "outlier" in fleet.run("fleet", "hosts", "odd").stdout


def test_names_of_others_are_only_names(fleet, releases):
    dump = releases(4, 20)
    fleet.push(HOSTILE, HOSTILE, dump, version=HOSTILE)
    [service] = [row["name"] for row in fleet.ask("services")["services"] if row["name"].startswith("x'")]
    for words in (["report", service], ["report", service, f"--host={service}"], ["growth", service, "--from=-1h"], ["hosts", service],
                  ["trace", HOSTILE, f"--service={service}"], ["report", service, f"--version={HOSTILE}"],
                  ["report", service, f"--label=version={HOSTILE}"], ["report", service, "--label=a'b=c'd"]):
        done = subprocess.run([JESCOPE, "fleet", *words, f"--store={fleet.store.url}"], capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert "DB::Exception" not in done.stderr and done.returncode in (0, 1, 3), (words, done.stderr)
    assert fleet.ask("report", service)["rows"]
    tables = {row[0] for row in fleet.store.rows("SELECT name FROM system.tables WHERE database = 'jescope'")}
    assert tables == {"stack", "whole", "sample", "dump", "ledger"}


def as_sent(sql):
    """As Grafana's data source for ClickHouse sends it, for the last hour and two services."""
    now = int(time.time())
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= toDateTime({now - HOUR}) AND \1 <= toDateTime({now + 60})", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", r"toDateTime(intDiv(toUInt32(\1), 60) * 60)", sql)
    sql = sql.replace("${service:singlequote}", "'shop','alone'")
    assert "$" not in sql, sql
    return sql


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_the_dashboard(fleet, two_releases, panel):
    assert panel["description"]
    for query in panel["targets"]:
        assert query["datasource"]["uid"] == "${datasource}"
        rows = fleet.store.rows(as_sent(query["rawSql"]))
        assert rows or panel["title"] == "Ledger"  # dumps in files have none
    if panel["title"] == "Hosts":
        assert {row[0] for row in rows} >= set(two_releases)
    if panel["title"] == "Heaviest stacks":
        held = own_report(fleet, two_releases["host0"])["index_build"]["flat"]["inuse_space"]["estimate"]
        assert any("index_build" in row[1] and row[0] > held for row in rows)


def test_the_dashboard_is_of_no_machine():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [(x, y) for place in places for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert DASHBOARD["uid"] == "jescope-fleet" and "id" not in DASHBOARD and "127.0.0.1" not in json.dumps(DASHBOARD)


def test_days_are_dropped(fleet, releases):
    fleet.push("old", "host", releases(4, 10, ago=5 * 24 * HOUR))
    assert fleet.rows("old") > 0
    assert "1 day before" in fleet.run("fleet", "expire", "--keep=4d").stdout
    assert fleet.rows("old") == 0
    assert "0 days before" in fleet.run("fleet", "expire", "--keep=4d").stdout


def test_two_shards(fleet, releases, tmp_path):
    """The tables that `fleet schema --cluster` prints, on two servers of their own."""
    if clickhouse.CURRENT:
        pytest.skip("the engine in a library has no clusters")
    ports = [(clickhouse.free_port(), clickhouse.free_port()) for _ in range(2)]
    cluster = clickhouse.shards(*([tcp] for _, tcp in ports))
    schema = fleet.run("fleet", "schema", "--cluster=fleet").stdout
    with clickhouse.serving(tmp_path / "one", ports=ports[0], cluster=cluster) as one, \
            clickhouse.serving(tmp_path / "two", ports=ports[1], cluster=cluster) as two:
        for server in (one, two):
            for statement in schema.split(";\n"):
                if statement.strip():
                    server.run(statement)
        sharded = Fleet(one, tmp_path)
        dumps = [releases(4, 30 + i) for i in range(4)]
        for i, dump in enumerate(dumps):
            sharded.queues += 1
            sharded.run("push", dump, f"--to={one.url}?create=no", f"--queue={tmp_path}/queue{i}", "--service=split", f"--host=host{i}")
        held = [int(server.rows("SELECT toString(count()) FROM jescope.dump_local")[0][0]) for server in (one, two)]
        assert sum(held) == len(dumps) and min(held) > 0, held
        own = [own_report(fleet, dump)["main"]["cum"]["inuse_space"]["estimate"] for dump in dumps]
        for server in (one, two):
            found = by_name(Fleet(server, tmp_path).ask("report", "split", "--count=0"))["main"]["cum"]["inuse_space"]["estimate"]
            assert found == pytest.approx(sum(own), abs=len(own))


def test_a_password(releases, tmp_path):
    with clickhouse.serving(tmp_path / "store", password="secret") as store:
        fleet = Fleet(store, tmp_path)
        token = tmp_path / "token"
        token.write_text("default secret\n")
        token.chmod(0o600)
        fleet.push("shop", "host", releases(4, 20), words=(f"--token-file={token}",))
        assert fleet.ask("services", f"--token-file={token}")["services"]
        token.write_text("default wrong\n")
        assert "status" in fleet.run("fleet", "services", f"--token-file={token}", status=1).stderr


@pytest.fixture
def asked():
    """A store that refuses every question; asked(WORDS..., VARIABLES...) is what it was sent as Authorization, and the messages."""
    store = receivers.Receiver(check=lambda request: (401, {}))

    def ask(*words, **variables):
        store.requests.clear()
        done = subprocess.run([str(word) for word in (JESCOPE, *words, f"clickhouse://127.0.0.1:{store.port}/jescope")], text=True,
                              capture_output=True, timeout=DEADLINE, env=os.environ | {"LC_ALL": "C.UTF-8"} | variables, check=False)
        return [request.headers["Authorization"] for request in store.requests], done.stderr

    yield ask
    store.stop()


def write_private(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def test_the_store_gets_no_token_of_another_receiver(asked, tmp_path):
    """A token of `serve` looks like a user and a password."""
    token = write_private(tmp_path / "token", "control a-token-of-the-server\n")
    own = write_private(tmp_path / "store", "reader secret\n")
    fleet = ("fleet", "services", "--store")
    assert asked(*fleet, JESCOPE_TOKEN_FILE=token) == ([None], asked(*fleet)[1])
    assert asked(*fleet, JESCOPE_TOKEN_FILE=token, JESCOPE_STORE_TOKEN_FILE=own)[0] == ["Basic cmVhZGVyOnNlY3JldA=="]
    for words, variables in ((fleet, {"JESCOPE_STORE_TOKEN_FILE": token}), ((*fleet[:2], f"--token-file={token}", "--store"), {}),
                             (("push", DUMPS / "5.3.0-heap-lg19.heap.gz", f"--queue={tmp_path / 'queue'}", f"--token-file={token}", "--to"), {})):
        sent, told = asked(*words, **variables)
        assert sent == [] and "has a token of 'jescope serve'" in told and "a-token-of-the-server" not in told, told


def test_a_store_that_is_not_there(fleet):
    done = fleet.run("fleet", "services", f"--store=clickhouse://127.0.0.1:{clickhouse.free_port()}/jescope", status=1)
    assert done.stderr.startswith("jescope: ")
    assert "needs the name of a database" in fleet.run("fleet", "services", "--store=clickhouse://127.0.0.1:1/", status=1).stderr
    assert "cannot be asked" in fleet.run("fleet", "services", "--store=directory:///tmp", status=1).stderr


def answers_of_a_hostile_store(time_us, number):
    """What it answers to each question of `fleet`: times and numbers that are none, names that control a terminal."""
    evil = "svc\x1b]0;x\x07\x1b[31m"
    values = [number] * 10

    def answer(request):
        sql = request.body.decode()
        if "max(time)" in sql and "count()" in sql:
            rows = [[str(time_us), "1"]]
        elif sql.startswith("SELECT service"):
            rows = [[evil, f"{evil}{i}", evil, evil, "1", str(time_us), *[number] * 4, 1, number] for i in range(9)]
        elif "any(names)" in sql:
            rows = [["7", [evil], [evil], ["ab"], [str(2**64 - 1)]]]
        elif sql.startswith("SELECT host"):
            rows = [[evil, *values]]
        else:
            rows = [["7", *values]] if "sum(last" in sql else []
        return 200, {"body": json.dumps({"data": rows})}
    return answer


@pytest.mark.parametrize("time_us, number", [(2**63 - 1, 1e308), (1763800000 * 10**6, 1e308), (1763800000 * 10**6, 5)])
def test_a_hostile_store(tmp_path, time_us, number):
    """Each command ends, by itself, with text that is fit for a terminal and numbers."""
    store = receivers.Receiver(check=answers_of_a_hostile_store(time_us, number))
    try:
        for words in (["services"], ["services", "--json"], ["top", "growth"], ["hosts", "svc"], ["trace", "f", "--service=svc"],
                      ["report", "svc"], ["growth", "svc"], ["diff", "svc", "--base-at=-24h"]):
            done = subprocess.run([JESCOPE, "fleet", *words, f"--store=clickhouse://127.0.0.1:{store.port}/jescope"], text=True,
                                  capture_output=True, timeout=DEADLINE, env=dict(os.environ, LC_ALL="C.UTF-8"), check=False)
            assert done.returncode in (0, 1, 3), (words, done)
            told = done.stdout + done.stderr
            assert "\x1b" not in told and "\x07" not in told and "CRITICAL" not in told and not re.search(r"\binf\b|\bnan\b", told), (words, done)
        assert not [request for request in store.requests if b"(null)" in request.body]
    finally:
        store.stop()


def answers_with_text_behind(of_names, of_stacks):
    """A store with one process, whose answers for the profile end with this text."""
    def answer(request):
        sql, behind = request.body.decode(), ""
        if "max(time)" in sql and "count()" in sql:
            rows = [[str(int(time.time() * 1e6)), "1"]]
        elif "uniqExact" in sql:
            rows = [[moment, "1", "1", "524288", 1] for moment in re.findall(r"time <= (\d+)", sql)]
        elif "any(names)" in sql:
            rows, behind = [["7", ["f"], ["p"], ["ab"], ["1"]]], of_names
        else:
            rows, behind = [["7"] + [1e60] * 10], of_stacks
        return 200, {"body": json.dumps({"data": rows}) + behind}
    return answer


@pytest.mark.parametrize("of_names, of_stacks, status", [("", "", 0), (',"scale":1e308,"moments":1', "", 1), ("", ',{"data":[]}', 1)])
def test_text_behind_an_answer_of_the_store(of_names, of_stacks, status):
    """It is no part of what jescope itself tells the process that reads the answers: "inf ± inf in use"."""
    store = receivers.Receiver(check=answers_with_text_behind(of_names, of_stacks))
    try:
        done = subprocess.run([JESCOPE, "fleet", "report", "svc", "--format=json", f"--store=clickhouse://127.0.0.1:{store.port}/jescope"],
                              text=True, capture_output=True, timeout=DEADLINE, check=False)
    finally:
        store.stop()
    assert done.returncode == status and ("is not valid JSON" in done.stderr) == (status == 1), done
    if status == 0:
        assert json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("body, said", [('{"data":[' + 5 * 10**6 * "[]," + "[]]}", "too many values"),
                                        ('{"data":[["' + "\x7f" * (65 << 20) + '"]]}', "is larger than 64 MiB")],
                         ids=["many values", "a long text"])
def test_a_store_that_fills_the_memory(body, said):
    """Values of a short answer, and texts of a table, take several times its size."""
    store = receivers.Receiver(check=lambda request: (200, {"body": body}))
    try:
        done = subprocess.run([JESCOPE, "fleet", "services", f"--store=clickhouse://127.0.0.1:{store.port}/jescope"], text=True,
                              capture_output=True, timeout=DEADLINE, check=False)
    finally:
        store.stop()
    assert done.returncode == 1 and said in done.stderr, done.stderr
