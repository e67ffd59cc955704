# SPDX-License-Identifier: Apache-2.0
"""jescope serve itself: targets and their paths, settings, supervision, its end, and run --listen."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess

import pytest
from endpoint import Endpoint, answers, is_active, serve, set_active
from programs import profiled, running_redis  # noqa: F401
from services import DEADLINE, JESCOPE, PYTHON, SERVICE, children, environment, free_port, jescope, started, wait_for

STATUS = "/mtev/heap_profile"


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        yield endpoint


@pytest.fixture(scope="module")
def second(scratch):
    with running_redis(scratch, "second", "--sample", "4KiB") as redis:
        yield redis


@pytest.fixture(scope="module")
def both(scratch, profiled, second):  # noqa: F811
    with serve(scratch, profiled.pid, second.pid) as endpoint:
        yield endpoint


def code(answer):
    return answer.json()["error"]["code"]


# ---- targets and paths ----


def test_one_target_at_the_root_and_behind_its_prefix(server):
    for prefix in ("", f"/targets/{server.pid}", "/targets/redis-server"):
        assert server.get(prefix + STATUS).text.startswith("opt.prof: true\n")


def test_several_targets_need_a_prefix(scratch, both, profiled, second):  # noqa: F811
    answer = both.get(STATUS)
    assert (answer.status, code(answer)) == (409, "ambiguous_target")
    assert str(profiled.pid) in answer.text and str(second.pid) in answer.text
    set_active(scratch, profiled.pid, False)
    set_active(scratch, second.pid, True)
    assert "prof.active: false" in both.get(f"/targets/{profiled.pid}{STATUS}").text
    assert "prof.active: true" in both.get(f"/targets/{second.pid}{STATUS}").text
    answer = both.get(f"/targets/redis-server{STATUS}")
    assert (answer.status, code(answer)) == (409, "ambiguous_target")
    answer = both.get(f"/targets/1{STATUS}")
    assert (answer.status, code(answer)) == (404, "unknown_target")


def test_default_target(scratch, profiled, second):  # noqa: F811
    set_active(scratch, profiled.pid, False)
    set_active(scratch, second.pid, True)
    with serve(scratch, "--default", second.pid, profiled.pid, second.pid) as endpoint:
        assert "prof.active: true" in endpoint.get(STATUS).text
        assert "prof.active: false" in endpoint.get(f"/targets/{profiled.pid}{STATUS}").text


def test_prefix_reaches_dialects_alone(server):
    prefix = f"/targets/{server.pid}"
    assert server.get(f"{prefix}/api/v1/targets").status == 404
    assert server.get(f"{prefix}/metrics").status == 404
    assert server.get(f"{prefix}/memory-profiler/state").status == 200


def test_list_of_targets(both, profiled, second):  # noqa: F811
    listed = {row["pid"]: row for row in both.get("/api/v1/targets").json()["targets"]}
    assert set(listed) == {profiled.pid, second.pid}
    row = listed[second.pid]
    assert row["id"] == str(second.pid) and row["name"] == "redis-server" and row["state"] == "live"
    assert both.get(row["url"]).status == 200
    assert both.get("/api/v1/targets?state=gone").json() == {"targets": []}
    assert code(both.get("/api/v1/targets?state=sideways")) == "invalid_parameter"


def test_page_and_index(both, profiled):  # noqa: F811
    page = both.get("/")
    assert page.type == "text/html; charset=utf-8"
    assert f"redis-server ({profiled.pid})" in page.text
    paths = {row["path"] for row in both.get("/api/v1").json()["paths"]}
    assert {"/api/v1/targets", "/api/v1/events", "/metrics", "/mtev/memory.json"} <= paths


def test_targets_come_and_go(scratch):
    """Those of other users of this machine may be among them, if we may see them."""
    with serve(scratch) as endpoint:

        def pids():
            return [row["pid"] for row in endpoint.get("/api/v1/targets").json()["targets"]]

        with started([JESCOPE, "run", "--", PYTHON, "-c", SERVICE], env=environment(scratch, PYTHONMALLOC="malloc")) as process:
            pid = int(process.stdout.readline())
            wait_for(lambda: pid in pids(), "the target comes")
            assert endpoint.get(f"/targets/{pid}{STATUS}").status == 200
        wait_for(lambda: pid not in pids(), "the target goes")
        assert endpoint.get(f"/targets/{pid}{STATUS}").status in (404, 500, 503)


# ---- HTTP ----


def test_head(server):
    for path in ("/healthz", "/api/v1", "/metrics"):
        whole, head = server.get(path), server.ask("HEAD", path)
        assert (head.status, head.type, head.body) == (200, whole.type, b"")
    assert server.ask("HEAD", "/healthz").header("content-length") == "3"


@pytest.mark.parametrize("path", ["/healthz", "/api/v1", "/api/v1/targets", "/api/v1/events", "/metrics"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_wrong_method(server, path, method):
    answer = server.ask(method, path)
    assert (answer.status, code(answer)) == (405, "method_not_allowed")
    assert answer.header("allow") == "GET, HEAD"


def test_errors_say_the_way_out(server):
    for path in ("/nowhere", "/api/v1/nowhere", f"/api/v1/targets/{server.pid}/nowhere", "/api/v1/targets/1"):
        answer = server.get(path)
        assert (answer.status, answer.type) == (404, "application/json")
        assert set(answer.json()["error"]) == {"code", "message", "hint"}


def test_gzip(server):
    plain = server.get("/mtev/memory.json")
    assert plain.header("content-encoding") is None and plain.header("vary") == "Accept-Encoding"
    packed = server.get("/mtev/memory.json", "--header", "Accept-Encoding: gzip")
    assert packed.header("content-encoding") == "gzip"
    assert len(packed.body) < len(plain.body) / 3
    assert json.loads(gzip.decompress(packed.body)).keys() == plain.json().keys()
    assert server.get("/healthz", "--header", "Accept-Encoding: gzip").header("content-encoding") is None


def test_kept_dump_is_fetched_once(server):
    """Conditional GET: unchanged content is not sent again."""
    taken = server.post(f"/api/v1/targets/{server.pid}/dumps")
    assert taken.status in (200, 201)
    path = f"/api/v1/targets/{server.pid}/dumps/{taken.json()['id']}"
    first = server.get(path)
    assert first.status == 200 and first.body.startswith(b"heap_v2/")
    assert "filename=" in first.header("content-disposition")
    etag = first.header("etag")
    again = server.get(path, "--header", f"If-None-Match: {etag}")
    assert (again.status, again.body, again.header("etag")) == (304, b"", etag)
    assert server.get(path, "--header", 'If-None-Match: "other"').status == 200


def test_many_at_once_get_whole_answers(server):
    replies = server.ask_at_once(20, "/mtev/memory.json")
    assert all(reply.status == 200 for reply in replies)
    assert all(reply.json()["jemalloc"] for reply in replies)


def test_change_is_seen_by_the_next_request(scratch, server):
    """Requests share answers, but never one that is older than the request."""
    for value in (True, False) * 10:
        word = str(value).lower()
        with subprocess.Popen(server.command("GET", STATUS), stdout=subprocess.DEVNULL):
            assert server.get(f"{STATUS}?active={word}").status == 200
            assert f"prof.active: {word}\n" in server.get(STATUS).text


def test_a_long_name_is_not_the_default_target(scratch, server):
    set_active(scratch, server.pid, False)
    name = "x" * 64
    answer = server.post(f"/api/v1/targets/{name}/profiling?active=true")
    assert (answer.status, code(answer)) == (404, "unknown_target") and not is_active(scratch, server.pid)
    assert server.get(f"/api/v1/targets/{name}").status == server.get(f"/targets/{name}{STATUS}?active=true").status == 404
    assert not is_active(scratch, server.pid)


# ---- events ----


class Stream:
    def __init__(self, endpoint, *options, query=""):
        command = ["curl", "--silent", "--no-buffer", "--max-time", str(DEADLINE), *endpoint.curl, *options,
                   f"{endpoint.base}/api/v1/events{query}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.next()["retry"] == "2000"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def next(self):
        """The fields of the next event that is not a comment."""
        fields = {}
        for line in self.process.stdout:
            if line == "\n" and fields:
                return fields
            name, colon, value = line.rstrip("\n").partition(": ")
            if colon and name:
                fields[name] = value
        raise AssertionError("the stream has ended")

    def next_of(self, kind):
        while (event := self.next()).get("event") != kind:
            pass
        return event


def test_events(scratch, server):
    set_active(scratch, server.pid, False)
    with Stream(server) as stream:
        server.get(f"{STATUS}?active=true")
        event = stream.next_of("profiling-on")
    told = json.loads(event["data"])
    assert told["target"] == str(server.pid) and told["label"] == f"redis-server ({server.pid})"
    assert told["who"] == "127.0.0.1" and told["id"] == int(event["id"])
    with Stream(server, query="?after=0") as stream:
        assert stream.next_of("target-came"), "one that came before the stream"
    # A client that reconnects gets the events that it missed.
    server.get(f"{STATUS}?active=false")
    with Stream(server, "--header", f"Last-Event-ID: {event['id']}") as stream:
        assert int(stream.next_of("profiling-off")["id"]) > int(event["id"])
    for wrong in (server.get("/api/v1/events", "--header", "Last-Event-ID: x"), server.get("/api/v1/events?after=x")):
        assert (wrong.status, code(wrong)) == (400, "bad_event_id")


def test_events_for_who_wants_no_stream(server):
    head = server.ask("HEAD", "/api/v1/events")
    assert (head.status, head.type, head.body) == (200, "text/event-stream", b"")
    # HTTP/1.0 has no chunks; the stream ends with the connection.
    done = subprocess.run(server.command("GET", "/api/v1/events", "--http1.0", "--max-time", "0.5"), capture_output=True, timeout=DEADLINE)
    assert done.stdout.startswith(b"HTTP/1.1 200") and done.stdout.endswith(b"retry: 2000\n\n")
    assert b"chunked" not in done.stdout
    assert server.get("/healthz").status == 200


# ---- settings ----


def test_userver_at_a_path_of_its_own(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, "--userver-path=/admin/heap") as endpoint:
        usual = endpoint.post("/service/jemalloc/prof/none")
        for path in ("/admin/heap/none", f"/targets/{profiled.pid}/admin/heap/none"):
            answer = endpoint.post(path)
            assert (answer.status, answer.text) == (usual.status, usual.text) and usual.status != 404
        assert "jemalloc statistics" in endpoint.post("/admin/heap/stat").text
        assert endpoint.get("/admin/heap/stat").status == endpoint.get("/service/jemalloc/prof/stat").status == 405
        assert endpoint.post("/admin/heapstat").status == endpoint.post("/admin/other/stat").status == 404
    with serve(scratch, profiled.pid, "--userver-path=/admin/heap", "--dialects=mesos") as endpoint:
        assert endpoint.post("/admin/heap/stat").status == 404
    for path in ("admin", "/", "/admin/", "/api/v1/heap", "/a?b", ""):
        assert "invalid path" in jescope(scratch, "serve", f"--userver-path={path}", check=False).stderr


def test_dialects(scratch, profiled):  # noqa: F811
    paths = {"libmtev": STATUS, "mesos": "/memory-profiler/state", "pprof": "/debug/pprof/cmdline"}
    for words, left in (("none", set()), ("mesos", {"mesos"}), ("libmtev,pprof", {"libmtev", "pprof"}), ("all", set(paths))):
        with serve(scratch, profiled.pid, f"--dialects={words}") as endpoint:
            assert {name for name, path in paths.items() if endpoint.get(path).status == 200} == left
            assert {endpoint.get(path).status for name, path in paths.items() if name not in left} <= {404}
            assert endpoint.get(f"/api/v1/targets/{profiled.pid}").status == 200
            for path in ("/debug/pprof/heap", "/pprof/heap", "/debug/pprof/none"):
                answer = endpoint.get(path)
                assert "pprof" in left or answer.status == 404 and "--dialects" in answer.json()["error"]["hint"] and "see /debug" not in answer.text
    assert "mtev" in jescope(scratch, "serve", "--dialects=mtev", check=False).stderr


@pytest.mark.parametrize("value", ["disabled", "false"])
def test_variable_of_libprocess(scratch, profiled, value):  # noqa: F811
    with serve(scratch, profiled.pid, LIBPROCESS_MEMORY_PROFILING=value) as endpoint:
        answer = endpoint.get("/memory-profiler/state")
        assert answer.status == 404
        assert endpoint.get(STATUS).status == 200


def test_configuration_file(scratch, profiled, second):  # noqa: F811
    config = scratch / "serve.conf"
    config.write_text(f"# what to serve\n[serve]\ntargets={profiled.pid};{second.pid}\ndefault={profiled.pid}\ndialects=libmtev\n"
                      "max-connections=100\ninsecure=false\n")
    with serve(scratch, "--config", config) as endpoint:
        wait_for(lambda: answers(endpoint, {str(profiled.pid), str(second.pid)}), "the targets of the file are found")
        assert endpoint.get(STATUS).status == 200
        assert endpoint.get("/memory-profiler/state").status == 404
        config.write_text(f"[serve]\ntargets={profiled.pid};{second.pid}\n")
        endpoint.process.send_signal(signal.SIGHUP)
        wait_for(lambda: endpoint.get("/memory-profiler/state").status == 409, "the settings are read again")
    with serve(scratch, "--config", config, "--dialects=mesos", second.pid) as endpoint:
        assert endpoint.get(STATUS).status == 404
        assert [row["pid"] for row in endpoint.get("/api/v1/targets").json()["targets"]] == [second.pid]


@pytest.mark.parametrize("text, said", [
    ("[serve]\nlisten-on=1\n", "listen-on"),
    ("[server]\nlisten=1\n", "[server]"),
    ("[serve]\ninsecure=perhaps\n", "perhaps"),
    ("[serve]\ntimeout=soon\n", "soon"),
    ("[serve]\nmax-connections=0\n", "max-connections"),
    ("listen=1\n", "bad.conf"),
])
def test_bad_configuration(scratch, text, said):
    config = scratch / "bad.conf"
    config.write_text(text)
    done = jescope(scratch, "serve", "--config", config, check=False)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
    assert jescope(scratch, "serve", "--config", scratch / "missing.conf", check=False).returncode == 2


def test_several_addresses(scratch, profiled):  # noqa: F811
    port = free_port()
    with serve(scratch, "--listen", f"127.0.0.1:{port}", "--listen", "[::1]:0", profiled.pid) as endpoint:
        assert endpoint.get("/healthz").status == 200
        assert Endpoint(endpoint.process, f"http://127.0.0.1:{port}", []).get("/healthz").status == 200
        assert re.search(r"serving on http://\[::1\]:\d+\n", endpoint.log.read_text())
        done = jescope(scratch, "serve", "--listen", f"127.0.0.1:{port}", check=False)
        assert done.returncode == 1 and f"127.0.0.1:{port}" in done.stderr


# ---- supervision ----


class Supervisor:
    """The notification socket of systemd."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(DEADLINE)
        self.path = path

    def wait_for(self, line):
        while line not in (told := self.socket.recv(4096).decode().splitlines()):
            pass
        return told


@pytest.fixture
def supervisor(scratch):
    watching = Supervisor(scratch / "notify")
    yield watching
    watching.socket.close()
    watching.path.unlink()


def test_reports(scratch, profiled, supervisor):  # noqa: F811
    with serve(scratch, profiled.pid, NOTIFY_SOCKET=str(supervisor.path), WATCHDOG_USEC="200000") as endpoint:
        assert any(line.startswith("STATUS=serving on unix:") for line in supervisor.wait_for("READY=1"))
        supervisor.wait_for("WATCHDOG=1")
        endpoint.process.send_signal(signal.SIGHUP)
        assert any(line.startswith("MONOTONIC_USEC=") for line in supervisor.wait_for("RELOADING=1"))
        supervisor.wait_for("READY=1")
        endpoint.process.terminate()
        supervisor.wait_for("STOPPING=1")


def test_sockets_handed_over(scratch, profiled):  # noqa: F811
    path = scratch / "handed"
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as local:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        local.bind(str(path))
        local.listen()
        port = tcp.getsockname()[1]

        def hand_over():
            for place, one in ((13, tcp), (14, local)):
                os.dup2(one.fileno(), place, inheritable=False)
            for place in (3, 4):
                os.dup2(place + 10, place, inheritable=True)

        command = ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", JESCOPE, "serve", "--blackbox=off", profiled.pid]
        with started(command, env=environment(scratch, LISTEN_FDS="2"), preexec_fn=hand_over, close_fds=False, stdout=None,
                     stderr=subprocess.PIPE) as process:
            first = process.stderr.readline()
            if first.startswith("jescope: warning: there is no user"):
                first = process.stderr.readline()
            told = first + process.stderr.readline()
            assert told == f"jescope: serving on http://127.0.0.1:{port}\njescope: serving on unix:{path}\n"
            assert Endpoint(process, f"http://127.0.0.1:{port}", []).get("/healthz").status == 200
            assert Endpoint(process, "http://localhost", ["--unix-socket", str(path)]).get("/healthz").status == 200
            process.terminate()
            assert process.wait(DEADLINE) == 0
        # Its maker's, to serve again.
        assert path.exists()


# ---- its end ----


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_clean_end(scratch, profiled, end):  # noqa: F811
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid) as endpoint:
        started_run = endpoint.get("/memory-profiler/start?duration=1hrs")
        assert started_run.status == 200
        wait_for(lambda: is_active(scratch, profiled.pid), "profiling is on")
        with Stream(endpoint):
            endpoint.process.send_signal(end)
            assert endpoint.process.wait(DEADLINE) == 0
        assert not os.path.exists(endpoint.curl[1])
    assert not is_active(scratch, profiled.pid)


def test_requests_under_way_are_answered(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        command = endpoint.command("GET", "/debug/pprof/heap?seconds=3")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as asking:
            wait_for(lambda: waiting(endpoint) > 1, "the request is under way")
            endpoint.process.terminate()
            body = asking.communicate(timeout=DEADLINE)[0]
        assert body.startswith(b"HTTP/1.1 200")
        assert endpoint.process.wait(DEADLINE) == 0


def test_second_signal_waits_for_nothing(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        with subprocess.Popen(endpoint.command("GET", "/debug/pprof/heap?seconds=200"), stdout=subprocess.PIPE) as asking, Stream(endpoint):
            wait_for(lambda: waiting(endpoint) > 1, "the request is under way")
            endpoint.process.terminate()
            wait_for(lambda: not os.path.exists(endpoint.curl[1]), "the first signal is heard")
            endpoint.process.terminate()
            assert endpoint.process.wait(DEADLINE) == 0
            assert b"HTTP/1.1 200" not in asking.communicate(timeout=DEADLINE)[0]


def waiting(endpoint):
    for line in endpoint.get("/metrics").text.splitlines():
        if line.startswith("jescope_http_requests_waiting "):
            return float(line.split()[1])
    raise AssertionError("no such figure")


# ---- run --listen ----


def run_and_listen(scratch, port, *program, **options):
    return started([JESCOPE, "run", "--listen", f"127.0.0.1:{port}", "--", *program],
                   env=environment(scratch, PYTHONMALLOC="malloc"), **options)


def test_run_serves_its_program(scratch):
    own = scratch / "listening"
    own.mkdir(mode=0o700)
    port = free_port()
    with run_and_listen(own, port, PYTHON, "-c", SERVICE) as process:
        pid = int(process.stdout.readline())
        endpoint = Endpoint(process, f"http://127.0.0.1:{port}", [])
        wait_for(lambda: endpoint.get(STATUS).status == 200, "the program is served")
        assert [row["pid"] for row in endpoint.get("/api/v1/targets").json()["targets"]] == [pid]
        helpers = set(children(process.pid)) - {pid}
        assert len(helpers) == 1
        # Signals are the program's, and so is the exit status.
        process.send_signal(signal.SIGUSR1)
        assert process.wait(DEADLINE) == 128 + signal.SIGUSR1
    wait_for(lambda: not any(os.path.exists(f"/proc/{helper}") for helper in helpers), "the server ends with the program")


def test_run_tells_what_is_wrong_before_it_starts(scratch):
    marker = scratch / "was-started"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with run_and_listen(scratch, port, "/usr/bin/touch", marker, stderr=subprocess.PIPE) as process:
            assert process.wait(DEADLINE) == 1
            assert f"127.0.0.1:{port}" in process.stderr.read()
    done = jescope(scratch, "run", "--listen", "0.0.0.0:0", "--", "/usr/bin/touch", marker, check=False)
    assert done.returncode == 2 and "others can reach" in done.stderr
    assert not marker.exists()


def test_server_of_a_killed_run_ends(scratch):
    own = scratch / "killed"
    own.mkdir(mode=0o700)
    port = free_port()
    with run_and_listen(own, port, PYTHON, "-c", SERVICE) as process:
        pid = int(process.stdout.readline())
        endpoint = Endpoint(process, f"http://127.0.0.1:{port}", [])
        wait_for(lambda: answers(endpoint, set()), "serve answers")
        helper = (set(children(process.pid)) - {pid}).pop()
        process.kill()
        process.wait(DEADLINE)
        wait_for(lambda: not os.path.exists(f"/proc/{helper}"), "the server ends")
        os.kill(pid, signal.SIGKILL)


# ---- series ----


@pytest.fixture(scope="module")
def collecting(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, "--every=100ms", "--history", scratch / "kept" / "history.db") as endpoint:
        endpoint.pid = profiled.pid
        path = f"/api/v1/targets/{profiled.pid}/series?metric=allocated"
        wait_for(lambda: len(points(endpoint.get(path))) >= 3, "three samples")
        yield endpoint


def points(answer):
    return answer.json()["series"][0]["points"] if answer.status == 200 else []


def test_series(scratch, collecting):
    path = f"/api/v1/targets/{collecting.pid}/series"
    answer = collecting.get(f"{path}?metric=allocated,resident")
    assert [row["metric"] for row in answer.json()["series"]] == ["allocated", "resident"]
    times = [time for time, _ in answer.json()["series"][0]["points"]]
    assert times == sorted(times)
    later = points(collecting.get(f"{path}?metric=allocated&from={times[1]}"))
    assert later[0][0] == times[1]
    assert len(points(collecting.get(f"{path}?metric=allocated&step=1h"))) == 1
    # The command line reads the same file.
    printed = jescope(scratch, "series", "--history", scratch / "kept" / "history.db", "--format=json", "allocated").stdout
    assert json.loads(printed)["series"][0]["points"][: len(times)] == answer.json()["series"][0]["points"]
    kinds = {"csv": "text/csv; charset=utf-8", "svg": "image/svg+xml", "table": "text/plain; charset=utf-8"}
    for form, kind in kinds.items():
        assert collecting.get(f"{path}?metric=allocated&format={form}").type == kind


@pytest.mark.parametrize("query, status, name", [
    ("", 400, "metric"),
    ("metric=", 400, "metric"),
    ("metric=nonsense", 404, "nonsense"),
    ("metric=allocated&step=5x", 400, "step"),
    ("metric=allocated&from=yesterday", 400, "from"),
    ("metric=allocated&from=now&to=-1h", 400, "from"),
    ("metric=allocated&each=sum", 400, "each"),
    ("metric=allocated&rate=maybe", 400, "rate"),
    ("metric=allocated&format=pdf%ff", 400, "format"),
    ("metric=allocated&colour=red", 400, "colour"),
    ("metric=allocated&to=2001-01-01", 404, "redis-server"),
])
def test_bad_series(collecting, query, status, name):
    answer = collecting.get(f"/api/v1/targets/{collecting.pid}/series?{query}")
    assert answer.status == status
    assert name in answer.json()["error"]["message"]
