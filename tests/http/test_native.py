# SPDX-License-Identifier: Apache-2.0
"""The native API of one target, asked as docs/api.md has it."""

import contextlib
import gzip
import html
import json
import os
import pathlib
import re
import select
import socket
import subprocess
import time

import pytest
from endpoint import is_active, is_whole_dump, serve, set_active
from programs import fill, profiled, sampled, unprofiled  # noqa: F401
from services import DEADLINE, JESCOPE, VICTIMS, environment, jescope, started, wait_for

JOINED_S = 0.5  # until the server has received the request of a client that has just begun
JOINED = 16  # PENDING_JOINED_MAX
LEFT_S = 3  # until the server has noticed that a client has gone, which it looks for each second

# What a report of each format begins with, or has in it.
FORMATS = {
    "raw": b"heap_v2/",
    "text": b" in use, ",
    "tree": b"100.0%",
    "stacks": b"\n#1  ",
    "folded": b";",
    "flamegraph": b"<svg",
    "callgraph": b"digraph",
    "callgraph-svg": b"<svg",
    "speedscope": b"https://www.speedscope.app/file-format-schema.json",
    "pprof": b"\x1f\x8b",
    "symbolized": b"--- symbol",
    "source": b"zmalloc",
    "json": b"{",
}
# A value for each option of a report that is neither of a choice nor a boolean.
VALUES = {"base": "latest", "count": "3", "min-fraction": "0.01", "edge-fraction": "0.01", "focus": "zmalloc|main", "ignore": "nothing",
          "exclude": "nothing", "retain": "zmalloc|main", "thread": "1", "fold": "zmalloc", "max-output": "64MiB", "width": "600", "depth": "40",
          "zoom": "0123456789abcdef", "function": "main", "show-from": "main"}
# The format of which an option is, if it is not of all.
FORMS = {"edge-fraction": "callgraph", "callers": "tree", **dict.fromkeys(("part", "width", "depth", "zoom", "function"), "page")}


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    set_active(scratch, profiled.pid, True)
    fill(profiled)
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid, "--allow-source") as endpoint:
        endpoint.pid = profiled.pid
        endpoint.redis = profiled
        assert ask(endpoint, "dumps", "POST", 201)["bytes"] > 0
        yield endpoint


def path(endpoint, rest):
    return f"/api/v1/targets/{endpoint.pid}/{rest}"


def ask(endpoint, rest, method="GET", status=200):
    answer = endpoint.ask(method, path(endpoint, rest))
    assert (answer.status, answer.type) == (status, "application/json"), answer
    return answer.json()


def refused(endpoint, rest, method, status, code):
    error = ask(endpoint, rest, method, status)["error"]
    assert error["code"] == code and error["message"] and error["hint"]


def keys(document, prefix=""):
    """The paths of all keys, those of objects below included."""
    return {prefix + key for key in document}.union(
        *(keys(value, f"{prefix}{key}.") for key, value in document.items() if isinstance(value, dict)))


def test_status_is_one_document(scratch, server):
    lease = ask(server, "profiling?active=true&for=100s", "PUT")["lease"]["id"]
    assert server.get("/metrics").status == 200  # takes a sample
    printed = json.loads(jescope(scratch, "status", "--json", server.pid).stdout)
    one = ask(server, "")
    listed = next(row for row in server.get("/api/v1/targets").json()["targets"] if row["pid"] == server.pid)
    assert {key for key in one if isinstance(one[key], dict)} == {"agent", "jemalloc", "profiling", "sample"}
    assert keys(printed) - {"format", "version"} == keys(one) == keys(listed)
    for key in ("id", "unique", "pid", "name", "uid", "state", "reach", "jemalloc"):
        assert printed[key] == one[key] == listed[key], key
    assert abs(printed["started"] - one["started"]) < 2 and one["started"] == listed["started"]
    assert printed["profiling"]["lease"]["id"] == one["profiling"]["lease"]["id"] == listed["profiling"]["lease"]["id"] == lease
    assert 0 < listed["profiling"]["lease"]["remaining_seconds"] <= one["profiling"]["lease"]["remaining_seconds"]
    assert ask(server, f"profiling/leases/{lease}", "DELETE")["lease"] is None


def test_list_follows_a_lease_to_its_end(server):
    """The target is not asked meanwhile: its owner, or the list, knows when the lease ends."""
    assert ask(server, "profiling?active=true&for=1s", "PUT")["lease"]

    def profiling():
        rows = server.get("/api/v1/targets").json()["targets"]
        return next(row["profiling"] for row in rows if row["pid"] == server.pid)
    wait_for(lambda: profiling()["lease"] is None and not profiling()["active"], "the list has the end of the lease")


def test_a_lease_ends_by_itself(scratch, server):
    lease = ask(server, "profiling?active=true&for=1s", "POST")["lease"]
    assert 0 < lease["remaining_seconds"] <= 1 and lease["active"] and not lease["restores"]
    assert is_active(scratch, server.pid)
    wait_for(lambda: ask(server, "profiling")["lease"] is None, "the lease is over")
    assert not is_active(scratch, server.pid)


def test_a_lease_restores_the_period(server):
    before = ask(server, "profiling")["sample_bytes"]
    taken = ask(server, "profiling?active=true&for=1s&sample=64KiB", "POST")
    assert taken["sample_bytes"] == 65536 and taken["lease"]["restores_sample_bytes"] == before != 65536
    wait_for(lambda: ask(server, "profiling")["lease"] is None, "the lease is over")
    assert ask(server, "profiling")["sample_bytes"] == before
    taken = ask(server, "profiling?active=true&for=1h&sample=64KiB", "POST")
    assert ask(server, f"profiling/leases/{taken['lease']['id']}", "DELETE")["sample_bytes"] == before
    assert ask(server, "profiling?active=false&sample=8KiB", "PUT")["sample_bytes"] == 8192
    assert ask(server, f"reset?sample={before}", "POST")["sample_bytes"] == before
    for value in ("0", "x", "16EiB"):
        refused(server, f"profiling?active=true&sample={value}", "PUT", 400, "invalid_parameter")


def test_a_lease_is_renewed_and_ended(scratch, server):
    lease = ask(server, "profiling?active=true&for=5s", "PUT")["lease"]["id"]
    refused(server, "profiling?active=true&for=5s", "PUT", 409, "busy")
    assert ask(server, f"profiling/leases/{lease}?for=100s", "PUT")["lease"]["remaining_seconds"] > 90
    assert ask(server, f"profiling/leases/{lease}", "DELETE")["lease"] is None
    assert not is_active(scratch, server.pid)
    assert server.ask("DELETE", path(server, f"profiling/leases/{lease}")).status in (404, 409)


def test_a_recording(scratch, server):
    answer = server.post(path(server, "recordings?for=2s"))
    assert answer.status == 201
    started = answer.json()
    assert answer.header("location") == path(server, f"recordings/{started['id']}")
    assert started["state"] == "running" and 1 < started["remaining_seconds"] <= 2
    refused(server, "recordings?for=1s", "POST", 409, "busy")
    refused(server, f"recordings/{started['id']}/result", "GET", 409, "running")
    assert is_active(scratch, server.pid)
    fill(server.redis)
    one = f"recordings/{started['id']}"
    done = wait_for(lambda: next((row for row in [ask(server, one)] if row["state"] == "done"), None), "the recording is done")
    assert done["remaining_seconds"] == 0 and done["duration_seconds"] >= 1.99  # both ends are cut to milliseconds
    assert not is_active(scratch, server.pid)
    result = server.get(path(server, one + "/result"))
    assert is_whole_dump(result.body) and result.header("content-disposition").startswith("attachment; filename=")
    assert result.body == server.get(path(server, f"dumps/{done['dump']}")).body
    assert "zmalloc" in server.get(path(server, one + "/result?format=text")).text
    assert ask(server, "recordings")["recordings"][0] == done


def test_names_are_stored(server):
    """With symbolize=true the dump itself has the names, so that it can be read without the program."""
    taken = ask(server, "dumps?symbolize=true", "POST", 201)
    kept = server.get(path(server, f"dumps/{taken['id']}")).body
    assert kept.startswith(b"--- symbol") and b"zmalloc" in kept.split(b"---")[1] + kept.split(b"---")[2] and len(kept) == taken["bytes"]
    number = ask(server, "recordings?for=1s&symbolize=true", "POST", 201)["id"]
    fill(server.redis)
    done = wait_for(lambda: next((row for row in [ask(server, f"recordings/{number}")] if row["state"] != "running"), None), "the recording ends")
    assert done["state"] == "done" and done["why"] is None
    assert server.get(path(server, f"recordings/{number}/result")).body.startswith(b"--- symbol")
    assert "zmalloc" in server.get(path(server, f"recordings/{number}/result?format=text")).text
    number = ask(server, "recordings?for=1h&symbolize=true", "POST", 201)["id"]
    assert ask(server, f"recordings/{number}", "DELETE")["state"] == "done"
    assert server.get(path(server, f"recordings/{number}/result")).body.startswith(b"--- symbol")


def test_a_dump_has_a_limit(server):
    for rest in ("dumps?max-output=4KiB", "dumps?max-output=4KiB&symbolize=true"):
        refused(server, rest, "POST", 507, "too_large")
    refused(server, "dumps/now?max-output=4KiB", "GET", 507, "too_large")
    assert ask(server, "dumps?max-output=64MiB&force=true", "POST", 201)["bytes"] > 4096
    number = ask(server, "recordings?for=1h&max-output=4KiB", "POST", 201)["id"]
    ended = ask(server, f"recordings/{number}", "DELETE")
    assert ended["state"] == "failed" and "max-output" in ended["why"]


@pytest.mark.parametrize("how", ["DELETE", "stop"])
def test_a_recording_is_ended_early(scratch, server, how):
    number = ask(server, "recordings?for=1h", "POST", 201)["id"]
    one = f"recordings/{number}"
    done = ask(server, one, "DELETE") if how == "DELETE" else ask(server, one + "/stop", "POST")
    assert done["state"] == "done" and done["duration_seconds"] < 3600
    assert is_whole_dump(server.get(path(server, one + "/result")).body)
    assert not is_active(scratch, server.pid)


def test_a_recording_that_others_end(scratch, server):
    number = ask(server, "recordings?for=1s", "POST", 201)["id"]
    set_active(scratch, server.pid, False)
    wait_for(lambda: ask(server, f"recordings/{number}")["state"] == "dropped", "the recording is dropped")
    assert ask(server, f"recordings/{number}")["dump"] is None
    assert server.get(path(server, f"recordings/{number}/result")).status in (404, 409, 410)


def test_every_format_is_there(server):
    description = server.get("/api/v1/openapi.json").json()
    parameters = description["paths"]["/api/v1/targets/{target}/dumps/{dump}"]["get"]["parameters"]
    (formats,) = [row["schema"]["enum"] for row in parameters if row["name"] == "format"]
    assert set(FORMATS) <= set(formats)
    answers = [server.get(path(server, f"dumps/latest?format={name}&focus=zmalloc")) for name in formats]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == len(formats)


@pytest.mark.parametrize("name", FORMATS)
def test_format(server, name):
    options = "&focus=zmalloc" if name == "source" else ""
    answer = server.get(path(server, f"dumps/latest?format={name}{options}"))
    assert answer.status == 200, answer.text
    assert FORMATS[name] in answer.body
    if name in ("json", "speedscope"):
        assert json.loads(answer.body)


# The formats that have a place for what a reader should know.
COVERED = ["text", "tree", "stacks", "source", "flamegraph", "callgraph", "callgraph-svg", "speedscope", "pprof", "json", "page", "html"]


@pytest.mark.parametrize("name", COVERED)
@pytest.mark.parametrize("dump", ["latest", "now"])
def test_reports_tell_what_they_cover(server, dump, name):
    """The share of what the program holds, and that sampling is off by now: a picture of a part is not taken for the whole."""
    if dump == "latest":  # that of a recording was taken while it sampled
        ask(server, "dumps", "POST", 201)
    options = "&focus=zmalloc" if name == "source" else ""
    body = server.get(path(server, f"dumps/{dump}?format={name}{options}")).body
    text = (gzip.decompress(body) if name == "pprof" else body).decode(errors="replace")
    text = " ".join(re.sub(r"<[^<>]*>|\\[nl]", " ", html.unescape(text)).split())  # pictures break lines
    assert re.search(r"explains [\d.]+% \u00b1 [\d.]+% of the [\d.]+ [KM]iB that the program holds", text), text[:3000]
    assert "sampling is off now" in text


def test_every_option_of_a_report(server):
    description = server.get("/api/v1/openapi.json").json()
    parameters = description["paths"]["/api/v1/targets/{target}/dumps/{dump}"]["get"]["parameters"]
    options = [row for row in parameters if row["in"] == "query" and row["name"] != "format"]
    assert len(options) > 15
    for row in options:
        schema = row["schema"]
        values = schema.get("enum") or (["true"] if schema["type"] == "boolean" else [VALUES[row["name"]]])
        for value in values:
            if (row["name"], value) == ("sort", "change"):
                value += "&base=latest"
            form = FORMS.get(row["name"], "text")
            dump = "now" if row["name"] in ("force", "max-output") else "latest"
            answer = server.get(path(server, f"dumps/{dump}?format={form}&{row['name']}={value}"))
            assert answer.status == 200, (row["name"], value, answer.text)


def test_a_difference(server):
    base = ask(server, "dumps", "POST", 201)["id"]
    ask(server, "profiling?active=true", "PUT")
    fill(server.redis, 400)
    ask(server, "profiling?active=false", "PUT")
    later = ask(server, "dumps", "POST", 201)["id"]
    answer = server.get(path(server, f"dumps/{later}?format=text&base={base}"))
    assert "against" in answer.text and "zmalloc" in answer.text
    assert "no difference in inuse_space" in server.get(path(server, f"dumps/{later}?format=text&base={later}")).text
    refused(server, f"dumps/{later}?format=text&base=123456", "GET", 404, "not_found")


def test_dumps_are_listed_newest_first(server):
    number = ask(server, "dumps", "POST", 201)["id"]
    rows = ask(server, "dumps")["dumps"]
    assert rows[0]["id"] == number and [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    assert server.get(path(server, "dumps/latest")).body == server.get(path(server, f"dumps/{number}")).body


def test_a_kept_dump_has_a_tag(server):
    number = ask(server, "dumps", "POST", 201)["id"]
    for query in ("", "?format=flamegraph"):
        where = path(server, f"dumps/{number}{query}")
        tag = server.get(where).header("etag")
        again = server.get(where, "--header", f"If-None-Match: {tag}")
        assert (again.status, again.body, again.header("etag")) == (304, b"", tag)


def test_a_tag_is_of_one_server(scratch, profiled):  # noqa: F811
    """Ids begin again with a server that keeps no history in a file."""
    def first_dump():
        with serve(scratch, profiled.pid) as server:
            server.pid = profiled.pid
            number = ask(server, "dumps", "POST", 201)["id"]
            return number, server.get(path(server, f"dumps/{number}")).header("etag")
    (number, tag), (later, other) = first_dump(), first_dump()
    assert number == later and tag != other


def test_statistics(server):
    assert "stats.arenas" in server.get(path(server, "statistics")).json()["jemalloc"]
    text = server.get(path(server, "statistics?format=text"))
    assert text.type.startswith("text/plain") and text.text.startswith("___ Begin jemalloc statistics ___")
    assert len(server.get(path(server, "statistics?format=text&options=gmablxe")).body) < len(text.body)


def test_ledger(server):
    ledger = server.get(path(server, "ledger")).json()
    lines = {line["line"]: line["bytes"] for line in ledger["lines"] if line["level"] == "rss"}
    assert sum(lines.values()) == ledger["rss"] > 0 and ledger["method"] == "flag" and lines["live"] > 0
    assert abs(lines["unexplained"]) <= ledger["tolerance"]
    assert server.get(path(server, "ledger?x=1")).status == 400


def test_doctor(tmp_path, server):
    """Equal requests are one watch; a bad duration is refused."""
    answers = [tmp_path / "one", tmp_path / "other"]
    url = server.base + path(server, "doctor?for=2s")
    words = ["curl", "--silent", "--show-error", "--fail", "--max-time", str(DEADLINE), "--parallel", "--parallel-immediate", *server.curl]
    for answer in answers:
        words += ["--output", answer, url]
    subprocess.run(words, check=True, timeout=DEADLINE + 10)
    found = json.loads(answers[0].read_text())
    assert answers[0].read_bytes() == answers[1].read_bytes()
    assert found["format"] == "jescope-doctor" and found["watched_seconds"] >= 0.9 and found["ledger"]["rss"] > 0
    assert found["healthy"] == (found["findings"] == [])
    for value in ("6m", "0", "never"):
        refused(server, f"doctor?for={value}", "GET", 400, "invalid_parameter")


def examinations(pid):
    """The process groups that are `jescope doctor` of PID: each may have children of the same command line."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().split(b"\0")
            if b"doctor" in words and any(word.partition(b"@")[0] == str(pid).encode() for word in words):
                found.add(os.getpgid(int(entry.parent.name)))
    return found


def test_doctor_ends_with_its_client(server):
    with subprocess.Popen(server.command("GET", path(server, "doctor?for=5m")), stdout=subprocess.PIPE) as client:
        wait_for(lambda: examinations(server.pid), "the target is watched")
        assert ask(server, "profiling")  # others are served meanwhile
        client.kill()
    wait_for(lambda: not examinations(server.pid), "the watch has ended")


def test_a_peer_has_two_watches(server):
    """Each has a thread and a process for as long as its client wants. Those of the same are one."""
    watch = [server.command("GET", path(server, f"doctor?for={seconds}s")) for seconds in (298, 299, 299)]
    with contextlib.ExitStack() as stack:
        clients = []
        for command in watch:
            clients.append(stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)))
            wait_for(lambda: len(examinations(server.pid)) >= min(len(clients), 2), "the target is watched")
        refusal = server.get(path(server, "doctor?for=297s"))
        assert (refusal.status, refusal.json()["error"]["code"]) == (429, "crowded")
        assert all(client.poll() is None for client in clients)
        for client in clients:
            client.kill()
    wait_for(lambda: not examinations(server.pid), "the watches have ended")
    assert server.get(path(server, "doctor?for=1s")).status == 200


def test_a_peer_has_a_bounded_number_of_connections_for_a_watch(server):
    """Each is kept for as long as the watch takes."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(JOINED + 1)]
        for connection in connections:
            connection.connect(server.curl[server.curl.index("--unix-socket") + 1])
            connection.sendall(f"GET {path(server, 'doctor?for=298s')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        refused_ones = select.select(connections, [], [], DEADLINE)[0]
        assert [connection.recv(4096).split()[1] for connection in refused_ones] == [b"429"]
        wait_for(lambda: examinations(server.pid), "the target is watched")
    wait_for(lambda: not examinations(server.pid), "the watch has ended")


def test_watches_that_were_left_by_a_client_count(server):
    """A client that joins a watch of the same peer and leaves it, or that has begun it and leaves it to another, makes no room for more."""
    with contextlib.ExitStack() as stack:
        for seconds in (298, 299):
            command = server.command("GET", path(server, f"doctor?for={seconds}s"))
            first, second = (stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)) for _ in range(2))
            stack.callback(second.kill)
            wait_for(lambda: len(examinations(server.pid)) == seconds - 297, "the target is watched")
            time.sleep(JOINED_S)
            first.kill()
            time.sleep(LEFT_S)
        refusal = server.get(path(server, "doctor?for=297s"))
        assert (refusal.status, refusal.json()["error"]["code"]) == (429, "crowded")
    wait_for(lambda: not examinations(server.pid), "the watches have ended")
    assert server.get(path(server, "doctor?for=1s")).status == 200


def seconds_of_growth(finding):
    found = re.search(r"^live bytes rose .* over (\d+) s", "\n".join(finding["evidence"]), re.M)
    return int(found[1]) if found else 0


def test_doctor_counts_what_is_kept(folder):
    """A leak too slow for the watch: it is in the samples that the server kept of the process."""
    end = time.monotonic() + 2 * DEADLINE
    with contextlib.ExitStack() as stack:
        command = [JESCOPE, "run", "--", VICTIMS / "holds", "small=20", "leak=4"]
        victim = stack.enter_context(started(command, env=environment(folder), cwd=folder))
        pid = int(victim.stdout.readline())
        endpoint = stack.enter_context(serve(folder, pid, "--every=100ms", "--detail=classes"))
        victim.stdin.write("leak\n")
        victim.stdin.flush()
        while True:
            found = endpoint.get(f"/api/v1/targets/{pid}/doctor?for=1s").json()
            leaks = [finding for finding in found["findings"] if finding["cause"] == "heap-leak"]
            if leaks and seconds_of_growth(leaks[0]) > found["watched_seconds"] + 1:
                break
            assert time.monotonic() < end, found
        assert leaks[0]["bytes_per_second"] > 0 and leaks[0]["bytes"] > 1 << 20


def test_decay(server):
    before = ask(server, "decay")
    assert ask(server, "decay?dirty_ms=1234", "PUT")["dirty_ms"] == 1234
    assert ask(server, "decay") == before | {"dirty_ms": 1234}
    assert ask(server, f"decay?dirty_ms={before['dirty_ms']}", "PUT") == before


@pytest.mark.parametrize("what", ["purge", "decay"])
def test_pages_are_returned(server, what):
    found = ask(server, what, "POST")
    assert found["resident_before"] > 0 and found["resident_after"] > 0


def test_background_threads(server):
    ask(server, "background-thread?enabled=false", "PUT")
    assert ask(server, "background-thread?enabled=true&max=2", "PUT") == {"enabled": True, "max": 2}
    assert ask(server, "background-thread") == {"enabled": True, "max": 2}
    refused(server, "background-thread?max=0", "PUT", 400, "invalid_parameter")
    assert ask(server, "background-thread?enabled=false", "PUT")["enabled"] is False


def test_reset(server):
    ask(server, "profiling?active=true", "PUT")
    fill(server.redis)
    ask(server, "profiling?active=false", "PUT")
    found = ask(server, "reset?sample=8KiB", "POST")
    assert found["sample_bytes"] == 8192 and found["reset_at"]
    assert b"\n@ " not in server.get(path(server, "dumps/now")).body
    assert ask(server, "reset?sample=4KiB", "POST")["sample_bytes"] == 4096


def test_controls(server):
    assert ask(server, "controls/opt.narenas")["value"] > 0
    assert ask(server, "controls/version")["value"].startswith("5.3")
    refused(server, "controls/prof.dump?value=/tmp/x", "PUT", 403, "not_allowed")
    refused(server, "controls/arena.0.reset", "POST", 403, "not_allowed")
    refused(server, "controls/arenas.dirty_decay_ms?value=abc", "PUT", 400, "invalid_parameter")


@pytest.mark.parametrize("rest, method, code", [
    ("recordings", "POST", "missing_parameter"),
    ("recordings?for=1y", "POST", "invalid_parameter"),
    ("profiling?active=perhaps", "PUT", "invalid_parameter"),
    ("profiling?x=1", "GET", "unknown_parameter"),
    ("dumps/latest?format=nonsense", "GET", "invalid_parameter"),
    ("dumps/latest?format=text&focus=(", "GET", "invalid"),
    ("dumps/latest?format=text&thread=nosuch", "GET", "invalid"),
])
def test_what_cannot_be_meant(server, rest, method, code):
    refused(server, rest, method, 400, code)


def test_a_target_that_cannot_be_profiled(scratch, unprofiled):  # noqa: F811
    with serve(scratch, unprofiled.pid) as endpoint:
        endpoint.pid = unprofiled.pid
        assert ask(endpoint, "profiling")["available"] is False
        for rest, method in (("profiling?active=true", "PUT"), ("recordings?for=1s", "POST"), ("dumps", "POST"), ("reset", "POST")):
            error = ask(endpoint, rest, method, 409)["error"]
            assert "prof:true" in error["message"] + error["hint"]
        assert endpoint.get(path(endpoint, "statistics")).json()["jemalloc"]["version"].startswith("5.3.0")


def test_which_sampler(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        assert ask(endpoint, "profiling?active=true&for=1h&sampler=jescope", "PUT")["sampler"] == "jescope"
        lease = ask(endpoint, "profiling")["lease"]["id"]
        found = ask(endpoint, f"profiling/leases/{lease}", "DELETE")
        assert found["sampler"] == "jemalloc" and not found["active"]
        assert ask(endpoint, "profiling?active=true&sampler=jescope", "PUT")["sampler"] == "jescope"
        assert ask(endpoint, "profiling?active=false", "PUT")["sampler"] == "jemalloc"
        assert "auto, jemalloc or jescope" in ask(endpoint, "profiling?active=true&sampler=other", "PUT", 400)["error"]["message"]


@pytest.mark.parametrize("start, stop, dump", [
    (("POST", "/api/v1/targets/{pid}/recordings?for=1h&sampler=jescope&sampler-memory=1MiB"), None, None),
    (("GET", "/memory-profiler/start?duration=1hrs&sampler=jescope"), ("GET", "/memory-profiler/stop"), "/memory-profiler/download/raw"),
    (("GET", "/mtev/heap_profile?active=true&sampler=jescope"), ("GET", "/mtev/heap_profile?active=false"), "/mtev/heap_profile?trigger_dump=true"),
    (("POST", "/service/jemalloc/prof/enable?sampler=jescope"), ("POST", "/service/jemalloc/prof/disable"), "/pprof/heap"),
], ids=["native", "mesos", "libmtev", "userver"])  # fmt: skip
def test_a_start_chooses_the_sampler(scratch, profiled, start, stop, dump):  # noqa: F811
    """In a program whose jemalloc could profile, which it does again afterwards."""
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        answer = endpoint.ask(start[0], start[1].format(pid=profiled.pid))
        assert answer.status in (200, 201), answer
        found = ask(endpoint, "profiling")
        assert found["sampler"] == "jescope" and found["active"]
        fill(profiled, 400)
        at_once = stop is not None and dump is not None and not dump.startswith("/memory")
        text = endpoint.get(dump).body if at_once else None
        ended = endpoint.ask(*stop) if stop else endpoint.ask("DELETE", answer.header("location"))
        assert ended.status == 200, ended
        text = text or endpoint.get(dump or f"/api/v1/targets/{profiled.pid}/dumps/latest").body
        assert text.startswith(b"heap_v2/") and b"\n#sampler jescope 1 since=" in text[:200] and b"\n#live " in text
        found = ask(endpoint, "profiling")
        assert found["sampler"] == "jemalloc" and not found["active"]
        refused(endpoint, "recordings?for=1s&sampler=other", "POST", 400, "invalid_parameter")
        refused(endpoint, "recordings?for=1s&sampler=jescope&sampler-memory=16MiB", "POST", 403, "not_allowed")


def test_a_difference_by_a_chosen_sampler(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        assert endpoint.get("/debug/pprof/heap?seconds=1&sampler=jescope").status == 200
        assert ask(endpoint, "profiling")["sampler"] == "jemalloc"
        assert "it must be auto, jemalloc or jescope" in endpoint.get("/debug/pprof/heap?seconds=1&sampler=x").text


def test_a_target_that_jescope_samples_itself(scratch, sampled):  # noqa: F811
    with serve(scratch, sampled.pid) as endpoint:
        endpoint.pid = sampled.pid
        found = ask(endpoint, "profiling")
        assert found["available"] and found["sampler"] == "jescope" and "prof:true" in found["sampler_reason"]
        assert ask(endpoint, "profiling?active=true&sample=4KiB", "PUT")["active"]
        fill(sampled)
        text = endpoint.get(path(endpoint, "dumps/now?force=true")).body
        assert text.startswith(b"heap_v2/4096\n#sampler jescope 1 ")
        assert b"\njescope_class=1 size=" in text
        for value in ("pinned", "whatif"):
            report = ask(endpoint, f"dumps/now?force=true&format=json&value={value}")
            assert report["value"] == value and report["source"]["total"][value]["estimate"] >= 0
        assert not ask(endpoint, "profiling?active=false", "PUT")["active"]


def test_a_json_body(scratch, server):
    as_json = ["--header", "Content-Type: application/json", "--data"]
    answer = server.ask("PUT", path(server, "profiling"), *as_json, '{"active": true, "for": "1s"}')
    assert answer.status == 200 and answer.json()["lease"]["active"]
    wait_for(lambda: not is_active(scratch, server.pid), "the lease is over")
    for rest, options in (("recordings", [*as_json, '{"duration": "1s"}']), ("recordings?duration=1s", [])):
        answer = server.post(path(server, rest), *options)
        assert answer.status == 201
        server.ask("DELETE", answer.header("location"))
    for body, code in (('{"active": "yes"}', "invalid_parameter"), ('{"activ": true}', "unknown_parameter"), ("{", "invalid_body")):
        answer = server.ask("PUT", path(server, "profiling"), *as_json, body)
        assert (answer.status, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize("rest", ["", "dumps", "dumps/latest", "dumps/now", "dumps/latest?format=text", "statistics", "decay",
                                  "recordings", "profiling", "controls/version"])
def test_head_wherever_get_is(server, rest):
    where = path(server, rest)
    head = server.ask("HEAD", where)
    assert (head.status, head.body) == (200, b"") and head.type == server.get(where).type


def test_a_slash_at_the_end(server):
    for rest in ("profiling", "dumps", "statistics"):
        assert server.get(path(server, rest + "/")).status == 200
    assert server.get("/api/v1/targets/").status == server.get(path(server, "")).status == 200
