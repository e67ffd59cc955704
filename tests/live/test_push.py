# SPDX-License-Identifier: Apache-2.0
"""jescope push: what arrives, and what becomes of it when the other side fails."""

import contextlib
import gzip
import hashlib
import itertools
import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest
import receivers
from services import DEADLINE, PYTHON, started, where_the_system_trusts
from strangers import STRANGER, stranger

JESCOPE = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src" / "cli" / "jescope"
DUMPS = pathlib.Path(os.environ["JESCOPE_SOURCE"]) / "tests" / "data" / "profile"
DUMP = DUMPS / "5.3.0-heap-lg19.heap.gz"
PROOF = os.environ.get("JESCOPE_PROOF") or "4"
KILLS = 200 if PROOF == "full" else int(PROOF)


@pytest.fixture
def receiver():
    started = []

    def start(**options):
        started.append(receivers.Receiver(**options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def push(tmp_path):
    queue = tmp_path / "queue"

    def run(url, *words, dumps=(DUMP,), status=0, **options):
        done = subprocess.run([JESCOPE, "push", *map(str, dumps), f"--to={url}", f"--queue={queue}", *words], text=True,
                              capture_output=True, timeout=DEADLINE, check=False, **options)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    run.queue = queue
    return run


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, a server's certificate and a client's."""
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "ca.cfg").write_text("cn = test\nca\ncert_signing_key\nexpiration_days = 2\n")
    (folder / "one.cfg").write_text("cn = test\nip_address = 127.0.0.1\ntls_www_server\ntls_www_client\nexpiration_days = 2\n")

    def certtool(*words):
        subprocess.run(["certtool", *words], cwd=folder, check=True, capture_output=True, timeout=DEADLINE)

    for name in ("ca", "one"):
        certtool("--generate-privkey", "--key-type=ecdsa", f"--outfile={name}.key")
    certtool("--generate-self-signed", "--load-privkey=ca.key", "--template=ca.cfg", "--outfile=ca.pem")
    certtool("--generate-certificate", "--load-privkey=one.key", "--load-ca-certificate=ca.pem", "--load-ca-privkey=ca.key",
             "--template=one.cfg", "--outfile=one.pem")
    return folder



@pytest.mark.parametrize(("ended_by", "words"), [("signal", ["--for=10m"]), ("time", ["--for=1s"])])
def test_a_request_without_an_answer_ends(tmp_path, ended_by, words):
    """By a signal, or when the time is over, long before the request itself is given up after a minute."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(DEADLINE)
        url = f"put+http://127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen([JESCOPE, "push", DUMP, f"--to={url}", f"--queue={tmp_path}/queue", *words], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with silent.accept()[0] as client:
                client.settimeout(DEADLINE)
                assert client.recv(4)
                if ended_by == "signal":
                    process.send_signal(signal.SIGTERM)
                told = process.communicate(timeout=30)[1]
    assert process.returncode == 3, told
    assert "1 batch waits" in told, told


def counts(queue):
    """The counters of the only queue below QUEUE, and how many entries wait."""
    [state] = queue.glob("*/state")
    found = dict(line.split("=") for line in state.read_text().splitlines() if "=" in line)
    return {name: int(found[name]) for name in ("sent", "dropped", "refused", "damaged")} | {"waiting": len(waiting(queue))}


def waiting(queue):
    """The entries that are still wanted: one that was counted as sent, and not removed before a kill, is not."""
    first = {state.parent: int(line.split("=")[1]) for state in queue.glob("*/state") for line in state.read_text().splitlines()
             if line.startswith("first=")}
    return sorted(path for path in queue.glob("*/*.batch") if int(path.stem.split("-")[0]) >= first.get(path.parent, 0))


def documents(stored):
    return [json.loads(body) for path, body in stored.items() if path.endswith(".json")]


def secret(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_directory(push, tmp_path):
    """A dump that jescope reads again, and a document; the same dump again is the same file."""
    done = push(f"directory://{tmp_path}/out", "--service=shop", "--host=web1", "--label=zone=b", "--label=zone=c")
    assert done.stdout == f"1 batch sent to directory://{tmp_path}/out\n"
    push(f"directory://{tmp_path}/out", "--service=shop", "--host=web1")
    [document], [heap] = (list((tmp_path / "out").glob(f"shop/*/*{suffix}")) for suffix in (".json", ".heap.gz"))
    assert document.name[:-5] == heap.name[:-8]
    assert {path.stat().st_mode & 0o777 for path in (document, heap)} == {0o600}
    found = json.loads(document.read_text())
    assert (found["service"], found["host"]) == ("shop", "web1")

    def total(path):
        report = subprocess.run([JESCOPE, "report", path, "--json"], capture_output=True, check=True, timeout=DEADLINE)
        return json.loads(report.stdout)["source"]["total"]["inuse_space"]

    assert total(heap) == total(DUMP)
    assert {name: round(found["totals"]["inuse_space"][name]) for name in ("estimate", "error")} == total(DUMP)


def test_live(push, start, tmp_path):
    """Of a process its statistics and ledger go along, and of its environment only what is named."""
    victim = start(env={"CITY": "Zurich", "SECRET": "hunter2"})
    push(f"directory://{tmp_path}/out", "--label-from-env=city=CITY", dumps=[victim.pid])
    [document] = (tmp_path / "out").glob("*/*/*.json")
    text = document.read_text()
    found = json.loads(text)
    assert found["pid"] == victim.pid and found["labels"]["city"] == "Zurich"
    assert found["labels"]["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert found["metrics"]["allocated"] > 0 and found["ledger"]["text"]["bytes"] > 0
    assert found["program"] == os.readlink(f"/proc/{victim.pid}/exe")
    assert "hunter2" not in text
    for batch in push.queue.glob("*/*"):
        assert b"hunter2" not in batch.read_bytes()


def test_put(push, receiver, tmp_path):
    one = receiver()
    token = secret(tmp_path / "token", "read abc123 me\n")
    push(f"put+http://127.0.0.1:{one.port}/a/b/", "--service=../x y", f"--token-file={token}")
    assert [(request.method, request.headers["Authorization"]) for request in one.requests] == 2 * [("PUT", "Bearer abc123")]
    assert all(path.startswith("/a/b/_._x_y/") for path in one.stored)
    heap, document = one.stored.values()
    assert gzip.decompress(heap).startswith(b"--- symbol") and json.loads(document)["service"] == "../x y"


# https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html: AWS's own examples, with the signatures that it says they have.
AWS_KEY = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
AWS_EXAMPLES = [
    ("PUT", "/test%24file.text", b"Welcome to Amazon S3.", {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    ("GET", "/test.txt", b"", {"range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    ("GET", "/?lifecycle=", b"", {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    ("GET", "/?max-keys=2&prefix=J", b"", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
]


@pytest.mark.parametrize("method, path, body, more, signature", AWS_EXAMPLES, ids=[example[1] for example in AWS_EXAMPLES])
def test_signatures_are_judged_as_aws_does(method, path, body, more, signature):
    """What test_s3 asks about our requests says yes to AWS's, and no to the same with one other byte."""
    headers = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z",
               "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), **more}
    headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={AWS_KEY[0]}/20130524/us-east-1/s3/aws4_request,"
                                f"SignedHeaders={';'.join(sorted(headers))},Signature={signature}")
    assert receivers.is_signed(receivers.Request(method, path, headers, body), *AWS_KEY)
    assert not receivers.is_signed(receivers.Request(method, path, headers, body + b"."), *AWS_KEY)
    assert not receivers.is_signed(receivers.Request(method, path, headers | {"x-amz-date": "20130524T000001Z"}, body), *AWS_KEY)
    assert not receivers.is_signed(receivers.Request(method, path + "x", headers, body), *AWS_KEY)


def test_s3(push, receiver, tmp_path):
    key = secret(tmp_path / "key", "AKID top/secret\n")
    one = receiver(check=lambda request: (200, {}) if receivers.is_signed(request, "AKID", "top/secret") else (403, {}))
    push(f"s3+http://127.0.0.1:{one.port}/bucket?region=eu-west-1", f"--token-file={key}")
    assert len(one.stored) == 2 and all("/eu-west-1/s3/aws4_request" in request.headers["Authorization"] for request in one.requests)
    wrong = secret(tmp_path / "wrong", "AKID other\n")
    failed = push(f"s3+http://127.0.0.1:{one.port}/bucket?region=eu-west-1", f"--token-file={wrong}", "--for=100ms", status=3)
    assert "status 403" in failed.stderr and "top/secret" not in failed.stderr + failed.stdout
    failed = push(f"s3+http://127.0.0.1:{one.port}/bucket", status=2)
    assert "needs a key" in failed.stderr


def test_a_real_object_store(push, tmp_path):
    """OpenStack Swift's interface of S3, which checks signatures, regions and digests. Its key ids have a colon."""
    if subprocess.run([PYTHON, "-c", "import swift.common.middleware.s3api"], capture_output=True, timeout=DEADLINE, check=False).returncode != 0:
        pytest.skip("Swift is not installed; run scripts/install-deps fleet")
    key, wrong = secret(tmp_path / "key", "test:tester top/secret\n"), secret(tmp_path / "wrong", "test:tester other\n")
    command = [PYTHON, pathlib.Path(__file__).parent / "programs/swift_server.py", tmp_path / "swift", "heaps", *key.read_text().split()]
    with open(tmp_path / "log", "w") as log, started(command, stderr=log, cwd=tmp_path) as server:
        ports = server.stdout.readline().split()
        assert len(ports) == 2, (tmp_path / "log").read_text()
        url = f"s3+http://127.0.0.1:{ports[0]}/heaps/a%20b"
        for words, told in (([f"{url}?region=us-east-1", f"--token-file={wrong}"], "SignatureDoesNotMatch"),
                            ([f"{url}?region=eu-west-1", f"--token-file={key}"], "region")):
            assert told in push(*words, "--for=100ms", status=3).stderr
        push(f"{url}?region=us-east-1", "--service=sh op/ü+", f"--token-file={key}")  # and what the wrong key has left in the queue
        listing = f"http://127.0.0.1:{ports[1]}/v1/AUTH_test/heaps"
        with urllib.request.urlopen(listing, timeout=DEADLINE) as answer:
            names = [row["name"] for row in json.load(answer) if row["name"].startswith("a b/sh_op_")]
        assert len(names) == 2 and names[0].endswith(".heap.gz"), names
        with urllib.request.urlopen(f"{listing}/{urllib.parse.quote(names[0])}", timeout=DEADLINE) as answer:
            assert gzip.decompress(answer.read()).startswith(b"--- symbol")
        with urllib.request.urlopen(f"{listing}/{urllib.parse.quote(names[1])}", timeout=DEADLINE) as answer:
            assert json.load(answer)["service"] == "sh op/ü+"


def test_tls(push, receiver, certificates):
    """The authority and the client's own certificate are needed."""
    tls = {"cert": certificates / "one.pem", "key": certificates / "one.key", "clients": certificates / "ca.pem"}
    one = receiver(tls=tls)
    url, ca = f"put://127.0.0.1:{one.port}", f"--ca-file={certificates / 'ca.pem'}"
    own = [f"--cert-file={certificates / 'one.pem'}", f"--key-file={certificates / 'one.key'}"]
    push(url, *own, "--for=100ms", status=3)
    push(url, ca, "--for=100ms", status=3)
    assert not one.stored
    done = push(url, ca, *own)
    assert done.stdout.startswith("3 batches sent") and len(one.stored) == 2


def test_a_ca_file_stands_for_the_authorities_of_the_system(receiver, certificates, tmp_path):
    """A certificate of theirs is not enough where another authority is named."""
    enter = where_the_system_trusts(tmp_path / "certs", certificates / "ca.pem")
    if enter is None:
        pytest.skip("this machine permits no mounts")
    one = receiver(tls={"cert": certificates / "one.pem", "key": certificates / "one.key"})

    def push_there(*words):
        words = [*enter, JESCOPE, "push", DUMP, f"--to=put://127.0.0.1:{one.port}", f"--queue={tmp_path / 'queue'}", *words]
        return subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE, check=False)

    assert push_there().returncode == 0 and one.stored
    one.stored.clear()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=other",
                    "-keyout", tmp_path / "other.key", "-out", tmp_path / "other.pem"], check=True, capture_output=True, timeout=DEADLINE)
    done = push_there(f"--ca-file={tmp_path / 'other.pem'}", "--for=100ms")
    assert done.returncode == 3 and not one.stored, done


@contextlib.contextmanager
def answering(answer):
    """The port of a server that answers each request with the bytes of ANSWER()."""
    def serve(listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the end of the test
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                for part in answer():
                    connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]


def test_headers_without_end(push):
    """They are not kept."""
    with answering(lambda: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"X: " + b"x" * 1000 + b"\r\n"))) as port:
        done = push(f"put+http://127.0.0.1:{port}", "--for=100ms", status=3)
    assert "headers of its answer are larger than 64 KiB" in done.stderr


def test_an_answer_that_is_compressed_more_than_once(push):
    """It could expand without end before a byte arrives, and meanwhile no deadline and no signal counts."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, gzip\r\nConnection: close\r\n\r\n"
    with answering(lambda: [head, gzip.compress(gzip.compress(b"fine"))]) as port:
        done = push(f"put+http://127.0.0.1:{port}", "--for=100ms", status=3)
    assert "compressed more than once" in done.stderr or "Transfer-Encoding" in done.stderr  # libcurl's own since 8.7


def test_a_version_without_end(push):
    """What the store says of its version is short; 512 MiB are for the answers that `fleet` asks for."""
    sent = []

    def version():
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        while len(sent) < 1024:
            yield b"1" * 65536
            sent.append(65536)

    with answering(version) as port:
        done = push(f"clickhouse://127.0.0.1:{port}/jescope", "--for=100ms", status=3)
    assert "is larger than 64.0\N{NO-BREAK SPACE}KiB" in done.stderr, done.stderr
    assert len(sent) < 1024


def test_errors(push, tmp_path):
    out = f"directory://{tmp_path}/out"
    for url, words, told in (("nonsense://x", [], "unknown kind of URL"), (out, ["--label=x"], "invalid label"),
                             (out, ["--queue-size=x"], "--queue-size"), (f"{out}?x=1", [], "unknown setting 'x'")):
        assert told in push(url, *words, status=2).stderr
    readable = tmp_path / "token"
    readable.write_text("x")
    readable.chmod(0o644)
    assert "chmod 600" in push("put://127.0.0.1/", f"--token-file={readable}", status=2).stderr
    assert "unencrypted" in push("put+http://example.com/", f"--token-file={readable}", status=2).stderr
    assert "cannot read" in push(out, dumps=["/nonexistent"], status=1).stderr
    assert not (tmp_path / "out").exists()


def test_failures_pass(push, receiver):
    """Overloaded, broken, hung up: it is sent in the end, once the other side wants it."""
    one = receiver()
    one.answers = [(429, {"Retry-After": "1"}), (503, {}), ("cut", {}), (200, {}), (500, {"body": "no\x1b[31m room"})]
    begin = time.monotonic()
    done = push(f"put+http://127.0.0.1:{one.port}", "--for=40s")
    assert time.monotonic() - begin >= 1
    assert "status 429" in done.stderr and "\x1b" not in done.stderr and len(one.stored) == 2
    assert counts(push.queue) == {"sent": 1, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 0}


def test_down_then_up(push, receiver, tmp_path):
    """What waits is sent by the next push, oldest first."""
    one = receiver(listening=False)
    url = f"put+http://127.0.0.1:{one.port}"
    for service in ("one", "two"):
        assert "in the queue" in push(url, f"--service={service}", "--for=50ms", status=3).stderr
    one.listen()
    assert push(url, "--service=three").stdout.startswith("3 batches sent")
    assert [document["service"] for document in documents(one.stored)] == ["one", "two", "three"]


def test_refused(push, receiver):
    """What can never be accepted is counted and does not hold up the next one."""
    one = receiver()
    one.answers = [(413, {"body": "too large"})]
    done = push(f"put+http://127.0.0.1:{one.port}", dumps=[DUMP, DUMPS / "5.3.0-accum.heap.gz"], status=3)
    assert "too large" in done.stderr and "1 batch sent" in done.stdout
    assert counts(push.queue) == {"sent": 1, "dropped": 0, "refused": 1, "damaged": 0, "waiting": 0}


def test_one_that_always_fails(push, receiver):
    """A batch that the other side fails on, though it takes others, is counted and does not hold up what is behind it."""
    one = receiver(check=lambda request: (500 if "/bad/" in request.path else 200, {}))
    url = f"put+http://127.0.0.1:{one.port}"
    for service in ("bad", "good"):
        push(url, f"--service={service}", "--for=1ms", "--queue-size=100MiB", status=3)
    done = push(url, "--service=better", f"--for={DEADLINE - 10}s", status=3)
    assert "status 500" in done.stderr and {document["service"] for document in documents(one.stored)} == {"good", "better"}
    assert counts(push.queue) == {"sent": 2, "dropped": 0, "refused": 1, "damaged": 0, "waiting": 0}


def test_long_names(push, tmp_path):
    """A name that no file can have is cut."""
    push(f"directory://{tmp_path}/out", f"--service={300 * 'x'}", f"--host={300 * 'y'}")
    [document] = (tmp_path / "out").glob("*/*/*.json")
    assert json.loads(document.read_text())["service"] == 300 * "x"


def test_redirect(push, receiver, tmp_path):
    """Neither the token nor the profile follows a redirect."""
    other, one = receiver(), receiver()
    token = secret(tmp_path / "token", "abc\n")
    one.answers = 100 * [(307, {"Location": f"http://localhost:{other.port}/"})]
    done = push(f"put+http://127.0.0.1:{one.port}", f"--token-file={token}", "--for=100ms", status=3)
    assert "not followed" in done.stderr and not other.requests
    assert len(waiting(push.queue)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root")
def test_a_user_who_listens_where_the_receiver_did(push, tmp_path):
    """Any user may have the port while the receiver is restarted."""
    token = secret(tmp_path / "token", "abc123\n")
    with stranger() as (port, said):
        url = f"put+http://127.0.0.1:{port}"
        done = push(url, f"--token-file={token}", "--for=100ms", status=3)
        assert f"nothing was sent to {url[4:]}: the listener belongs to user {STRANGER}" in done.stderr
        assert f"add server-user={STRANGER} to the URL" in done.stderr
        push(f"{url}?server-user={STRANGER}", f"--token-file={token}")
        assert said.readline().endswith(" Bearer abc123\n")
        assert "no such user" in push(f"{url}?server-user=no-such", status=2).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root")
@pytest.mark.parametrize("his, ours", [("127.0.0.1", "::1"), ("::1", "127.0.0.1")])
def test_a_user_who_listens_on_another_address_of_the_name(push, receiver, tmp_path, his, ours):
    """`localhost` is two addresses: a user who listens on the one does not stop what is for the receiver on the other."""
    token = secret(tmp_path / "token", "abc123\n")
    with stranger(his) as (port, said):
        one = receiver(address=(ours, port))
        push(f"put+http://localhost:{port}", f"--token-file={token}")
        assert one.requests[0].headers["Authorization"] == "Bearer abc123" and not waiting(push.queue)
        one.stop()
        done = push(f"put+http://localhost:{port}", f"--token-file={token}", "--for=100ms", status=3)
        assert f"the listener belongs to user {STRANGER}" in done.stderr
        push(f"put+http://localhost:{port}?server-user={STRANGER}", "--service=his")
        assert "his" in said.readline()  # nothing came before


def test_queue_of_others(push, tmp_path):
    """What others can write to is not sent, and what is in the queue is for its user alone."""
    push.queue.mkdir()
    push.queue.chmod(0o777)
    url = f"directory://{tmp_path}/out"
    assert "give a --queue that only you can write to" in push(url, status=1).stderr
    push.queue.chmod(0o755)
    push("put+http://127.0.0.1:1", "--for=1ms", status=3)
    [entry] = waiting(push.queue)
    assert entry.stat().st_mode & 0o777 == 0o600 and entry.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory of another user needs root")
def test_directory_of_others(push, tmp_path):
    """By a link in it, root would write elsewhere."""
    (tmp_path / "others").mkdir()
    os.chown(tmp_path / "others", 65534, 65534)
    (tmp_path / "ours").mkdir()
    (tmp_path / "others/wl").symlink_to(tmp_path / "ours")
    done = push(f"directory://{tmp_path}/others", "--service=wl", "--for=100ms", status=3)
    assert "belongs to another user" in done.stderr and not list((tmp_path / "ours").iterdir())


def test_bounded(push, receiver):
    """The oldest are dropped and counted."""
    url = "put+http://127.0.0.1:1"
    push(url, "--for=1ms", status=3)
    [entry] = waiting(push.queue)
    size = f"--queue-size={2 * entry.stat().st_size + 100}"
    for _ in range(4):
        done = push(url, "--for=1ms", size, status=3)
    assert "will not be sent" in done.stderr
    assert counts(push.queue) == {"sent": 0, "dropped": 3, "refused": 0, "damaged": 0, "waiting": 2}
    assert "larger than its queue" in push(url, "--queue-size=100", status=1).stderr


def test_time_of_a_dump(push, receiver, tmp_path):
    """What a process says of its time neither ends the command nor holds up what waits behind it."""
    dump = tmp_path / "strange.heap"
    dump.write_text("heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n"
                    f"jescope_capture=1 time={2**63 - 1} pid=4711 start=1 since=1 flags=0\n")
    one = receiver(check=lambda request: (200, {"body": "24.8.4.13\n"}))
    failed = push(f"clickhouse://127.0.0.1:{one.port}/fleet?create=no", "--for=20s", dumps=[dump, DUMP], status=3)
    assert "does not say when it was taken" in failed.stderr
    assert counts(push.queue) == {"sent": 1, "dropped": 0, "refused": 1, "damaged": 0, "waiting": 0}


def test_full_disk(push):
    """A batch that does not fit on the disk is an error, and what is in the queue stays."""
    folder = push.queue
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine (or container) does not permit to mount a tmpfs")
    try:
        push("put+http://127.0.0.1:1", "--for=1ms", status=3)
        for _ in range(64):
            done = subprocess.run([JESCOPE, "push", DUMP, "--to=put+http://127.0.0.1:1", f"--queue={folder}", "--for=1ms"], text=True,
                                  capture_output=True, timeout=DEADLINE, check=False)
            if done.returncode != 3:
                break
        assert done.returncode == 1 and "No space left" in done.stderr
        assert len(waiting(folder)) >= 1
    finally:
        subprocess.run(["umount", folder], check=True)


def test_killed(push, receiver, tmp_path):
    """Killed at any moment: everything that was in the queue arrives, and nothing is counted twice."""
    one = receiver()
    url = f"put+http://127.0.0.1:{one.port}"
    log = tmp_path / "log"
    for number in range(KILLS):
        with log.open("w") as out:
            pusher = subprocess.Popen([JESCOPE, "push", *map(str, 3 * [DUMP]), f"--to={url}", f"--queue={push.queue}",
                                       f"--service=s{number}"], stdout=out, stderr=out)
        time.sleep(0.25 * number / KILLS)
        pusher.send_signal(signal.SIGKILL)
        pusher.wait(DEADLINE)
    promised = len(waiting(push.queue))
    last = push(url, "--service=last")
    sent = int(last.stdout.split()[0])
    assert sent == promised + 1
    arrived = {document["service"] for document in documents(one.stored)}
    assert "last" in arrived
    found = counts(push.queue)
    assert found["waiting"] == found["dropped"] == found["refused"] == found["damaged"] == 0
    assert sum(request.path.endswith(".json") for request in one.requests) >= found["sent"]
    assert not list(push.queue.glob("*/*.new"))
