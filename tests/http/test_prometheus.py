# SPDX-License-Identifier: Apache-2.0
"""/metrics and /api/v1/sd, read by a real Prometheus and by the letter; the alert rules, checked by promtool."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from endpoint import serve, set_active
from programs import fill, foreign, running_redis, standin  # noqa: F401
from prometheus import need, scraping
from services import DEADLINE, free_port, jescope, wait_for

RULES = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "integrations/prometheus"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
# What Prometheus 2.42 sends.
PROMETHEUS_ACCEPT = ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)')


@pytest.fixture(scope="module")
def two(scratch):
    with running_redis(scratch, "one") as one, running_redis(scratch, "other") as other:
        yield one, other


@pytest.fixture(scope="module")
def server(scratch, two):
    """Serves only these two: other processes may belong to other tests."""
    port = free_port()
    with serve(scratch, *[redis.pid for redis in two], port=port) as endpoint:
        endpoint.address = f"127.0.0.1:{port}"
        yield endpoint


@pytest.fixture(scope="module")
def discovering(scratch):
    """Serves whatever it finds."""
    port = free_port()
    with serve(scratch, port=port) as endpoint:
        endpoint.address = f"127.0.0.1:{port}"
        yield endpoint


@pytest.fixture(scope="module")
def prometheus(scratch, server, discovering):
    with scraping(scratch, server.address, discovering.address, RULES / "jescope.rules.yml") as found:
        yield found


def metrics(endpoint, path="/metrics", accept="text/plain"):
    answer = endpoint.get(path, "--header", f"Accept: {accept}")
    assert answer.status == 200
    return answer


def parse(text):
    """{(name, labels): value} of an answer; fails where a series comes twice or a line is none of the format's."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match.groups()
        key = name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")))
        assert key not in found, line
        found[key] = float(value)
    return found


def check_families(text, strict):
    """Each family is announced once, before its samples, which stand together."""
    family = kind = None
    seen = set()
    for line in text.splitlines():
        words = line.split(" ", 3)
        if words[:2] == ["#", "TYPE"]:
            family, kind = words[2:]
            assert family not in seen, line
            seen.add(family)
            assert not (strict and kind == "counter" and family.endswith("_total")), line
        elif words[:2] in (["#", "HELP"], ["#", "UNIT"]):
            assert words[2] == family, line
            assert words[1] == "HELP" or family.endswith("_" + words[3]), line
        elif line != "# EOF":
            name = SAMPLE.fullmatch(line).group(1)
            assert name == (family + "_total" if strict and kind == "counter" else family), line
            assert (kind == "counter") == name.endswith("_total"), line


# By the letter


@pytest.mark.parametrize("accept, kind", [
    ("*/*", TEXT),
    ("text/plain", TEXT),
    ("application/openmetrics-text", OPENMETRICS),
    (PROMETHEUS_ACCEPT, OPENMETRICS),
    ("application/openmetrics-text;q=0.2,text/plain", TEXT),
    ("application/openmetrics-text;q=0", TEXT),
    ("nonsense;;;,,,q=", TEXT),
])
def test_the_format_is_as_accepted(server, accept, kind):
    answer = metrics(server, accept=accept)
    assert answer.type == kind
    assert answer.text.endswith("# EOF\n") == (kind == OPENMETRICS)
    check_families(answer.text, kind == OPENMETRICS)
    assert parse(answer.text)


def test_promtool_finds_nothing_to_say(server):
    done = subprocess.run([need("promtool"), "check", "metrics"], input=metrics(server).text, capture_output=True, text=True,
                          timeout=DEADLINE)
    complaints = [line for line in done.stderr.splitlines() if line.startswith(("jescope_", "process_"))]
    assert complaints == [] and "error" not in done.stderr.lower(), done.stderr


def test_only_merged_values(server):
    arenas = {dict(labels).get("arena") for _, labels in parse(metrics(server).text)}
    assert arenas == {None, "merged"}


def test_every_target_and_ourselves(server, two):
    found = parse(metrics(server).text)
    for redis in two:
        labels = (("process", "redis-server"), ("target", str(redis.pid)))
        assert found["jescope_target_up", labels] == 1
        assert found["jescope_target_profiling_ready", labels] == 1
        assert found["jemalloc_resident_bytes", labels] >= found["jemalloc_active_bytes", labels] > 0
        assert found["jemalloc_sample_duration_seconds", labels] > 0
    assert found["jescope_targets", ()] == 2
    assert found["jescope_scrape_duration_seconds", ()] > 0
    assert found["process_resident_memory_bytes", ()] > 1 << 20
    assert found["process_open_fds", ()] > 2


def test_one_target(server, two):
    one, other = (str(redis.pid) for redis in two)
    found = parse(metrics(server, f"/metrics?target={one}").text)
    assert {dict(labels).get("target") for _, labels in found} == {one, None}
    assert [name for name, labels in found if not labels] == ["jescope_scrape_duration_seconds", "jescope_scrape_late_targets"]
    assert server.get("/metrics?target=1234567890").status == 404
    assert metrics(server, f"/metrics?target={other}").status == 200


def test_one_refresh_a_scrape(scratch, tmp_path):
    log = tmp_path / "calls"
    with standin(scratch, "off", STANDIN_LOG=str(log)) as victim, serve(scratch, "--every=0", victim.pid) as endpoint:
        metrics(endpoint)

        def refreshes():
            return log.read_text().splitlines().count("write epoch")

        before = refreshes()
        for count in range(1, 4):
            metrics(endpoint)
            assert refreshes() == before + count


def test_a_target_without_statistics(scratch, foreign):  # noqa: F811
    with serve(scratch, foreign.pid) as endpoint:
        found = parse(metrics(endpoint).text)
        assert found["jescope_target_up", (("process", "sleep"), ("target", str(foreign.pid)))] == 0


def test_gzip_and_head(server):
    packed = server.get("/metrics", "--header", "Accept-Encoding: gzip")
    assert packed.header("content-encoding") == "gzip"
    assert server.get("/metrics", "--compressed").text.startswith("# TYPE ")
    assert server.ask("HEAD", "/metrics").status == 200
    assert server.post("/metrics").status == 405


def test_service_discovery(server, two):
    answer = server.get("/api/v1/sd")
    assert (answer.status, answer.type) == (200, "application/json")
    groups = {group["labels"]["__meta_jescope_target"]: group for group in answer.json()}
    assert set(groups) == {str(redis.pid) for redis in two}
    for target, group in groups.items():
        assert group["targets"] == [server.address]
        labels = group["labels"]
        assert all(isinstance(value, str) for value in labels.values())
        assert labels["__meta_jescope_process"] == "redis-server"
        assert labels["__param_target"].startswith(f"{target}."), "no other process has it"
        found = parse(metrics(server, f"{labels['__metrics_path__']}?target={labels['__param_target']}").text)
        assert found["jescope_target_up", (("process", "redis-server"), ("target", target))] == 1
        assert server.get(labels["__profile_path_prefix__"] + "/debug/pprof/heap").status == 200


# By Prometheus


def test_scraped(scratch, prometheus, server, two):
    assert prometheus.await_query('up{job="jescope"} == 1')
    fill(two[0])
    stats = json.loads(jescope(scratch, "stats", "--raw", "--json", two[0].pid).stdout)["jemalloc"]["stats"]
    query = f'jemalloc_allocated_bytes{{job="jescope",target="{two[0].pid}"}} > {stats["allocated"] // 2}'
    (labels, value), = prometheus.await_query(query)
    assert labels["process"] == "redis-server" and labels["instance"] == server.address
    assert value < stats["allocated"] * 2


def test_types_and_help_are_known(prometheus):
    prometheus.await_query("jescope_target_up")
    found = wait_for(lambda: prometheus.ask("metadata"), "metadata")
    assert found["jemalloc_allocated_bytes"][0]["type"] == "gauge"
    assert found["jemalloc_allocated_bytes"][0]["help"]
    counters = [name for name, rows in found.items() if rows[0]["type"] == "counter"]
    assert any(name.startswith("jescope_http_requests") for name in counters)


def test_profiling_is_seen(scratch, prometheus, two):
    pid = two[1].pid
    for active in (True, False):
        set_active(scratch, pid, active)
        prometheus.await_query(f'jescope_target_profiling{{job="jescope",target="{pid}"}} == {int(active)}')


def test_the_scrapes_cost_is_seen(prometheus):
    (_, value), = prometheus.await_query('jescope_scrape_duration_seconds{job="jescope"} > 0')
    assert value < DEADLINE


def test_discovered_targets_come_and_go(scratch, prometheus, discovering):
    with running_redis(scratch, "third") as third:
        instance = f"{discovering.address}/{third.pid}"
        prometheus.await_query(f'up{{job="jescope-targets",instance="{instance}"}} == 1')
        found = prometheus.await_query(f'jemalloc_allocated_bytes{{job="jescope-targets",target="{third.pid}"}}')
        assert found[0][0]["instance"] == instance

    def instances():
        return {target["labels"]["instance"] for target in prometheus.ask("targets", state="active")["activeTargets"]}

    wait_for(lambda: instance not in instances(), "Prometheus has forgotten it")
    assert str(third.pid) not in {group["labels"]["__meta_jescope_target"] for group in discovering.get("/api/v1/sd").json()}


def test_the_rules_are_loaded_and_evaluated(prometheus):
    groups = wait_for(lambda: all(rule["health"] == "ok" for group in prometheus.ask("rules")["groups"] for rule in group["rules"]) and
                      prometheus.ask("rules")["groups"], "every rule was evaluated")
    assert sum(len(group["rules"]) for group in groups) >= 9
    assert prometheus.await_query("jemalloc:unused_active:ratio")


# The files


@pytest.mark.parametrize("words", [["check", "rules", "jescope.rules.yml"], ["test", "rules", "jescope.rules.test.yml"],
                                   ["check", "config", "prometheus.yml"]], ids=lambda words: " ".join(words[:2]))
def test_promtool_accepts(words):
    done = subprocess.run([need("promtool"), *words], cwd=RULES, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test():
    alerts = set(re.findall(r"- alert: (\w+)", (RULES / "jescope.rules.yml").read_text()))
    tested = set(re.findall(r"alertname: (\w+)", (RULES / "jescope.rules.test.yml").read_text()))
    assert alerts and alerts == tested


def test_the_rules_ask_for_what_there_is(server):
    """Every metric an expression names is one that is served."""
    served = {name for name, _ in parse(metrics(server).text)} | {"up"}
    text = (RULES / "jescope.rules.yml").read_text()
    named = set(re.findall(r"\b(?:jemalloc|jescope)_\w+", text))
    assert named and named <= served


def test_the_page_lists_our_own_families(server):
    """docs/metrics.md has jemalloc's; docs/prometheus.md the rest. Those of pushes and of a rule's state are there
    where there is one (test_push.py, test_rules.py)."""
    served = set(re.findall(r"^# TYPE ((?:jescope|process)_\w+) ", metrics(server).text, re.M))
    page = (RULES.parents[1] / "docs/prometheus.md").read_text()
    assert served and set(re.findall(r"`((?:jescope(?!_push_|_rule_series)|process)_\w+)`", page)) == served
