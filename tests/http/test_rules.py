# SPDX-License-Identifier: Apache-2.0
"""Rules of `jescope serve`: when they fire on a real target, and each of their actions."""

import contextlib
import dataclasses
import fcntl
import http.server
import json
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import termios
import threading
import time

import pytest
from endpoint import serve
from groups import MIB, group  # noqa: F401
from leaker import leaker
from programs import profiled  # noqa: F401
from sanitized import SANITIZED
from services import DEADLINE, JESCOPE, children, environment, fill, small_disk, started, wait_for
from strangers import STRANGER, stranger
from test_documents import documented, flat

SCRIPT = """#!/bin/sh
# What a program of a rule gets: written whole, then renamed.
{{
    env | grep ^JESCOPE_
    head -c 8 "${{JESCOPE_DUMP:-/dev/null}}"; echo
    head -c 11 "${{JESCOPE_STATISTICS:-/dev/null}}" | tr -d '\\n\\t '; echo
    ls -m /proc/self/fd
    id -u
}} > {out}.new
mv {out}.new {out}
"""


class Hook(http.server.BaseHTTPRequestHandler):
    """/ok, /twice (fails once), /missing, /redirect, /slow."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        word, name = self.path.strip("/").split("/")
        seen = self.server.seen.setdefault(name, [])
        seen.append((word, body))
        if word == "slow":
            self.server.released.wait(60)
        status = {"missing": 404, "redirect": 302, "twice": 500 if len(seen) == 1 else 200}.get(word, 200)
        with contextlib.suppress(OSError):
            self.send_response(status)
            if word == "redirect":
                self.send_header("Location", f"/ok/{name}-followed")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def hook():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.seen, server.released, server.daemon_threads = {}, threading.Event(), True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


@dataclasses.dataclass
class Ruled:
    folder: pathlib.Path
    out: pathlib.Path
    endpoint: object

    def write(self, name, text, mode=0o644):
        new = self.folder / f"{name}.new"
        new.write_text(text)
        new.chmod(mode)
        new.rename(self.folder / f"{name}.rules")

    def add(self, name, *do, when="allocated above 1", **keys):
        self.write(name, f"[{name}]\nwhen = {when}\ndo = {'; '.join(do)}\n" + "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in keys.items()))

    def document(self):
        return self.endpoint.get("/api/v1/rules").json()

    def rule(self, name):
        return next((row for row in self.document()["rules"] if row["rule"] == name), None)

    def script(self, name, text=SCRIPT):
        path = self.out / f"{name}.sh"
        path.write_text(text.format(out=self.out / name))
        path.chmod(0o755)
        return f"run /bin/sh {path}", self.out / name


@pytest.fixture(scope="module")
def ruled(scratch, profiled):  # noqa: F811
    """The server of root's is another user, who can read the rules and write to out/."""
    folder, out = scratch / "rules", scratch / "out"
    folder.mkdir(mode=0o755)
    out.mkdir()
    out.chmod(0o777)
    with serve(scratch, profiled.pid, "--every=200ms", f"--rules={folder}") as endpoint:
        endpoint.pid = profiled.pid
        yield Ruled(folder, out, endpoint)


def posted(hook, name, count=1):
    wait_for(lambda: len(hook.seen.get(name, [])) >= count, f"{count} posts of {name}")
    return hook.seen[name][count - 1][1]


def idle(ruled, name):
    """The rule has fired, and its actions are done."""
    wait_for(lambda: (ruled.rule(name) or {}).get("state") == "cooling" and ruled.rule(name)["reason"] != "at-work", f"{name} fires")


def test_actions_in_order(ruled, hook):
    run, out = ruled.script("all")
    ruled.add("all", "dump", "statistics", "decay 10s", "purge", "renew", run, "log", f"post {hook.url}/ok/all", process="redis-*")
    document = posted(hook, "all")
    assert document["format"] == "jescope-rule" and document["rule"] == "all" and document["dump"] > 0
    assert document["because"].startswith("allocated above 1 B: ")
    assert document["target"]["id"] == str(ruled.endpoint.pid)
    unique = ruled.endpoint.get(f"/api/v1/targets/{ruled.endpoint.pid}").json()["unique"]
    assert document["target"]["unique"] == unique
    assert document["actions"] == [{"action": action, "done": True}
                                   for action in ("dump", "statistics", "decay", "purge", "renew", "run", "log")]
    lines = out.read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines if line.startswith("JESCOPE_"))
    assert env["JESCOPE_RULE"] == "all" and env["JESCOPE_PID"] == str(ruled.endpoint.pid) and env["JESCOPE_DUMP_ID"] == str(document["dump"])
    assert env["JESCOPE_TARGET"] == unique.replace(".", "@")
    assert lines[-4] == "heap_v2/" and lines[-3].startswith('{"jem')
    assert lines[-2] == "0, 1, 2, 3, 4, 5"  # the last one is ls' own
    assert os.geteuid() != 0 or int(lines[-1]) != 0  # root's server is another user, and so is the program
    assert ruled.endpoint.get(f"/api/v1/targets/{ruled.endpoint.pid}/decay").json()["dirty_ms"] == 10000
    assert any(dump["id"] == document["dump"] for dump in ruled.endpoint.get(f"/api/v1/targets/{ruled.endpoint.pid}/dumps").json()["dumps"])
    row = ruled.rule("all")
    assert row["state"] == "cooling" and row["fired"] == 1 and row["place"].endswith("all.rules:1")
    metrics = ruled.endpoint.get("/metrics").text
    assert "jescope_rule_firings_total" in metrics
    assert 'jescope_rule_series{rule="all",state="cooling"} 1\n' in metrics and 'jescope_rule_series{rule="all",state="armed"} 0\n' in metrics
    assert int(metrics.partition("\njescope_rule_evaluations_total ")[2].split()[0]) > 0


def test_labels(ruled, hook):
    """The user is known of every process; this one is in no pod of that name."""
    user = pwd.getpwuid(os.stat(f"/proc/{ruled.endpoint.pid}").st_uid).pw_name
    ruled.add("elsewhere", "log", label=f"user={user}; pod=none-*")
    ruled.add("here", f"post {hook.url}/ok/here", label=f"user={user[:-1]}?", process="redis-*")
    assert posted(hook, "here")["rule"] == "here"
    assert ruled.rule("elsewhere") is None and not ruled.document()["problems"]


def test_status(ruled, scratch):
    """The command shows what the API does."""
    ruled.add("never", "log", when="allocated below 1", process="redis-*")
    wait_for(lambda: (ruled.rule("never") or {}).get("reason") == "not-true", "the rule is judged")
    url = "http+unix://" + ruled.endpoint.curl[1].replace("/", "%2F")
    command = [JESCOPE, "rules", "status", url]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE).stdout.splitlines()
    assert lines[0].split()[:4] == ["RULE", "SERIES", "STATE", "FIRED"]
    [row] = [line for line in lines if line.startswith("never ")]
    assert row.split()[1:4] == [ruled.rule("never")["series"], "armed", "0"] and "allocated below 1 B: it is " in row
    document = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True, timeout=DEADLINE).stdout)
    assert flat({key: document[key] for key in ("rules", "problems")}) | {"problems[]"} == documented("jescope-rules-status")
    assert document["format"] == "jescope-rules-status"
    nobody = subprocess.run([*command[:-1], "http://127.0.0.1:1"], capture_output=True, text=True, timeout=DEADLINE)
    assert nobody.returncode == 1 and "cannot connect" in nobody.stderr
    (ruled.folder / "never.rules").unlink()


def test_recording(ruled, hook):
    ruled.add("recording", "record 1s", f"post {hook.url}/ok/recording")
    document = posted(hook, "recording")
    assert document["actions"] == [{"action": "record", "done": True}] and document["dump"] > 0


def test_program_that_hangs(ruled, hook):
    """It and what it has started are killed, and the next action is done."""
    run, out = ruled.script("hangs", "#!/bin/sh\ntrap '' TERM\nsleep 1000 & echo $$ $! > {out}.new; mv {out}.new {out}\nwait; sleep 1000\n")
    ruled.add("hangs", run, f"post {hook.url}/ok/hangs", time_limit="5s")
    document = posted(hook, "hangs")
    assert document["actions"][0]["done"] is False and "did not end within 5 s" in document["actions"][0]["failure"]
    for pid in out.read_text().split():
        wait_for(lambda pid=pid: not pathlib.Path(f"/proc/{pid}/cmdline").exists() or not pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(),
                 f"{pid} is killed")


def runs(pid):
    """It has ended if it is a zombie as well."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("name,on_term,number", [("obeys", "echo > {out}.told; exit", signal.SIGTERM), ("ignores", "", signal.SIGTERM),
                                                 ("orphan", "", signal.SIGKILL)])
def test_program_that_runs_when_the_server_ends(scratch, profiled, name, on_term, number):  # noqa: F811
    """It is told to end with its group, and killed two seconds later; it does not outlive a server that is killed either."""
    folder, out = scratch / f"rules-of-{name}", scratch / f"out-of-{name}"
    folder.mkdir(mode=0o755)
    out.mkdir()
    out.chmod(0o777)
    with serve(scratch, profiled.pid, "--every=200ms", f"--rules={folder}") as endpoint:
        one = Ruled(folder, out, endpoint)
        text = f"#!/bin/sh\ntrap '{on_term}' TERM\nsleep 1000 & echo $$ $! > {{out}}.new; mv {{out}}.new {{out}}\nwait\nsleep 1000\n"
        run, seen = one.script(name, text)
        one.add(name, run, run, time_limit="10m")
        wait_for(seen.exists, "the program runs")
        program, started_by_it = (int(word) for word in seen.read_text().split())
        assert runs(program) and runs(started_by_it)
        endpoint.process.send_signal(number)
        assert endpoint.process.wait(DEADLINE) == (0 if number == signal.SIGTERM else -number)
    told = pathlib.Path(f"{seen}.told")
    if number == signal.SIGTERM:  # it is waited for
        assert not runs(program) and told.exists() == (name == "obeys")
        wait_for(lambda: not runs(started_by_it), "what it has started ends as well")
        assert seen.read_text() == f"{program} {started_by_it}\n"  # the second action was not begun
        assert "run failed: it was ended, since jescope was told to stop" in endpoint.log.read_text()
    else:
        wait_for(lambda: not runs(program), "it is killed by the kernel")
        os.kill(started_by_it, signal.SIGKILL)


def test_program_that_fails(ruled, hook):
    ruled.add("fails", "run /bin/false", "run /no/such/program", f"post {hook.url}/ok/fails")
    first, second = posted(hook, "fails")["actions"]
    assert "1" in first["failure"] and "No such file" in second["failure"]


def test_web_hooks(ruled, hook):
    ruled.add("hooks", *(f"post {hook.url}/{word}/{word}" for word in ("twice", "missing", "redirect")), "post http://127.0.0.1:1/",
              f"post {hook.url}/ok/hooks")
    twice, missing, redirect, nobody = posted(hook, "hooks")["actions"]
    assert twice["done"] and len(hook.seen["twice"]) == 2
    assert "status 404" in missing["failure"] and len(hook.seen["missing"]) == 1
    assert "status 302; redirects are not followed" in redirect["failure"] and "redirect-followed" not in hook.seen
    assert "cannot connect" in nobody["failure"]


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root")
def test_a_user_who_listens_where_the_web_hook_did(ruled, hook):
    """Any user may have the port while the receiver does not run; the URL has a secret, and the document another user's figures."""
    with stranger() as (port, said):
        url = f"http://alert:secret@127.0.0.1:{port}"
        ruled.add("strangers", f"post {url}/hook", f"otlp {url}", f"post {url}/known server-user={STRANGER}", f"post {hook.url}/ok/strangers")
        post, otlp, known = posted(hook, "strangers")["actions"]
        for action in (post, otlp):
            assert f"the listener belongs to user {STRANGER}" in action["failure"] and "add server-user=NAME behind the URL" in action["failure"]
            assert "secret" not in action["failure"]
        assert known["done"] and said.readline().startswith("/known Basic ")


class HookOnIpv6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    seen = released = None


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root")
def test_a_user_who_listens_on_another_address_of_the_web_hook(ruled, hook):
    with stranger() as (port, _), HookOnIpv6(("::1", port), Hook) as ours:
        ours.seen, ours.released = {}, hook.released
        threading.Thread(target=ours.serve_forever, daemon=True).start()
        ruled.add("addresses", f"post http://localhost:{port}/ok/addresses", f"post {hook.url}/ok/addresses")
        assert [action["done"] for action in posted(hook, "addresses")["actions"]] == [True]
        assert len(ours.seen["addresses"]) == 1
        ours.shutdown()


def test_log_record_and_syslog(ruled, hook):
    """A collector of OTLP and a syslog daemon, by stand-ins for both; without a daemon the action has failed."""
    daemon = ruled.out / "syslog"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(daemon))
        daemon.chmod(0o666)
        log.settimeout(DEADLINE)
        ruled.add("told", f"otlp {hook.url}/ok/told", f"syslog {daemon}", f"syslog {daemon}-of-nobody", f"post {hook.url}/ok/told-all")
        line = log.recv(4096).decode()
    record = posted(hook, "told")["resourceLogs"][0]
    assert {"key": "process.pid", "value": {"intValue": str(ruled.endpoint.pid)}} in record["resource"]["attributes"]
    assert record["scopeLogs"][0]["logRecords"][0]["body"]["stringValue"].startswith("rule told: allocated above 1 B: ")
    assert line.startswith("<28>") and f" rule told: redis-server ({ruled.endpoint.pid}): allocated above 1 B: " in line
    otlp, syslog, failed = posted(hook, "told-all")["actions"]
    assert otlp["done"] and syslog["done"] and "cannot send to the syslog daemon" in failed["failure"]


def test_push(ruled, hook):
    """The dump of the action before it, with the names of its functions, is in the directory."""
    run, out = ruled.script("push", "#!/bin/sh\nmkdir -m 700 {out} {out}/stored {out}/queue\n")  # of the server's user
    ruled.add("pushed", run, "dump", f"push directory://{out}/stored --queue={out}/queue --label=zone=b",
              f"post {hook.url}/ok/pushed", time_limit="1m")
    _, dump, push = posted(hook, "pushed")["actions"]
    assert dump["done"] and push["done"], push
    [document] = out.glob("stored/*/*/*.json")
    stored = json.loads(document.read_text())
    assert stored["service"] == "redis-server" and stored["labels"]["zone"] == "b"


def test_slow_web_hook(ruled, hook):
    ruled.add("slow", f"post {hook.url}/slow/slow", f"post {hook.url}/ok/slow-after", time_limit="5s")
    assert "did not answer in time" in posted(hook, "slow-after")["actions"][0]["failure"]


def test_slow_web_hooks_hold_up_no_others(ruled, hook):
    """As many posts as are sent at a time are for one server, which does not answer; another one is told at once."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        for number in range(6):
            ruled.add(f"held{number}", f"post http://127.0.0.1:{silent.getsockname()[1]}/", time_limit="30s")
        wait_for(lambda: sum((ruled.rule(f"held{number}") or {"fired": 0})["fired"] for number in range(6)) == 6, "all fire")
        begun = time.monotonic()
        ruled.add("beside-held", f"post {hook.url}/ok/beside-held")
        posted(hook, "beside-held")
        assert time.monotonic() - begun < 8
    for number in range(6):
        (ruled.folder / f"held{number}.rules").unlink()


def test_reload_in_the_middle_of_an_action(ruled, hook):
    run, out = ruled.script("reload", "#!/bin/sh\ntouch {out}.begun; while [ ! -e {out}.go ]; do sleep 0.05; done\n")
    ruled.add("reload", run, f"post {hook.url}/ok/reload")
    wait_for(lambda: pathlib.Path(f"{out}.begun").exists(), "the program runs")
    ruled.add("reload", f"post {hook.url}/ok/changed")
    ruled.add("beside", f"post {hook.url}/ok/beside")
    posted(hook, "beside")
    pathlib.Path(f"{out}.go").touch()
    assert posted(hook, "reload")["actions"] == [{"action": "run", "done": True}]
    # The changed rule goes by the cooldown of the one before.
    wait_for(lambda: (ruled.rule("reload") or {}).get("reason") == "cooldown", "the changed rule waits")
    assert "changed" not in hook.seen
    (ruled.folder / "reload.rules").unlink()
    wait_for(lambda: ruled.rule("reload") is None, "the rule is gone")


def test_wrong_rules(ruled):
    ruled.write("wrong", "[wrong]\nwhen = allocatd above 1\ndo = log\n[good]\nwhen = allocated below 1\ndo = log\n")
    wait_for(lambda: ruled.rule("good") is not None, "the good rule is used")
    assert ruled.rule("good")["why"].startswith("allocated below 1 B: it is ")
    assert any("wrong.rules:2: [wrong] when: no quantity" in problem for problem in ruled.document()["problems"])
    (ruled.folder / "wrong.rules").unlink()


def test_files_that_others_may_write(ruled):
    """A rule decides what is run: no file is used that another user can change, and no link."""
    ruled.write("open", "[open]\nwhen = allocated above 1\ndo = log\n", mode=0o666)
    (ruled.folder / "link.rules").symlink_to(ruled.folder / "open.rules")
    wait_for(lambda: len(ruled.document()["problems"]) == 2, "both are refused")
    link, opened = sorted(ruled.document()["problems"])
    assert "link.rules: not used: it is a symbolic link" in link
    assert "open.rules: not used: other users can write to it" in opened
    assert ruled.rule("open") is None
    (ruled.folder / "link.rules").unlink()
    (ruled.folder / "open.rules").unlink()
    wait_for(lambda: not ruled.document()["problems"], "nothing is wrong any more")


def test_run_as(ruled):
    ruled.add("other-user", "run /bin/true", run_as="root" if os.geteuid() == 0 else "nobody")
    wait_for(lambda: ruled.document()["problems"], "it is refused")
    [problem] = ruled.document()["problems"]
    assert "[other-user] run-as: only root can run programs as" in problem
    (ruled.folder / "other-user.rules").unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
def test_program_of_another_user(scratch, profiled):  # noqa: F811
    """Where jescope stays root: as the user that the rule names, with his groups and without a capability."""
    folder, out = scratch / "rules-of-root", scratch / "out-of-others"
    folder.mkdir(mode=0o755)
    out.mkdir()
    out.chmod(0o777)
    with serve(scratch, profiled.pid, "--user=root", "--every=200ms", f"--rules={folder}") as endpoint:
        one = Ruled(folder, out, endpoint)
        run, seen = one.script("named", "#!/bin/sh\ngrep -E '^(Uid|Gid|Groups|CapEff):' /proc/self/status > {out}.new; mv {out}.new {out}\n")
        one.add("named", run, run_as="nobody")
        wait_for(seen.exists, "the program ends")
    rights = {name: value.split() for name, _, value in (line.partition(":") for line in seen.read_text().splitlines())}
    entry = pwd.getpwnam("nobody")
    assert rights["Uid"] == 4 * [str(entry.pw_uid)] and rights["Gid"] == 4 * [str(entry.pw_gid)]
    assert {int(group) for group in rights["Groups"]} == set(os.getgrouplist("nobody", entry.pw_gid))
    assert int(rights["CapEff"][0], 16) == 0


@pytest.fixture
def terminal():
    """What a server calls before it is executed, so that its controlling terminal is a new one, whose session another process leads."""
    master, slave = os.openpty()

    def take():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        server = os.fork()
        if server != 0:
            signal.signal(signal.SIGTERM, lambda *_: os.kill(server, signal.SIGTERM))
            os.closerange(0, 1024)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]))

    yield take
    os.close(slave)
    os.close(master)


def terminal_of(stat):
    """tty_nr, the seventh field of /proc/PID/stat."""
    return int(stat.rpartition(")")[2].split()[4])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
def test_a_program_of_another_user_has_no_terminal(scratch, profiled, terminal):  # noqa: F811
    """It could put commands there, which root's shell would execute (TIOCSTI)."""
    folder, out = scratch / "rules-in-a-terminal", scratch / "out-of-a-terminal"
    folder.mkdir(mode=0o755)
    out.mkdir()
    out.chmod(0o777)
    with serve(scratch, profiled.pid, "--user=root", "--every=200ms", f"--rules={folder}", preexec_fn=terminal) as endpoint:
        [server] = children(endpoint.process.pid)
        assert terminal_of(pathlib.Path(f"/proc/{server}/stat").read_text()) != 0
        one = Ruled(folder, out, endpoint)
        run, seen = one.script("without", "#!/bin/sh\ncat /proc/self/stat > {out}.new; mv {out}.new {out}\n")
        one.add("without", run, run_as="nobody")
        wait_for(seen.exists, "the program ends")
    assert terminal_of(seen.read_text()) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's server becomes another user")
def test_a_server_that_becomes_another_user_has_no_terminal(scratch, profiled, terminal):  # noqa: F811
    with serve(scratch, profiled.pid, preexec_fn=terminal) as endpoint:
        [server] = children(endpoint.process.pid)
        assert terminal_of(pathlib.Path(f"/proc/{server}/stat").read_text()) == 0


@pytest.fixture(scope="module")
def growing(scratch, hook):
    """A program that grows by 4 MiB a second in a control group with a limit, where one can be made, and its rules."""
    folder, out = scratch / "rules-of-growing", scratch / "out-of-growing"
    folder.mkdir(mode=0o755)
    out.mkdir()
    out.chmod(0o777)
    with leaker(scratch) as program, serve(scratch, program.pid_inside, "--every=500ms", f"--rules={folder}") as endpoint:
        program.tell(f"leak {4 * MIB}")
        endpoint.pid = program.pid_inside
        yield Ruled(folder, out, endpoint)


@pytest.mark.parametrize("name,when,keys", [
    ("metric", "held above 8MiB clear 4MiB", {}),
    ("below", "allocated below 1TiB", {}),
    ("arena", "arena.mapped@0 above 1", {}),
    ("rate", "rate(held) above 1KiB/s or rate(resident) above 1KiB/s", {}),
    ("slope", "slope(held, 5s) above 1KiB/s", {}),
    ("grows", "grows(held, 10s)", {}),
    ("fragmentation", "fragmentation above 0.01%", {}),
    ("joined", "held above 1TiB or held above 1MiB and resident above 1MiB", {}),
    ("held-for", "held above 1MiB", {"for": "1s"}),
    ("warmed-up", "held above 1MiB", {"warm_up": "2s"}),
])
def test_triggers(growing, name, when, keys):
    growing.add(name, "log", when=when, **keys)
    wait_for(lambda: (growing.rule(name) or {}).get("fired") == 1, f"{name} fires: {growing.rule(name)}")
    assert "rule " + name + ": " in growing.endpoint.log.read_text()


def test_working_set(scratch, group):  # noqa: F811
    folder = scratch / "rules-of-working-set"
    folder.mkdir(mode=0o755)
    with leaker(scratch) as program:
        group.take(program.pid_inside)
        group.limit(200 * MIB)
        with serve(scratch, program.pid_inside, "--every=100ms", f"--rules={folder}") as endpoint:
            one = Ruled(folder, scratch, endpoint)
            one.add("near", "log", when="working-set above 50%")
            wait_for(lambda: "it is " in (one.rule("near") or {}).get("why", ""), "it is far from its limit")
            program.tell(f"hold {120 * MIB}")
            wait_for(lambda: one.rule("near")["fired"] == 1, "it fires")


@pytest.mark.parametrize("name,do,reason,fired,keys", [
    ("counted", "log", "count", 3, {"count": 3, "again": "1MiB"}),
    ("counted-of-user", "log", "user-count", 2, {"user_count": 2, "again": "1MiB"}),
    ("of-disk", "dump", "disk", 1, {"disk": 1, "again": "1MiB"}),
    ("short", "log", "machine", 0, {"spare": "99.99%"}),
    ("cooled", "log", "not-cleared", 1, {}),
    ("busy", "program", "at-work", 1, {"again": "1MiB", "time_limit": "1h"}),
])
def test_limits(growing, name, do, reason, fired, keys):
    """What goes on to grow would fire again: it does not, and says why."""
    program, out = growing.script(name, "#!/bin/sh\nwhile [ ! -e {out}.go ]; do sleep 0.05; done\n")
    growing.add(name, program if do == "program" else do, **keys)
    wait_for(lambda: (growing.rule(name) or {}).get("reason") == reason, f"{name} is held back: {growing.rule(name)}")
    assert growing.rule(name)["fired"] == fired
    pathlib.Path(f"{out}.go").touch()
    (growing.folder / f"{name}.rules").unlink()
    wait_for(lambda: growing.rule(name) is None, "it is gone")


def test_full_disk(scratch, hook):
    """Dumps that rules keep are in the history: where that has no room they have failed, which the actions behind them and the log are told, and all is well
    when there is room again."""
    folder = scratch / "rules-on-a-full-disk"
    folder.mkdir(mode=0o755)
    user = ["--user=root"] if os.geteuid() == 0 else []
    with small_disk(scratch / "disk"), leaker(scratch) as program:
        with serve(scratch, program.pid_inside, "--every=200ms", f"--rules={folder}", f"--history={scratch / 'disk' / 'history.db'}", *user) as endpoint:
            one = Ruled(folder, scratch, endpoint)
            one.add("before", "dump", f"post {hook.url}/ok/disk-before")
            first = posted(hook, "disk-before")
            fill(scratch / "disk" / "filler")
            one.add("full", "dump", f"post {hook.url}/ok/disk-full")
            full = posted(hook, "disk-full")
            (scratch / "disk" / "filler").unlink()
            one.add("after", "dump", f"post {hook.url}/ok/disk-after")
            after = posted(hook, "disk-after")
            dumps = f"/api/v1/targets/{program.pid_inside}/dumps"
            for document in (first, after):
                assert document["actions"] == [{"action": "dump", "done": True}]
                assert endpoint.get(f"{dumps}/{document['dump']}").text.startswith("heap_v2/")
            assert full["dump"] is None and full["actions"][0]["done"] is False and "no space left for " in full["actions"][0]["failure"], full
            assert "rule full on " in endpoint.log.read_text() and one.rule("full")["fired"] == 1
            assert "jescope_rule_failures_total 1\n" in endpoint.get("/metrics").text


def test_what_functions_hold(scratch):
    """Of a dump of the process and of its ledger; a function that holds nothing has the value 0."""
    folder, out = scratch / "rules-of-functions", scratch / "out-of-functions"
    folder.mkdir(mode=0o755)
    out.mkdir()
    with leaker(scratch) as program, serve(scratch, program.pid_inside, "--every=200ms", f"--rules={folder}") as endpoint:
        one = Ruled(folder, out, endpoint)
        one.add("before", "log", when="function(^hold$) above 8MiB")
        wait_for(lambda: "has no value yet: it was not measured, or profiling is off" in (one.rule("before") or {}).get("why", ""), "there is no profile")
        assert endpoint.post(f"/api/v1/targets/{program.pid_inside}/profiling?active=true&for=10m").status == 200
        program.tell(f"hold {64 << 20}")
        assert program.stdout.readline()
        one.add("function", "log", when="function(^hold$) above 8MiB")
        one.add("stack", "log", when="stack(main;.*hold;keep) above 8MiB and ledger(live) above 8MiB")
        one.add("nothing", "log", when="function(^no_such_function$) above 1")
        for name in ("function", "stack"):
            wait_for(lambda name=name: (one.rule(name) or {}).get("fired") == 1, f"{name} fires")
        wait_for(lambda: "it is 0 B" in (one.rule("nothing") or {}).get("why", ""), "what does not hold anything is known as well")


def test_pressure(scratch, group):  # noqa: F811
    """The share of the time in which it waited for memory, above memory.high."""
    high = group.path / "memory.high"
    if not high.exists():
        pytest.skip("memory.high and memory.pressure are in version 2 of control groups only; tests/soak/cgroup2 boots a machine that has them")
    folder, out = scratch / "rules-of-pressure", scratch / "out-of-pressure"
    folder.mkdir(mode=0o755)
    out.mkdir()
    with leaker(scratch) as program, serve(scratch, program.pid_inside, "--every=1s", f"--rules={folder}") as endpoint:
        one = Ruled(folder, out, endpoint)
        group.take(program.pid_inside)
        group.forbid_swap(0)
        one.add("pressed", "log", when="pressure above 1%")
        wait_for(lambda: "it is 0" in (one.rule("pressed") or {}).get("why", ""), "nothing waits")
        high.write_text(str(group.usage() + 4 * MIB))
        program.tell(f"hold {8 * MIB}")
        wait_for(lambda: one.rule("pressed")["fired"] == 1, "it fires")
        high.write_text("max")


# Says that its arguments are 1 GiB of memory that it has never touched (prctl(2), PR_SET_MM_MAP).
ENDLESS_ARGUMENTS = """
import ctypes, mmap, os, signal, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.sbrk.restype = ctypes.c_void_p
size = 1 << 30
at = libc.mmap(None, ctypes.c_size_t(size), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, ctypes.c_long(0))
field = [0, 0] + open("/proc/self/stat").read().rpartition(")")[2].split()
number = lambda n: int(field[n - 1])
told = struct.pack("12QII", number(26), number(27), number(45), number(46), number(47), libc.sbrk(0), number(28), at, at + size,
                   number(50), number(51), 0, 0, 0xFFFFFFFF)
print(os.getpid(), libc.prctl(35, 14, told, ctypes.c_ulong(len(told)), 0), flush=True)
signal.pause()
"""


def peak_memory(pid):
    """Of a process and of those it has started, in bytes. One that has just ended has none."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    peak = re.search(r"^VmHWM:\s*(\d+)", status, re.M)
    return (int(peak[1]) * 1024 if peak else 0) + sum(map(peak_memory, children(pid)))


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's own memory is measured along")
def test_endless_arguments(folder):
    rules = folder / "rules"
    rules.mkdir(mode=0o755)
    (rules / "any.rules").write_text("[any]\nwhen = allocated above 1\ndo = log\n")
    with started([JESCOPE, "run", "--", "/usr/bin/python3", "-c", ENDLESS_ARGUMENTS], env=environment(folder)) as victim:
        pid, failed = victim.stdout.readline().split()
        if failed != "0":
            pytest.skip("this kernel lets no process say where its arguments are (CONFIG_CHECKPOINT_RESTORE)")
        with serve(folder, pid, "--every=200ms", f"--rules={rules}") as endpoint:
            wait_for(lambda: any(row["fired"] for row in endpoint.get("/api/v1/rules").json()["rules"]), "the rule fires")
            assert peak_memory(endpoint.process.pid) < 256 << 20
