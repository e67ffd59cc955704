# SPDX-License-Identifier: Apache-2.0
"""/api/v1/fleet: questions to a ClickHouse server that `jescope push` has filled, through `jescope serve`."""

import contextlib
import os
import pathlib
import signal
import subprocess

import clickhouse
import pytest
from endpoint import serve
from neighbours import NOBODY, ask_as
from services import free_port, started, wait_for
from test_fleet import Fleet, fleet, releases, two_releases  # noqa: F401

# The file of the store's password is ours, and the server of its user.
AS_OURSELVES = ["--user=root"] if os.geteuid() == 0 else []


def asking(store):
    """Children that ask STORE, an option."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            words = path.read_bytes().decode(errors="replace").split("\0")
            found += [words] if words[:2] == ["jescope", "fleet"] and store in words else []
    return found


def without_clock(document):
    """Two answers are of two moments of asking."""
    return {name: value for name, value in document.items() if name not in ("time", "since", "source", "base")}


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_who_may_ask(fleet, two_releases, scratch, folder):  # noqa: F811
    """Answers are about all users' processes: another user of the machine is refused, and needs a token."""
    tokens = folder / "tokens"
    tokens.write_text("read read-0123456789abcdef bob\n")
    tokens.chmod(0o600)
    with serve(scratch, "--every=0", f"--store={fleet.store.url}", f"--token-file={tokens}", fleet.store.process.pid, port=free_port()) as server:
        for path in ("services", "report?service=shop", "nothing"):
            refused = ask_as(NOBODY, server, "GET", f"/api/v1/fleet/{path}")
            assert refused.status == (404 if path == "nothing" else 403), refused.text
            assert refused.json()["error"]["code"] == ("not_found" if path == "nothing" else "not_allowed")
        assert ask_as(NOBODY, server, "GET", "/api/v1/fleet").json() == {"store": False}
        for token, status in (("read-0123456789abcdef", 200), ("read-0123456789abcdee", 401)):
            answer = ask_as(NOBODY, server, "GET", "/api/v1/fleet/services", "--header", f"Authorization: Bearer {token}")
            assert answer.status == status, answer.text
        assert server.get("/api/v1/fleet/services").status == 200


def test_the_password_of_the_store(releases, scratch, folder):  # noqa: F811
    """It is in a file that the server's user reads for each question, and neither clients nor the log see it."""
    token = folder / "token"

    def write(text):
        token.write_text(text)
        token.chmod(0o600)

    with clickhouse.serving(folder / "store", password="a-secret") as store:
        write("default a-secret\n")
        Fleet(store, folder).push("shop", "host", releases(4, 20), words=(f"--token-file={token}",))
        with serve(scratch, "--every=0", f"--store={store.url}", f"--store-token-file={token}", *AS_OURSELVES, store.process.pid) as server:
            answer = server.get("/api/v1/fleet/services")
            assert answer.status == 200 and "shop" in answer.text, answer.text
            write("default another-secret\n")
            refused = server.get("/api/v1/fleet/services")
            assert refused.status == 502 and refused.json()["error"]["code"] == "store", refused.text
            token.chmod(0o644)
            bare = server.get("/api/v1/fleet/services")
            assert bare.status == 502 and "600" in bare.text, bare.text
            token.unlink()
            assert server.get("/api/v1/fleet/services").status == 502
            for text in (answer.text, refused.text, bare.text, server.log.read_text()):
                assert "a-secret" not in text and "another-secret" not in text
            write("default a-secret\n")
            assert server.get("/api/v1/fleet/services").status == 200


def test_the_api(fleet, two_releases, scratch):  # noqa: F811
    store = f"--store={fleet.store.url}"
    with serve(scratch, "--every=0", store, fleet.store.process.pid) as server:
        assert server.get("/api/v1/fleet").json() == {"store": True}
        for path, words in (("services", ["services"]), ("top?by=growth", ["top", "growth"]), ("hosts?service=shop", ["hosts", "shop"]),
                            ("trace?function=main&service=shop&from=-2h", ["trace", "main", "--service=shop", "--from=-2h"]),
                            ("report?service=shop&host=host1&count=5&value=alloc_space", ["report", "shop", "--host=host1", "--count=5", "--value=alloc_space"]),
                            ("diff?service=shop&version=2&base-version=1&sum=true", ["diff", "shop", "--version=2", "--base-version=1", "--sum"])):
            answer = server.get(f"/api/v1/fleet/{path}")
            assert answer.status == 200 and answer.type == "application/json", (path, answer.text)
            if words[0] != "trace":  # at twelve times before now
                assert without_clock(answer.json()) == without_clock(fleet.ask(*words)), path
        growth = server.get("/api/v1/fleet/growth?service=shop&from=-2h").json()
        assert len(growth["dumps"]) == 12
        flames = server.get("/api/v1/fleet/report?service=shop&format=flamegraph")
        assert flames.type == "image/svg+xml" and "cache_insert" in flames.text
        assert server.get("/api/v1/fleet/report?service=shop&format=page").json()["value"] == "inuse_space"
        for path, status, words in (("report", 400, "service"), ("report?service=shop&format=raw", 400, "format"), ("report?service=shop&format=source", 400, "format"),
                                    ("report?service=none", 404, "no dump of service"), ("report?service=shop&at=never", 400, "never"),
                                    ("top?by=color", 400, "color"), ("services?store=x", 400, "store"), ("diff?service=shop", 400, "--base-version"),
                                    ("report?service=shop&output=/tmp/x", 400, "output"), ("hosts?service=--help", 404, "'--help'"), ("nothing", 404, "")):
            answer = server.get(f"/api/v1/fleet/{path}")
            assert answer.status == status and words in answer.text, (path, answer.status, answer.text)
        fleet.store.process.send_signal(signal.SIGSTOP)  # a client that does not wait has its question ended
        try:
            with started(server.command("GET", "/api/v1/fleet/services"), stdout=subprocess.DEVNULL):
                wait_for(lambda: asking(store), "the question has begun")
                crowded = server.get("/api/v1/fleet/services")
                assert crowded.status == 429 and crowded.header("retry-after") == "1"
            wait_for(lambda: not asking(store), "the question has ended with its client")
        finally:
            fleet.store.process.send_signal(signal.SIGCONT)
    with serve(scratch, "--every=0", fleet.store.process.pid) as server:
        assert server.get("/api/v1/fleet").json() == {"store": False}
        assert server.get("/api/v1/fleet/services").status == 409
    with serve(scratch, "--every=0", f"--store=clickhouse://127.0.0.1:{clickhouse.free_port()}/jescope", fleet.store.process.pid) as server:
        answer = server.get("/api/v1/fleet/services")
        assert answer.status == 502 and answer.json()["error"]["code"] == "store"
    for words, text in ((["--store=directory:///tmp"], "cannot be asked"), (["--store-ca-file=x"], "need --store")):
        assert text in fleet.run("serve", "--listen=127.0.0.1:0", *words, status=2 if "need" in text else 1).stderr
