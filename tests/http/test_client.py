# SPDX-License-Identifier: Apache-2.0
"""The commands on targets of another jescope: URLs in place of a pid."""

import contextlib
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import zlib

import pytest
import wire
from endpoint import is_active, is_whole_dump, make_certificate, serve, set_active
from services import DEADLINE, JESCOPE, PYTHON, environment, free_port, jescope, service, started, status, wait_for, where_the_system_trusts
from strangers import STRANGER, as_stranger

READ = "read-0123456789abcdef"
CONTROL = "control-0123456789abcdef"


@pytest.fixture(scope="module")
def program(scratch):
    with service(scratch, "--sample", "1KiB") as found:
        yield found


@pytest.fixture(scope="module")
def server(scratch, program):
    with serve(scratch, program.pid, port=free_port()) as endpoint:
        yield endpoint


@pytest.fixture
def url(scratch, program, server):
    """Of the only target, which is not being profiled."""
    set_active(scratch, program.pid, False)
    return server.base


def ask(scratch, *words):
    return jescope(scratch, *words).stdout


def refused(scratch, *words, **options):
    """What the command says on stderr, where it fails as a command should."""
    done = jescope(scratch, *words, check=False, **options)
    assert (done.returncode, done.stdout) in ((1, ""), (2, "")), done
    assert done.stderr.startswith("jescope: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


# ---- what the commands do ----


def test_status(scratch, program, url):
    program.allocate()
    there, here = json.loads(ask(scratch, "status", "--json", url)), status(scratch, program.pid)
    assert there["name"] == here["name"] and there["reach"] == "server"
    assert there["jemalloc"] == here["jemalloc"]
    assert there["profiling"] == here["profiling"]
    for figure in ("allocated", "active", "resident", "mapped"):
        assert there["sample"][figure] == pytest.approx(here["sample"][figure], rel=0.2)
    assert f"({program.pid}) of {url}\n" in ask(scratch, "status", url).splitlines(keepends=True)[0]


def test_stats(scratch, program, url):
    resident = json.loads(ask(scratch, "stats", "--json", url))
    assert resident.keys() == json.loads(ask(scratch, "stats", "--json", program.pid)).keys()
    assert "allocated" in ask(scratch, "stats", url)
    assert "# EOF" in ask(scratch, "stats", "--format=openmetrics", url)
    assert ask(scratch, "stats", "--raw", url).startswith("___ Begin jemalloc statistics ___")
    assert "jemalloc" in json.loads(ask(scratch, "stats", "--raw", "--json", url))


def test_ledger(scratch, program, url):
    """The process is far away for the command, and its server says where the memory is."""
    there, here = (json.loads(ask(scratch, "ledger", "--json", name)) for name in (url, program.pid))
    assert there.keys() == here.keys() and there["method"] == here["method"]
    resident = [[line["line"] for line in ledger["lines"] if line["level"] == "rss"] for ledger in (there, here)]
    assert resident[0] == resident[1]
    assert sum(line["bytes"] for line in there["lines"] if line["level"] == "rss") == there["rss"]
    assert there["rss"] == pytest.approx(here["rss"], rel=0.2)
    text = ask(scratch, "ledger", url)
    assert f"({program.pid}) of {url}\n" in text.splitlines(keepends=True)[0]
    assert "Resident set, " in text and "unexplained" in text and "Read within" in text


def test_switching(scratch, program, url):
    said = ask(scratch, "enable", url)
    assert f"'jescope disable {url}'" in said
    assert is_active(scratch, program.pid)
    ask(scratch, "disable", url)
    assert not is_active(scratch, program.pid)
    ask(scratch, "enable", "--for", "1h", "--sample", "64KiB", url)
    lease = json.loads(ask(scratch, "status", "--json", url))["profiling"]["lease"]
    assert 3500 < lease["remaining_seconds"] <= 3600 and status(scratch, program.pid)["profiling"]["sample_bytes"] == 65536
    assert "is already being profiled" in refused(scratch, "record", "--for", "1s", "-o", "x.heap", url)
    ask(scratch, "disable", url)
    assert status(scratch, program.pid)["profiling"]["sample_bytes"] == 1024


def test_purge_and_reset(scratch, url):
    assert re.search(r"resident \S+ \S+ before, \S+ \S+ after", ask(scratch, "purge", url))
    assert "all samples are discarded" in ask(scratch, "reset", url)


@pytest.fixture
def busy(scratch, program, url):
    """A URL whose target has samples."""
    set_active(scratch, program.pid, True)
    program.allocate()
    return url


def test_dump(scratch, program, busy, tmp_path):
    ask(scratch, "dump", "-o", tmp_path / "raw.heap", busy)
    raw = (tmp_path / "raw.heap").read_bytes()
    assert is_whole_dump(raw) and b"jescope_capture=1" in raw and f" pid={program.pid} ".encode() in raw
    ask(scratch, "dump", "--symbolize", "-o", tmp_path / "named.heap", busy)
    assert (tmp_path / "named.heap").read_bytes().startswith(b"--- symbol")
    name = ask(scratch, "dump", busy).strip()
    assert re.fullmatch(rf"python3\S*\.{program.pid}\.\d+T\d+\.heap", name), name


def functions(text):
    return [line for line in text.splitlines() if "Py" in line]


def test_report_is_named_by_the_server(scratch, program, busy, tmp_path):
    """The files of this machine are not asked: with a root that has none, functions have names all the same."""
    ask(scratch, "dump", "-o", tmp_path / "raw.heap", program.pid)
    nowhere = ["report", "--sysroot", tmp_path, "--debug-path", tmp_path]
    assert not functions(ask(scratch, *nowhere, tmp_path / "raw.heap"))
    assert functions(ask(scratch, *nowhere, busy))


def test_comparing(scratch, program, busy, tmp_path):
    for number in range(2):
        ask(scratch, "dump", "--symbolize", "-o", tmp_path / f"{number}.heap", busy)
        program.allocate()
    dumps = [tmp_path / f"{number}.heap" for number in range(2)]
    assert functions(ask(scratch, "diff", dumps[0], busy))
    assert json.loads(ask(scratch, "growth", "--json", *dumps, busy))["dumps"][-1]["name"].endswith(busy)
    assert functions(ask(scratch, "report", "--base", dumps[0], f"{busy}/targets/{program.pid}"))


def wait_for_sampling(scratch, program, recording):
    wait_for(lambda: recording.poll() is not None or is_active(scratch, program.pid), "sampling is on")
    assert recording.poll() is None


def test_record(scratch, program, url, tmp_path):
    command = [JESCOPE, "record", "--for", "1h", "--symbolize", "-o", tmp_path / "x.heap", url]
    with started(command, env=environment(scratch), cwd=scratch) as recording:
        wait_for_sampling(scratch, program, recording)
        program.allocate()
        recording.send_signal(signal.SIGINT)
        assert recording.wait(DEADLINE) == 0
    assert not is_active(scratch, program.pid)
    assert (tmp_path / "x.heap").read_bytes().startswith(b"--- symbol")
    assert functions(ask(scratch, "report", tmp_path / "x.heap"))


def test_record_by_a_sampler_of_choice(scratch, program, url, tmp_path):
    command = [JESCOPE, "record", "--for", "1h", "--sampler=jescope", "--sample=1KiB", "-o", tmp_path / "x.heap", url]
    with started(command, env=environment(scratch), cwd=scratch) as recording:
        wait_for_sampling(scratch, program, recording)
        assert json.loads(ask(scratch, "status", "--json", url))["profiling"]["sampler"] == "jescope"
        program.allocate()
        recording.send_signal(signal.SIGINT)
        assert recording.wait(DEADLINE) == 0
    assert b"\n#sampler jescope 1 since=" in (tmp_path / "x.heap").read_bytes()[:200]
    assert json.loads(ask(scratch, "status", "--json", url))["profiling"]["sampler"] == "jemalloc"
    ask(scratch, "enable", "--sampler=jescope", url)
    assert json.loads(ask(scratch, "status", "--json", url))["profiling"]["sampler"] == "jescope"
    ask(scratch, "disable", url)
    assert json.loads(ask(scratch, "status", "--json", url))["profiling"]["sampler"] == "jemalloc"


def sampler_memory(scratch, program):
    with wire.Client(next((scratch / "agents").glob(f"{program.pid}.*.sock"))) as client:
        return client.read("jescope.sampler_memory", "size")


def test_memory_of_the_sampler(scratch, program, url):
    """As much as the server allows: 8 MiB, unless it was told otherwise."""
    for words in (["enable", "--sampler=jescope"], ["enable", "--for=1h", "--sampler=jescope"]):
        ask(scratch, *words, "--sampler-memory=2MiB", url)
        assert sampler_memory(scratch, program) == 2 << 20
        ask(scratch, "disable", url)
        assert sampler_memory(scratch, program) == 8 << 20
    assert "not for --sampler=jemalloc" in refused(scratch, "enable", "--sampler=jemalloc", "--sampler-memory=1MiB", url)
    assert "does not sample it" in refused(scratch, "enable", "--sampler-memory=1MiB", url)
    assert "more than the 8 MiB" in refused(scratch, "enable", "--sampler=jescope", "--sampler-memory=16MiB", url)
    assert not is_active(scratch, program.pid)
    with serve(scratch, "--max-sampler-memory=16MiB", program.pid, port=free_port()) as generous:
        ask(scratch, "enable", "--sampler=jescope", "--sampler-memory=16MiB", generous.base)
        assert sampler_memory(scratch, program) == 16 << 20
        assert "is on already" in refused(scratch, "enable", "--sampler=jescope", "--sampler-memory=1MiB", generous.base)
        ask(scratch, "disable", generous.base)
    done = jescope(scratch, "serve", "--max-sampler-memory=2GiB", check=False)
    assert done.returncode == 2 and "--max-sampler-memory: invalid size '2GiB'; use 1MiB to 1GiB" in done.stderr


def test_record_is_named_by_the_server(scratch, tmp_path):
    """Files of this machine that only its root may read name no functions of another's target; the server reads them as the target may."""
    tmp_path.chmod(0o700)
    shutil.copy(PYTHON, tmp_path / "python")
    with service(scratch, "--sample", "1KiB", python=tmp_path / "python", PYTHONHOME="/usr") as private, \
            serve(scratch, private.pid, port=free_port()) as endpoint:
        command = [JESCOPE, "record", "--for", "1h", "--symbolize", "-o", tmp_path / "x.heap", endpoint.base]
        with started(command, env=environment(scratch), cwd=scratch) as recording:
            wait_for_sampling(scratch, private, recording)
            private.allocate()
            recording.send_signal(signal.SIGINT)
            assert recording.wait(DEADLINE) == 0
    named = (tmp_path / "x.heap").read_text(errors="replace")
    assert "Py" in named.partition("heap_v2")[0] and str(tmp_path / "python") in named


def test_a_recording_that_is_killed_ends(scratch, program, url):
    with started([JESCOPE, "record", "-o", "never.heap", url], env=environment(scratch), cwd=scratch) as recording:
        wait_for_sampling(scratch, program, recording)
        recording.kill()
        wait_for(lambda: not is_active(scratch, program.pid), "the lease ends")


# ---- which target, and how it is reached ----


def test_which_target(scratch, program, url):
    for path in ("/", "/api/v1", f"/targets/{program.pid}", f"/api/v1/targets/{program.pid}/", "/targets/python3"):
        assert json.loads(ask(scratch, "status", "--json", url + path))["name"].startswith("python3")
    assert "no target '1'" in refused(scratch, "status", f"{url}/targets/1")
    assert "no such path: /nowhere/api/v1/targets" in refused(scratch, "status", f"{url}/nowhere")


def test_several_targets(scratch, program):
    with service(scratch) as other, serve(scratch, program.pid, other.pid, port=free_port()) as endpoint:
        said = refused(scratch, "status", endpoint.base)
        assert "serves 2 targets; add /targets/ID to the URL: " in said
        assert f"{program.pid} (python3" in said and f"{other.pid} (python3" in said
        assert json.loads(ask(scratch, "status", "--json", f"{endpoint.base}/targets/{other.pid}"))["sample"]["allocated"] > 0


def test_unix_socket(scratch, program):
    with serve(scratch, program.pid) as endpoint:
        path = endpoint.curl[1]
        url = "http+unix://" + path.replace("/", "%2F")
        assert f"of unix:{path}" in ask(scratch, "status", url)
        assert "of unix:" in ask(scratch, "status", f"{url}/targets/{program.pid}")


# ---- one command, one process ----


@contextlib.contextmanager
def namesakes_server():
    """A name, the means to start a process of it, and a server of all."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jescope-http-")))
        (folder / "agents").mkdir(mode=0o700)
        name = f"s{os.getpid()}"
        (folder / name).symlink_to(PYTHON)
        endpoint = stack.enter_context(serve(folder, "--every=100ms", port=free_port()))

        def start():
            program = stack.enter_context(service(folder, "--sample", "1KiB", python=folder / name))
            wait_for(lambda: row_of(endpoint, program.pid), "it is found")
            return program

        yield folder, start, endpoint, f"{endpoint.base}/targets/{name}"


def row_of(endpoint, pid):
    rows = endpoint.get("/api/v1/targets").json()["targets"]
    return next((row for row in rows if row["pid"] == pid), None)


RECORDS = ["record", "--for", "1h", "--sampler=jescope", "-o", "x.heap"]


def test_a_namesake_that_starts_does_not_end_a_command():
    with namesakes_server() as (folder, start, _, url):
        first = start()
        set_active(folder, first.pid, False)
        with started([JESCOPE, *RECORDS, url], env=environment(folder), cwd=folder, stderr=subprocess.PIPE) as recording:
            wait_for_sampling(folder, first, recording)
            start()
            first.allocate()
            recording.send_signal(signal.SIGINT)
            assert recording.wait(DEADLINE) == 0, recording.stderr.read()
        assert f" pid={first.pid} ".encode() in (folder / "x.heap").read_bytes()
        assert "2 targets are named" in refused(folder, "status", url)


@pytest.mark.parametrize("words", [RECORDS, ["doctor", "--for", "1h", "--record"]], ids=["record", "doctor"])
def test_a_command_does_not_go_on_with_a_namesake_of_a_process_that_has_ended(words):
    with namesakes_server() as (folder, start, endpoint, url):
        first = start()
        set_active(folder, first.pid, False)
        with started([JESCOPE, *words, url], env=environment(folder), cwd=folder, stderr=subprocess.PIPE) as command:
            wait_for_sampling(folder, first, command)
            first.kill()
            wait_for(lambda: row_of(endpoint, first.pid) is None, "the server knows of its end")
            second = start()
            set_active(folder, second.pid, False)
            command.send_signal(signal.SIGINT)
            assert command.wait(DEADLINE) != 0
            said = command.stderr.read()
        assert f"({first.pid}) of {endpoint.base} has ended" in said, said
        assert not is_active(folder, second.pid) and str(second.pid) not in said
        dump = folder / "x.heap"
        assert not dump.exists() or f" pid={second.pid} ".encode() not in dump.read_bytes()


def told(frame):
    return {"trouble": frame["trouble"], "pids": [target["pid"] for target in frame["targets"]]}


def test_top_stays_with_a_process_while_it_runs():
    with namesakes_server() as (folder, start, _, url):
        first = start()
        with started([JESCOPE, "top", "--json", "--every", "100ms", url], env=environment(folder), cwd=folder) as top:
            frames = map(json.loads, top.stdout)
            only_first = {"trouble": None, "pids": [first.pid]}
            assert told(next(frames)) == only_first
            second = start()
            assert [told(next(frames)) for _ in range(5)] == [only_first] * 5
            first.kill()
            assert next(frame for frame in frames if second.pid in told(frame)["pids"]), "what has the name then"


def status_of(pid, **more):
    return json.dumps({"name": "payments", "pid": pid, "jemalloc": {}, "profiling": {}, **more}).encode()


@pytest.mark.parametrize("first, later", [
    ({"unique": "1.2"}, {"unique": "1.3"}),
    ({"unique": "1.2"}, {}),
    ({}, {"unique": "2.3"}),
    ({"started": 1.5}, {"started": 2.5}),
])
def test_a_server_that_answers_about_another_process(scratch, first, later):
    """As an older one may, which knows names and pids alone."""
    pids = iter([1, 2 if later.get("unique") == "2.3" else 1])
    answers = [("/api/v1/targets/", lambda handler: handler.answer(status_of(next(pids), **next(about)), JSON, 200))]
    about = iter([first, later])
    with hostile(answers) as base:
        assert f"payments (1) of {base} has ended" in refused(scratch, "status", f"{base}/targets/payments")


@pytest.mark.parametrize("wrong, why", [
    ("http://", "no host"),
    ("http:///targets/1", "no host"),
    ("ftp://127.0.0.1/", "ftp"),
    ("http://user:secret@127.0.0.1/", "--token-file"),
    ("http://127.0.0.1/?token=secret", "query"),
    ("http://127.0.0.1:99999/", "not the URL of a target"),
    ("http+unix://run/x.sock", "absolute path"),
])
def test_wrong_urls(scratch, wrong, why):
    said = refused(scratch, "status", wrong)
    assert why in said and "user:secret" not in said


def test_no_server(scratch):
    assert "cannot connect to http://127.0.0.1:1" in refused(scratch, "status", "http://127.0.0.1:1")
    for words in (["attach"], ["collect", "--for", "1s"]):
        assert "URL" in refused(scratch, *words, "http://127.0.0.1:1")
    assert "--via" in refused(scratch, "status", "--via=attach", "http://127.0.0.1:1")


def test_no_proxy_is_used(scratch, url):
    env = environment(scratch, http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1", ALL_PROXY="http://127.0.0.1:1")
    jescope(scratch, "status", url, env=env)


# ---- tokens and TLS ----


def write_private(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture(scope="module")
def secure(scratch, program):
    key, pem = scratch / "client-key.pem", scratch / "client-cert.pem"
    make_certificate(key, pem, "first")
    tokens = write_private(scratch / "client-tokens", f"read {READ} a\ncontrol {CONTROL} b\n")
    words = ["--tls-cert", pem, "--tls-key", key, "--token-file", tokens, "--require-token"]
    with serve(scratch, program.pid, *words, port=free_port(), scheme="https", curl=["--insecure"]) as endpoint:
        endpoint.ca = pem
        yield endpoint


@pytest.fixture
def reader(tmp_path):
    return write_private(tmp_path / "reader", f"{READ}\n")


def test_certificates_are_verified(scratch, secure, reader, tmp_path):
    assert "--ca-file" in refused(scratch, "status", "--token-file", reader, secure.base)
    trusted = ["status", "--token-file", reader, "--ca-file", secure.ca]
    assert "python3" in ask(scratch, *trusted, secure.base)
    assert "cannot be verified" in refused(scratch, *trusted, secure.base.replace("127.0.0.1", "localhost"))
    key, other = tmp_path / "other-key.pem", tmp_path / "other.pem"
    make_certificate(key, other, "second")
    assert "cannot be verified" in refused(scratch, "status", "--token-file", reader, "--ca-file", other, secure.base)
    refused(scratch, "status", "--token-file", reader, "--ca-file", tmp_path / "nothing.pem", secure.base)


def test_a_ca_file_stands_for_the_authorities_of_the_system(scratch, secure, reader, tmp_path):
    """A certificate of theirs is not enough where another authority is named."""
    enter = where_the_system_trusts(tmp_path / "certs", secure.ca)
    if enter is None:
        pytest.skip("this machine permits no mounts")

    def ask_there(*words):
        return subprocess.run([*enter, JESCOPE, "status", "--token-file", reader, *words, secure.base], env=environment(scratch),
                              capture_output=True, text=True, timeout=DEADLINE, check=False)

    assert ask_there().returncode == 0
    make_certificate(tmp_path / "other-key.pem", tmp_path / "other.pem", "other")
    done = ask_there("--ca-file", tmp_path / "other.pem")
    assert done.returncode != 0 and "cannot be verified" in done.stderr, done


def test_tokens(scratch, program, secure, reader, tmp_path):
    set_active(scratch, program.pid, False)
    ca = ["--ca-file", secure.ca]
    assert "token" in refused(scratch, "status", *ca, secure.base)
    assert "control" in refused(scratch, "enable", *ca, "--token-file", reader, secure.base)
    assert not is_active(scratch, program.pid)
    both = write_private(tmp_path / "both", f"# of the server\ncontrol {CONTROL} b\nread {READ} a\n")
    ask(scratch, "enable", *ca, "--token-file", both, secure.base)
    assert is_active(scratch, program.pid)
    env = environment(scratch, JESCOPE_TOKEN_FILE=str(reader), JESCOPE_CA_FILE=str(secure.ca))
    assert jescope(scratch, "report", secure.base, env=env).stdout


@pytest.mark.parametrize("text, mode, why", [
    (READ, 0o644, "chmod 600"),
    ("# nothing\n\n", 0o600, "has no token"),
    ("with\x01control\n", 0o600, "has no token"),
    (None, None, "cannot read the token file"),
])
def test_bad_token_files(scratch, url, tmp_path, text, mode, why):
    path = tmp_path / "token"
    if text is not None:
        write_private(path, text, mode)
    said = refused(scratch, "status", "--token-file", path, url)
    assert why in said and READ not in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_file_of_another_user(scratch, url, tmp_path):
    """Its owner would choose as whom we are known, and could read what is put there."""
    path = write_private(tmp_path / "token", READ)
    os.chown(path, 12345, 12345)
    said = refused(scratch, "status", "--token-file", path, url)
    assert "belongs to uid 12345" in said and "chown" in said and READ not in said


def test_a_token_is_not_sent_in_clear(scratch, reader):
    assert "unencrypted" in refused(scratch, "status", "--token-file", reader, "http://192.0.2.1:7469")


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's server needs root")
def test_a_token_is_not_sent_to_a_socket_of_another_user(scratch, reader, tmp_path):
    """As on a loopback address; that user's server gives what it has to give without a token."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(DEADLINE)
        listener.bind(str(path))
        with as_stranger():
            listener.listen()
        said = refused(scratch, "status", "--token-file", reader, "http+unix://" + str(path).replace("/", "%2F"))
        assert f"the listener belongs to user {STRANGER}" in said and "without a token" in said
        with listener.accept()[0] as connection:
            assert connection.recv(4096) == b""


# ---- servers that mean no good ----

LIST = json.dumps({"targets": [{"id": "1", "name": "x\x1b[31m"}]}).encode()
STATUS = json.dumps({"name": "evil\x1b[31m", "pid": 1, "jemalloc": {}, "profiling": {}}).encode()
JSON = "application/json"


def endless(handler):
    handler.begin(JSON)
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" " * 65536)


def bomb(handler):
    body = gzip.compress(bytes(64 << 20))
    handler.begin(JSON, ("Content-Encoding", "gzip"), ("Content-Length", str(len(body))))
    with contextlib.suppress(OSError):
        handler.wfile.write(body)


def deflated(data):
    """Whole blocks: what follows them does not depend on them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def nested(handler):
    """Terabytes of empty deflate blocks in two more layers of gzip: they expand to no byte."""
    begin, blocks = b"\x1f\x8b\x08" + bytes(7), b"\0\0\0\xff\xff"
    beginning = begin
    for times in (1 << 20, 1 << 10):
        blocks, beginning = deflated(blocks * times), begin + deflated(beginning)
    handler.begin(JSON, ("Content-Encoding", "gzip, gzip, gzip"))
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(beginning + blocks * 64)


def slow(handler):
    handler.begin(JSON, ("Content-Length", "1000000"))
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.05)


def headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b"X: " + b"x" * 1000 + b"\r\n")


def answer(body, kind=JSON, code=200, *more):
    return lambda handler: handler.answer(body, kind, code, *more)


HOSTILE = {
    "endless": (endless, "larger than"),
    "bomb": (bomb, "larger than"),
    "nested": (nested, "compressed more than once"),
    "slow": (slow, "did not answer in time"),
    "headers": (headers, "larger than"),
    "page": (answer(b"<html>", "text/html"), "with text/html"),
    "garbage": (answer(b"\xff\x00{"), "not valid JSON"),
    "deep": (answer(b"[" * 1000000), "not valid JSON"),
    "crowded": (answer(b"[" + b"[]," * 2700000 + b"0]"), "too many values"),
    "number": (answer(b"{}"), "no list of targets"),
    "none": (answer(b'{"targets":[]}'), "serves no target"),
    "strange": (answer(b'{"targets":[{"id":7}]}'), "serves 1 targets"),
    "redirect": (answer(b"", "text/html", 302, ("Location", "http://127.0.0.1:1/")), "refers to http://127.0.0.1:1/"),
    "error": (answer(json.dumps({"error": {"code": "busy", "message": "no\x1b[2J\nway", "hint": "go"}}).encode(), JSON, 409), "no?[2J way; go"),
    "empty": (answer(b"", JSON, 500), "status 500"),
    "nothing": (lambda handler: None, "failed"),
}


@contextlib.contextmanager
def hostile(answers):
    """A server whose handler for a path is the first of ANSWERS (of beginning, function) that fits."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def begin(self, kind, *more, code=200):
            self.close_connection = True
            self.send_response(code)
            for name, value in (("Content-Type", kind), *more):
                self.send_header(name, value)
            self.end_headers()

        def answer(self, body, kind, code, *more):
            self.begin(kind, ("Content-Length", str(len(body))), *more, code=code)
            self.wfile.write(body)

        def do_GET(self):
            next(function for beginning, function in answers if self.path.startswith(beginning))(self)
            self.close_connection = True

        do_PUT = do_GET

        def log_message(self, *words):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *words):
            pass

    with Server(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_answers(scratch, kind):
    function, why = HOSTILE[kind]
    with hostile([("/", function)]) as base:
        said = refused(scratch, "status", base)
        assert why in said and "\x1b" not in said


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's server needs root")
def test_a_server_of_another_user_is_told(scratch):
    """Any user may have the port while the server that is meant does not run."""
    answers = [("/api/v1/targets/1", answer(STATUS)), ("/", answer(LIST))]
    for user in (contextlib.nullcontext, as_stranger):
        with contextlib.ExitStack() as stack:
            with user():
                base = stack.enter_context(hostile(answers))
            said = jescope(scratch, "status", base, check=False).stderr
            assert (f"{base} is a server of user {STRANGER}\n" in said) == (user is as_stranger), said


def test_hostile_rules(scratch):
    """Values are counted before they are read, for this document too; a terminal gets no control characters, in JSON neither."""
    with hostile([("/", answer(b'{"rules":[' + b"[]," * 2700000 + b"0]}"))]) as base:
        assert "too many values" in refused(scratch, "rules", "status", base)
    rules = {"rules": [{"rule": "a\x9b2Jb\u202e"}], "problems": [7]}
    with hostile([("/", answer(json.dumps(rules).encode()))]) as base:
        done = jescope(scratch, "rules", "status", "--json", base, check=False)
    assert done.returncode == 3 and json.loads(done.stdout)["rules"] == rules["rules"] and "\\u009b2Jb\\u202e" in done.stdout


@pytest.mark.parametrize("kind", ["endless", "bomb", "page"])
def test_hostile_dumps(scratch, tmp_path, kind):
    """The target looks sound; what it gives as a dump is not kept."""
    function, why = HOSTILE[kind]

    def dump(handler):
        handler.begin = lambda sent, *more, begin=handler.begin, **options: begin(
            sent if sent == "text/html" else "application/octet-stream", *more, **options)
        function(handler)

    with hostile([("/api/v1/targets/1/dumps", dump), ("/api/v1/targets/1", answer(STATUS)), ("/", answer(LIST))]) as base:
        for command in (["dump", "-o", tmp_path / "x.heap"], ["report"]):
            said = refused(scratch, *command, "--max-output=1MiB", base)
            assert why in said and "\x1b" not in said
    assert not (tmp_path / "x.heap").exists()


LEDGER = {
    "time": "2026-11-22T12:00:00.000001Z", "target": "evil", "notice": "see\x1b[31m", "method": "flag", "skew_seconds": 0.01,
    "attempts": 1, "complete": True, "rss": 5000000, "tolerance": 4194304, "group": None, "classes": [],
    "lines": [{"line": "live", "level": "rss", "bytes": 4000000, "low": 4000000, "high": 4000000},
              {"line": "unexplained", "level": "rss", "bytes": 1000000, "low": 1000000, "high": 1000000}],
}
MALFORMED = {
    "no ledger": [],
    "a line of another version": {"lines": LEDGER["lines"] + [{"line": "new", "bytes": 0, "low": 0, "high": 0}]},
    "a line twice": {"lines": LEDGER["lines"] * 2},
    "lines that do not add up": {"rss": 5000001},
    "too many bytes": {"lines": [{"line": "swap", "bytes": -(1 << 63), "low": 0, "high": 0}] + LEDGER["lines"]},
    "too many classes": {"classes": [{"size": 8, "holes": 9, "live": 8}] * 6},
    "no time": {"time": "now"},
}


def ledger_of(document):
    return hostile([("/api/v1/targets/1/ledger", answer(json.dumps(document).encode())), ("/api/v1/targets/1", answer(STATUS)), ("/", answer(LIST))])


def test_hostile_ledgers(scratch):
    with ledger_of(LEDGER) as base:
        text = ask(scratch, "ledger", base)
        assert "NOTE: see?[31m\n" in text and "live allocations" in text and "Resident set, 4.8 MiB" in text
    for kind, change in MALFORMED.items():
        with ledger_of({**LEDGER, **change} if change else change) as base:
            said = refused(scratch, "ledger", base)
            assert "the server's ledger is malformed" in said and "\x1b" not in said, kind


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what others may not")
def test_dump_of_a_server_names_files_that_only_root_may_read(scratch, program, busy, tmp_path):
    """Its functions are not looked up in them, unlike those of a dump of root's own."""
    ask(scratch, "dump", "-o", tmp_path / "x.heap", program.pid)
    dump = (tmp_path / "x.heap").read_bytes()
    tmp_path.chmod(0o700)
    for n, path in enumerate(sorted(set(re.findall(rb"/\S*(?:python3|libpython)[^/\s]*$", dump, re.MULTILINE)))):
        shutil.copy(path, tmp_path / f"copy{n}")
        dump = dump.replace(path + b"\n", os.fsencode(tmp_path / f"copy{n}") + b"\n")
    (tmp_path / "x.heap").write_bytes(dump)
    assert "Py" in ask(scratch, "report", tmp_path / "x.heap")
    given = [("/api/v1/targets/1/dumps", answer(dump, "application/octet-stream")),
             ("/api/v1/targets/1", answer(STATUS)), ("/", answer(LIST))]
    with hostile(given) as base:
        assert "Py" not in ask(scratch, "report", base)
        named = ask(scratch, "dump", "--symbolize", "-o", "-", base)
        assert "copy0" in named and "Py" not in named.partition("heap_v2")[0]


def test_hostile_content(scratch):
    """A dump that is none, statistics that are none, names that would control the terminal."""
    junk = [("/api/v1/targets/1/dumps", answer(b"junk\x1b[2J" * 1000, "application/octet-stream")),
            ("/api/v1/targets/1/stat", answer(b'{"jemalloc":[' + b"[" * 100000, JSON)),
            ("/api/v1/targets/1", answer(STATUS)), ("/", answer(LIST))]
    with hostile(junk) as base:
        for command in ("report", "stats"):
            done = jescope(scratch, command, base, check=False)
            assert (done.returncode, done.stdout) == (1, "") and "\x1b" not in done.stderr and "evil?[31m (1)" in done.stderr
